#ifndef HEAPPROF_VM_LOAD_H
#define HEAPPROF_VM_LOAD_H
#include "ruby/ruby.h"
#include "profiler/load.h"
#include "pprof/reader.h"

/* A profile that is read from what has read(length), on its way. */
struct heapprof_io {
    VALUE    io;
    uint64_t most;       /* bytes, unpacked */
    struct heapprof_snapshot *snapshot; /* NULL: there is none; then two of these say why */
    int      tag;        /* read left with that: for rb_jump_tag, after rb_heapprof_io_raise */
    VALUE    raised;
    char     error[HEAPPROF_READER_ERROR_MAX]; /* "": no memory */
};

/* Reads io up to its end. Raises nothing. Needs no GVL but for io's read: another thread runs meanwhile. */
void rb_heapprof_io_load(struct heapprof_io *io);

/* Goes on with what read raised. */
NORETURN(void rb_heapprof_io_raise(const struct heapprof_io *io));

#endif
