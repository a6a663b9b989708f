/* quarantine.c - which slots are held back, and for how long. Compiled inside gc.c.
 *
 *     before a page is swept    what is known of its dead is noted by slot (page_notes)
 *     after                     the slots that the sweep put at the head of the page's free list
 *                               are taken off again (held.c), and made inaccessible (cover.c)
 *     an object is finalized    likewise its slot
 *     a GC begins               the oldest slots go back to the free lists of their pages, until
 *                               no more bytes are held than the limit
 *
 *     the process ends          what is held back stays so, but is accessible
 *
 * What compaction has moved away from is a slot, too, and is held back like the others.
 *
 * In a GC, or with all ractors stopped. Memory comes from base/mem.c; if it is refused, the slot is
 * not held back.
 */
#include "gc/quarantine/quarantine.h"
#include "gc/interpreter.h"

bool rb_heapprof_quarantine_on;
static bool holding_ended; /* the process ends: nothing new is held back, and nothing let go */

/* Flags that say that other tables know the object. The rest stays, such as whether a String is
 * embedded, so that a program that uses it goes on. */
#define NOT_KEPT \
    ((VALUE)(RUBY_T_MASK | FL_FINALIZE | FL_SEEN_OBJ_ID | FL_EXIVAR | FL_PROMOTED | HEAPPROF_FLAG))

/* What is known of a slot before it is swept. */
struct slot_note {
    VALUE    flags, klass; /* of the object; 0: not known */
    uint32_t site;         /* 0: not known */
    bool     moved;
};

/* Of the page that is being swept. */
static struct {
    struct slot_note notes[HEAP_PAGE_SIZE / BASE_SLOT_SIZE];
    struct free_slot *before; /* the head of its free list before the sweep */
    bits_t fresh[HEAP_PAGE_BITMAP_LIMIT]; /* slots that are held back since it was swept */
} page_notes;

HEAPPROF_COLD static struct slot_note *
note_of(VALUE slot)
{
    return &page_notes.notes[NUM_IN_PAGE(slot)];
}

/* ---- before the sweep ---- */

HEAPPROF_COLD static uint32_t
site_of_dead(VALUE object)
{
    const struct heapprof_live_table *live = &rb_heapprof.tables.live;
    uint32_t entry = rb_heapprof_address_table_find(&live->addresses, object);

    return entry ? rb_heapprof_live_table_sample(live, entry)->site : 0;
}

HEAPPROF_COLD static struct slot_note
look_at_slot(VALUE object)
{
    switch (BUILTIN_TYPE(object)) {
      case T_NONE: case T_ZOMBIE:
        return (struct slot_note){ 0 };
      case T_MOVED: {
        VALUE moved_to = RMOVED(object)->destination;
        return (struct slot_note){ RBASIC(moved_to)->flags, RBASIC(moved_to)->klass,
                                   site_of_dead(moved_to), true };
      }
      default:
        return (struct slot_note){ RBASIC(object)->flags, RBASIC(object)->klass,
                                   site_of_dead(object), false };
    }
}

HEAPPROF_COLD static void
look_at_slot_i(VALUE slot, void *unused)
{
    *note_of(slot) = look_at_slot(slot);
}

HEAPPROF_COLD static void
rb_heapprof_quarantine_before(struct heap_page *page)
{
    bits_t dead[HEAP_PAGE_BITMAP_LIMIT];

    begin_change();
    const struct held_page *held = holding_ended ? held_of(page) : held_begin(page);
    end_change();
    page_notes.before = page->freelist;
    if (!held) return;
    for (int i = 0; i < HEAP_PAGE_BITMAP_LIMIT; i++) dead[i] = held->open[i] & ~page->mark_bits[i];
    each_slot(page, dead, look_at_slot_i, NULL);
    mark_held(held);
}

/* ---- holding back ---- */

/* The name of a class that is named; a string, or 0. */
HEAPPROF_COLD static uint32_t
class_name(const struct heapprof_site *site)
{
    uint32_t identity = rb_heapprof_site_identity(site);
    uint32_t name = identity ? rb_heapprof.tables.identities.all[identity].name : 0;

    return name == HEAPPROF_UNNAMED ? 0 : name;
}

/* How much memory nobody else gets. */
HEAPPROF_COLD static size_t
memory_of(const struct held_page *held)
{
    return held->page->heapprof.alone ? covers.page_bytes : (size_t)held->page->slot_size;
}

HEAPPROF_COLD static bool
hold_back(struct held_page *held, VALUE slot, const struct slot_note *known)
{
    const struct heap_page *page = held->page;
    struct heapprof_dead_object one = { .address = slot, .bytes = (uint32_t)page->slot_size,
                                        .memory_bytes = (uint32_t)memory_of(held),
                                        .moved = known->moved };

    if (known->site) {
        const struct heapprof_site *site =
            rb_heapprof_sites_get(&rb_heapprof.tables.sites, known->site);
        one.stack = site->stack;
        one.class_name = class_name(site);
    }
    if (!rb_heapprof_dead_objects_add(&rb_heapprof.tables.dead_objects, &one)) return false;
    hold_slot(held, slot);
    RBASIC(slot)->flags = T_ZOMBIE | (known->flags & ~NOT_KEPT);
    *(VALUE *)&RBASIC(slot)->klass = known->klass;
    MARK_IN_BITMAP(page_notes.fresh, slot);
    cover_slot(page, slot);
    return true;
}

