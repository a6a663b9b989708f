#ifndef HEAPPROF_BARRIERS_EXTCONF_H
#define HEAPPROF_BARRIERS_EXTCONF_H
/* Runs the extconf.rb of a directory: code of whoever wrote it. Only for who asks for that. */
#include "barriers/arena.h"

/* Runs it in a directory of its own by $RUBY, or "ruby"; returns that directory, with the Makefile in it, which
 * wb_extconf_clean removes. NULL: there is no Makefile. What it prints goes to stderr. */
const char *wb_extconf_run(struct wb_arena *arena, const char *directory);

/* Removes the directories of all runs. */
void wb_extconf_clean(void);

#endif
