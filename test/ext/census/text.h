#ifndef CENSUS_TEXT_H
#define CENSUS_TEXT_H
/* text.h - a stack as one text, so that the profiler's stacks and the census's can be compared.
 *
 * A line for each frame, innermost first, "path:line". A C method is where its caller is, and so
 * are the methods that MRI writes in Ruby; so a line like the one before it is left out, and a C
 * method without a caller, too.
 *
 * The text is good until the next call of the same function. No Ruby object, no raise.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"

/* What runs now, as rb_profile_frames has it. */
const char *census_text_of_this_place(void);

/* A row of a profile. */
const char *census_text_of_row(const struct rb_heapprof_row *row);

#endif
