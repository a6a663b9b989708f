/* unload.c - a library is unloaded: its callers get their names before it leaves, and lose
 * their addresses after, for another library may move in there. Compiled inside gc.c.
 *
 *     dlclose --> rb_heapprof_all_dlclose (malloc_all.c) --> before_unloading --> dlclose --> after_unloading
 *
 * Names are read from files, which is slow, and done once a library. If a thread unloads
 * without the GVL, or while the profiler is at work, callers are named at the next snapshot, as
 * far as that still knows them.
 *
 * No Ruby allocation, no raise, no GC. May be called in the sweep, for free functions of
 * objects unload libraries.
 */
#include "gc/interpreter.h"
#include "os/interpose.h"

#if HEAPPROF_CAN_INTERPOSE
# include <dlfcn.h>

/* Takes the VM lock for the thread that has the GVL. Returns false if it cannot. */
HEAPPROF_COLD static bool
begin_unloading(unsigned int *lev)
{
    if (!rb_heapprof_on || heapprof_thread.own_work || !may_sample_all_p() || !try_vm_lock(lev))
        return false;
    if (!rb_heapprof.work.reading) return true;
    rb_gc_vm_unlock_no_barrier(*lev);
    return false;
}

HEAPPROF_COLD static void
before_unloading(void)
{
    unsigned int lev;

    if (!begin_unloading(&lev)) return;
    bool own_work = rb_heapprof_gc_begin_own_work();
    rb_heapprof_caller_names_find();
    rb_heapprof_gc_end_own_work(own_work);
    rb_gc_vm_unlock_no_barrier(lev);
}

/* The identity keeps its number and name, which samples of its blocks have. */
HEAPPROF_COLD static void
forget_caller(uint32_t entry)
{
    struct heapprof_identities *identities = &rb_heapprof.tables.identities;
    uintptr_t key = rb_heapprof_address_table_address(&identities->addresses, entry);
    Dl_info info;

    if (!rb_heapprof_callers_key_p(key) ||
        identities->all[identities->ids[entry]].name == HEAPPROF_UNNAMED)
        return;
    if (dladdr((void *)rb_heapprof_callers_of_key(key), &info)) return;
    rb_heapprof_address_table_remove(&identities->addresses, identities_of_page(key), entry);
}

HEAPPROF_COLD static void
after_unloading(void)
{
    unsigned int lev;

    if (!begin_unloading(&lev)) return;
    bool own_work = rb_heapprof_gc_begin_own_work();
    begin_change();
    for (uint32_t entry = 1; entry < rb_heapprof.tables.identities.addresses.numbers.end; entry++)
        forget_caller(entry);
    end_change();
    rb_heapprof_gc_end_own_work(own_work);
    rb_gc_vm_unlock_no_barrier(lev);
}

#endif
