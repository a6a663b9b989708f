/* capi.c - the C API as an extension sees it, and a look at objects' flags; for
 * test/ruby/test_capi.rb, test_track.rb and test_verify.rb. Each function passes its
 * arguments on and returns what it got as plain Ruby values: the tests decide what is
 * right.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include <errno.h>
#include <string.h>

/* The profiler's reserved bit; stated here anew, so that a change of it is noticed. */
#define SAMPLED_BIT ((VALUE)1 << 6)

/* ---- start and stop ---- */

static uint64_t seed_value;

/* What nil does not replace keeps its default. */
static void
config_read(struct rb_heapprof_config *config, VALUE interval, VALUE depth, VALUE memory,
            VALUE seed, VALUE malloc_interval)
{
    if (!NIL_P(interval)) config->interval_bytes = NUM2ULL(interval);
    if (!NIL_P(malloc_interval)) config->malloc_interval_bytes = NUM2ULL(malloc_interval);
    if (!NIL_P(depth)) config->depth = NUM2UINT(depth);
    if (!NIL_P(memory)) config->memory_bytes = NUM2SIZET(memory);
    if (!NIL_P(seed)) {
        seed_value = NUM2ULL(seed);
        config->seed = &seed_value;
    }
}

static VALUE
started_symbol(enum rb_heapprof_started started)
{
    switch (started) {
      case RB_HEAPPROF_STARTED:    return ID2SYM(rb_intern("started"));
      case RB_HEAPPROF_RUNNING:    return ID2SYM(rb_intern("running"));
      case RB_HEAPPROF_BAD_CONFIG: return ID2SYM(rb_intern("bad_config"));
      case RB_HEAPPROF_BAD_OUT:
        return ID2SYM(rb_intern(errno == ENOENT ? "no_such_directory" : "bad_out"));
    }
    return Qnil;
}

/* start(interval, depth, memory, seed, malloc_interval = nil) */
static VALUE
start(int argc, VALUE *argv, VALUE self)
{
    struct rb_heapprof_config config;

    rb_check_arity(argc, 4, 5);
    rb_heapprof_config_init(&config);
    config_read(&config, argv[0], argv[1], argv[2], argv[3], argc > 4 ? argv[4] : Qnil);
    return started_symbol(rb_heapprof_start(&config));
}

/* start_files(every_ms, signal, keep, out, owners, rss): nil does not replace the default. */
static VALUE
start_files(VALUE self, VALUE every_ms, VALUE signal, VALUE keep, VALUE out, VALUE owners,
            VALUE rss)
{
    struct rb_heapprof_config config;

    rb_heapprof_config_init(&config);
    config.interval_bytes = 1;
    if (!NIL_P(every_ms)) config.every_ms = NUM2ULL(every_ms);
    if (!NIL_P(signal)) config.signal = NUM2INT(signal);
    if (!NIL_P(keep)) config.keep = NUM2UINT(keep);
    if (!NIL_P(out)) config.out = StringValueCStr(out);
    if (!NIL_P(owners)) config.owners = RTEST(owners);
    if (!NIL_P(rss)) config.rss = RTEST(rss);
    return started_symbol(rb_heapprof_start(&config));
}

static VALUE
start_default(VALUE self)
{
    return started_symbol(rb_heapprof_start(NULL));
}

static VALUE
start_malloc_all(VALUE self)
{
    struct rb_heapprof_config config;

    rb_heapprof_config_init(&config);
    if (config.malloc_all) return Qnil;
    config.malloc_all = 1;
    return started_symbol(rb_heapprof_start(&config));
}

static VALUE
default_config(VALUE self)
{
    struct rb_heapprof_config config;

    rb_heapprof_config_init(&config);
    return rb_ary_new_from_args(
        5, ULL2NUM(config.interval_bytes), UINT2NUM(config.depth), SIZET2NUM(config.memory_bytes),
        config.seed ? ULL2NUM(*config.seed) : Qnil, ULL2NUM(config.malloc_interval_bytes));
}

static VALUE
set_interval(VALUE self, VALUE interval)
{
    return rb_heapprof_set_interval(NUM2ULL(interval)) ? Qtrue : Qfalse;
}

