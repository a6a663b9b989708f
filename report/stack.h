#ifndef HEAPPROF_REPORT_STACK_H
#define HEAPPROF_REPORT_STACK_H
/* A sample's stack as one line, for the formats that write stacks in this way. */
#include <stdbool.h>
#include <stdio.h>

#include "pprof/model.h"

/* Writes the functions' names, the outermost first, with ';' between them. A ';' in a name
 * becomes ':'. A character that ends a line becomes a space. With double_quotes, each '"' is
 * written twice. Memory of a table of the VM has the table's name as its stack (names.h). */
void report_put_stack(FILE *out, const struct heapprof_samples *samples, bool double_quotes);

/* Writes a text as one line of UTF-8. A character that ends a line becomes a space, and a ';'
 * becomes the character semicolon. With double_quotes, each '"' is written twice. */
void report_put_line(FILE *out, const char *text, char semicolon, bool double_quotes);

/* Returns the name of the line's function. If it has no name, or line is NULL, writes the
 * location's address into address and returns that. */
const char *report_frame_name(const struct heapprof_model *model, uint32_t location,
                              const struct heapprof_model_line *line, char *address, size_t size);

#endif
