#ifndef HEAPPROF_MEMCHECK_JOIN_H
#define HEAPPROF_MEMCHECK_JOIN_H
/* Joins two witnesses. Valgrind knows which blocks are lost; the process's own file knows the
 * Ruby stack of each block. The address of a block connects the two. */
#include "memcheck/valgrind/block_list.h"
#include "memcheck/process.h"

/* Corrects the owner of leaks. A parent and a child that write to one XML file may be taken for
 * each other: for each leak this finds the document whose list of blocks contains it. lists has
 * one element for each document. */
void memcheck_join_place(struct memcheck_valgrind *valgrind,
                         const struct memcheck_block_list *lists);

/* Replaces the records of a process (one for each block) by those of a document. The process
 * may be all zero if it has written no file. valgrind must be attributed and must outlive the
 * process. Returns false if there is no memory; the caller frees the process either way. */
bool memcheck_join(struct memcheck_process *process, const struct memcheck_valgrind *valgrind,
                   uint32_t document,
                   const struct memcheck_block_list *list);

#endif
