#ifndef HEAPPROF_REPORT_STACK_H
#define HEAPPROF_REPORT_STACK_H
/* A sample's stack as one line, for the formats that have it so. */
#include <stdbool.h>
#include <stdio.h>

#include "pprof/model.h"

/* Writes the functions' names, outermost first, with ';' between. A ';' in a name becomes ':', and what ends
 * a line a space; with double_quotes each '"' stands twice. */
void report_put_stack(FILE *out, const struct heapprof_samples *samples, bool double_quotes);

/* Writes a text as one line of UTF-8: what ends a line is a space, a ';' is that character; with double_quotes
 * each '"' stands twice. */
void report_put_line(FILE *out, const char *text, char semicolon, bool double_quotes);

/* The name of a line's function; of what has none (line may be NULL) its address, put in there. */
const char *report_frame_name(const struct heapprof_model *model, uint32_t location,
                              const struct heapprof_model_line *line, char *address, size_t size);

#endif
