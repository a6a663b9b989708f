/* words.c - the names of objects and labels. Those of paths are in way.c. */
#include "graph/words.h"

#include <inttypes.h>
#include <string.h>

#include "graph/terms.h"
#include "report/own.h"
#include "report/text.h"

#define KEY_BYTES_MOST 60 /* of a String key that are shown */

/* ---- objects ---- */

static const char *
string(const struct graph *graph, uint32_t number)
{
    return graph_string(&graph->names, number);
}

void
graph_put_place(FILE *out, const struct graph *graph, const char *text, size_t length)
{
    const char *end = text + length, *path = text[0] == '/' ? text : strstr(text, " /"), *shorter;

    if (path && path[0] == ' ') path++;
    if (!path || path > end) path = end;
    shorter = report_short_path(path, graph_fact(&graph->names, "directory"));
    if (shorter > end) shorter = path;
    fwrite(text, 1, (size_t)(path - text), out);
    fwrite(shorter, 1, (size_t)(end - shorter), out);
}

/* The same of a whole text. */
static void
put_short(FILE *out, const struct graph *graph, const char *text)
{
    graph_put_place(out, graph, text, strlen(text));
}

const char *
graph_class_name(const struct graph *graph, uint32_t object)
{
    const struct graph_names *names = &graph->names;

    return string(graph, names->classes[graph_class_number(graph, object)].name);
}

/* If the object is a named class or module, writes its name and returns true. */
static bool
named_class_p(const struct graph *graph, uint32_t object, const char **name)
{
    uint32_t text = graph_module_name(graph, object);

    *name = string(graph, text);
    return text != 0;
}

void
graph_put_object(FILE *out, const struct graph *graph, uint32_t object)
{
    const char *name, *term, *type = graph_type(graph, object);
    uint32_t text = graph_text(graph, object);

    if (named_class_p(graph, object, &name)) {
        fprintf(out, "%s %s", strcmp(type, "T_CLASS") ? "module" : "class", name);
        return;
    }
    term = graph_term(graph_class_name(graph, object));
    fputs(term ? term : graph_class_name(graph, object), out);
    if (!text) return;
    if (!strcmp(type, "T_STRING")) fprintf(out, " \"%s\"", string(graph, text));
    else {
        fputs(term ? ": " : " ", out);
        put_short(out, graph, string(graph, text));
    }
}

#define PLACE_MOST 500 /* characters; a hostile text may have millions */

size_t
graph_place_length(const char *text)
{
    size_t length = strnlen(text, PLACE_MOST), end = length;

    while (end > 0 && strncmp(text + end, ", ", 2)) end--;
    if (end == 0) end = length;
    for (size_t i = 1; i < end; i++) {
        bool place =
            (text[i - 1] >= '0' && text[i - 1] <= '9') || (i == 6 && !strncmp(text, "C code", 6));
        if (place && !strncmp(text + i, " (", 2)) return i;
    }
    return end;
}

bool
graph_started(char name[GRAPH_STARTED_BYTES], const struct graph *graph, uint32_t object)
{
    uint32_t number = graph_layout(graph, object)->thread ? graph_text(graph, object) : 0;
    const char *text = string(graph, number);

    if (!number) return false;
    snprintf(name, GRAPH_STARTED_BYTES, "%.80s %.*s", graph_class_name(graph, object),
             (int)graph_place_length(text), text);
    return true;
}

/* ---- labels ---- */

static void
put_quoted_key(FILE *out, const char *key)
{
    size_t length = strlen(key), shown = length < KEY_BYTES_MOST ? length : KEY_BYTES_MOST;

    while (shown < length && shown > 0 && (key[shown] & 0xc0) == 0x80)
        shown--; /* inside a character */
    fprintf(out, "[\"%.*s%s\"]", (int)shown, key, shown < length ? "..." : "");
}

/* "counters in shop.so"; the library may have no name. */
static void
put_c_global(FILE *out, const char *text)
{
    size_t length = strlen(text);

    if (length >= 4 && !strcmp(text + length - 4, " in ")) length -= 4;
    fprintf(out, "%.*s", (int)length, text);
}

