#ifndef HEAPPROF_NATIVE_LEAKS_H
#define HEAPPROF_NATIVE_LEAKS_H
/* Which memory of the allocator looks leaked. Blocks are suspect if no owner was found for
 * them, if they have survived several major GCs, and if they became more over time, while the
 * objects allocated by the same stack did not.
 *
 * Blocks grow if the survivors among them were born at three different GCs or more. What was
 * made once, as a table at boot, is large but does not grow. What objects hold grows with the
 * objects. A suspicion is no proof: a stack may have few sampled objects and many sampled
 * blocks.
 */
#include "base/mem.h"

/* A survivor has survived so many major GCs. */
#define HEAPPROF_SURVIVED_MAJORS 3

struct heapprof_native_leaks {
    struct heapprof_mem *mem;
    uint32_t  old_gc;          /* survivors were born before this GC */
    uint64_t *block_births; /* by site: bit n is set if some survivor's birth_gc is n modulo 64 */
    size_t    block_births_capacity;
    uint64_t *object_births;   /* the same by stack */
    size_t    object_births_capacity;
};

/* Makes room for sites and stacks below these numbers. Returns false if memory is refused. The
 * caller frees leaks either way. mem must outlive it. */
bool rb_heapprof_native_leaks_init(struct heapprof_native_leaks *leaks, struct heapprof_mem *mem,
                                   uint32_t old_gc, uint32_t sites_end, uint32_t stacks_end);
void rb_heapprof_native_leaks_free(struct heapprof_native_leaks *leaks);

/* Tells of a live object; the second function, of a live block without a known owner. */
void rb_heapprof_native_leaks_object(struct heapprof_native_leaks *leaks, uint32_t stack,
                                     uint32_t birth_gc);
void rb_heapprof_native_leaks_block(struct heapprof_native_leaks *leaks, uint32_t site,
                                    uint32_t birth_gc);

/* Whether the blocks without an owner of that site, which has that stack, are suspect. To be
 * asked when all objects and blocks have been told. */
bool rb_heapprof_native_leaks_p(const struct heapprof_native_leaks *leaks, uint32_t site,
                                uint32_t stack);

#endif
