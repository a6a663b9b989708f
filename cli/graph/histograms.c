/* histograms.c - `heapprof graph diff --group class`: how many objects each class has in each
 * dump, side by side. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph/diff.h"
#include "report/text.h"

struct class_change {
    uint64_t objects[GRAPH_DUMPS_MOST], bytes[GRAPH_DUMPS_MOST];
    uint64_t fresh, freed; /* objects of the last dump that the first has not, and the reverse */
};

struct class_changes {
    const struct cli_graph_diff *diff;
    struct heapprof_mem mem;
    struct heapprof_strings strings;
    struct class_change *all;    /* by string of its name */
    size_t   capacity;
    uint32_t *order;             /* those that have changed */
    size_t   count;
};

/* Returns the string of the object's class, + 1; 0 if there is no memory. */
static uint32_t
number_of(struct class_changes *changes, const struct graph *graph, uint32_t object)
{
    const char *name = graph_class_name(graph, object);
    uint32_t number = rb_heapprof_strings_intern(&changes->strings, name, strlen(name));

    if (number == UINT32_MAX ||
        !HEAPPROF_MEM_GROW(&changes->mem, changes->all, changes->capacity, (size_t)number + 1))
        return 0;
    return number + 1;
}

/* Classes are found by number within a dump, and by name between dumps. */
static bool
add_dump(struct class_changes *changes, size_t dump)
{
    const struct cli_graph *in = &changes->diff->graphs[dump];
    bool last = dump == changes->diff->count - 1;
    uint32_t *known =
        calloc((size_t)in->graph.names.class_count + 1, sizeof(*known)); /* string + 1 */
    bool room = known;

    for (uint32_t object = 1; room && object <= in->graph.count; object++) {
        uint32_t *number = &known[graph_class_number(&in->graph, object)];
        struct class_change *change;
        if (in->dominators.dominators[object] == GRAPH_UNREACHED) continue;
        if (!*number) *number = number_of(changes, &in->graph, object);
        if (!(room = *number)) break;
        change = &changes->all[*number - 1];
        change->objects[dump]++;
        change->bytes[dump] += in->graph.sizes[object];
        if (last) change->fresh += !changes->diff->difference.survived[object];
        if (dump == 0) change->freed += !changes->diff->difference.last[object];
    }
    free(known);
    return room;
}

/* Bytes from the first dump to the last. */
static int64_t
growth_of(const struct class_changes *changes, uint32_t number)
{
    const struct class_change *change = &changes->all[number];

    return (int64_t)(change->bytes[changes->diff->count - 1] - change->bytes[0]);
}

static int
larger_first(const void *a, const void *b, void *data)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    int64_t bytes = growth_of(data, one), others = growth_of(data, other);

    return bytes != others ? (bytes < others ? 1 : -1) : (one > other) - (one < other);
}

static bool
put_in_order(struct class_changes *changes)
{
    size_t last = changes->diff->count - 1;

    changes->order = calloc(changes->capacity + 1, sizeof(*changes->order));
    if (!changes->order) return false;
    for (uint32_t i = 0; i < changes->capacity; i++) {
        const struct class_change *change = &changes->all[i];
        if (change->objects[0] || change->objects[last]) changes->order[changes->count++] = i;
    }
    if (changes->count) {
        qsort_r(changes->order, changes->count, sizeof(*changes->order), larger_first, changes);
    }
    return true;
}

/* ---- as text and JSON ---- */

static void
put_amount(double value, const char *unit, int width)
{
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, value, unit);
    printf("%*s", width, amount);
}

static void
put_text(const struct class_changes *changes, size_t shown)
{
    size_t dumps = changes->diff->count;

    for (size_t i = 0; i < dumps; i++) printf("%10s%zu%10s%zu", "objects ", i + 1, "bytes ", i + 1);
    printf("%11s%11s  class\n", "new", "freed");
    for (size_t i = 0; i < shown; i++) {
        const struct class_change *change = &changes->all[changes->order[i]];
        for (size_t dump = 0; dump < dumps; dump++) {
            put_amount((double)change->objects[dump], "count", 11);
            put_amount((double)change->bytes[dump], "bytes", 11);
        }
        put_amount((double)change->fresh, "count", 11);
        put_amount((double)change->freed, "count", 11);
        fputs("  ", stdout);
        cli_graph_put_class(rb_heapprof_strings_get(&changes->strings, changes->order[i], NULL), 0);
        putchar('\n');
    }
    if (shown < changes->count) cli_graph_put_left(changes->count - shown);
}

static void
put_numbers(struct report_json *json, const char *key, const uint64_t *numbers, size_t count)
{
    report_json_member_begin(json, key, '[');
    for (size_t i = 0; i < count; i++) report_json_unsigned(json, numbers[i]);
    report_json_end(json, ']');
}

static void
put_json(const struct class_changes *changes)
{
    struct report_json json = {.out = stdout};

    report_json_begin(&json, '{');
    report_json_member_text(&json, "inexact", changes->diff->difference.inexact);
    report_json_member_begin(&json, "classes", '[');
    for (size_t i = 0; i < changes->count; i++) {
        const struct class_change *change = &changes->all[changes->order[i]];
        report_json_line(&json);
        report_json_begin(&json, '{');
        report_json_member_text(
            &json, "name", rb_heapprof_strings_get(&changes->strings, changes->order[i], NULL));
        put_numbers(&json, "objects", change->objects, changes->diff->count);
        put_numbers(&json, "bytes", change->bytes, changes->diff->count);
        report_json_member_unsigned(&json, "new", change->fresh);
        report_json_member_unsigned(&json, "freed", change->freed);
        report_json_end(&json, '}');
    }
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putchar('\n');
}

bool
cli_graph_histograms(const struct cli_graph_diff *diff, bool as_json, long limit)
{
    struct class_changes changes = {.diff = diff};
    bool room = true;

    rb_heapprof_mem_init(&changes.mem, SIZE_MAX);
    rb_heapprof_strings_init(&changes.strings, &changes.mem);
    for (size_t i = 0; room && i < diff->count; i++) room = add_dump(&changes, i);
    room = room && put_in_order(&changes);
    if (room && as_json) put_json(&changes);
    else if (room)
        put_text(&changes, limit && (size_t)limit < changes.count ? (size_t)limit : changes.count);
    free(changes.order);
    HEAPPROF_MEM_RELEASE(&changes.mem, changes.all, changes.capacity);
    rb_heapprof_strings_free(&changes.strings);
    return room;
}
