/* arrivals.c - counts the new objects of a difference by row and class. */
#include "graph/arrivals.h"

#include <stdlib.h>

#include "graph/terms.h"
#include "report/text.h"

#define CLASSES_MOST 3 /* of a row that are named */

static uint64_t
hash_of(uint32_t row, uint32_t class_number)
{
    return rb_heapprof_index_hash((uint64_t)row << 32 | class_number);
}

static uint64_t
hash_arrival(const void *owner, uint32_t number)
{
    const struct graph_arrival *arrival = &((const struct graph_arrivals *)owner)->all[number - 1];

    return hash_of(arrival->row, arrival->class_number);
}

/* Returns NULL if there is no memory. */
static struct graph_arrival *
find_or_add(struct graph_arrivals *arrivals, uint32_t row, uint32_t class_number)
{
    uint64_t hash = hash_of(row, class_number);
    uint32_t number;

    for (uint64_t at = hash; (number = rb_heapprof_index_at(&arrivals->index, at)) != 0; at++) {
        struct graph_arrival *arrival = &arrivals->all[number - 1];
        if (arrival->row == row && arrival->class_number == class_number) return arrival;
    }
    if (!HEAPPROF_MEM_GROW(&arrivals->mem, arrivals->all, arrivals->capacity,
                           (size_t)arrivals->count + 1) ||
        !rb_heapprof_index_reserve(&arrivals->index, &arrivals->mem, arrivals->count, hash_arrival,
                                   arrivals)) return NULL;
    arrivals->all[arrivals->count++] =
        (struct graph_arrival){ .row = row, .class_number = class_number };
    rb_heapprof_index_insert(&arrivals->index, hash, arrivals->count);
    return &arrivals->all[arrivals->count - 1];
}

static int
in_order(const void *a, const void *b)
{
    const struct graph_arrival *one = a, *other = b;

    if (one->row != other->row) return one->row < other->row ? -1 : 1;
    if (one->rank != other->rank) return one->rank < other->rank ? -1 : 1;
    if (one->bytes != other->bytes) return one->bytes < other->bytes ? 1 : -1;
    return (one->class_number > other->class_number) - (one->class_number < other->class_number);
}

static const char *
class_of(const struct graph *last, const struct graph_arrival *arrival)
{
    return graph_string(&last->names, last->names.classes[arrival->class_number].name);
}

static void
put_in_order(struct graph_arrivals *arrivals, const struct graph_difference *difference,
             const struct graph *last)
{
    for (uint32_t i = 0; i < arrivals->count; i++) {
        struct graph_arrival *arrival = &arrivals->all[i];
        uint32_t fresh = difference->all[arrival->row].fresh;
        bool held = fresh && graph_class_number(last, fresh) == arrival->class_number;
        arrival->rank = held ? 0 : graph_term(class_of(last, arrival)) ? 2 : 1;
    }
    if (arrivals->count) qsort(arrivals->all, arrivals->count, sizeof(*arrivals->all), in_order);
}

bool
graph_arrivals_make(struct graph_arrivals *arrivals, const struct graph_difference *difference,
                    const struct graph *last)
{
    *arrivals = (struct graph_arrivals){0};
    rb_heapprof_mem_init(&arrivals->mem, SIZE_MAX);
    for (uint32_t object = 1; object <= last->count; object++) {
        uint32_t row = difference->rows[object];
        struct graph_arrival *arrival;
        if (!row || difference->survived[object]) continue;
        arrival = find_or_add(arrivals, row - 1, graph_class_number(last, object));
        if (!arrival) return false;
        arrival->objects++;
        arrival->bytes += last->sizes[object];
    }
    rb_heapprof_index_release(&arrivals->index, &arrivals->mem);
    put_in_order(arrivals, difference, last);
    return true;
}

void
graph_arrivals_free(struct graph_arrivals *arrivals)
{
    rb_heapprof_index_release(&arrivals->index, &arrivals->mem);
    HEAPPROF_MEM_RELEASE(&arrivals->mem, arrivals->all, arrivals->capacity);
}

/* The first entry of a row, or of a later one. */
static uint32_t
find_first(const struct graph_arrivals *arrivals, uint32_t row)
{
    uint32_t low = 0, high = arrivals->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (arrivals->all[middle].row < row) low = middle + 1;
        else high = middle;
    }
    return low;
}

void
graph_put_arrivals(FILE *out, const struct graph_arrivals *arrivals, const struct graph *last,
                   uint32_t row)
{
    uint32_t first = find_first(arrivals, row), end = first, shown;
    uint64_t others = 0;
    char amount[REPORT_AMOUNT_MAX];

    while (end < arrivals->count && arrivals->all[end].row == row) end++;
    shown = end - first > CLASSES_MOST ? first + CLASSES_MOST : end;
    for (uint32_t i = first; i < shown; i++) {
        const struct graph_arrival *arrival = &arrivals->all[i];
        const char *before = i == first ? "" : i + 1 == end ? " and " : ", ";
        fputs(before, out);
        graph_put_counted(out, arrival->objects, i == first ? "new " : "", class_of(last, arrival));
    }
    for (uint32_t i = shown; i < end; i++) others += arrivals->all[i].objects;
    if (!others) return;
    report_amount(amount, (double)others, "count");
    fprintf(out, " and %s other%s", amount, others == 1 ? "" : "s");
}
