#ifndef HEAPPROF_VM_LOAD_H
#define HEAPPROF_VM_LOAD_H
#include "ruby/ruby.h"
#include "profiler/load.h"
#include "pprof/reader.h"

/* A profile while it is read from an object that has read(length). */
struct heapprof_io {
    VALUE    io;
    uint64_t most;       /* bytes that may be read, unpacked */
    struct heapprof_snapshot
        *snapshot;       /* NULL: none could be made; then raised or error says why */
    int      tag;        /* how io's read jumped out; 0: it did not */
    VALUE    raised;
    char     error[HEAPPROF_READER_ERROR_MAX]; /* "": there was no memory */
};

/* Reads io up to its end. Raises nothing. Keeps the GVL only while io's read runs; other threads
 * run meanwhile. */
void rb_heapprof_io_load(struct heapprof_io *io);

/* Raises again what io's read raised. */
NORETURN(void rb_heapprof_io_raise(const struct heapprof_io *io));

#endif
