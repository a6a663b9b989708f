/* diff_words.c - a row of `heapprof graph diff` in words: what holds the growth, and what it is.
 *
 *     constant CACHE -> @store (Hash): 6,000 new Orders; the Hash grew from 40.2 kB to 236 kB
 *     methods of module Views: 1,950 new method entries, 1,950 Strings and 3,900 others
 *     constant LOG (String): grew in place, from 8.00 MB to 32.0 MB
 *
 * A holder is told by the path that keeps it alive. What the VM needs to hold a program together
 * is told as what it is in Ruby: methods, constants and variables of a class, parts of code. */
#include <string.h>

#include "cli/graph/diff.h"
#include "graph/terms.h"
#include "report/text.h"

/* Growth in place beside new objects is told if it is at least this part of them. */
#define PLACE_SHARE 20

static const struct cli_graph *
last_of(const struct cli_graph_diff *diff)
{
    return &diff->graphs[diff->count - 1];
}

/* An object of the last dump that is the holder; 0 if the roots are, or if none is left. */
static uint32_t
holder_of(const struct cli_graph_diff *diff, const struct graph_growth *row)
{
    return row->holder ? diff->difference.patterns.all[row->holder].example : 0;
}

struct cli_graph_diff_shown
cli_graph_diff_shown(const struct cli_graph_diff *diff, uint32_t number)
{
    const struct graph_growth *row = &diff->difference.all[number];
    uint32_t holder = holder_of(diff, row);
    struct cli_graph_diff_shown shown = {.holder = holder};

    if (row->survivor || row->fresh) shown.holder = row->survivor ? row->survivor : row->fresh;
    shown.example = row->fresh ? row->fresh : shown.holder;
    shown.way = row->structure ? shown.example : shown.holder;
    if (row->structure) shown.holder = holder;
    return shown;
}

/* ---- who holds it ---- */

static bool
vm_p(const struct graph *graph, uint32_t object)
{
    return object && !strcmp(graph_type(graph, object), "T_DATA(VM)");
}

static bool
put_way(FILE *out, const struct cli_graph_diff *diff, uint32_t object, bool many)
{
    return cli_graph_put_way(out, last_of(diff), object, many);
}

/* An object that is not part of the program's structure, or objects of one pattern. */
static bool
put_object_holder(FILE *out, const struct cli_graph_diff *diff, uint32_t number)
{
    const struct graph *graph = &last_of(diff)->graph;
    const struct graph_growth *row = &diff->difference.all[number];
    uint32_t example = cli_graph_diff_shown(diff, number).holder;
    bool room;

    if (vm_p(graph, example) || graph_layout(graph, example)->module) {
        graph_put_object(out, graph, example);
        if (!vm_p(graph, example)) fputs(" itself", out);
        return true;
    }
    room = put_way(out, diff, example, diff->difference.patterns.all[row->holder].objects > 1);
    fputs(" (", out);
    graph_put_pattern(out, graph, &diff->difference.patterns, row->holder);
    fputc(')', out);
    return room;
}

/* What a class or module has many of by this kind of label; NULL if it is no name of Ruby's. */
static const char *
members_of_module(const struct graph *graph, uint32_t label)
{
    switch (graph_label_kind(label)) {
      case HEAPPROF_DUMP_CONSTANT: return "constants";
      case HEAPPROF_DUMP_CVAR: return "class variables";
      case HEAPPROF_DUMP_IVAR: return "instance variables";
      case HEAPPROF_DUMP_FIELD:
        return strncmp(graph_label_name(graph, label), "method ", 7) ? NULL : "methods";
      default: return NULL;
    }
}

/* Before the path to one of several. label: of the new object. */
static void
put_such_as(FILE *out, const struct graph_growth *row, uint32_t label)
{
    char amount[REPORT_AMOUNT_MAX];

    if (graph_label_kind(label) == GRAPH_INDIRECT) fputs("several holders, such as ", out);
    else if (row->names > 1) {
        report_amount(amount, row->names, "count");
        fprintf(out, "%s places, such as ", amount);
    }
}

/* What a class, a thread or code holds. */
static bool
put_structure_holder(FILE *out, const struct cli_graph_diff *diff, const struct graph_growth *row,
                     uint32_t holder)
{
    const struct cli_graph *last = last_of(diff);
    const struct graph *graph = &last->graph;
    uint32_t label = row->fresh ? last->dominator_tree.labels[row->fresh] : 0;
    bool many = row->fresh_count > 1;
    const char *members = row->names > 1 && graph_layout(graph, holder)->module
                              ? members_of_module(graph, label)
                              : NULL;

    if (members) fprintf(out, "%s of ", members);
    else if (row->fresh) {
        put_such_as(out, row, label);
        if (graph_label_kind(label) == GRAPH_INDIRECT ||
            !graph_term(graph_class_name(graph, holder)))
            return put_way(out, diff, row->fresh, many);
        graph_put_label(out, graph, label, many);
        fputs(" of ", out);
    }
    graph_put_object(out, graph, holder);
    return true;
}

