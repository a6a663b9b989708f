/* sweep.c - pages of the heap that are yet to be swept.
 *
 *     address --its upper bits--> page --first word--> header: before_sweep, marks --a bit-->
 *     marked
 *
 * Pages are read with one system call for many, because threads may be stopped meanwhile. Asking
 * whether a million objects are marked takes as long as copying their samples, so it is done
 * later. */
#include "attach/sweep.h"

#include <string.h>

enum {
    MARK_BYTES = 1024, HEADER_BYTES = 16384,
    AT_ONCE = 512 /* pages */
};

bool
attach_sweep_fill(struct attach_sweep *sweep, const struct attach_layout *layout,
                  char error[ATTACH_TARGET_ERROR_MAX])
{
#define WANT(kind, member, name) ATTACH_WANT_##kind(struct attach_sweep_places, member, name)
    static const struct attach_want wants[] = {
        WANT(NUMBER, mode, "rb_objspace_t.flags.mode"),
        WANT(TYPE, header_bytes, "heap_page"),
        WANT(NUMBER, before_sweep, "heap_page.flags.before_sweep"),
        ATTACH_WANT_BYTES(struct attach_sweep_places, marks, "heap_page.mark_bits", 1),
        WANT(NUMBER, heap, "heap_page.heap"),
        WANT(NUMBER, sweeping_page, "rb_heap_t.sweeping_page"),
        WANT(CONSTANT, page_bytes, "HEAP_PAGE_SIZE"),
        WANT(CONSTANT, slot_bytes, "BASE_SLOT_SIZE"),
        WANT(CONSTANT, sweeping, "gc_mode_sweeping"),
    };
#undef WANT
    struct attach_sweep_places *places = &sweep->places;

    if (!attach_layout_fill(layout, wants, sizeof(wants) / sizeof(*wants), places, error))
        return false;
    while (sweep->page_bits < 31 && (int64_t)1 << sweep->page_bits < places->page_bytes)
        sweep->page_bits++;
    return true;
}

bool
attach_sweep_good_p(const struct attach_sweep *sweep)
{
    const struct attach_sweep_places *places = &sweep->places;

    return places->marks.size <= MARK_BYTES && places->header_bytes <= HEADER_BYTES &&
           places->page_bytes >= 4096 && places->page_bytes == (int64_t)1 << sweep->page_bits &&
           places->slot_bytes > 0 && places->slot_bytes <= places->page_bytes;
}

/* ---- the pages of addresses ---- */

static uint64_t
page_hash(const void *owner, uint32_t number)
{
    const struct attach_sweep *sweep = owner;

    return rb_heapprof_index_hash(sweep->pages[number].address);
}

/* Returns 0 if it is not there. */
static uint32_t
find(struct attach_sweep *sweep, uint64_t page)
{
    uint32_t number;

    if (sweep->last && sweep->pages[sweep->last].address == page) return sweep->last;
    for (uint64_t probe = rb_heapprof_index_hash(page);
         (number = rb_heapprof_index_at(&sweep->index, probe)) != 0; probe++) {
        if (sweep->pages[number].address == page) break;
    }
    sweep->last = number;
    return number;
}

static uint64_t
page_of(const struct attach_sweep *sweep, uint64_t address)
{
    return address >> sweep->page_bits << sweep->page_bits;
}

/* Returns false without memory. */
static bool
add(struct attach_sweep *sweep, struct heapprof_mem *mem, uint64_t page)
{
    size_t marks_bytes = sweep->places.marks.size;

    if (find(sweep, page)) return true;
    if (!HEAPPROF_MEM_GROW(mem, sweep->pages, sweep->capacity, (size_t)sweep->count + 1) ||
        !HEAPPROF_MEM_GROW(mem, sweep->marks, sweep->marks_capacity,
                           ((size_t)sweep->count + 1) * marks_bytes) ||
        !rb_heapprof_index_reserve(&sweep->index, mem, sweep->count, page_hash, sweep))
        return false;
    sweep->pages[sweep->count] = (struct attach_sweep_page){.address = page};
    rb_heapprof_index_insert(&sweep->index, rb_heapprof_index_hash(page), sweep->count);
    sweep->last = sweep->count++;
    return true;
}

static bool
add_all(struct attach_sweep *sweep, struct heapprof_mem *mem,
        const struct heapprof_address_table *addresses)
{
    uint64_t before = 0; /* many that follow each other are of one page */

    for (uint32_t entry = 1; entry < addresses->numbers.end; entry++) {
        uint64_t page = page_of(sweep, rb_heapprof_address_table_address(addresses, entry));
        if (page == before) continue;
        if (page && !add(sweep, mem, page)) return false;
        before = page;
    }
    return true;
}

/* ---- what they say ---- */

/* Reads each by itself if they cannot be read at once. 0 stands for one that cannot be read at
 * all. */
