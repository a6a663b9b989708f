/* graph_api.c - the primitive of ObjectSpace::HeapGraph: it checks arguments, and raises. Also
 * finds what dumps need to know of Ruby beforehand.
 */
#include "ruby/ruby.h"
#include "ruby/io.h"
#include "ruby/thread.h"
#include "vm/graph/graph.h"
#include "gc/graph/graph.h"
#include "vm/api/graph_api.h"
#include "internal/gc.h"
#include <errno.h>

static size_t
values_setting(VALUE values)
{
    if (values == ID2SYM(rb_intern("none"))) return 0;
    if (values == ID2SYM(rb_intern("all"))) return SIZE_MAX;
    if (RB_FIXNUM_P(values) && FIX2LONG(values) > 0) return (size_t)FIX2LONG(values);
    rb_raise(rb_eArgError,
             "values: %+" PRIsVALUE " is not known (expected :none, :all, or bytes of a string)",
             values);
}

/* Writes to a file. If this raises, no half-written file is left. */
struct to_path {
    struct heapprof_graph_dump *dump;
    struct heapprof_file file;
    int error;
};

static void *
open_without_gvl(void *data)
{
    struct to_path *to = data;

    to->error = rb_heapprof_file_step(&to->file);
    return NULL;
}

/* Opening a pipe waits for its reader. */
static VALUE
dump_to_file(VALUE data)
{
    struct to_path *to = (struct to_path *)data;

    for (;;) {
        to->error = EINTR; /* stays so if an interrupt raises */
        rb_nogvl(open_without_gvl, to, RUBY_UBF_IO, NULL, RB_NOGVL_INTR_FAIL);
        if (to->error != EINTR) break;
        rb_thread_check_ints();
    }
    if (to->error) return Qnil;
    to->error = ECANCELED;
    to->error = rb_heapprof_graph_dump(to->dump);
    return Qnil;
}

static VALUE
end_file(VALUE data)
{
    struct to_path *to = (struct to_path *)data;

    to->error = rb_heapprof_file_end(&to->file, to->error);
    return Qnil;
}

static int
dump_to_path(struct heapprof_graph_dump *dump, const char *path)
{
    struct to_path to = {.dump = dump};
    int error = rb_heapprof_file_begin(&to.file, path, "", 0, true);

    if (error) return error;
    dump->file = &to.file;
    rb_ensure(dump_to_file, (VALUE)&to, end_file, (VALUE)&to);
    return to.error;
}

static int
dump_to_io(struct heapprof_graph_dump *dump, VALUE io)
{
    io = rb_io_get_write_io(io);
    rb_io_flush(io);
    dump->fd = rb_io_descriptor(io);
    int error = rb_heapprof_graph_dump(dump);
    RB_GC_GUARD(io);
    return error;
}

NORETURN(static void fail(const struct heapprof_graph_dump *dump, int error, VALUE path));

/* path is nil if an IO was written to. */
static void
fail(const struct heapprof_graph_dump *dump, int error, VALUE path)
{
    if (dump->killed_by) {
        const char *name = ruby_signal_name(dump->killed_by);
        rb_raise(rb_eRuntimeError,
                 "the process that wrote the heap graph was killed by signal %d%s%s%s",
                 dump->killed_by, name ? " (SIG" : "", name ? name : "", name ? ")" : "");
    }
    if (NIL_P(path)) rb_syserr_fail(error, "heap graph");
    rb_syserr_fail_str(error, path);
}

VALUE
rb_heapprof_graph_dump_to(VALUE path_or_io, VALUE gc, VALUE fork, VALUE values)
{
    struct heapprof_graph_dump dump = { .values_bytes = values_setting(values),
                                        .gc = RTEST(gc),
                                        .fork = RTEST(fork) };
    bool to_io = RB_TYPE_P(path_or_io, T_FILE);
    int error;

    rb_heapprof_graph_prepare();
    if (!to_io) FilePathValue(path_or_io);
    if (dump.gc) rb_gc_start();
    error =
        to_io ? dump_to_io(&dump, path_or_io) : dump_to_path(&dump, StringValueCStr(path_or_io));
    RB_GC_GUARD(path_or_io);
    if (error) fail(&dump, error, to_io ? Qnil : path_or_io);
    return ULL2NUM(dump.bytes);
}

/* ---- boot ---- */

static const rb_data_type_t *
type_of(VALUE object_space, const char *class_name)
{
    VALUE object = rb_obj_alloc(rb_const_get(object_space, rb_intern(class_name)));

    return RTYPEDDATA_TYPE(object);
}

void
rb_heapprof_graph_define(VALUE object_space)
{
    rb_heapprof_gc_graph_weak_types(type_of(object_space, "WeakMap"),
                                    type_of(object_space, "WeakKeyMap"));
}
