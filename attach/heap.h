#ifndef ATTACH_HEAP_H
#define ATTACH_HEAP_H
/* The heap profile that the profiler of another process keeps. Its tables are copied, and added up
 * by the same code as inside (profiler/copies.h).
 *
 *     target                             here
 *     struct heapprof  --- read --->  the same, whose arrays are copies  --- add up --->  snapshot
 *         sequence words say whether it changed meanwhile
 *
 * The result is what `ObjectSpace::HeapProfile.snapshot(owners: false, rss: false)` has at that
 * moment, byte for byte, except for what it says of the process and of the tables' memory. Layouts
 * are not translated: target and reader have to be of one version, and that is checked. */
#include "attach/vm.h"
#include "attach/stop.h"
#include "profiler/snapshot.h"

struct attach_heap_counts {
    uint64_t tries;
    uint64_t stops;      /* of all threads, after too many failed tries */
    uint64_t stopped_ns; /* the longest stop */
};

/* The profile of one moment during this call, which the caller frees. Returns NULL if nothing is
 * profiled there, if the target is of another version, or if it has ended; error says which. With
 * stop NULL no thread is stopped. Adds to counts. */
struct heapprof_snapshot *attach_heap_read(struct attach_vm *vm, struct attach_stop *stop,
                                           struct attach_heap_counts *counts,
                                           char error[ATTACH_TARGET_ERROR_MAX]);

/* How many samples are alive in the target, as far as its tables have entered them. Returns false
 * if nothing is profiled there. Takes some reads, whatever the size of the heap. */
bool attach_heap_alive(struct attach_vm *vm, uint64_t *samples);

/* Whether anything is profiled there: one read. */
bool attach_heap_profiled_p(struct attach_vm *vm);

#define ATTACH_HEAP_BUILD_MAX 256

/* The description of the target's ruby, which its own profiles have as the build of their mapping.
 * It is "" if it cannot be read: cores have no read-only data. */
void attach_heap_build(struct attach_vm *vm, char build[ATTACH_HEAP_BUILD_MAX]);

#endif
