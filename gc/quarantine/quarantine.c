/* quarantine.c - which slots are held back, and for how long. Compiled inside gc.c.
 *
 *     before a page is swept    what is known of its dead is noted by slot (page_notes)
 *     after                     the slots that the sweep put at the head of the page's free list
 *                               are taken off again, and become T_ZOMBIE
 *     an object is finalized    likewise its slot
 *     a GC begins               the oldest slots go back to the free lists of their pages, until
 *                               no more bytes are held than the limit
 *
 * What compaction has moved away from is a slot, too, and is held back like the others.
 *
 * In a GC, or with all ractors stopped. Memory comes from base/mem.c; if it is refused, the slot is
 * not held back.
 */
#include "gc/quarantine/quarantine.h"
#include "gc/interpreter.h"

bool rb_heapprof_quarantine_on;

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
rb_heapprof_quarantine_before(struct heap_page *page)
{
    VALUE slot = page->start;

    for (int i = 0; i < page->total_slots; i++, slot += page->slot_size) {
        if (!MARKED_IN_BITMAP(page->mark_bits, slot)) *note_of(slot) = look_at_slot(slot);
    }
    page_notes.before = page->freelist;
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

HEAPPROF_COLD static bool
hold_back(const struct heap_page *page, VALUE slot, const struct slot_note *known)
{
    struct heapprof_dead_object one = { .address = slot, .bytes = (uint32_t)page->slot_size,
                                        .moved = known->moved };

    if (known->site) {
        const struct heapprof_site *site =
            rb_heapprof_sites_get(&rb_heapprof.tables.sites, known->site);
        one.stack = site->stack;
        one.class_name = class_name(site);
    }
    if (!rb_heapprof_dead_objects_add(&rb_heapprof.tables.dead_objects, &one)) return false;
    RBASIC(slot)->flags = T_ZOMBIE | (known->flags & ~NOT_KEPT);
    *(VALUE *)&RBASIC(slot)->klass = known->klass;
    cover(slot, (size_t)page->slot_size);
    return true;
}

/* Slots that cannot be held back stay in the free list. */
HEAPPROF_COLD static void
rb_heapprof_quarantine_swept(struct heap_page *page, int *freed_slots, int *empty_slots)
{
    struct free_slot **link = &page->freelist;

    begin_change();
    while (*link && *link != page_notes.before) {
        VALUE slot = (VALUE)*link;
        struct free_slot *next = (*link)->next;
        struct slot_note known = *note_of(slot);
        if (!hold_back(page, slot, &known)) {
            link = &(*link)->next;
            continue;
        }
        *link = next;
        if (known.moved) --*empty_slots;
        else --*freed_slots;
    }
    end_change();
}

/* The slot of an object whose finalizer has run is at the head of its page's free list. */
HEAPPROF_COLD static void
rb_heapprof_quarantine_finalized(struct heap_page *page, VALUE slot)
{
    const struct slot_note known = { .site = 0 };
    struct free_slot *next = page->freelist->next;

    begin_change();
    if (hold_back(page, slot, &known)) {
        page->freelist = next;
        page->free_slots--;
        page->heap->total_freed_objects--;
    }
    end_change();
}

/* ---- letting go ---- */

HEAPPROF_COLD static void
let_go(rb_objspace_t *objspace, const struct heapprof_dead_object *one)
{
    struct heap_page *page = GET_HEAP_PAGE(one->address);

    uncover(one->address, one->bytes);
    heap_page_add_freeobj(objspace, page, one->address);
    page->free_slots++;
    page->heap->total_freed_objects++;
    rb_heapprof_dead_objects_drop_oldest(&rb_heapprof.tables.dead_objects);
}

HEAPPROF_COLD static void
let_go_beyond(rb_objspace_t *objspace, uint64_t limit_bytes)
{
    const struct heapprof_dead_objects *dead = &rb_heapprof.tables.dead_objects;
    const struct heapprof_dead_object *one;

    while (dead->held_bytes > limit_bytes && (one = rb_heapprof_dead_objects_oldest(dead)) != NULL)
        let_go(objspace, one);
}

HEAPPROF_COLD static void
rb_heapprof_quarantine_begun(rb_objspace_t *objspace)
{
    begin_change();
    uint32_t stack = rb_heapprof_frames_capture(GET_EC());
    const struct heapprof_dead_gc gc = {
        .count = objspace->profile.count,
        .stack = stack == HEAPPROF_NO_STACK ? 0 : stack,
        .major = is_full_marking(objspace),
    };
    rb_heapprof_dead_objects_begin_gc(&rb_heapprof.tables.dead_objects, &gc);
    let_go_beyond(objspace, rb_heapprof.run.options.quarantine_bytes);
    end_change();
}

/* ---- on and off ---- */

HEAPPROF_COLD static void
quarantine_start(void)
{
    rb_heapprof_quarantine_on = rb_heapprof.run.options.quarantine_bytes > 0;
}

/* A page may be half swept: then the rest of its sweep holds nothing back. */
HEAPPROF_COLD static void
quarantine_stop(void)
{
    rb_heapprof_quarantine_on = false;
    let_go_beyond(rb_gc_get_objspace(), 0);
}
