/* cover.c - makes the slot of a dead object inaccessible, and accessible again. Compiled inside
 * gc.c.
 *
 * Under Valgrind, Valgrind is told. It reports each access, and the program goes on with what the
 * slot contains. So the class of the object stays there, and what says how it is laid out.
 *
 *     flags        accessible: the collector reads it, and so may anybody (T_ZOMBIE)
 *     class        | inaccessible
 *     the rest     |
 */
#include "gc/quarantine/quarantine.h"

#ifndef VALGRIND_MAKE_MEM_NOACCESS
# define VALGRIND_MAKE_MEM_NOACCESS(memory, bytes) 0
#endif

HEAPPROF_COLD static void
cover(VALUE slot, size_t bytes)
{
    (void)VALGRIND_MAKE_MEM_NOACCESS((void *)(slot + sizeof(VALUE)), bytes - sizeof(VALUE));
}

HEAPPROF_COLD static void
uncover(VALUE slot, size_t bytes)
{
    (void)VALGRIND_MAKE_MEM_DEFINED((void *)slot, bytes);
}
