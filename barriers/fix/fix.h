#ifndef HEAPPROF_BARRIERS_FIX_H
#define HEAPPROF_BARRIERS_FIX_H
/* Adds missing barriers to the source.
 *
 *     p->field = value;     RB_OBJ_WRITE(self, &p->field, value);
 *
 *     *p = *other;          *p = *other;
 *                           RB_OBJ_WRITTEN(self, Qundef, p->field);   for each field that lacks one
 *
 *     store(p, value);      store(p, value);                         store() has no object
 *                           RB_OBJ_WRITTEN(self, Qundef, p->field);
 *
 *     store_all(p, hash);   RB_OBJ_WB_UNPROTECT(self);               the same; a GC may start in it
 *                           store_all(p, hash);
 */
#include <stdio.h>

#include "barriers/flow/findings.h"

/* Writes a unified diff of all files. A line on stderr names each store that has to be changed
 * by hand, with the reason. types: also makes each type WB_PROTECTED that could be, together
 * with all its stores. */
void wb_fix(FILE *out, struct wb_program *program, const struct wb_findings *findings,
            const char *directory, bool types);

#endif
