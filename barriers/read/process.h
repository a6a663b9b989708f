#ifndef HEAPPROF_BARRIERS_PROCESS_H
#define HEAPPROF_BARRIERS_PROCESS_H
/* Runs a program, for a limited time. */
#include <stdbool.h>

/* The ruby that is run: $RUBY, or the one in PATH. */
const char *wb_ruby(void);

/* Runs the words, whose last one is followed by NULL, in that directory, and waits. Its output goes
 * to the descriptor out. After so many seconds it is killed, with all that it has started. Returns
 * false in that case, or if there is no process. */
bool wb_run(char *const *words, const char *directory, int out, unsigned seconds);

#endif
