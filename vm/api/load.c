/* load.c - from an IO, or another object with read, to a snapshot.
 *
 *     GVL         read(65536)        read(65536)             nil
 *                    |  bytes           |                     |
 *     without    reader ... decodes ... reader ... decodes ... model -> snapshot
 *
 * The reader is plain C, so no exception may jump over it. What read raises is kept, and raised
 * again when the reader has returned.
 */
#include "ruby/ruby.h"
#include "ruby/thread.h"
#include "vm/api/load.h"
#include "vm_core.h"
#include "internal/thread.h"
#include <errno.h>

/* A piece of the file that the reader asks for. */
struct piece {
    struct heapprof_io *io;
    void  *buffer;
    size_t size;
    ptrdiff_t got;
};

static VALUE
read_piece(VALUE data)
{
    struct piece *piece = (struct piece *)data;

    rb_thread_check_ints();
    VALUE bytes = rb_funcall(piece->io->io, rb_intern("read"), 1, SIZET2NUM(piece->size));
    if (NIL_P(bytes)) return Qnil;
    StringValue(bytes);
    if ((size_t)RSTRING_LEN(bytes) > piece->size) {
        rb_raise(rb_eArgError, "read(%"PRIuSIZE") gave %ld bytes", piece->size, RSTRING_LEN(bytes));
    }
    piece->got = RSTRING_LEN(bytes);
    memcpy(piece->buffer, RSTRING_PTR(bytes), (size_t)piece->got);
    RB_GC_GUARD(bytes);
    return Qnil;
}

static void *
read_with_gvl(void *data)
{
    struct piece *piece = data;
    struct heapprof_io *io = piece->io;
    rb_execution_context_t *ec = GET_EC();
    VALUE before = ec->errinfo;

    rb_protect(read_piece, (VALUE)piece, &io->tag);
    if (io->tag) {
        io->raised = ec->errinfo;
        piece->got = -1;
    }
    ec->errinfo = before;
    return NULL;
}

static ptrdiff_t
more(void *data, void *buffer, size_t size)
{
    struct piece piece = { .io = data, .buffer = buffer, .size = size };

    if (ruby_thread_has_gvl_p()) read_with_gvl(&piece);
    else rb_thread_call_with_gvl(read_with_gvl, &piece);
    errno = EIO;
    return piece.got;
}

static void *
load(void *data)
{
    struct heapprof_io *io = data;
    struct heapprof_model *model = rb_heapprof_reader_read(more, io, io->most, io->error);

    if (!model) return io;
    io->snapshot = rb_heapprof_load(model, io->error);
    rb_heapprof_model_free(model);
    return io;
}

void
rb_heapprof_io_load(struct heapprof_io *io)
{
    /* The first read serves an interrupt that is pending already. */
    if (!rb_nogvl(load, io, NULL, NULL, RB_NOGVL_INTR_FAIL)) load(io);
}

void
rb_heapprof_io_raise(const struct heapprof_io *io)
{
    GET_EC()->errinfo = io->raised;
    rb_jump_tag(io->tag);
}
