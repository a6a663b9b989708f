/* wbcheck.c - which references no barrier has told the collector of: the till is counted, and
 * compared with the receipts. Compiled inside gc.c.
 *
 *     check k                                             check k+1
 *     parent: a b          parent.x = c  without barrier        parent: a b c     c is new, not noted
 *                          RB_OBJ_WRITE(other, y, d)            other:  d         noted
 *
 * Each check goes through all objects that barriers protect, page by page, and keeps what each
 * refers to. The list of the last check is in the same order, so one pass compares the two. A
 * GC may come at any check, and could have made the parent black or old. Then it may free what
 * was stored since without a barrier.
 *
 *   I1  an object that was not there at the last check is not judged: it was young, and is
 *       marked with all it refers to.
 *   I2  between two checks no slot changes hands unseen: what a GC finds dead leaves the list
 *       and the pairs as soon as it has marked, and only after that is its slot used again.
 *   I3  the list has what marking says, and no more: weak references are not in it.
 *   I4  the list is made anew and nothing is judged by it in two cases: objects have moved, or
 *       memory is refused.
 *
 * Calls of C functions are seen separately (call, return). They are many, so only their
 * receiver is compared, and only if it is typed data. A receiver that is not in the list yet
 * goes into a list of its own until the next check. */
#include "gc/wbcheck/wbcheck.h"
#include "gc/book/walk.h"
#include "os/clock.h"
#include "os/redirect.h"

bool rb_heapprof_wbcheck_on;

static struct {
    heapprof_missed_i *missed_i;   /* NULL: off */
    struct heapprof_mem mem;
    struct heapprof_redirect written, remembered;
    struct wb_list  lists[2];      /* of the last check, and room for the next one */
    struct wb_list *last, *next;
    struct wb_list  called;        /* receivers that the last check did not see, unordered */
    struct heapprof_index called_index;
    struct wb_pairs pairs[2];      /* noted since the last check, and before it */
    struct wb_pairs *noted, *noted_before;
    size_t   cursor;               /* in the last list: parents before it have lower addresses */
    uint32_t moves;                /* how many moves there had been at the last check */
    size_t   gc_count;             /* GCs whose begin was seen */
    bool     marking;              /* the last of these has not marked yet */
    bool     incomplete;           /* memory was refused: the next check has no result */
    bool     judge;
    struct heapprof_wbcheck_stat stat;
} wb;

/* ---- what barriers say ---- */

/* If a first barrier came before the store, a second one behind it makes it good. */
HEAPPROF_COLD static void
note(VALUE parent, VALUE child, uint32_t site, bool early)
{
    uint32_t number = pair_number(wb.noted, parent, child);

    wb.stat.barriers++;
    if (number) wb.noted->all[number].early &= early;
    else if (!add_pair(wb.noted, (struct wb_pair){ parent, child, site, early }))
        wb.incomplete = true;
}

/* These stand for rb_gc_writebarrier and rb_gc_writebarrier_remember. The originals only do the
 * last line of each. */
HEAPPROF_COLD static void
wb_written(VALUE parent, VALUE child)
{
    uintptr_t address = (uintptr_t)__builtin_return_address(0);
    unsigned int level = rb_gc_vm_lock_no_barrier();
    bool early;
    if (wb.missed_i) {
        uint32_t site = site_called(address, parent, child, &early);
        note(parent, child, site, early);
        early_written(parent, child);
    }
    rb_gc_vm_unlock_no_barrier(level);
    rb_gc_impl_writebarrier(rb_gc_get_objspace(), parent, child);
}

HEAPPROF_COLD static void
wb_remembered(VALUE object)
{
    unsigned int level = rb_gc_vm_lock_no_barrier();
    if (wb.missed_i) {
        note(object, 0, 0, false);
        early_remembered(object);
    }
    rb_gc_vm_unlock_no_barrier(level);
    rb_gc_impl_writebarrier_remember(rb_gc_get_objspace(), object);
}

