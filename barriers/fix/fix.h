#ifndef HEAPPROF_BARRIERS_FIX_H
#define HEAPPROF_BARRIERS_FIX_H
/* Missing barriers, put into the source.
 *
 *     p->field = value;     RB_OBJ_WRITE(self, &p->field, value);
 *     *p = *other;          *p = *other;
 *                           RB_OBJ_WRITTEN(self, Qundef, p->field);      for each field that is told
 *     store(p, value);      store(p, value);                             which has no name for the object
 *                           RB_OBJ_WRITTEN(self, Qundef, p->field);
 *     store_all(p, hash);   RB_OBJ_WB_UNPROTECT(self);                   the same, and a GC may start within it
 *                           store_all(p, hash);
 */
#include <stdio.h>

#include "barriers/flow/findings.h"

/* A unified diff of all files. What is left to do by hand is told, with the reason. types: those that could be WB_PROTECTED
 * are made that, too, each with all its stores. */
void wb_fix(FILE *out, struct wb_program *program, const struct wb_findings *findings,
            const char *directory, bool types);

#endif
