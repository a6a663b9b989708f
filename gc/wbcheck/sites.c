/* sites.c - barriers that came too early or were for nothing, by the place in C that calls
 * them. Compiled inside gc.c. wbcheck.c calls it under the VM lock.
 *
 *     RB_OBJ_WRITTEN(self, Qundef, v);   the struct of self does not have v yet
 *     p->field = v;                      too late, if a GC comes in between
 *
 * A barrier was for nothing if barriers do not protect the object, or if the object does not
 * have the reference at the next look. One such call says little: the reference may have been
 * overwritten since. */
#include "gc/wbcheck/wbcheck.h"

static struct {
    bool kept;                           /* the places are kept */
    bool judged;                         /* and what comes of them: each call looks at the struct */
    struct heapprof_mem mem;
    struct heapprof_index index;
    struct heapprof_barrier_site *all;   /* by number; [0] unused */
    size_t   capacity;
    uint32_t count;
} wb_sites;

HEAPPROF_COLD static uint64_t
site_hash_i(const void *unused, uint32_t number)
{
    return rb_heapprof_index_hash(wb_sites.all[number].address);
}

/* Returns 0 if memory is refused, or if sites are not kept. */
HEAPPROF_COLD static uint32_t
barrier_site_of(uintptr_t address)
{
    uint32_t number;

    if (!wb_sites.kept) return 0;
    for (uint64_t probe = rb_heapprof_index_hash(address);
         (number = rb_heapprof_index_at(&wb_sites.index, probe)) != 0; probe++) {
        if (wb_sites.all[number].address == address) return number;
    }
    if (!HEAPPROF_MEM_GROW(&wb_sites.mem, wb_sites.all, wb_sites.capacity,
                           (size_t)wb_sites.count + 2) ||
        !rb_heapprof_index_reserve(&wb_sites.index, &wb_sites.mem, wb_sites.count, site_hash_i,
                                   NULL)) {
        return 0;
    }
    wb_sites.all[++wb_sites.count] = (struct heapprof_barrier_site){ .address = address };
    rb_heapprof_index_insert(&wb_sites.index, rb_heapprof_index_hash(address), wb_sites.count);
    return wb_sites.count;
}

HEAPPROF_COLD static bool
typed_data_p(VALUE object)
{
    return RB_BUILTIN_TYPE(object) == T_DATA && RTYPEDDATA_P(object);
}

/* A barrier is called. Returns its site if that is to be judged. */
HEAPPROF_COLD static uint32_t
site_called(uintptr_t address, VALUE parent, VALUE child, bool *early)
{
    uint32_t site = barrier_site_of(address);

    *early = false;
    if (!site) return 0;
    wb_sites.all[site].calls++;
    if (RVALUE_WB_UNPROTECTED(rb_gc_get_objspace(), parent)) {
        wb_sites.all[site].unprotected++;
        return 0;
    }
    if (!typed_data_p(parent)) return 0;
    *early = wb_sites.judged && rb_heapprof_gc_wbcheck_offset(parent, child) < 0;
    return site;
}

/* The object is looked at. early: what site_called said. */
HEAPPROF_COLD static void
site_judged(uint32_t number, VALUE parent, VALUE child, bool refers, bool early)
{
    struct heapprof_barrier_site *site = &wb_sites.all[number];

    if (!refers) site->absent++;
    else site->present++;
    if (refers && early && rb_heapprof_gc_wbcheck_offset(parent, child) >= 0) site->early++;
}

/* The reference was judged absent, and the store came after all. site may be 0. */
HEAPPROF_COLD static void
site_was_early(uint32_t number)
{
    struct heapprof_barrier_site *site = number ? &wb_sites.all[number] : NULL;

    if (!site || site->absent == 0) return;
    site->absent--;
    site->present++;
    site->early++;
}

HEAPPROF_COLD void
rb_heapprof_gc_wbcheck_keep_sites(bool judged)
{
    if (!wb_sites.kept) rb_heapprof_mem_init(&wb_sites.mem, SIZE_MAX);
    wb_sites.kept = true;
    wb_sites.judged |= judged;
}

HEAPPROF_COLD const struct heapprof_barrier_site *
rb_heapprof_gc_wbcheck_sites(size_t *count)
{
    *count = wb_sites.count;
    return wb_sites.all + 1;
}
