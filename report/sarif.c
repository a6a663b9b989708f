/* sarif.c - writes parts of SARIF, with the writer of JSON. */
#include "report/sarif.h"

#include <ctype.h>
#include <string.h>

#include "base/version.h"

#define FILE_MOST 4096

void
report_sarif_message(struct report_json *json, const char *key, const char *text)
{
    report_json_member_begin(json, key, '{');
    report_json_member_text(json, "text", text);
    report_json_end(json, '}');
}

void
report_sarif_tool(struct report_json *json, const char *name, const struct report_sarif_rule *rules,
                  size_t count)
{
    report_json_member_begin(json, "tool", '{');
    report_json_member_begin(json, "driver", '{');
    report_json_member_text(json, "name", name);
    report_json_member_text(json, "version", HEAPPROF_VERSION);
    report_json_member_text(json, "informationUri", HEAPPROF_URI);
    report_json_member_begin(json, "rules", '[');
    for (size_t i = 0; i < count; i++) {
        report_json_begin(json, '{');
        report_json_member_text(json, "id", rules[i].id);
        report_sarif_message(json, "shortDescription", rules[i].description);
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
    report_json_end(json, '}');
    report_json_end(json, '}');
}

void
report_sarif_begin_result(struct report_json *json, const char *rule, const char *level)
{
    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "ruleId", rule);
    report_json_member_text(json, "level", level);
}

/* ---- locations ---- */

/* Writes a path as part of a URI. Bytes that a URI does not allow become %XX. */
static void
put_uri(struct report_json *json, const char *file)
{
    static const char hex[] = "0123456789ABCDEF", scheme[] = "file://";
    char uri[sizeof(scheme) + 3 * FILE_MOST];
    size_t length = file[0] == '/' ? strlen(scheme) : 0;

    memcpy(uri, scheme, length);
    for (; *file; file++) {
        unsigned char byte = (unsigned char)*file;
        if (byte < 128 && (isalnum(byte) || strchr("/-._~", byte))) {
            uri[length++] = (char)byte;
            continue;
        }
        uri[length++] = '%';
        uri[length++] = hex[byte >> 4];
        uri[length++] = hex[byte & 15];
    }
    report_json_member_string(json, "uri", uri, length);
}

static void
put_file(struct report_json *json, const struct report_sarif_place *place)
{
    report_json_member_begin(json, "physicalLocation", '{');
    report_json_member_begin(json, "artifactLocation", '{');
    put_uri(json, place->file);
    report_json_end(json, '}');
    report_json_member_begin(json, "region", '{');
    report_json_member_integer(json, "startLine", place->line);
    if (place->column > 0) report_json_member_integer(json, "startColumn", place->column);
    report_json_end(json, '}');
    report_json_end(json, '}');
}

static void
put_function(struct report_json *json, const char *function)
{
    report_json_member_begin(json, "logicalLocations", '[');
    report_json_begin(json, '{');
    report_json_member_text(json, "fullyQualifiedName", function);
    report_json_end(json, '}');
    report_json_end(json, ']');
}

void
report_sarif_location(struct report_json *json, const struct report_sarif_place *place)
{
    report_json_begin(json, '{');
    if (place->file && place->line > 0 && strlen(place->file) <= FILE_MOST) put_file(json, place);
    if (place->function) put_function(json, place->function);
    if (place->message) report_sarif_message(json, "message", place->message);
    report_json_end(json, '}');
}

void
report_sarif_suppression(struct report_json *json, bool in_source, const char *why)
{
    report_json_member_begin(json, "suppressions", '[');
    report_json_begin(json, '{');
    report_json_member_text(json, "kind", in_source ? "inSource" : "external");
    report_json_member_text(json, "justification", why);
    report_json_end(json, '}');
    report_json_end(json, ']');
}