HEAPPROF_COLD static bool
protected_p(VALUE object)
{
    switch (RB_BUILTIN_TYPE(object)) {
      case T_NONE: case T_MOVED: case T_ZOMBIE:
        return false;
      default:
        return !RVALUE_WB_UNPROTECTED(rb_gc_get_objspace(), object);
    }
}

/* ---- comparing ---- */

/* True for a node of the VM's list of objects that live for ever. It leads to some of them, and
 * to the next node. */
struct pinned_search {
    VALUE node, next, child;
    bool  found;
};

HEAPPROF_COLD static void
pinned_i(VALUE object, void *data)
{
    struct pinned_search *search = data;

    if (object == search->child) search->found = true;
    if (RB_SPECIAL_CONST_P(object) || RB_BUILTIN_TYPE(object) != T_DATA || !RTYPEDDATA_P(object))
        return;
    if (RTYPEDDATA_TYPE(object) == RTYPEDDATA_TYPE(search->node)) search->next = object;
}

/* MRI makes a hidden object visible by setting its class without a barrier. That is harmless:
 * String never dies. */
HEAPPROF_COLD static bool
immortal_p(VALUE child)
{
    struct pinned_search search = { .next = GET_VM()->mark_object_ary, .child = child };

    while (search.next && !search.found) {
        search.node = search.next;
        search.next = 0;
        each_child(search.node, pinned_i, &search);
    }
    return search.found;
}

/* A barrier has told of the reference. It counts once, though outer calls and the next check
 * see it, too. */
HEAPPROF_COLD static void
count_told(VALUE parent, VALUE child)
{
    uint32_t number = wb_told.kept ? pair_number(wb.noted, parent, child) : 0;
    struct wb_pair *pair = number ? &wb.noted->all[number] : NULL;

    if (!pair || !pair->site || pair->counted) return;
    pair->counted = true;
    told_of(parent, child, wb_sites.all[pair->site].address);
}

/* What is reported once is not reported again by outer calls, nor by the next check. */
HEAPPROF_COLD static void
judge_child(VALUE parent, VALUE child)
{
    if (child == parent) return; /* an object that is marked needs no second mark */
    if (noted_p(wb.noted, parent, child)) {
        count_told(parent, child);
        return;
    }
    if (immortal_p(child)) return;
    uint32_t before = pair_number(wb.noted_before, parent, child);
    if (before) site_was_early(wb.noted_before->all[before].site);
    wb.missed_i(
        &(struct heapprof_missed){ parent, child, noted_p(wb.noted_before, parent, child), NULL });
    if (!add_pair(wb.noted, (struct wb_pair){ parent, child })) wb.incomplete = true;
}

/* Both lists have their children by address. */
HEAPPROF_COLD static void
judge_parent(const struct wb_list *was_list, const struct wb_parent *was,
             const struct wb_list *list, const struct wb_parent *parent)
{
    const VALUE *old = was_list->children + was->first, *old_end = old + was->count;
    const VALUE *now = list->children + parent->first, *now_end = now + parent->count;

    for (; now < now_end; now++) {
        while (old < old_end && *old < *now) old++;
        if (old == old_end || *old != *now) judge_child(parent->object, *now);
    }
}

/* Returns NULL if memory is refused. Then nothing is judged until the next check. */
HEAPPROF_COLD static struct wb_parent *
look_at(struct wb_list *list, VALUE object)
{
    struct wb_parent *parent = add_parent(list, object);

    if (!parent) wb.incomplete = true;
    return parent;
}

HEAPPROF_COLD static void
check_object_i(VALUE object, size_t slot_bytes, void *unused)
{
    struct wb_list *last = wb.last;

    if (!protected_p(object)) return;
    const struct wb_parent *parent = look_at(wb.next, object);
    if (!parent || !wb.judge) return;
    while (wb.cursor < last->parent_count && last->parents[wb.cursor].object < object) wb.cursor++;
    if (wb.cursor < last->parent_count && last->parents[wb.cursor].object == object &&
        !wb.incomplete) {
        wb.stat.objects++;
        judge_parent(last, &last->parents[wb.cursor], wb.next, parent);
    }
}

