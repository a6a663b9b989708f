/* held.c - which slots of a heap page are held back: a seating plan, with the seats that are given
 * to nobody crossed out. Compiled inside gc.c.
 *
 *     heap page       | slot | slot | slot | slot | slot | slot |
 *     open bits          1      0      0      1      0      1        0: held back
 *     pages of memory |      0      |      1      |      2      |
 *
 * A page has an entry here from its first slot that is held back to its last.
 *
 * Two kinds of slots are held back: dead objects, which come back some day
 * (profiler/dead_objects.h), and fillers between objects that are each alone on a page of memory
 * (alone.c). Walks over the heap see a T_ZOMBIE, which is nobody's, and for a filler a free slot.
 *
 * While a page is swept, slots that are held back count as marked: so the sweep does not look at
 * them, and they may stay inaccessible.
 *
 *   I1  all[i].page->heapprof.held == i, or all[i] is free. all[0] is not used.
 *   I2  the open bits are set only where a slot begins.
 *   I3  count is the number of slots that are held back.
 *
 * In a GC, or under the VM lock. Memory comes from base/mem.c.
 */
#include "gc/quarantine/quarantine.h"

struct held_page {
    struct heap_page *page;                /* NULL: the entry is free */
    bits_t   open[HEAP_PAGE_BITMAP_LIMIT]; /* slots that are not held back */
    uint32_t count;                        /* slots that are */
    uint32_t next_free;                    /* of a free entry; 0: there is none */
    uint32_t covered;                      /* pages of memory that are inaccessible (cover.c) */
    uint32_t ranges;                       /* of such pages next to each other, when last counted */
};

static struct {
    struct held_page *all;
    size_t   capacity;
    uint32_t end, first_free;
} held_pages;

/* NULL: no slot of the page is held back. Good until the next held_begin. */
HEAPPROF_COLD static struct held_page *
held_of(const struct heap_page *page)
{
    return page->heapprof.held ? &held_pages.all[page->heapprof.held] : NULL;
}

HEAPPROF_COLD static uint32_t
new_held_entry(void)
{
    uint32_t entry = held_pages.first_free;

    if (entry) {
        held_pages.first_free = held_pages.all[entry].next_free;
        return entry;
    }
    entry = held_pages.end ? held_pages.end : 1;
    if (!HEAPPROF_MEM_GROW(&rb_heapprof.mem, held_pages.all, held_pages.capacity,
                           (size_t)entry + 1)) return 0;
    held_pages.end = entry + 1;
    return entry;
}

/* The entry of a page, made if there is none. NULL when memory is refused. */
HEAPPROF_COLD static struct held_page *
held_begin(struct heap_page *page)
{
    uint32_t entry = page->heapprof.held ? 0 : new_held_entry();

    if (!entry) return held_of(page);
    held_pages.all[entry] = (struct held_page){ .page = page };
    page->heapprof.held = entry;
    for (int i = 0; i < page->total_slots; i++)
        MARK_IN_BITMAP(held_pages.all[entry].open, page->start + (size_t)i * page->slot_size);
    return held_of(page);
}

HEAPPROF_COLD static void
held_end_if_empty(struct held_page *held)
{
    uint32_t entry = held->page->heapprof.held;

    if (held->count > 0) return;
    held->page->heapprof.held = 0;
    *held = (struct held_page){ .next_free = held_pages.first_free };
    held_pages.first_free = entry;
}

/* When nothing is held back any more. */
HEAPPROF_COLD static void
held_free(void)
{
    HEAPPROF_MEM_RELEASE(&rb_heapprof.mem, held_pages.all, held_pages.capacity);
    held_pages.end = held_pages.first_free = 0;
}

HEAPPROF_COLD static bool
slot_held_p(const struct held_page *held, VALUE slot)
{
    return held && !MARKED_IN_BITMAP(held->open, slot);
}

HEAPPROF_COLD static bool
rb_heapprof_quarantine_held_p(const struct heap_page *page, VALUE slot)
{
    return slot_held_p(held_of(page), slot);
}

/* The slot is in no free list. */
HEAPPROF_COLD static void
hold_slot(struct held_page *held, VALUE slot)
{
    CLEAR_IN_BITMAP(held->open, slot);
    held->count++;
}

/* Gives the slot to the free list of its page. It is accessible. */
HEAPPROF_COLD static void
give_slot_back(struct held_page *held, VALUE slot)
{
    MARK_IN_BITMAP(held->open, slot);
    held->count--;
    heap_page_add_freeobj(rb_gc_get_objspace(), held->page, slot);
    held->page->free_slots++;
}

/* Hides them from the sweep that begins, and shows them again. */
HEAPPROF_COLD static void
mark_held(const struct held_page *held)
{
    for (int i = 0; i < HEAP_PAGE_BITMAP_LIMIT; i++) held->page->mark_bits[i] |= ~held->open[i];
}

HEAPPROF_COLD static void
unmark_held(const struct held_page *held)
{
    for (int i = 0; i < HEAP_PAGE_BITMAP_LIMIT; i++) held->page->mark_bits[i] &= held->open[i];
}

/* Calls slot_i for each slot that has a bit. */
HEAPPROF_COLD static void
each_slot(const struct heap_page *page, const bits_t bits[HEAP_PAGE_BITMAP_LIMIT],
          void (*slot_i)(VALUE slot, void *data), void *data)
{
    size_t first = NUM_IN_PAGE(page->start);

    for (int i = 0; i < HEAP_PAGE_BITMAP_LIMIT; i++) {
        for (bits_t rest = bits[i]; rest; rest &= rest - 1) {
            size_t number = (size_t)i * BITS_BITLENGTH + (size_t)ntz_intptr(rest);
            slot_i(page->start + (number - first) * BASE_SLOT_SIZE, data);
        }
    }
}
