/* traces.c - writes allocation stacks as V8's heap snapshots have them. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include "graph/traces.h"

#include <inttypes.h>
#include <stdlib.h>

#define GROW(traces, array, count) \
    GRAPH_SPACE_GROW((traces)->space, (traces)->array, (traces)->array##_capacity, (size_t)(count))

/* ---- functions ---- */

/* Compares frames by name, file and line: frames that agree in all three are one function of
 * V8. */
static int
compare_frames(const struct heapprof_dump_stack *one, const struct heapprof_dump_stack *other)
{
    if (one->method != other->method) return one->method < other->method ? -1 : 1;
    if (one->file != other->file) return one->file < other->file ? -1 : 1;
    return (one->line > other->line) - (one->line < other->line);
}

static int
by_frame_i(const void *a, const void *b, void *stacks)
{
    const struct heapprof_dump_stack *all = stacks;

    return compare_frames(&all[*(const uint32_t *)a], &all[*(const uint32_t *)b]);
}

/* firsts is at first all stacks, ordered by their frames; then one stack of each frame. */
static void
number_functions(struct graph_traces *traces, const struct graph_names *names)
{
    uint32_t count = names->stack_count, *ordered = traces->firsts;

    for (uint32_t stack = 1; stack < count; stack++) ordered[stack] = stack;
    if (count > 1) qsort_r(ordered + 1, count - 1, sizeof(*ordered), by_frame_i, names->stacks);
    traces->function_count = 1;
    for (uint32_t i = 1; i < count; i++) {
        uint32_t stack = ordered[i], last = ordered[traces->function_count - 1];
        bool same = traces->function_count > 1 &&
                    compare_frames(&names->stacks[last], &names->stacks[stack]) == 0;
        if (!same) ordered[traces->function_count++] = stack;
        traces->functions[stack] = traces->function_count - 1;
    }
}

/* ---- the tree ---- */

/* Goes from the last stack to the first, so that the first callee of a caller has the lowest
 * number. */
static void
link_calls(struct graph_traces *traces, const struct graph_names *names)
{
    for (uint32_t stack = names->stack_count; stack-- > 1;) {
        uint32_t caller = names->stacks[stack].caller;
        traces->next[stack] = traces->called[caller];
        traces->called[caller] = stack;
    }
}

static void
count_objects(struct graph_traces *traces, const struct graph *graph,
              const struct graph_dominators *dominators)
{
    for (uint32_t i = 0; i < graph->sample_count; i++) {
        const struct graph_sample *sample = &graph->samples[i];
        double weight = (double)sample->weight / 1000;
        if (dominators->dominators[sample->object] == GRAPH_UNREACHED) continue;
        traces->counts[sample->stack] += weight;
        traces->bytes[sample->stack] += weight * (double)graph->sizes[sample->object];
    }
}

bool
graph_traces_make(struct graph_traces *traces, struct graph *graph,
                  const struct graph_dominators *dominators)
{
    size_t count = (size_t)graph->names.stack_count + 1;

    *traces = (struct graph_traces){.space = &graph->space};
    if (!GROW(traces, functions, count) || !GROW(traces, firsts, count) ||
        !GROW(traces, called, count) ||
        !GROW(traces, next, count) || !GROW(traces, counts, count) ||
        !GROW(traces, bytes, count)) return false;
    number_functions(traces, &graph->names);
    link_calls(traces, &graph->names);
    count_objects(traces, graph, dominators);
    return true;
}

void
graph_traces_free(struct graph_traces *traces)
{
    GRAPH_SPACE_RELEASE(traces->space, traces->functions, traces->functions_capacity);
    GRAPH_SPACE_RELEASE(traces->space, traces->firsts, traces->firsts_capacity);
    GRAPH_SPACE_RELEASE(traces->space, traces->called, traces->called_capacity);
    GRAPH_SPACE_RELEASE(traces->space, traces->next, traces->next_capacity);
    GRAPH_SPACE_RELEASE(traces->space, traces->counts, traces->counts_capacity);
    GRAPH_SPACE_RELEASE(traces->space, traces->bytes, traces->bytes_capacity);
}

uint32_t
graph_trace(const struct graph *graph, uint32_t object)
{
    const struct graph_sample *sample = graph_sample(graph, object);

    return sample && sample->stack ? sample->stack + 1 : 0;
}

/* ---- writing ---- */

void
graph_traces_put_functions(FILE *out, const struct graph_traces *traces,
                           const struct graph *graph, uint32_t first_string, uint32_t root)
{
    fprintf(out, "0,%"PRIu32",%"PRIu32",0,0,0", root, first_string);
    for (uint32_t function = 1; function < traces->function_count; function++) {
        const struct heapprof_dump_stack *frame = &graph->names.stacks[traces->firsts[function]];
        fprintf(out, ",\n%"PRIu32",%"PRIu32",%"PRIu32",0,%"PRIu32",0", function,
                first_string + frame->method,
                first_string + frame->file, frame->line);
    }
}

static void
begin_call(FILE *out, const struct graph_traces *traces, uint32_t stack)
{
    fprintf(out, "%"PRIu32",%"PRIu32",%.0f,%.0f,[", stack + 1, traces->functions[stack],
            traces->counts[stack],
            traces->bytes[stack]);
}

void
graph_traces_put_tree(FILE *out, const struct graph_traces *traces, const struct graph *graph)
{
    uint32_t stack = 0;

    begin_call(out, traces, stack);
    for (;;) {
        if (traces->called[stack]) {
            stack = traces->called[stack];
            begin_call(out, traces, stack);
            continue;
        }
        while (stack && !traces->next[stack]) {
            fputc(']', out);
            stack = graph->names.stacks[stack].caller;
        }
        fputc(']', out);
        if (!stack) return;
        fputs(",\n", out);
        stack = traces->next[stack];
        begin_call(out, traces, stack);
    }
}
