/* alone.c - gives each object a page of memory for itself, as a hotel that lets one room on each
 * floor. Compiled inside gc.c.
 *
 * If dead objects are covered page by page (cover.c), an object has to be alone on its page, or it
 * could not be covered before its neighbours are dead. So of a heap page's free slots only one on
 * each page of memory stays in the free list. The rest are fillers, held back as long as the run
 * goes on.
 *
 *     pages of memory | header ...  | slot  . . . | . slot  . . . | . slot . .
 *                       fillers       |             |               |
 *     free list                       o-----------> o-------------> o
 *
 * Objects that were there before the start are where they are.
 *
 * MRI does not count fillers: neither as slots nor as objects. So GCs come after as many new
 * objects as otherwise, and GC.stat tells how many slots there really are for objects.
 *
 * An object of 40 bytes takes 4 KB. There is a limit (os/memory_limit.h): heap pages beyond it are
 * as always. Objects there are covered when all objects on their page of memory are dead.
 *
 * In a GC, or under the VM lock.
 */
#include "gc/quarantine/quarantine.h"
#include "os/memory_limit.h"

#define MEMORY_SHARE 4 /* of the memory that the process may have, a quarter is given so */

static struct {
    uint64_t bytes, most; /* of heap pages whose objects are alone */
} alone;

struct overlap {
    const struct heap_page *page;
    VALUE except;
    uint32_t pages;
};

HEAPPROF_COLD static void
overlap_i(VALUE slot, void *data)
{
    struct overlap *overlap = data;
    if (slot != overlap->except) overlap->pages |= memory_pages_of(overlap->page, slot);
}

/* Whether the slot is on one page of memory, which is not the header's, and no other slot with a
 * part of that page is in use. */
HEAPPROF_COLD static bool
alone_p(const struct held_page *held, VALUE slot)
{
    struct overlap others = { .page = held->page, .except = slot, .pages = 1 };
    uint32_t pages = memory_pages_of(held->page, slot);

    each_slot(held->page, held->open, overlap_i, &others);
    return (pages & (pages - 1)) == 0 && !(pages & others.pages);
}

/* Pages of memory with slots that are not free, and that of the header. */
HEAPPROF_COLD static uint32_t
pages_in_use(const struct held_page *held)
{
    bits_t used[HEAP_PAGE_BITMAP_LIMIT];

    memcpy(used, held->open, sizeof(used));
    for (const struct free_slot *slot = held->page->freelist; slot; slot = slot->next)
        CLEAR_IN_BITMAP(used, (VALUE)slot);
    return memory_pages_of_bits(held->page, used) | 1;
}

/* Leaves one free slot on each page of memory in the free list. Returns how many it takes away. */
HEAPPROF_COLD static int
thin_free_list(struct held_page *held)
{
    struct free_slot **link = &held->page->freelist;
    uint32_t taken = pages_in_use(held);
    int fillers = 0;

    while (*link) {
        VALUE slot = (VALUE)*link;
        uint32_t pages = memory_pages_of(held->page, slot);
        if ((pages & (pages - 1)) == 0 && !(pages & taken)) {
            taken |= pages;
            link = &(*link)->next;
            continue;
        }
        *link = (*link)->next;
        hold_slot(held, slot);
        fillers++;
    }
    return fillers;
}

/* Makes objects to come on that heap page be alone. Returns the number of fillers. The page's count
 * of free slots is 0 if a ractor had its free list. */
HEAPPROF_COLD static int
keep_apart(struct heap_page *page)
{
    page->heapprof.alone = false;
    struct held_page *held =
        covers.by_page && alone.bytes + HEAP_PAGE_SIZE <= alone.most ? held_begin(page) : NULL;

    if (!held) return 0;
    int fillers = thin_free_list(held);
    page->heapprof.alone = true;
    alone.bytes += HEAP_PAGE_SIZE;
    page->free_slots -= page->free_slots > 0 ? fillers : 0;
    page->heap->total_slots -= fillers;
    held_end_if_empty(held);
    return fillers;
}

/* MRI takes all slots of the page from those that it may still add. */
HEAPPROF_COLD static void
rb_heapprof_quarantine_added(struct heap_page *page)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    begin_change();
    objspace->heap_pages.allocatable_slots += keep_apart(page);
    end_change();
}

/* Gives a slot back, unless an object there would not be alone: then it becomes a filler. It is
 * accessible. */
HEAPPROF_COLD static void
give_back_or_fill(struct held_page *held, VALUE slot)
{
    struct heap_page *page = held->page;

    page->heap->total_freed_objects++;
    if (!page->heapprof.alone || alone_p(held, slot)) {
        give_slot_back(held, slot);
        return;
    }
    RBASIC(slot)->flags = T_NONE;
    page->heap->total_slots--;
}

/* ---- on and off ---- */

/* The list of pages of a heap, without those that have no free slot any more. */
HEAPPROF_COLD static void
drop_full_pages(struct heap_page **link)
{
    while (*link) {
        if ((*link)->freelist) link = &(*link)->free_next;
        else *link = (*link)->free_next;
    }
}

HEAPPROF_COLD static void
keep_apart_i(const struct heap_page *page, void *unused)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    if (page->total_slots > 0)
        objspace->heap_pages.allocatable_slots += keep_apart((struct heap_page *)page);
}

/* Free lists of ractors go back to their pages first. MRI may add as many slots as it loses. */
HEAPPROF_COLD static void
alone_start(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    alone.bytes = 0;
    alone.most = rb_heapprof_memory_limit() / MEMORY_SHARE;
    if (!covers.by_page) return;
    rb_gc_ractor_newobj_cache_foreach(gc_ractor_newobj_cache_clear, NULL);
    walk_pages(keep_apart_i, NULL);
    for (int i = 0; i < HEAP_COUNT; i++) {
        drop_full_pages(&heaps[i].free_pages);
        drop_full_pages(&heaps[i].pooled_pages);
    }
}

HEAPPROF_COLD static void
give_filler_back_i(VALUE slot, void *data)
{
    struct held_page *held = data;

    give_slot_back(held, slot);
    held->page->heap->total_slots++;
}

HEAPPROF_COLD static void
forget_alone_i(const struct heap_page *page, void *unused)
{
    ((struct heap_page *)page)->heapprof.alone = false;
}

/* When all dead objects are let go. */
HEAPPROF_COLD static void
alone_stop(void)
{
    for (uint32_t i = 1; i < held_pages.end; i++) {
        struct held_page *held = &held_pages.all[i];
        bits_t fillers[HEAP_PAGE_BITMAP_LIMIT] = { 0 };
        if (!held->page) continue;
        for (int n = 0; n < held->page->total_slots; n++) {
            VALUE slot = held->page->start + (size_t)n * held->page->slot_size;
            if (slot_held_p(held, slot)) MARK_IN_BITMAP(fillers, slot);
        }
        each_slot(held->page, fillers, give_filler_back_i, held);
        held_end_if_empty(held);
    }
}
