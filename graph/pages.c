/* pages.c - counts a page when the next page begins, because one page may be spread over
 * several records. */
#include "graph/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES_MOST (1 << 24)

/* ---- a page that has been read ---- */

/* Returns NULL if there are too many slot sizes. */
static struct graph_pool *
pool_of(struct graph_pages *pages, uint32_t slot_bytes)
{
    uint32_t at = 0;

    while (at < pages->pool_count && pages->pools[at].slot_bytes < slot_bytes) at++;
    if (at < pages->pool_count && pages->pools[at].slot_bytes == slot_bytes)
        return &pages->pools[at];
    if (pages->pool_count == GRAPH_POOLS) return NULL;
    memmove(&pages->pools[at + 1], &pages->pools[at],
            (pages->pool_count++ - at) * sizeof(*pages->pools));
    pages->pools[at] = (struct graph_pool){.slot_bytes = slot_bytes};
    return &pages->pools[at];
}

static bool
add_pins(struct graph_pages *pages)
{
    if (!GRAPH_SPACE_GROW(&pages->space, pages->pins, pages->pin_capacity,
                          pages->names.class_count)) return false;
    pages->sparse_pages++;
    for (uint32_t i = 0; i < pages->object_count; i++) {
        struct graph_pin *pin = &pages->pins[pages->classes[i]];
        pin->objects++;
        pin->pages += pin->last_page != pages->sparse_pages;
        pin->last_page = pages->sparse_pages;
    }
    return true;
}

static bool
end_page(struct graph_pages *pages)
{
    struct graph_pool *pool;
    uint32_t slots, tenth;

    if (!pages->address || !(pool = pool_of(pages, pages->slot_bytes))) return true;
    slots = pages->page_bytes / pages->slot_bytes;
    if (slots < pages->object_count) slots = pages->object_count;
    tenth = slots ? (uint32_t)(((uint64_t)pages->object_count * GRAPH_FILLINGS + slots - 1) / slots)
                  : 1;
    pool->pages++;
    pool->objects += pages->object_count;
    pool->slots += slots;
    pool->filled[tenth ? tenth - 1 : 0]++;
    return tenth > 1 || add_pins(pages);
}

/* ---- the dump ---- */

static bool
on_fact(void *data, bool footer, struct heapprof_dump_text key, struct heapprof_dump_text value)
{
    struct graph_pages *pages = data;
    uint64_t number = 0;

    if (footer || key.length != 10 || memcmp(key.bytes, "page_bytes", 10)) return true;
    for (size_t i = 0; i < value.length && value.bytes[i] >= '0' && value.bytes[i] <= '9' &&
         number <= PAGE_BYTES_MOST; i++) {
        number = number * 10 + (uint64_t)(value.bytes[i] - '0');
    }
    if (number > 0 && number <= PAGE_BYTES_MOST) pages->page_bytes = (uint32_t)number;
    return true;
}

static bool
on_page(void *data, uint64_t address, uint32_t slot_bytes, uint64_t count)
{
    struct graph_pages *pages = data;

    (void)count;
    if (address == pages->address) return true;
    if (!end_page(pages)) return false;
    pages->address = address;
    pages->slot_bytes = slot_bytes;
    pages->object_count = 0;
    return true;
}

static bool
on_object(void *data, const struct heapprof_dump_read_object *object)
{
    struct graph_pages *pages = data;

    if (!GRAPH_SPACE_GROW(&pages->space, pages->classes, pages->class_capacity,
                          (size_t)pages->object_count + 1)) return false;
    pages->classes[pages->object_count++] = pages->names.layouts[object->layout].class_number;
    return true;
}

static int
more_pages(const void *a, const void *b)
{
    const struct graph_pin *one = a, *other = b;

    if (one->pages != other->pages) return one->pages < other->pages ? 1 : -1;
    if (one->objects != other->objects) return one->objects < other->objects ? 1 : -1;
    return (one->class_number > other->class_number) - (one->class_number < other->class_number);
}

static bool
finish(struct graph_pages *pages)
{
    if (!end_page(pages)) return false;
    for (uint32_t i = 0; i < pages->names.class_count && i < pages->pin_capacity; i++) {
        struct graph_pin *pin = &pages->pins[i];
        pin->class_number = i;
        if (pin->objects) pages->pins[pages->pin_count++] = *pin;
    }
    if (pages->pin_count) qsort(pages->pins, pages->pin_count, sizeof(*pages->pins), more_pages);
    return true;
}

bool
graph_pages_read(struct graph_pages *pages, heapprof_dump_more_i *more, void *data,
                 size_t limit_bytes, bool *complete, char error[HEAPPROF_DUMP_ERROR_MAX])
{
    struct heapprof_dump_visitor visitor = {
        .data = pages, .fact = on_fact, .string = graph_names_on_string,
        .layout = graph_names_on_layout, .page = on_page, .object = on_object,
    };
    enum heapprof_dump_result result;

    memset(pages, 0, sizeof(*pages));
    pages->page_bytes = 1 << 16;
    graph_space_init(&pages->space, limit_bytes);
    snprintf(error, HEAPPROF_DUMP_ERROR_MAX, "no memory");
    if (!graph_names_init(&pages->names, &pages->space)) return false;
    result = rb_heapprof_dump_read(more, data, &visitor, error);
    *complete = result == HEAPPROF_DUMP_COMPLETE;
    if (result != HEAPPROF_DUMP_COMPLETE && result != HEAPPROF_DUMP_INCOMPLETE) return false;
    if (finish(pages)) return true;
    snprintf(error, HEAPPROF_DUMP_ERROR_MAX, "no memory");
    return false;
}

void
graph_pages_free(struct graph_pages *pages)
{
    GRAPH_SPACE_RELEASE(&pages->space, pages->pins, pages->pin_capacity);
    GRAPH_SPACE_RELEASE(&pages->space, pages->classes, pages->class_capacity);
    graph_names_free(&pages->names);
    graph_space_free(&pages->space);
}
