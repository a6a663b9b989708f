/* told.c - new references that a barrier has told of in time: in the struct of which type,
 * where, and by which call of a barrier. Compiled inside gc.c. wbcheck.c calls it under the VM
 * lock.
 *
 * This is the alibi of a store that looks wrong in the source: was it right each time it ran?
 * It is kept only on request, for to find the place takes a look at the struct. */
#include "gc/wbcheck/wbcheck.h"
#include <unistd.h>

static struct {
    bool kept;
    pid_t pid;                       /* of this process; a child of fork begins anew */
    struct heapprof_mem mem;
    struct heapprof_index index;
    struct heapprof_told *all;       /* by number; [0] unused */
    size_t   capacity;
    uint32_t count;
} wb_told;

HEAPPROF_COLD static uint64_t
told_hash(const struct heapprof_told *told)
{
    uint64_t hash =
        rb_heapprof_index_hash(told->address ^ rb_heapprof_index_hash((uintptr_t)told->type));

    return rb_heapprof_index_hash(hash + (uint64_t)told->offset);
}

HEAPPROF_COLD static uint64_t
told_hash_i(const void *unused, uint32_t number)
{
    return told_hash(&wb_told.all[number]);
}

HEAPPROF_COLD static bool
same_told_p(const struct heapprof_told *a, const struct heapprof_told *b)
{
    return a->type == b->type && a->offset == b->offset && a->address == b->address;
}

HEAPPROF_COLD static void
leave_told_to_parent(void)
{
    pid_t pid = getpid();

    if (wb_told.pid == pid) return;
    wb_told.pid = pid;
    wb_told.count = 0;
    rb_heapprof_index_clear(&wb_told.index, &wb_told.mem, 0);
}

/* Typed data has a new reference, and the barrier that is called at that address has told of it. */
HEAPPROF_COLD static void
told_of(VALUE parent, VALUE child, uintptr_t address)
{
    struct heapprof_told told = {
        .type = RTYPEDDATA_TYPE(parent),
        .offset = rb_heapprof_gc_wbcheck_offset(parent, child),
        .address = address,
        .count = 1,
    };
    uint32_t number;

    leave_told_to_parent();
    for (uint64_t probe = told_hash(&told);
         (number = rb_heapprof_index_at(&wb_told.index, probe)) != 0; probe++) {
        if (!same_told_p(&wb_told.all[number], &told)) continue;
        wb_told.all[number].count++;
        return;
    }
    if (!HEAPPROF_MEM_GROW(&wb_told.mem, wb_told.all, wb_told.capacity,
                           (size_t)wb_told.count + 2) ||
        !rb_heapprof_index_reserve(&wb_told.index, &wb_told.mem, wb_told.count, told_hash_i,
                                   NULL)) {
        return;
    }
    wb_told.all[++wb_told.count] = told;
    rb_heapprof_index_insert(&wb_told.index, told_hash(&told), wb_told.count);
}

HEAPPROF_COLD void
rb_heapprof_gc_wbcheck_keep_told(void)
{
    rb_heapprof_gc_wbcheck_keep_sites(false);
    rb_heapprof_mem_init(&wb_told.mem, SIZE_MAX);
    wb_told.kept = true;
}

HEAPPROF_COLD const struct heapprof_told *
rb_heapprof_gc_wbcheck_told(size_t *count)
{
    leave_told_to_parent();
    *count = wb_told.count;
    return wb_told.all + 1;
}
