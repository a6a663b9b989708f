#ifndef HEAPPROF_BARRIERS_EXTCONF_H
#define HEAPPROF_BARRIERS_EXTCONF_H
/* Runs the extconf.rb of a directory, which is code of the extension's author. So it runs only
 * if the user asks for it: --extconf. */
#include "barriers/arena.h"

/* Runs extconf.rb in a new temporary directory, by $RUBY or "ruby", for so many seconds at most.
 * Returns that directory, which then contains a Makefile. Returns NULL if no Makefile was made, and
 * says why. What the script prints goes to stderr. arguments: those of the script; NULL behind the
 * last. */
const char *wb_extconf_run(struct wb_arena *arena, const char *directory, char *const *arguments,
                           unsigned seconds, const char **problem);

/* Removes the temporary directories of all runs. */
void wb_extconf_clean(void);

#endif