static void
read_all(struct attach_vm *vm, const struct attach_range *ranges, size_t count)
{
    if (attach_target_read_all(vm->target, ranges, count)) return;
    for (size_t i = 0; i < count; i++) {
        if (!attach_target_read(vm->target, ranges[i].address, ranges[i].to, ranges[i].bytes)) {
            memset(ranges[i].to, 0, ranges[i].bytes);
        }
    }
}

/* True if the page is being swept. Then its flag is no longer set, although it has not been
 * swept. */
static bool
being_swept_p(struct attach_sweep *sweep, struct attach_vm *vm, uint64_t heap, uint64_t header)
{
    if (heap != sweep->heap) {
        sweep->heap = heap;
        if (!attach_vm_get(vm, heap, &sweep->places.sweeping_page, &sweep->sweeping_page))
            sweep->sweeping_page = 0;
    }
    return header && header == sweep->sweeping_page;
}

static void
read_pages(struct attach_sweep *sweep, struct attach_vm *vm, uint32_t first, uint32_t count)
{
    const struct attach_sweep_places *places = &sweep->places;
    struct attach_range ranges[AT_ONCE] = {{0}};

    for (uint32_t i = 0; i < count; i++) {
        struct attach_sweep_page *page = &sweep->pages[first + i];
        ranges[i] = (struct attach_range){page->address, &page->header, sizeof(page->header)};
    }
    read_all(vm, ranges, count);
    for (uint32_t i = 0; i < count; i++) {
        ranges[i] = (struct attach_range){ sweep->pages[first + i].header,
                                            sweep->headers + (size_t)i * places->header_bytes,
                                            places->header_bytes };
    }
    read_all(vm, ranges, count);
    for (uint32_t i = 0; i < count; i++) {
        struct attach_sweep_page *page = &sweep->pages[first + i];
        const unsigned char *header = ranges[i].to;
        page->before_sweep =
            attach_field_get(&places->before_sweep, header) ||
            being_swept_p(sweep, vm, attach_field_get(&places->heap, header), page->header);
        memcpy(sweep->marks + (size_t)(first + i) * places->marks.size,
               header + places->marks.offset, places->marks.size);
    }
}

/* ---- a look ---- */

bool
attach_sweep_begin(struct attach_sweep *sweep, struct attach_vm *vm, struct heapprof_mem *mem)
{
    uint64_t mode;

    sweep->count = 1;
    sweep->last = 0;
    sweep->heap = 0;
    rb_heapprof_index_clear(&sweep->index, mem, 0);
    if (!attach_vm_get(vm, attach_vm_objspace(vm), &sweep->places.mode, &mode)) return false;
    sweep->sweeping = mode == (uint64_t)sweep->places.sweeping;
    return true;
}

bool
attach_sweep_look(struct attach_sweep *sweep, struct attach_vm *vm, struct heapprof_mem *mem,
                  const struct heapprof_address_table *addresses)
{
    uint32_t first = sweep->count;

    if (!sweep->sweeping) return true;
    if (!HEAPPROF_MEM_GROW(mem, sweep->headers, sweep->headers_capacity,
                           (size_t)AT_ONCE * sweep->places.header_bytes) ||
        !add_all(sweep, mem, addresses))
        return false;
    for (uint32_t count; first < sweep->count; first += count) {
        count = sweep->count - first < AT_ONCE ? sweep->count - first : AT_ONCE;
        read_pages(sweep, vm, first, count);
    }
    return true;
}

/* ---- afterwards ---- */

static bool
marked_p(const struct attach_sweep *sweep, uint32_t page, uint64_t address)
{
    uint32_t bit = (uint32_t)(address - sweep->pages[page].address) /
                   (uint32_t)sweep->places.slot_bytes; /* of 64 bits it takes longer */
    uint64_t word;

    if (bit / 64 * 8 + sizeof(word) > sweep->places.marks.size) return true;
    memcpy(&word, sweep->marks + (size_t)page * sweep->places.marks.size + bit / 64 * 8,
           sizeof(word));
    return word >> bit % 64 & 1;
}

bool
attach_sweep_dead_p(struct attach_sweep *sweep, uint64_t address)
{
    uint32_t page = sweep->sweeping ? find(sweep, page_of(sweep, address)) : 0;

    return page && sweep->pages[page].before_sweep && !marked_p(sweep, page, address);
}

void
attach_sweep_free(struct attach_sweep *sweep, struct heapprof_mem *mem)
{
    rb_heapprof_index_release(&sweep->index, mem);
    HEAPPROF_MEM_RELEASE(mem, sweep->pages, sweep->capacity);
    HEAPPROF_MEM_RELEASE(mem, sweep->marks, sweep->marks_capacity);
    HEAPPROF_MEM_RELEASE(mem, sweep->headers, sweep->headers_capacity);
}
