#ifndef HEAPPROF_MEMCHECK_CAUSES_H
#define HEAPPROF_MEMCHECK_CAUSES_H
/* The cause of a record: what one C function does wrong, in all its calls. The number of a cause
 * is the same in each run, as long as the functions have the same names: addresses, lines, Ruby
 * stacks, and versions of libraries do not matter. If no function has a name, the innermost
 * Ruby method counts. */
#include "memcheck/process.h"

/* Sets the cause of each record. Sorts records by kind; then by cause, the largest first; then
 * by size. */
void memcheck_causes_find(struct memcheck_process *process);

/* Makes one record of those with one cause, owner and Ruby stack. To be called after find, for
 * records of the process's own file. */
void memcheck_causes_merge(struct memcheck_process *process);

/* Adds the amounts of a record to another. */
void memcheck_record_add(struct memcheck_record *to, const struct memcheck_record *from);

enum { MEMCHECK_CAUSE_TEXT = 17 };

/* The number as text, of 16 digits. */
void memcheck_cause_text(uint64_t cause, char text[MEMCHECK_CAUSE_TEXT]);

#endif
