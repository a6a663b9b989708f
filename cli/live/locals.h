#ifndef HEAPPROF_CLI_LOCALS_H
#define HEAPPROF_CLI_LOCALS_H
/* Writes the local variables of a frame that `stacks` shows. */
#include "attach/look.h"
#include "report/json.h"

/* Writes a line for each variable, below the frame; or why none is known. */
void cli_locals_text(FILE *out, const struct attach_looks *looks,
                     const struct attach_look_frame *frame);

/* Writes members of the frame's object: "locals", and if they are not known "locals_unknown". */
void cli_locals_json(struct report_json *json, const struct attach_looks *looks,
                     const struct attach_look_frame *frame);

#endif
