#ifndef HEAPPROF_MEMCHECK_JOIN_H
#define HEAPPROF_MEMCHECK_JOIN_H
/* Valgrind's errors and leaks as records of a process, with the Ruby stacks that the process's own file has of its blocks. */
#include "memcheck/valgrind/block_list.h"
#include "memcheck/process.h"

/* A process that shares its child's file may seem to be that child: of each leak the document is found whose list of blocks has it.
 * lists: by document. */
void memcheck_join_place(struct memcheck_valgrind *valgrind, const struct memcheck_block_list *lists);

/* Replaces the process's records, one for each block, by those of that document. The process may be all zero: it has written no file.
 * valgrind, which has been attributed, outlives it. False: no memory. Free it either way. */
bool memcheck_join(struct memcheck_process *process, const struct memcheck_valgrind *valgrind, uint32_t document,
                   const struct memcheck_block_list *list);

#endif
