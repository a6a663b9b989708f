#ifndef ATTACH_HEAP_H
#define ATTACH_HEAP_H
/* The heap profile of another process, which its profiler keeps: its tables are copied, and added up by the code that
 * does so inside (profiler/copies.h).
 *
 *     target                             here
 *     struct heapprof  --- read --->  the same, whose arrays are copies  --- add up --->  snapshot
 *         sequence words say whether it changed meanwhile
 *
 * It is what `ObjectSpace::HeapProfile.snapshot(owners: false, rss: false)` has at that moment, byte for byte but for
 * what it says of the process and of the tables' memory. Layouts are not
 * translated: target and reader have to be of one version, which is looked at. */
#include "attach/vm.h"
#include "attach/stop.h"
#include "profiler/snapshot.h"

struct attach_heap_counts {
    uint64_t tries;
    uint64_t stops;      /* of all threads, after so many tries in vain */
    uint64_t stopped_ns; /* the longest of these */
};

/* The profile as of a moment of this call, to be freed; NULL: error says why: nothing is profiled there, it is of
 * another version, it has ended. stop may be NULL: nobody is stopped. counts are added to. */
struct heapprof_snapshot *attach_heap_read(struct attach_vm *vm, struct attach_stop *stop,
                                                struct attach_heap_counts *counts,
                                                char error[ATTACH_TARGET_ERROR_MAX]);

#define ATTACH_HEAP_BUILD_MAX 256

/* What the target's ruby says it is, as its own profiles have it for the build of their mapping; "": that cannot be
 * read, as in cores, which have no read-only data. */
void attach_heap_build(struct attach_vm *vm, char build[ATTACH_HEAP_BUILD_MAX]);

#endif
