/* export_dot.c - draws a box for each pattern of the dominator tree that retains enough, and an
 * arrow to it from the pattern that keeps it alive. */
#include "graph/export.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "graph/patterns.h"
#include "graph/words.h"
#include "report/text.h"

#define LEAST_SHARE 100 /* the hundredth part */

/* Writes the text in quotes, in one line. */
static void
put_quoted(FILE *out, const char *text, size_t length)
{
    char piece[HEAPPROF_UTF8_MAX(256)];

    for (size_t size; length > 0; text += size, length -= size) {
        size = rb_heapprof_utf8_piece(text, length, 256);
        size_t made = rb_heapprof_utf8_plain(piece, text, size, false);
        for (size_t i = 0; i < made; i++) {
            if (piece[i] == '"' || piece[i] == '\\') putc('\\', out);
            putc(piece[i], out);
        }
    }
}

static bool
put_label(FILE *out, const struct graph *graph, const struct graph_patterns *patterns,
          uint32_t number)
{
    char *text = NULL;
    size_t size;
    FILE *label = open_memstream(&text, &size);

    if (!label) return false;
    graph_put_pattern_label(label, graph, &patterns->all[number]);
    fputs(": ", label);
    graph_put_pattern(label, graph, patterns, number);
    if (fclose(label) == 0) put_quoted(out, text, size);
    free(text);
    return true;
}

static bool
put_pattern(FILE *out, const struct graph *graph, const struct graph_patterns *patterns,
            uint32_t number, uint64_t retained)
{
    const struct graph_pattern *pattern = &patterns->all[number];
    char bytes[REPORT_AMOUNT_MAX], objects[REPORT_AMOUNT_MAX];

    fprintf(out, "  n%"PRIu32" [label=\"", number);
    if (!put_label(out, graph, patterns, number)) return false;
    report_amount(bytes, (double)retained, "bytes");
    report_amount(objects, (double)pattern->objects, "count");
    fprintf(out, "\\n%s, %s object%s\"];\n", bytes, objects, pattern->objects == 1 ? "" : "s");
    if (pattern->parent) fprintf(out, "  n%"PRIu32" -> n%"PRIu32";\n", pattern->parent, number);
    return true;
}

bool
graph_dot(FILE *out, const struct graph_source *source)
{
    struct graph_patterns patterns;
    uint64_t *retained = NULL;
    uint64_t least = source->dominators->retained[0] / LEAST_SHARE;
    bool room = graph_patterns_make(&patterns, source->graph, source->dominator_tree) &&
                graph_patterns_gather(&patterns, source->graph, least);

    if (room) retained = calloc(patterns.count, sizeof(*retained));
    if (retained) graph_patterns_retained(&patterns, retained);
    fputs("digraph heap {\n  rankdir=LR;\n  node [shape=box];\n", out);
    for (uint32_t i = 1; retained && room && i < patterns.count; i++) {
        if (retained[i] < least) continue;
        room = put_pattern(out, source->graph, &patterns, i, retained[i]);
    }
    fputs("}\n", out);
    room = room && retained;
    free(retained);
    graph_patterns_free(&patterns);
    return room;
}