static VALUE
stop(VALUE self)
{
    rb_heapprof_stop();
    return Qnil;
}

static VALUE
running_p(VALUE self)
{
    return INT2NUM(rb_heapprof_running_p());
}

static VALUE
stat_hash(VALUE self)
{
    struct rb_heapprof_stat stat;
    VALUE hash = rb_hash_new();

    rb_heapprof_stat(&stat);
#define SET(name) rb_hash_aset(hash, ID2SYM(rb_intern(#name)), ULL2NUM(stat.name))
    SET(interval_bytes);
    SET(malloc_interval_bytes);
    SET(malloc_all);
    SET(live_samples);
    SET(total_samples);
    SET(dropped);
    SET(folded);
    SET(truncated);
    SET(sites);
    SET(stack_nodes);
    SET(functions);
    SET(memory_used);
    SET(memory_peak);
    SET(memory_budget);
    SET(doublings);
    SET(dead_functions);
    SET(dead_stack_nodes);
    SET(dead_sites);
    SET(merged_sites);
    SET(nameless_sites);
    SET(other_labels);
    SET(left_out_labels);
#undef SET
    return hash;
}

/* ---- structs of other sizes, as of callers compiled with another version of the header ---- */

/* The struct of that name as ruby fills it for so many bytes, in a buffer of 8192 bytes 0xAA. */
static VALUE
sized(VALUE self, VALUE name, VALUE size)
{
    static uint64_t buffer[1024];
    const char *which = StringValueCStr(name);

    memset(buffer, 0xAA, sizeof(buffer));
    if (strcmp(which, "config") == 0)
        rb_heapprof_config_init_sized((void *)buffer, NUM2SIZET(size));
    if (strcmp(which, "stat") == 0) rb_heapprof_stat_sized((void *)buffer, NUM2SIZET(size));
    if (strcmp(which, "rss") == 0) rb_heapprof_rss_sized((void *)buffer, NUM2SIZET(size));
    return rb_str_new((const char *)buffer, sizeof(buffer));
}

/* What the caller's header says. */
static VALUE
size_of(VALUE self, VALUE name)
{
    const char *which = StringValueCStr(name);

    if (strcmp(which, "config") == 0) return SIZET2NUM(sizeof(struct rb_heapprof_config));
    if (strcmp(which, "stat") == 0) return SIZET2NUM(sizeof(struct rb_heapprof_stat));
    return SIZET2NUM(sizeof(struct rb_heapprof_rss));
}

/* Starts with a config of these bytes, the first of which are its size. */
static VALUE
start_bytes(VALUE self, VALUE bytes)
{
    static uint64_t buffer[1024];

    memset(buffer, 0xAA, sizeof(buffer));
    StringValue(bytes);
    memcpy(buffer, RSTRING_PTR(bytes), RSTRING_LEN(bytes));
    return started_symbol(rb_heapprof_start((const void *)buffer));
}

/* ---- snapshots ---- */

static void
snapshot_free(void *snapshot)
{
    rb_heapprof_snapshot_free(snapshot);
}

static const rb_data_type_t snapshot_type = {
    "heapprof_capi_snapshot", { NULL, snapshot_free, NULL }, NULL, NULL, RUBY_TYPED_FREE_IMMEDIATELY
};

static VALUE
snapshot(VALUE self, VALUE with)
{
    unsigned int flags = FIXNUM_P(with) ? FIX2UINT(with) : RTEST(with) ? RB_HEAPPROF_GC : 0;
    rb_heapprof_snapshot_t *taken = rb_heapprof_snapshot(flags);

    return taken ? TypedData_Wrap_Struct(rb_cObject, &snapshot_type, taken) : Qnil;
}

static VALUE
difference(VALUE self, VALUE later, VALUE earlier)
{
    rb_heapprof_snapshot_t *made = rb_heapprof_snapshot_difference(
        rb_check_typeddata(later, &snapshot_type), rb_check_typeddata(earlier, &snapshot_type));

    return made ? TypedData_Wrap_Struct(rb_cObject, &snapshot_type, made) : Qnil;
}

