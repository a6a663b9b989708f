/* early.c - RUBY_WBCHECK=stress: barriers that come before their store, where the collector may
 * come between. Compiled inside gc.c. wbcheck.c calls it under the VM lock.
 *
 *     RB_OBJ_WRITTEN(hash, Qundef, key);    waiting: the pair (hash, key)
 *     xmalloc(...)                          MRI may collect here. Has hash the key now?
 *                                               yes  all is well, as it mostly is
 *                                               no   exposed: a GC here would mark hash without key
 *     hash->table[i] = key;
 *     return                                an exposed pair is there now: this store was missed
 *
 * So a fault is found in each run that passes it, and not only if a GC happens to come just there.
 *
 *   I1  An object is looked at only where a GC could look at it, too. At the barrier itself it may
 *       be half changed. So a pair is looked at by the ractor whose barrier it was, or while all
 *       ractors are stopped. Of ractors that others run beside, only objects of their own are
 *       followed: nobody else may change these.
 *   I2  Pairs of dead objects are forgotten when a GC has marked, before their slots are used
 *       again. All are forgotten when objects have moved.
 *
 * Looking costs time in proportion to the references of the object. Of objects with many, one
 * barrier in LARGE_SHARE is followed. */
#include "gc/wbcheck/wbcheck.h"

enum {
    EARLY_MOST = 256,    /* pairs that wait, and pairs that are exposed; more are not followed */
    EARLY_CHECKS = 2,    /* how often an exposed pair is judged at a check of all objects */
    STACK_BYTES = 1024,  /* of the Ruby stack, as text */
    LARGE = 1000,        /* references */
    LARGE_SHARE = 64
};

struct early_pair {
    VALUE parent, child;
    uint32_t ractor;     /* its number */
};

struct early_exposed {
    struct early_pair pair;
    int  checks;         /* how often it was judged so */
    char stack[STACK_BYTES]; /* where MRI could collect */
};

static struct {
    bool on;
    uint32_t ractor;     /* the number of the one that has begun to check */
    heapprof_stack_i *stack_i;
    uint32_t moves;      /* how many moves there had been when the pairs were noted */
    uint64_t large;      /* barriers of objects with many references */
    struct early_pair waiting[EARLY_MOST];
    struct early_exposed exposed[EARLY_MOST];
    size_t waiting_count, exposed_count;
} wb_early;

/* ---- whether an object has a reference now ---- */

struct early_search {
    VALUE child;
    bool  found;
};

HEAPPROF_COLD static void
early_child_i(VALUE child, void *data)
{
    struct early_search *search = data;

    if (child == search->child) search->found = true;
}

/* Whether this barrier is not followed, because the object has many references. */
HEAPPROF_COLD static bool
early_skipped_p(VALUE parent)
{
    size_t size = 0;

    if (RB_BUILTIN_TYPE(parent) == T_ARRAY) size = (size_t)RARRAY_LEN(parent);
    else if (RB_BUILTIN_TYPE(parent) == T_HASH) size = RHASH_SIZE(parent);
    return size > LARGE && wb_early.large++ % LARGE_SHARE != 0;
}

HEAPPROF_COLD static bool
early_refers_p(const struct early_pair *pair)
{
    struct early_search search = { .child = pair->child };

    each_child(pair->parent, early_child_i, &search);
    return search.found;
}

/* ---- the pairs ---- */

HEAPPROF_COLD static uint32_t
early_ractor(void)
{
    return GET_RACTOR()->pub.id;
}

/* Whether no other ractor changes the object. The ractor that has begun to check runs alone in
 * most programs, so all of its objects are followed. */
HEAPPROF_COLD static bool
early_own_p(VALUE object)
{
    return early_ractor() == wb_early.ractor ||
           (!RB_OBJ_SHAREABLE_P(object) && RB_BUILTIN_TYPE(object) != T_IMEMO);
}

/* A pair matches itself; one without a child, all of its parent. */
HEAPPROF_COLD static bool
early_matches_p(const struct early_pair *pair, const struct early_pair *wanted)
{
    return pair->parent == wanted->parent && (pair->child == wanted->child || !wanted->child);
}

HEAPPROF_COLD static bool
early_alive_p(const struct early_pair *pair)
{
    return marked_p(pair->parent) && marked_p(pair->child);
}

HEAPPROF_COLD static void
early_wait(struct early_pair pair)
{
    for (size_t i = 0; i < wb_early.waiting_count; i++) {
        if (early_matches_p(&wb_early.waiting[i], &pair)) return;
    }
    if (wb_early.waiting_count < EARLY_MOST) wb_early.waiting[wb_early.waiting_count++] = pair;
}

