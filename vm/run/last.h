#ifndef HEAPPROF_VM_LAST_H
#define HEAPPROF_VM_LAST_H
/* The last profile of a process that crashes ([BUG]), or that has no memory left for it. */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* From here on, a crash writes a profile, where that is safe, as MRI reports it; the report has a
 * line about it. name writes the profile's path, as that process would name it. It is called in a
 * copy of the process, and returns false if there is no path. with: flags of
 * rb_heapprof_snapshot. Called once, at boot. */
void rb_heapprof_last_start(bool (*name)(pid_t pid, char *path, size_t size), unsigned int with);

/* Writes the profile to path by a copy of the process, because there is no memory left for it here.
 * Returns false if that is not possible. Needs the GVL; called at the end of the process. */
bool rb_heapprof_last_write(const char *path);

#endif
