/* duplicates.c - one entry for each combination of hash, class and size. */
#include "graph/duplicates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t
hash_of(uint64_t hash, uint64_t bytes, uint32_t class_number)
{
    return rb_heapprof_index_hash(hash + bytes + class_number);
}

static uint64_t
hash_duplicate(const void *owner, uint32_t number)
{
    const struct graph_duplicates *duplicates = owner;
    const struct graph_duplicate *duplicate = &duplicates->all[number - 1];

    return hash_of(duplicate->hash, duplicate->bytes, duplicate->class_number);
}

/* Returns NULL if there is no memory. */
static struct graph_duplicate *
find_or_add(struct graph_duplicates *duplicates, uint64_t content, uint64_t bytes,
            uint32_t class_number)
{
    uint64_t hash = hash_of(content, bytes, class_number);
    struct graph_duplicate *found;
    uint32_t number;

    for (uint64_t probe = hash; (number = rb_heapprof_index_at(&duplicates->index, probe)) != 0;
         probe++) {
        found = &duplicates->all[number - 1];
        if (found->hash == content && found->bytes == bytes &&
            found->class_number == class_number) return found;
    }
    if (!GRAPH_SPACE_GROW(&duplicates->space, duplicates->all, duplicates->capacity,
                          (size_t)duplicates->count + 1) ||
        !rb_heapprof_index_reserve(&duplicates->index, &duplicates->index_mem, duplicates->count,
                                   hash_duplicate, duplicates)) return NULL;
    found = &duplicates->all[duplicates->count++];
    *found =
        (struct graph_duplicate){ .hash = content, .bytes = bytes, .class_number = class_number };
    rb_heapprof_index_insert(&duplicates->index, hash, duplicates->count);
    return found;
}

static bool
on_object(void *data, const struct heapprof_dump_read_object *object)
{
    struct graph_duplicates *duplicates = data;
    struct graph_duplicate *duplicate;

    if (!(object->bits & HEAPPROF_DUMP_HASHED)) return true;
    duplicate = find_or_add(duplicates, object->hash, object->slot_bytes + object->external,
                            duplicates->names.layouts[object->layout].class_number);
    if (!duplicate) return false;
    duplicates->objects++;
    if (!duplicate->objects++) duplicate->example = object->address;
    if (!duplicate->text) duplicate->text = object->text;
    if (!duplicate->stack) duplicate->stack = object->stack;
    return true;
}

static bool
begin(struct graph_duplicates *duplicates, size_t limit_bytes)
{
    memset(duplicates, 0, sizeof(*duplicates));
    graph_space_init(&duplicates->space, limit_bytes);
    rb_heapprof_mem_init(&duplicates->index_mem, SIZE_MAX);
    return graph_names_init(&duplicates->names, &duplicates->space);
}

bool
graph_duplicates_read(struct graph_duplicates *duplicates, heapprof_dump_more_i *more,
                      void *data,
                      size_t limit_bytes, bool *complete, char error[HEAPPROF_DUMP_ERROR_MAX])
{
    struct heapprof_dump_visitor visitor = {
        .data = duplicates, .string = graph_names_on_string, .stack = graph_names_on_stack,
        .layout = graph_names_on_layout, .object = on_object,
    };
    enum heapprof_dump_result result;

    snprintf(error, HEAPPROF_DUMP_ERROR_MAX, "no memory");
    if (!begin(duplicates, limit_bytes)) return false;
    result = rb_heapprof_dump_read(more, data, &visitor, error);
    *complete = result == HEAPPROF_DUMP_COMPLETE;
    return result == HEAPPROF_DUMP_COMPLETE || result == HEAPPROF_DUMP_INCOMPLETE;
}

bool
graph_duplicates_find(struct graph_duplicates *duplicates, const struct graph *graph,
                      size_t limit_bytes, uint32_t *contents)
{
    if (!begin(duplicates, limit_bytes)) return false;
    for (uint32_t object = 1; object <= graph->count; object++) {
        struct graph_duplicate *duplicate;
        if (!(graph->bits[object] & HEAPPROF_DUMP_HASHED)) continue;
        duplicate = find_or_add(duplicates, graph->hashes[object], graph->sizes[object],
                                graph_class_number(graph, object));
        if (!duplicate) return false;
        duplicates->objects++;
        if (!duplicate->objects++) duplicate->example = graph_address(graph, object);
        contents[object] = (uint32_t)(duplicate - duplicates->all) + 1;
    }
    return true;
}

uint64_t
graph_all_wasted(const struct graph_duplicates *duplicates)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < duplicates->count; i++) bytes += graph_wasted(&duplicates->all[i]);
    return bytes;
}

void
graph_duplicates_free(struct graph_duplicates *duplicates)
{
    graph_names_free(&duplicates->names);
    GRAPH_SPACE_RELEASE(&duplicates->space, duplicates->all, duplicates->capacity);
    rb_heapprof_index_release(&duplicates->index, &duplicates->index_mem);
    graph_space_free(&duplicates->space);
}

static int
more_wasted(const void *a, const void *b)
{
    const struct graph_duplicate *one = a, *other = b;
    uint64_t bytes = graph_wasted(one), others = graph_wasted(other);

    if (bytes != others) return bytes < others ? 1 : -1;
    return (one->example > other->example) - (one->example < other->example);
}

void
graph_duplicates_sort(struct graph_duplicates *duplicates)
{
    if (duplicates->count)
        qsort(duplicates->all, duplicates->count, sizeof(*duplicates->all), more_wasted);
}