HEAPPROF_COLD static void
early_expose(struct early_pair pair)
{
    for (size_t i = 0; i < wb_early.exposed_count; i++) {
        if (early_matches_p(&wb_early.exposed[i].pair, &pair)) return;
    }
    if (wb_early.exposed_count == EARLY_MOST) return;
    struct early_exposed *exposed = &wb_early.exposed[wb_early.exposed_count];
    exposed->pair = pair;
    exposed->checks = 0;
    wb_early.stack_i(exposed->stack, sizeof(exposed->stack));
    if (*exposed->stack) wb_early.exposed_count++; /* else MRI loads its own code */
}

HEAPPROF_COLD static void
early_withdraw(size_t i)
{
    size_t last = --wb_early.exposed_count;

    if (i != last) wb_early.exposed[i] = wb_early.exposed[last];
}

/* The collector has been told in time. */
HEAPPROF_COLD static void
early_settle(const struct early_pair *pair)
{
    for (size_t i = wb_early.exposed_count; i-- > 0;) {
        if (early_matches_p(&wb_early.exposed[i].pair, pair)) early_withdraw(i);
    }
}

HEAPPROF_COLD static void
early_forget_moved(void)
{
    if (wb_early.moves == rb_heapprof_gc_moves()) return;
    wb_early.moves = rb_heapprof_gc_moves();
    wb_early.waiting_count = wb_early.exposed_count = 0;
}

/* ---- events ---- */

/* Looks at what this ractor's barriers have told of since the last time. A second barrier that
 * comes after the store makes a first one good. */
HEAPPROF_COLD static void
early_look(bool may_collect)
{
    size_t kept = 0;

    if (!wb_early.on) return;
    early_forget_moved();
    for (size_t i = 0; i < wb_early.waiting_count; i++) {
        struct early_pair pair = wb_early.waiting[i];
        if (pair.ractor != early_ractor()) wb_early.waiting[kept++] = pair;
        else if (early_skipped_p(pair.parent) || early_refers_p(&pair)) early_settle(&pair);
        else if (may_collect) early_expose(pair);
        else wb_early.waiting[kept++] = pair;
    }
    wb_early.waiting_count = kept;
}

/* MRI may collect in malloc. Under no lock, by any thread. */
HEAPPROF_COLD static void
early_malloc_i(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    if (!may_sample_p() || during_gc) return;
    unsigned int level = rb_gc_vm_lock_no_barrier();
    early_look(true);
    rb_gc_vm_unlock_no_barrier(level);
}

HEAPPROF_COLD static void
early_written(VALUE parent, VALUE child)
{
    if (!wb_early.on || RB_SPECIAL_CONST_P(child) || child == parent || !early_own_p(parent) ||
        RVALUE_WB_UNPROTECTED(rb_gc_get_objspace(), parent))
        return;
    early_forget_moved();
    early_wait((struct early_pair){ parent, child, early_ractor() });
    call_owner(&heapprof_thread.own);
}

/* All that the object refers to at this moment is told of. */
HEAPPROF_COLD static void
early_remembered(VALUE object)
{
    struct early_pair all = { .parent = object };
    size_t kept = 0;

    early_settle(&all);
    for (size_t i = 0; i < wb_early.waiting_count; i++) {
        if (!early_matches_p(&wb_early.waiting[i], &all))
            wb_early.waiting[kept++] = wb_early.waiting[i];
    }
    wb_early.waiting_count = kept;
}

/* Reports the exposed pairs whose store has come. stopped: all other ractors are. */
HEAPPROF_COLD static void
early_judge(heapprof_missed_i *missed_i, bool stopped)
{
    if (wb_early.exposed_count == 0) return;
    early_look(false);
    for (size_t i = wb_early.exposed_count; i-- > 0;) {
        const struct early_exposed *exposed = &wb_early.exposed[i];
        if (!stopped && exposed->pair.ractor != early_ractor()) continue;
        if (!early_refers_p(&exposed->pair)) continue;
        missed_i(&(struct heapprof_missed){ .parent = exposed->pair.parent,
                                            .child = exposed->pair.child,
                                            .early = true,
                                            .stack = exposed->stack });
        early_withdraw(i);
    }
}

/* All pairs have been judged. A reference that is not stored by now was told of for nothing. */
HEAPPROF_COLD static void
early_checked(void)
{
    for (size_t i = wb_early.exposed_count; i-- > 0;) {
        if (++wb_early.exposed[i].checks == EARLY_CHECKS) early_withdraw(i);
    }
}

HEAPPROF_COLD static void
early_marked(void)
{
    size_t kept = 0;

    for (size_t i = wb_early.exposed_count; i-- > 0;) {
        if (!early_alive_p(&wb_early.exposed[i].pair)) early_withdraw(i);
    }
    for (size_t i = 0; i < wb_early.waiting_count; i++) {
        if (early_alive_p(&wb_early.waiting[i])) wb_early.waiting[kept++] = wb_early.waiting[i];
    }
    wb_early.waiting_count = kept;
}
