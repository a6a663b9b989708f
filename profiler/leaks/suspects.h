#ifndef HEAPPROF_NATIVE_LEAKS_H
#define HEAPPROF_NATIVE_LEAKS_H
/* Which memory of the allocator looks leaked: blocks that nobody can be seen to hold, that
 * have survived several major GCs, and that became more over time, while the objects
 * allocated by the same stack did not.
 *
 * Growing means: among what has survived are births at three different GCs or more. What was
 * made once, as a table at boot, is large but does not grow; what objects hold grows with
 * them. A suspicion is no proof: of objects few may be sampled where of blocks many are.
 */
#include "base/mem.h"

/* So many major GCs make a survivor. */
#define HEAPPROF_SURVIVED_MAJORS 3

struct heapprof_native_leaks {
    struct heapprof_mem *mem;
    uint32_t  old_gc;          /* survivors were born before this GC */
    uint64_t *block_births;    /* by site: bit n, some survivor's birth_gc is n modulo 64 */
    size_t    block_births_capacity;
    uint64_t *object_births;   /* by stack */
    size_t    object_births_capacity;
};

/* Room for sites and stacks below these numbers; false when memory is refused. Free either
 * way. mem must outlive it. */
bool rb_heapprof_native_leaks_init(struct heapprof_native_leaks *leaks, struct heapprof_mem *mem,
                                   uint32_t old_gc, uint32_t sites_end, uint32_t stacks_end);
void rb_heapprof_native_leaks_free(struct heapprof_native_leaks *leaks);

/* A live object; a live block that nobody is known to hold. */
void rb_heapprof_native_leaks_object(struct heapprof_native_leaks *leaks, uint32_t stack,
                                     uint32_t birth_gc);
void rb_heapprof_native_leaks_block(struct heapprof_native_leaks *leaks, uint32_t site,
                                    uint32_t birth_gc);

/* When all have been seen: are the ownerless blocks of site, which has that stack, suspect? */
bool rb_heapprof_native_leaks_p(const struct heapprof_native_leaks *leaks, uint32_t site,
                                uint32_t stack);

#endif