HEAPPROF_COLD static void
check_page_i(const struct heap_page *page, void *unused)
{
    walk_page(page, check_object_i, NULL);
}

HEAPPROF_COLD static void
forget_called(void)
{
    clear_list(&wb.called);
    rb_heapprof_index_clear(&wb.called_index, &wb.mem, 0);
}

HEAPPROF_COLD static void
begin_pairs(void)
{
    struct wb_pairs *before = wb.noted_before;

    wb.noted_before = wb.noted;
    wb.noted = before;
    clear_pairs(before);
}

/* True if the last list still describes the objects that are there. */
HEAPPROF_COLD static bool
followed_p(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    return !wb.incomplete && wb.moves == rb_heapprof_gc_moves() &&
           wb.gc_count == objspace->profile.count && wb.marking == is_incremental_marking(objspace);
}

/* Judges the barriers since the last check. */
HEAPPROF_COLD static void
judge_sites(void)
{
    for (uint32_t number = 1; number <= wb.noted->count; number++) {
        const struct wb_pair *pair = &wb.noted->all[number];
        const struct wb_parent *parent = pair->site ? find_in(wb.next, pair->parent) : NULL;
        if (parent)
            site_judged(pair->site, pair->parent, pair->child,
                        refers_p(wb.next, parent, pair->child), pair->early);
    }
}

