/* mapping.c - with memcheck: memory that an extension or a library maps itself counts as a block,
 * as long as it is mapped. So a mapping that nothing leads to is a leak, and one more for each call
 * is growth. Compiled inside gc.c.
 *
 *     mmap --> rb_heapprof_all_mmap ---> MRI or the profiler: nothing    heap pages, stacks, tables
 *                                   \--> anybody else: a block          of that length
 *     munmap of its first address   ---> the block is gone
 *
 * The C library's own mappings do not come here: it calls itself without slots (os/interpose.h).
 * Of a mapping that is given back in parts nothing is known after the part with its first address.
 *
 * A mapping that nobody can use yet is address space, and no memory. So is a very large one: the
 * search for leaks reads blocks, and does not read these.
 */
#include "os/interpose.h"

#if HEAPPROF_CAN_INTERPOSE
# include <sys/mman.h>

# define MAPPING_MOST_BYTES ((size_t)1 << 30)

HEAPPROF_COLD static bool
called_by_core_p(uintptr_t word)
{
    lock_blocks(); /* a stop might free the callers */
    bool core = rb_heapprof_callers_core_p(&rb_heapprof.tables.callers, word);
    unlock_blocks();
    return core;
}

/* Whether a mapping of these arguments is a block. word: the return address of the caller. */
HEAPPROF_COLD static bool
mapping_counts_p(size_t bytes, int protection, int flags, uintptr_t word)
{
    return rb_heapprof.run.options.memcheck && bytes <= MAPPING_MOST_BYTES &&
           protection != PROT_NONE && !(flags & (MAP_NORESERVE | MAP_FIXED)) &&
           !called_by_core_p(word);
}

/* Removes the block of a mapping that its caller unmaps or moves. word: the return address of the
 * caller. A mapping of MRI or of the profiler is no block. So no table is touched while it grows.
 * Returns false if it was no block. */
HEAPPROF_COLD static bool
forget_mapping(void *memory, uintptr_t word)
{
    if (!rb_heapprof.run.options.memcheck || !rb_heapprof_maybe_block_p(memory) ||
        called_by_core_p(word)) return false;
    remove_block(memory);
    return true;
}
#endif
