#ifndef HEAPPROF_REPORT_STACK_H
#define HEAPPROF_REPORT_STACK_H
/* A sample's stack as one line, for the formats that write stacks in this way. */
#include <stdbool.h>
#include <stdio.h>

#include "pprof/model.h"

/* How the stacks of a profile are written. */
struct report_stacks {
    bool        defined;       /* report_definitions_p (names.h) */
    bool        double_quotes; /* each '"' is written twice */
    const char *directories;   /* the application's, as the profile says (own.h), or NULL */
};

struct report_stacks report_stacks_of(const struct heapprof_model *model, bool double_quotes);

/* Writes "main (app.rb:3);Cart#load (app/cart.rb:7);Array#map": the outermost function first, with
 * ';' between them. The place is that of the line that runs. It is left out if it is not known,
 * and of a C function, which has that of its caller. A ';' in a name becomes ':'. A character that
 * ends a line becomes a space. Memory of a table of the VM has the table's name as its stack
 * (names.h). */
void report_put_stack(FILE *out, const struct report_stacks *stacks,
                      const struct heapprof_samples *samples);

/* Writes a text as one line of UTF-8. A character that ends a line becomes a space, and a ';'
 * becomes the character semicolon. With double_quotes, each '"' is written twice. */
void report_put_line(FILE *out, const char *text, char semicolon, bool double_quotes);

/* Returns the name of the line's function. If it has no name, or line is NULL, writes the
 * location's address into address and returns that. */
const char *report_frame_name(const struct heapprof_model *model, uint32_t location,
                              const struct heapprof_model_line *line, char *address, size_t size);

#endif