static bool
put_root_holder(FILE *out, const struct cli_graph_diff *diff, const struct graph_growth *row)
{
    const struct heapprof_strings *strings = &diff->difference.strings;

    if (!row->fresh) {
        const char *class_name = rb_heapprof_strings_get(strings, row->class_name - 1, NULL);
        const char *term = graph_term(class_name);
        fprintf(out, "roots, or several holders (%s)", term ? term : class_name);
        return true;
    }
    put_such_as(out, row, last_of(diff)->dominator_tree.labels[row->fresh]);
    return put_way(out, diff, row->fresh, row->fresh_count > 1);
}

bool
cli_graph_diff_put_holder(FILE *out, const struct cli_graph_diff *diff, uint32_t number)
{
    const struct graph_growth *row = &diff->difference.all[number];
    uint32_t holder = holder_of(diff, row);

    if (!row->structure) return put_object_holder(out, diff, number);
    return holder ? put_structure_holder(out, diff, row, holder) : put_root_holder(out, diff, row);
}

/* ---- what has changed ---- */

/* "from 8.00 MB to 32.0 MB" */
static void
put_sizes(FILE *out, const struct cli_graph_diff *diff, const struct graph_growth *row)
{
    uint64_t bytes = last_of(diff)->graph.sizes[row->survivor];

    fputs("from ", out);
    cli_graph_put_amount(out, (double)(int64_t)(bytes - (uint64_t)row->survivor_grown), "bytes");
    fputs(" to ", out);
    cli_graph_put_amount(out, (double)bytes, "bytes");
}

/* "the Hash grew from 40.2 kB to 236 kB", "20 Hashes grew in place, one of them from ..." */
static void
put_grown(FILE *out, const struct cli_graph_diff *diff, const struct graph_growth *row,
          const char *where)
{
    const char *class_name = graph_class_name(&last_of(diff)->graph, row->survivor);
    const char *term = graph_term(class_name);

    if (row->grown_survivors > 1) {
        graph_put_counted(out, row->grown_survivors, "", class_name);
        fprintf(out, " grew%s, one of them ", where);
    }
    else fprintf(out, "the %s grew%s ", term ? term : class_name, where);
    put_sizes(out, diff, row);
}

static void
put_changes(FILE *out, const struct cli_graph_diff *diff, uint32_t number)
{
    const struct graph_growth *row = &diff->difference.all[number];
    bool grown = row->survivor && row->grown > 0;

    if (row->new_objects) {
        fputs(": ", out);
        graph_put_arrivals(out, &diff->arrivals, &last_of(diff)->graph, number);
        if (!grown || row->grown < (int64_t)(row->new_bytes / PLACE_SHARE)) return;
        fputs("; ", out);
        put_grown(out, diff, row, "");
    }
    else if (grown && row->grown_survivors > 1) {
        fputs(": ", out);
        put_grown(out, diff, row, " in place");
    }
    else if (grown) {
        fputs(": grew in place, ", out);
        put_sizes(out, diff, row);
    }
    else if (row->freed_objects) {
        fputs(": ", out);
        cli_graph_put_amount(out, (double)row->freed_objects, "count");
        fputs(row->freed_objects == 1 ? " object was freed" : " objects were freed", out);
    }
    else if (row->grown < 0) fputs(": became smaller in place", out);
}

bool
cli_graph_diff_put(FILE *out, const struct cli_graph_diff *diff, uint32_t number)
{
    const struct graph_growth *row = &diff->difference.all[number];
    const struct graph *graph = &last_of(diff)->graph;

    if (!cli_graph_diff_put_holder(out, diff, number)) return false;
    put_changes(out, diff, number);
    if (row->fresh && graph_layout(graph, row->fresh)->thread && graph_text(graph, row->fresh)) {
        const char *text = graph_string(&graph->names, graph_text(graph, row->fresh));
        fputs("; started at ", out);
        graph_put_place(out, graph, text, graph_place_length(text));
    }
    if (!diff->stacks[number]) return true;
    fputs("; allocated at ", out);
    cli_graph_put_site(out, &graph->names, diff->stacks[number]);
    return true;
}
