// take_snapshot.h - a snapshot of tables that nobody changes, copied in one go.

#ifndef HEAPPROF_TAKE_SNAPSHOT_H
#define HEAPPROF_TAKE_SNAPSHOT_H

extern "C" {
#include "profiler/copies.h"
}

// asks as for rb_heapprof_copies_begin. NULL when there is no memory.
inline heapprof_snapshot *
TakeSnapshot(const heapprof_tables *tables, const heapprof_facts *facts, const heapprof_asks *asks)
{
    heapprof_copies *copies = rb_heapprof_copies_begin(tables, facts, asks);
    if (!copies) return nullptr;
    while (rb_heapprof_copies_step(copies, asks && asks->memsize)) continue;
    return rb_heapprof_copies_add_up(copies);
}

#endif