HEAPPROF_COLD static void
check_all(void)
{
    struct wb_list *last = wb.last;
    int64_t begin_ns = rb_heapprof_clock_ns(CLOCK_THREAD_CPUTIME_ID);

    if (!wb.judge) wb.stat.unjudged++;
    wb.incomplete = false;
    wb.cursor = 0;
    clear_list(wb.next);
    walk_pages(check_page_i, NULL);
    if (wb_sites.judged && wb.judge && !wb.incomplete) judge_sites();

    wb.last = wb.next;
    wb.next = last;
    wb.moves = rb_heapprof_gc_moves();
    forget_called();
    begin_pairs();
    wb.stat.checks++;
    wb.stat.check_ns += (uint64_t)(rb_heapprof_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
}

HEAPPROF_COLD static void
follow_from_now(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    wb.gc_count = objspace->profile.count;
    wb.marking = is_incremental_marking(objspace);
}

HEAPPROF_COLD void
rb_heapprof_gc_wbcheck_all(void)
{
    wb.judge = followed_p();
    early_judge(wb.missed_i, true);
    early_checked();
    check_all();
    follow_from_now();
}

/* The GC may mark step by step. */
HEAPPROF_COLD static void
rb_heapprof_wbcheck_begun(rb_objspace_t *objspace)
{
    wb.judge = !wb.incomplete && !wb.marking && wb.moves == rb_heapprof_gc_moves() &&
               wb.gc_count + 1 == objspace->profile.count;
    early_look(true);
    early_judge(wb.missed_i, true);
    check_all();
    wb.gc_count = objspace->profile.count;
    wb.marking = true;
}

HEAPPROF_COLD static void
rb_heapprof_wbcheck_marked(void)
{
    wb.marking = false;
    early_marked();
    forget_dead_parents(wb.last);
    bool kept = forget_dead_pairs(wb.noted);
    kept &= forget_dead_pairs(wb.noted_before);
    if (!kept) wb.incomplete = true;
    forget_called();
}

/* ---- calls of C functions ---- */

HEAPPROF_COLD static const struct wb_parent *
find_checked(VALUE object)
{
    return find_in(wb.last, object);
}

HEAPPROF_COLD static uint64_t
called_hash_i(const void *owner, uint32_t number)
{
    return rb_heapprof_index_hash(((const struct wb_list *)owner)->parents[number - 1].object);
}

HEAPPROF_COLD static const struct wb_parent *
find_called(VALUE object)
{
    uint32_t number;

    for (uint64_t probe = rb_heapprof_index_hash(object);
         (number = rb_heapprof_index_at(&wb.called_index, probe)) != 0; probe++) {
        if (wb.called.parents[number - 1].object == object) return &wb.called.parents[number - 1];
    }
    return NULL;
}

/* The struct of the receiver may have been freed. */
HEAPPROF_COLD static bool
judged_receiver_p(VALUE self)
{
    return !RB_SPECIAL_CONST_P(self) && RB_BUILTIN_TYPE(self) == T_DATA && RTYPEDDATA_P(self) &&
           protected_p(self) && followed_p();
}

HEAPPROF_COLD void
rb_heapprof_gc_wbcheck_call(VALUE self)
{
    if (!judged_receiver_p(self) || find_checked(self) || find_called(self)) return;
    if (!rb_heapprof_index_reserve(&wb.called_index, &wb.mem, wb.called.parent_count, called_hash_i,
                                   &wb.called))
        return;
    if (look_at(&wb.called, self)) {
        rb_heapprof_index_insert(&wb.called_index, rb_heapprof_index_hash(self),
                                 (uint32_t)wb.called.parent_count);
    }
}

/* MRI may have collected for a new object. */
HEAPPROF_COLD void
rb_heapprof_gc_wbcheck_newobj(void)
{
    early_look(true);
}

/* Puts what the object refers to behind the list, compares it, and takes it away again. */
HEAPPROF_COLD void
rb_heapprof_gc_wbcheck_return(VALUE self)
{
    early_judge(wb.missed_i, false);
    if (!judged_receiver_p(self)) return;
    const struct wb_list *list = wb.last;
    const struct wb_parent *was = find_checked(self);

    if (!was) {
        list = &wb.called;
        was = find_called(self);
    }
    if (!was) return;
    size_t number = (size_t)(was - list->parents);
    const struct wb_parent *parent = look_at(&wb.called, self);
    if (!parent) return;
    if (!wb.incomplete) judge_parent(list, &list->parents[number], &wb.called, parent);
    remove_last_parent(&wb.called);
}

/* ---- on and off ---- */

HEAPPROF_COLD void
rb_heapprof_gc_wbcheck_look_between(heapprof_stack_i *stack_i)
{
    wb_early.on = true;
    wb_early.ractor = early_ractor();
    wb_early.stack_i = stack_i;
    may_collect_i = early_malloc_i;
}

HEAPPROF_COLD const char *
rb_heapprof_gc_wbcheck_start(heapprof_missed_i *missed_i)
{
    memset(&wb, 0, sizeof(wb));
    rb_heapprof_mem_init(&wb.mem, SIZE_MAX);
    wb.lists[0].mem = wb.lists[1].mem = wb.called.mem = wb.pairs[0].mem = wb.pairs[1].mem = &wb.mem;
    wb.last = &wb.lists[0];
    wb.next = &wb.lists[1];
    wb.noted = &wb.pairs[0];
    wb.noted_before = &wb.pairs[1];

    const char *refused = rb_heapprof_redirect(&wb.written, (heapprof_code *)rb_gc_writebarrier,
                                               (heapprof_code *)wb_written);
    if (!refused) {
        refused = rb_heapprof_redirect(&wb.remembered, (heapprof_code *)rb_gc_writebarrier_remember,
                                       (heapprof_code *)wb_remembered);
    }
    if (refused) {
        rb_heapprof_redirect_undo(&wb.written);
        return refused;
    }
    wb.missed_i = missed_i;
    rb_heapprof_wbcheck_on = true;
    rb_heapprof_gc_wbcheck_all();
    return NULL;
}

HEAPPROF_COLD void
rb_heapprof_gc_wbcheck_stop(void)
{
    rb_heapprof_redirect_undo(&wb.written);
    rb_heapprof_redirect_undo(&wb.remembered);
    rb_heapprof_wbcheck_on = false;
    wb.missed_i = NULL;
    release_list(&wb.lists[0]);
    release_list(&wb.lists[1]);
    release_list(&wb.called);
    rb_heapprof_index_release(&wb.called_index, &wb.mem);
    release_pairs(&wb.pairs[0]);
    release_pairs(&wb.pairs[1]);
}

HEAPPROF_COLD struct heapprof_wbcheck_stat
rb_heapprof_gc_wbcheck_stat(void)
{
    return wb.stat;
}