static VALUE
free_null(VALUE self)
{
    rb_heapprof_snapshot_free(NULL);
    return Qnil;
}

struct reading {
    VALUE rows;
    int   stop_after; /* rows; the callback then returns stop_with */
    int   stop_with;
};

static VALUE
frame_array(const struct rb_heapprof_frame *frame)
{
    return rb_ary_new_from_args(3, rb_str_new_cstr(frame->path), UINT2NUM(frame->lineno),
                                rb_str_new_cstr(frame->label));
}

static VALUE
frame_arrays(const struct rb_heapprof_frame *frames, size_t count)
{
    VALUE arrays = rb_ary_new();

    for (size_t i = 0; i < count; i++) rb_ary_push(arrays, frame_array(&frames[i]));
    return arrays;
}

static VALUE
kind_name(enum rb_heapprof_kind kind)
{
    switch (kind) {
      case RB_HEAPPROF_KIND_OBJECTS: return ID2SYM(rb_intern("objects"));
      case RB_HEAPPROF_KIND_MALLOC: return ID2SYM(rb_intern("malloc"));
      case RB_HEAPPROF_KIND_RSS: return ID2SYM(rb_intern("rss"));
    }
    return Qnil;
}

static int
read_row(const struct rb_heapprof_row *row, void *data)
{
    struct reading *reading = data;
    VALUE frames = frame_arrays(row->frames, row->frame_count);
    VALUE owner_frames = frame_arrays(row->owner_frames, row->owner_frame_count);

    rb_ary_push(reading->rows,
                rb_ary_new_from_args(
                    17, rb_str_new_cstr(row->class_name), frames, LL2NUM(row->gc_age),
                    LL2NUM(row->inuse_objects), LL2NUM(row->inuse_space),
                    LL2NUM(row->alloc_objects), LL2NUM(row->alloc_space),
                    LL2NUM(row->inuse_slot_space), LL2NUM(row->inuse_malloc_space),
                    LL2NUM(row->alloc_slot_space), LL2NUM(row->alloc_malloc_space),
                    row->caller ? rb_str_new_cstr(row->caller) : Qnil,
                    row->owner ? rb_str_new_cstr(row->owner) : Qnil, owner_frames,
                    row->native_leak ? Qtrue : Qfalse, LL2NUM(row->memsize), kind_name(row->kind)));
    return --reading->stop_after == 0 ? reading->stop_with : 0;
}

/* [what each returned, the rows it gave]; stops at row stop_after (0: never) with stop_with. */
static VALUE
each(VALUE self, VALUE snapshot_object, VALUE stop_after, VALUE stop_with)
{
    rb_heapprof_snapshot_t *taken = rb_check_typeddata(snapshot_object, &snapshot_type);
    struct reading reading = { rb_ary_new(), NUM2INT(stop_after), NUM2INT(stop_with) };
    int result = rb_heapprof_snapshot_each(taken, read_row, &reading);

    RB_GC_GUARD(snapshot_object);
    return rb_ary_new_from_args(2, INT2NUM(result), reading.rows);
}

/* [bytes written or -1, errno] */
static VALUE
write_to(VALUE self, VALUE snapshot_object, VALUE path)
{
    rb_heapprof_snapshot_t *taken = rb_check_typeddata(snapshot_object, &snapshot_type);

    errno = 0;
    int64_t written = rb_heapprof_snapshot_write(taken, StringValueCStr(path));
    int error = errno;
    RB_GC_GUARD(snapshot_object);
    return rb_ary_new_from_args(2, LL2NUM(written), INT2NUM(error));
}

/* [bytes written or -1, errno]; size: of the struct, nil: none is passed; unknown: what is behind
 * it */
static VALUE
dump_graph(VALUE self, VALUE path, VALUE size, VALUE unknown)
{
    struct {
        struct rb_heapgraph_config config;
        uint64_t unknown;
    } longer = { { .size = 0 }, NUM2ULL(unknown) };

    if (!NIL_P(size)) longer.config.size = NUM2SIZET(size);
    errno = 0;
    int64_t written = rb_heapgraph_dump(StringValueCStr(path), NIL_P(size) ? NULL : &longer.config);
    int error = errno;
    return rb_ary_new_from_args(3, LL2NUM(written), INT2NUM(error),
                                SIZET2NUM(sizeof(longer.config)));
}