/* Objects from before the start do not count: nobody knows who has allocated them. */
HEAPPROF_COLD static void
count_uncovered_i(VALUE slot, void *data)
{
    const struct held_page *held = data;
    uint32_t uncovered = memory_pages_of(held->page, slot) & ~covered_of(held);

    if (!note_of(slot)->site || !uncovered) return;
    if (uncovered & ~coverable_pages(held)) rb_heapprof.tables.dead_objects.crowded++;
    else rb_heapprof.tables.dead_objects.unmapped++;
}

/* A page that is walked over is covered when the walk leaves it. */
HEAPPROF_COLD static void
cover_fresh(struct held_page *held)
{
    if (covers.by_page && !held->page->heapprof.walkers) {
        cover_page(held);
        each_slot(held->page, page_notes.fresh, count_uncovered_i, held);
    }
    else if (covers.by_nothing) {
        for (int i = 0; i < HEAP_PAGE_BITMAP_LIMIT; i++)
            rb_heapprof.tables.dead_objects.uncoverable +=
                (uint64_t)__builtin_popcountll(page_notes.fresh[i]);
    }
    memset(page_notes.fresh, 0, sizeof(page_notes.fresh));
}

/* Slots that cannot be held back stay in the free list. */
HEAPPROF_COLD static void
rb_heapprof_quarantine_swept(struct heap_page *page, int *freed_slots, int *empty_slots)
{
    struct free_slot **link = &page->freelist;
    struct held_page *held = held_of(page);

    if (!held) return;
    unmark_held(held);
    if (holding_ended) return;
    begin_change();
    while (*link && *link != page_notes.before) {
        VALUE slot = (VALUE)*link;
        struct free_slot *next = (*link)->next;
        struct slot_note known = *note_of(slot);
        if (!hold_back(held, slot, &known)) {
            link = &(*link)->next;
            continue;
        }
        *link = next;
        if (known.moved) --*empty_slots;
        else --*freed_slots;
    }
    cover_fresh(held);
    held_end_if_empty(held);
    end_change();
}

/* The slot of an object whose finalizer has run is at the head of its page's free list. */
HEAPPROF_COLD static void
rb_heapprof_quarantine_finalized(struct heap_page *page, VALUE slot)
{
    const struct slot_note known = { .site = 0 };
    struct free_slot *next = page->freelist->next;

    if (holding_ended) return;
    begin_change();
    *note_of(slot) = known;
    struct held_page *held = held_begin(page);
    if (held && hold_back(held, slot, &known)) {
        page->freelist = next;
        page->free_slots--;
        page->heap->total_freed_objects--;
        cover_fresh(held);
    }
    if (held) held_end_if_empty(held);
    end_change();
}

/* ---- letting go ---- */

HEAPPROF_COLD static void
let_go(struct held_page *held, const struct heapprof_dead_object *one)
{
    uncover_slot(held, one->address);
    give_back_or_fill(held, one->address);
    rb_heapprof_dead_objects_drop_oldest(&rb_heapprof.tables.dead_objects);
}

/* Those of one heap page: it is uncovered once. */
HEAPPROF_COLD static void
let_go_of_page(uint64_t limit_bytes)
{
    const struct heapprof_dead_objects *dead = &rb_heapprof.tables.dead_objects;
    const struct heapprof_dead_object *one = rb_heapprof_dead_objects_oldest(dead);
    struct heap_page *page = GET_HEAP_PAGE(one->address);
    struct held_page *held = held_of(page);

    uncover_page(held);
    do {
        let_go(held, one);
        one = rb_heapprof_dead_objects_oldest(dead);
    } while (dead->held_bytes > limit_bytes && one && GET_HEAP_PAGE(one->address) == page);
    cover_page(held);
    held_end_if_empty(held);
}

HEAPPROF_COLD static void
let_go_beyond(uint64_t limit_bytes)
{
    const struct heapprof_dead_objects *dead = &rb_heapprof.tables.dead_objects;

    while (dead->held_bytes > limit_bytes && rb_heapprof_dead_objects_oldest(dead))
        let_go_of_page(limit_bytes);
}

HEAPPROF_COLD static void
quarantine_begun(rb_objspace_t *objspace)
{
    if (holding_ended) return;
    uint32_t stack = rb_heapprof_frames_capture(GET_EC());
    const struct heapprof_dead_gc gc = {
        .count = objspace->profile.count,
        .stack = stack == HEAPPROF_NO_STACK ? 0 : stack,
        .major = objspace->profile.latest_gc_info & GPR_FLAG_MAJOR_MASK, /* of this one, by now */
    };

    rb_heapprof_dead_objects_begin_gc(&rb_heapprof.tables.dead_objects, &gc);
    let_go_beyond(rb_heapprof.run.options.quarantine_bytes);
}

/* ---- on and off ---- */

HEAPPROF_COLD static bool
quarantine_faults_p(void)
{
    return covers.by_page;
}

HEAPPROF_COLD static bool
quarantine_by_valgrind_p(void)
{
    return RUNNING_ON_VALGRIND;
}

HEAPPROF_COLD static void
quarantine_start(void)
{
    rb_heapprof_quarantine_on = rb_heapprof.run.options.quarantine_bytes > 0;
    holding_ended = false;
    if (!rb_heapprof_quarantine_on) return;
    covers_start();
    alone_start();
}

/* A page may be half swept: then the rest of its sweep holds nothing back. */
HEAPPROF_COLD static void
quarantine_stop(void)
{
    if (!rb_heapprof_quarantine_on) return;
    covers_stop();
    holding_ended = rb_heapprof.run.ending;
    if (holding_ended) return;
    rb_heapprof_quarantine_on = false;
    walk_pages(forget_alone_i, NULL);
    let_go_beyond(0);
    alone_stop();
    held_free();
}