void
graph_put_label(FILE *out, const struct graph *graph, uint32_t label, bool merged)
{
    uint32_t detail = graph_label_detail(label);

    switch (graph_label_kind(label)) {
      case HEAPPROF_DUMP_UNLABELLED:
        fputs("(unnamed)", out);
        return;
      case HEAPPROF_DUMP_CLASS:
        fputs("its class", out);
        return;
      case GRAPH_INDIRECT:
        fputs("(several ways)", out);
        if (detail) fprintf(out, " constant %s", string(graph, detail));
        return;
      case HEAPPROF_DUMP_INDEX:
      case GRAPH_VALUE_OF_INTEGER:
        if (merged) fputs("[]", out);
        else fprintf(out, "[%"PRIu32"]", detail);
        return;
      case GRAPH_VALUE_OF_SYMBOL:
        fprintf(out, "[:%s]", string(graph, detail));
        return;
      case GRAPH_VALUE_OF_STRING:
        if (merged) fputs("(value)", out);
        else put_quoted_key(out, string(graph, detail));
        return;
      case HEAPPROF_DUMP_KEY:
        fputs("(key)", out);
        return;
      case HEAPPROF_DUMP_VALUE:
        fputs("(value)", out);
        return;
      case HEAPPROF_DUMP_MEMBER: fputc('.', out); break;
      case HEAPPROF_DUMP_CONSTANT: fputs("constant ", out); break;
      case HEAPPROF_DUMP_LOCAL: fputs("local ", out); break;
      case HEAPPROF_DUMP_GLOBAL: fputs("global ", out); break;
      case HEAPPROF_DUMP_C_GLOBAL:
        fputs("C global ", out);
        put_c_global(out, string(graph, detail));
        return;
      default: break;
    }
    put_short(out, graph, string(graph, detail)[0] ? string(graph, detail) : "(unnamed)");
}

const char *
graph_label_name(const struct graph *graph, uint32_t label)
{
    switch (graph_label_kind(label)) {
      case HEAPPROF_DUMP_INDEX:
      case HEAPPROF_DUMP_KEY:
      case HEAPPROF_DUMP_VALUE:
      case GRAPH_VALUE_OF_INTEGER: return "";
      default: return string(graph, graph_label_detail(label));
    }
}

static void
put_count(FILE *out, const char *before, uint64_t count, const char *after)
{
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, (double)count, "count");
    fprintf(out, "%s%s%s", before, amount, after);
}

/* What names of one kind are called together. */
static const char *
plural_of(uint32_t kind)
{
    switch (kind) {
      case HEAPPROF_DUMP_CONSTANT: return "constants";
      case HEAPPROF_DUMP_GLOBAL: return "globals";
      case HEAPPROF_DUMP_LOCAL: return "locals";
      case HEAPPROF_DUMP_IVAR: return "instance variables";
      case HEAPPROF_DUMP_CVAR: return "class variables";
      case HEAPPROF_DUMP_FIELD: return "methods";
      case GRAPH_VALUE_OF_SYMBOL: return "Symbol keys";
      case GRAPH_INDIRECT: return "constants (several ways)";
      default: return "references";
    }
}

void
graph_put_siblings(FILE *out, const struct graph *graph, uint32_t label, uint32_t count,
                   uint32_t prefix)
{
    uint32_t kind = graph_label_kind(label),
             skipped = kind == HEAPPROF_DUMP_FIELD ? sizeof("method ") - 1 : 0;
    uint32_t sigils = kind == HEAPPROF_DUMP_IVAR || kind == HEAPPROF_DUMP_GLOBAL ? 1
                      : kind == HEAPPROF_DUMP_CVAR                               ? 2
                                                                                 : 0;
    const char *name = graph_label_name(graph, label) + skipped;
    int length = prefix > skipped ? (int)(prefix - skipped) : 0;

    if (length <= (int)sigils) put_count(out, "", count, " ");
    if (kind != GRAPH_VALUE_OF_SYMBOL || length == 0) fputs(plural_of(kind), out);
    if (length <= (int)sigils) return;
    fprintf(out, kind == GRAPH_VALUE_OF_SYMBOL ? "[:%.*s*]" : " %.*s*", length, name);
    put_count(out, " (", count, ")");
}