/* [what it returned, the rows it gave] */
static VALUE
allocation_stack(VALUE self, VALUE object, VALUE return_value)
{
    struct reading reading = { rb_ary_new(), 1, NUM2INT(return_value) };
    int result = rb_heapprof_allocation_stack(object, read_row, &reading);

    return rb_ary_new_from_args(2, INT2NUM(result), reading.rows);
}

/* ---- objects ---- */

static VALUE
flagged_p(VALUE self, VALUE object)
{
    return !RB_SPECIAL_CONST_P(object) && (RBASIC(object)->flags & SAMPLED_BIT) ? Qtrue : Qfalse;
}

static VALUE
set_flag(VALUE self, VALUE object, VALUE set)
{
    if (RTEST(set)) RBASIC(object)->flags |= SAMPLED_BIT;
    else RBASIC(object)->flags &= ~SAMPLED_BIT;
    return object;
}

/* Sets the object up anew as what it is, as an allocator does that reuses a slot. */
static VALUE
setup_again(VALUE self, VALUE object)
{
    return rb_obj_setup(object, RBASIC_CLASS(object), RBASIC(object)->flags & ~SAMPLED_BIT);
}

/* ---- labels ---- */

static VALUE
label_with(VALUE self, VALUE base, VALUE key, VALUE value)
{
    const char *text = NIL_P(value) ? NULL : RSTRING_PTR(value);

    return UINT2NUM(rb_heapprof_label_with(NUM2UINT(base), StringValueCStr(key), text,
                                           text ? (size_t)RSTRING_LEN(value) : 0));
}

static VALUE
label_set(VALUE self, VALUE label)
{
    return UINT2NUM(rb_heapprof_label_set(NUM2UINT(label)));
}

static VALUE
label_get(VALUE self)
{
    return UINT2NUM(rb_heapprof_label_get());
}

void
Init_heapprof_capi(void)
{
    VALUE capi = rb_define_module("HeapProfCAPI");

    rb_define_singleton_method(capi, "start", start, -1);
    rb_define_singleton_method(capi, "start_files", start_files, 6);
    rb_define_singleton_method(capi, "start_default", start_default, 0);
    rb_define_singleton_method(capi, "start_malloc_all", start_malloc_all, 0);
    rb_define_singleton_method(capi, "default_config", default_config, 0);
    rb_define_singleton_method(capi, "set_interval", set_interval, 1);
    rb_define_singleton_method(capi, "stop", stop, 0);
    rb_define_singleton_method(capi, "running_p", running_p, 0);
    rb_define_singleton_method(capi, "stat", stat_hash, 0);
    rb_define_singleton_method(capi, "sized", sized, 2);
    rb_define_singleton_method(capi, "size_of", size_of, 1);
    rb_define_singleton_method(capi, "start_bytes", start_bytes, 1);
    rb_define_singleton_method(capi, "snapshot", snapshot, 1);
    rb_define_singleton_method(capi, "difference", difference, 2);
    rb_define_singleton_method(capi, "free_null", free_null, 0);
    rb_define_singleton_method(capi, "each", each, 3);
    rb_define_singleton_method(capi, "write", write_to, 2);
    rb_define_singleton_method(capi, "dump_graph", dump_graph, 3);
    rb_define_singleton_method(capi, "allocation_stack", allocation_stack, 2);
    rb_define_singleton_method(capi, "label_with", label_with, 3);
    rb_define_singleton_method(capi, "label_set", label_set, 1);
    rb_define_singleton_method(capi, "label_get", label_get, 0);
    rb_define_singleton_method(capi, "flagged?", flagged_p, 1);
    rb_define_singleton_method(capi, "set_flag", set_flag, 2);
    rb_define_singleton_method(capi, "setup_again", setup_again, 1);
}
