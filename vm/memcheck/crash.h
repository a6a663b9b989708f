#ifndef HEAPPROF_VM_CRASH_H
#define HEAPPROF_VM_CRASH_H
/* A process with memcheck=1 that crashes after it has used a dead object. */
#include <stdbool.h>

/* From here on, such a process writes a file with these uses, and nothing else. path names it; it
 * returns NULL if there is none to write. */
void rb_heapprof_crash_start(const char *(*path)(void));

#endif
