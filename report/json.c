/* json.c - writes JSON, with its commas. A comma stands before each value that follows another
 * one in the same brackets. No comma follows a key or an opening bracket. */
#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/unseen.h"
#include "base/utf8.h"
#include "report/text.h"

#define PIECE 1024 /* bytes of a string that are converted to UTF-8 at once */

static void
begin_thing(struct report_json *json)
{
    if (json->comma) fputs(json->spaced ? ", " : ",", json->out);
    json->comma = true;
}

void
report_json_begin(struct report_json *json, char bracket)
{
    begin_thing(json);
    putc(bracket, json->out);
    json->comma = false;
}

void
report_json_end(struct report_json *json, char bracket)
{
    putc(bracket, json->out);
    json->comma = true;
}

/* The comma between two values has to stand before the newline. */
void
report_json_line(struct report_json *json)
{
    if (json->comma) putc(',', json->out);
    json->comma = false;
    putc('\n', json->out);
}

static void
put_code(FILE *out, uint32_t code)
{
    if (code < 0x10000) fprintf(out, "\\u%04"PRIx32, code);
    else
        fprintf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (code >> 10),
                0xdc00 + (code & 0x3ff)); /* UTF-16 */
}

/* Writes text that is well-formed UTF-8. */
static void
put_escaped(const struct report_json *json, const char *text, size_t length)
{
    size_t done = 0;

    for (size_t i = 0, size; i < length; i += size) {
        uint32_t code = rb_heapprof_utf8_character(text + i, &size);
        bool quoted = code == '"' || code == '\\';
        if (!quoted && !rb_heapprof_unseen_p(code) &&
            !(json->markup && code < 128 && strchr("<>&", (char)code)))
            continue;
        fwrite(text + done, 1, i - done, json->out);
        if (quoted) fprintf(json->out, "\\%c", (char)code);
        else put_code(json->out, code);
        done = i + size;
    }
    fwrite(text + done, 1, length - done, json->out);
}

void
report_json_string(struct report_json *json, const char *text, size_t length)
{
    char utf8[HEAPPROF_UTF8_MAX(PIECE)];
    bool cut = json->longest && length > json->longest;

    if (cut) length = rb_heapprof_utf8_piece(text, length, json->longest);
    begin_thing(json);
    putc('"', json->out);
    while (length > 0) {
        size_t size = rb_heapprof_utf8_piece(text, length, PIECE);
        put_escaped(json, utf8, rb_heapprof_utf8_copy(utf8, text, size));
        text += size;
        length -= size;
    }
    if (cut) fputs("\\u2026", json->out); /* an ellipsis */
    putc('"', json->out);
}

void
report_json_text(struct report_json *json, const char *text)
{
    report_json_string(json, text, strlen(text));
}

void
report_json_model_string(struct report_json *json, const struct heapprof_model *model,
                         uint32_t string)
{
    size_t length;
    const char *text = rb_heapprof_model_string(model, string, &length);

    report_json_string(json, text, length);
}

void
report_json_key(struct report_json *json, const char *key)
{
    report_json_text(json, key);
    putc(':', json->out);
    json->comma = false;
}

void
report_json_integer(struct report_json *json, int64_t number)
{
    begin_thing(json);
    fprintf(json->out, "%"PRId64, number);
}

void
report_json_unsigned(struct report_json *json, uint64_t number)
{
    begin_thing(json);
    fprintf(json->out, "%"PRIu64, number);
}

void
report_json_number(struct report_json *json, double number)
{
    begin_thing(json);
    if (!isfinite(number)) fputs("null", json->out);
    else if (number == floor(number) && fabs(number) < 1e15) fprintf(json->out, "%.0f", number);
    else fprintf(json->out, "%.6g", number);
}

void
report_json_exact(struct report_json *json, double number)
{
    char text[REPORT_AMOUNT_MAX];

    begin_thing(json);
    report_exact(text, number);
    fputs(isfinite(number) ? text : "null", json->out);
}

void
report_json_milliseconds(struct report_json *json, int64_t ns)
{
    enum { MILLISECOND = 1000000 };
    int digits = 6, rest = (int)(ns % MILLISECOND);

    begin_thing(json);
    if (ns < 0) putc('-', json->out);
    fprintf(json->out, "%"PRIu64, (ns < 0 ? -(uint64_t)ns : (uint64_t)ns) / MILLISECOND);
    if (rest < 0) rest = -rest;
    if (rest == 0) return;
    for (; rest % 10 == 0; rest /= 10) digits--;
    fprintf(json->out, ".%0*d", digits, rest);
}

void
report_json_bool(struct report_json *json, bool value)
{
    begin_thing(json);
    fputs(value ? "true" : "false", json->out);
}

void
report_json_null(struct report_json *json)
{
    begin_thing(json);
    fputs("null", json->out);
}

/* ---- members ---- */

void
report_json_member_begin(struct report_json *json, const char *key, char bracket)
{
    report_json_key(json, key);
    report_json_begin(json, bracket);
}

void
report_json_member_string(struct report_json *json, const char *key, const char *text,
                          size_t length)
{
    report_json_key(json, key);
    report_json_string(json, text, length);
}

void
report_json_member_text(struct report_json *json, const char *key, const char *text)
{
    report_json_key(json, key);
    if (text) report_json_text(json, text);
    else report_json_null(json);
}

void
report_json_member_integer(struct report_json *json, const char *key, int64_t number)
{
    report_json_key(json, key);
    report_json_integer(json, number);
}

void
report_json_member_unsigned(struct report_json *json, const char *key, uint64_t number)
{
    report_json_key(json, key);
    report_json_unsigned(json, number);
}

void
report_json_member_number(struct report_json *json, const char *key, double number)
{
    report_json_key(json, key);
    report_json_number(json, number);
}

void
report_json_member_bool(struct report_json *json, const char *key, bool value)
{
    report_json_key(json, key);
    report_json_bool(json, value);
}
