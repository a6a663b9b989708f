/* api.c - the primitives of ObjectSpace::HeapProfile. heapprof.rb has the methods and their
 * documentation.
 *
 * run/, memcheck/ and profiler/ do the work; sample.c makes objects of rows. A primitive first
 * checks all arguments, then changes something: what it raises leaves no half-done change.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "ruby/io.h"
#include "ruby/thread.h"
#include "vm/api/api.h"
#include "vm/run/flush.h"
#include "vm/api/graph_api.h"
#include "vm/api/label_api.h"
#include "vm/run/periodic.h"
#include "vm/memprof/reflection.h"
#include "base/version.h"
#include "gc/book/state.h"
#include "vm/api/load.h"
#include "vm/memcheck/memcheck.h"
#include "vm/memcheck/native_leaks.h"
#include "vm/api/report.h"
#include "vm/run/run.h"
#include "vm/run/take.h"
#include "vm/thread/others.h"
#include "vm/api/sample.h"
#include "vm/memcheck/valgrind.h"
#include "profiler/difference.h"
#include "os/terminal.h"
#include "profiler/options.h"
#include "profiler/out.h"
#include "profiler/pprof.h"
#include "internal.h"
#include "internal/numeric.h"
#include "vm_core.h"
#include "builtin.h"
#include <inttypes.h>
#include <math.h>

static VALUE cHeapProfile;

/* ---- the object: a snapshot ---- */

struct profile {
    struct heapprof_snapshot *snapshot; /* NULL: it is being taken, or taking it failed */
    VALUE later, earlier; /* the two profiles of a difference, for its report; else 0 */
};

static void
heapprof_mark(void *data)
{
    const struct profile *profile = data;

    rb_gc_mark(profile->later);
    rb_gc_mark(profile->earlier);
}

static size_t
snapshot_memsize(const struct heapprof_snapshot *snapshot)
{
    return snapshot ? rb_heapprof_snapshot_memsize(snapshot) : 0;
}

static size_t
heapprof_memsize(const void *data)
{
    return sizeof(struct profile) + snapshot_memsize(((const struct profile *)data)->snapshot);
}

static void
heapprof_free(void *data)
{
    struct profile *profile = data;

    rb_heapprof_gc_report_own(-(ssize_t)snapshot_memsize(profile->snapshot));
    rb_heapprof_snapshot_free(profile->snapshot);
    free(profile);
}

/* Gives the profile its snapshot and freezes it. A snapshot never changes, so ractors may share
 * it. */
static const rb_data_type_t heapprof_type = {
    "heap_profile",
    { heapprof_mark, heapprof_free, heapprof_memsize },
    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE
};

static VALUE
new_profile(VALUE klass)
{
    struct profile *data = calloc(1, sizeof(*data));
    if (!data) rb_memerror();

    rb_heapprof_gc_own_object(true);
    VALUE profile = TypedData_Wrap_Struct(klass, &heapprof_type, data);
    rb_heapprof_gc_own_object(false);
    return profile;
}

static void
keep(VALUE self, struct heapprof_snapshot *snapshot)
{
    struct profile *profile = RTYPEDDATA_DATA(self);

    profile->snapshot = snapshot;
    rb_heapprof_gc_report_own((ssize_t)snapshot_memsize(snapshot));
    OBJ_FREEZE(self);
}

static const struct profile *
profile_of(VALUE self)
{
    const struct profile *profile = rb_check_typeddata(self, &heapprof_type);
    if (!profile->snapshot)
        rb_raise(rb_eArgError, "uninitialized heap profile"); /* taking its snapshot failed */
    return profile;
}

static const struct heapprof_snapshot *
snapshot_of(VALUE self)
{
    return profile_of(self)->snapshot;
}

/* ---- the peak ---- */

/* What was alive at the peak that the profile knows; nil if it knows none. */
static VALUE
heapprof_at_peak(VALUE self)
{
    VALUE profile = new_profile(cHeapProfile);
    const struct heapprof_snapshot *snapshot = snapshot_of(self);

    if (snapshot->facts.peak_bytes <= 0) return Qnil;
    struct heapprof_snapshot *peak = rb_heapprof_snapshot_at_peak(snapshot);
    RB_GC_GUARD(self);
    if (!peak) rb_memerror();
    keep(profile, peak);
    return profile;
}

NORETURN(static void raise_not_running(void));

static void
raise_not_running(void)
{
    rb_raise(rb_eRuntimeError, "the heap profiler is not running; start it first");
}

static VALUE
heapprof_s_peak(VALUE self)
{
    VALUE profile = new_profile(cHeapProfile);
    rb_heapprof_snapshot_t *snapshot = rb_heapprof_snapshot(0);

    if (!snapshot) {
        if (rb_heapprof_running_p()) rb_memerror();
        raise_not_running();
    }
    keep(profile, snapshot);
    return heapprof_at_peak(profile);
}

/* ---- what has no arguments: in C, where a method takes fewer slots in each process ---- */

static VALUE
heapprof_stop(VALUE self)
{
    rb_heapprof_stop();
    return Qnil;
}

static VALUE
heapprof_running_p(VALUE self)
{
    return RBOOL(rb_heapprof_running_p());
}

static VALUE
heapprof_inuse_space(VALUE self)
{
    return rb_funcall(self, rb_intern("total"), 1, ID2SYM(rb_intern("inuse_space")));
}

static VALUE
heapprof_objects(VALUE self)
{
    return rb_funcall(self, rb_intern("total"), 1, ID2SYM(rb_intern("inuse_objects")));
}

/* ---- the class ---- */

void
rb_heapprof_define_class(void)
{
    VALUE object_space = rb_define_module("ObjectSpace");
    cHeapProfile = rb_define_class_under(object_space, "HeapProfile", rb_cObject);
    /* The version of this product; RUBY_DESCRIPTION has it, too. */
    rb_define_const(
        cHeapProfile, "VERSION",
        rb_obj_freeze(rb_usascii_str_new_static(HEAPPROF_VERSION, sizeof(HEAPPROF_VERSION) - 1)));
    rb_undef_alloc_func(cHeapProfile);
    rb_gc_register_address(&cHeapProfile);
    rb_define_singleton_method(cHeapProfile, "peak", heapprof_s_peak, 0);
    rb_define_singleton_method(cHeapProfile, "stop", heapprof_stop, 0);
    rb_define_singleton_method(cHeapProfile, "running?", heapprof_running_p, 0);
    rb_define_method(cHeapProfile, "peak", heapprof_at_peak, 0);
    rb_define_method(cHeapProfile, "inuse_space", heapprof_inuse_space, 0);
    rb_define_method(cHeapProfile, "objects", heapprof_objects, 0);
    rb_heapprof_sample_define(cHeapProfile);
    rb_heapprof_label_define(cHeapProfile);
    rb_heapprof_reflection_define(cHeapProfile);
    rb_heapprof_graph_define(object_space);
}

/* ---- start, stop, snapshot ---- */

/* A setting as an integer. A number that is too large or negative becomes one outside every
 * range, so that the message names the range. */
static uint64_t
setting(VALUE value, uint64_t bad)
{
    VALUE integer = rb_to_int(value);
    if (!FIXNUM_P(integer) || FIX2LONG(integer) < 0) return bad;
    return (uint64_t)FIX2LONG(integer);
}

static uint64_t
interval_setting(VALUE value)
{
    return value == ID2SYM(rb_intern("auto")) ? HEAPPROF_AUTO_INTERVAL : setting(value, 0);
}

static void
check_range(const struct heapprof_options *options)
{
    const char *expected, *key = rb_heapprof_options_out_of_range(options, &expected);

    if (key) rb_raise(rb_eArgError, "%s: out of range (expected %s)", key, expected);
}

static bool
malloc_all_p(VALUE which)
{
    const char *refusal;

    if (which == ID2SYM(rb_intern("ruby"))) return false;
    if (which != ID2SYM(rb_intern("all"))) {
        rb_raise(rb_eArgError, "malloc: %+"PRIsVALUE" is neither (expected :ruby or :all)", which);
    }
    refusal = rb_heapprof_gc_malloc_all_refusal();
    if (refusal) rb_raise(rb_eArgError, "malloc: :all %s (expected :ruby here)", refusal);
    return true;
}

static VALUE
heapprof_default(rb_execution_context_t *ec, VALUE self, VALUE key)
{
    return ULL2NUM(rb_heapprof_options_default_number(StringValueCStr(key)));
}

/* ---- files while the program runs ---- */

/* Seconds as milliseconds. A number that has none becomes one outside every range. */
static uint64_t
every_setting(VALUE seconds)
{
    double ms = NUM2DBL(seconds) * 1000;
    return ms >= 1 && ms < 1e15 ? (uint64_t)(ms + 0.5) : UINT64_MAX;
}

static uint32_t
signal_setting(VALUE name)
{
    VALUE string = SYMBOL_P(name) ? rb_sym2str(name) : name;
    StringValue(string);
    int number = rb_heapprof_signal_number(RSTRING_PTR(string), (size_t)RSTRING_LEN(string));
    if (number == 0) {
        rb_raise(rb_eArgError,
                 "signal: %+" PRIsVALUE " is none of these (expected " HEAPPROF_SIGNALS ")", name);
    }
    return (uint32_t)number;
}

static void
out_setting(VALUE path, struct heapprof_options *options)
{
    FilePathValue(path);
    const char *text = StringValueCStr(path);
    size_t length = (size_t)RSTRING_LEN(path);

    if (!rb_heapprof_options_periodic_p(options))
        rb_raise(rb_eArgError, "out: needs every or signal");
    if (length == 0 || length >= sizeof(options->out) ||
        !rb_heapprof_out_template_p(text, length)) {
        rb_raise(rb_eArgError,
                 "out: %+" PRIsVALUE " is no template (expected a file name, in which %%p is the "
                 "pid, %%e the program, %%t the time, %%n a number, and %%%% alone after a %%)",
                 path);
    }
    memcpy(options->out, text, length + 1);
    options->named = true;
}

static void
periodic_settings(struct heapprof_options *options, VALUE every, VALUE signal, VALUE keep,
                  VALUE out)
{
    char message[256];
    const char *refusal;

    if (!NIL_P(every)) options->every_ms = every_setting(every);
    if (!NIL_P(signal)) options->signal = signal_setting(signal);
    uint64_t files = setting(keep, UINT32_MAX);
    options->keep = files > UINT32_MAX ? UINT32_MAX : (uint32_t)files;
    if (!NIL_P(out)) out_setting(out, options);
    rb_heapprof_options_name_files(options);
    refusal = rb_heapprof_periodic_refusal(options, message, sizeof(message));
    if (refusal) rb_raise(rb_eArgError, "%s", refusal);
}

static VALUE
heapprof_start(rb_execution_context_t *ec, VALUE self, VALUE interval, VALUE malloc_interval,
               VALUE malloc, VALUE depth, VALUE memory, VALUE seed, VALUE every, VALUE signal,
               VALUE keep, VALUE out, VALUE owners, VALUE rss, VALUE peak, VALUE lifetimes)
{
    struct heapprof_options options;
    char directory[PATH_MAX];

    rb_heapprof_options_default(&options);
    options.interval_bytes = interval_setting(interval);
    if (!NIL_P(malloc_interval)) {
        options.malloc_interval_bytes = setting(malloc_interval, UINT64_MAX - 1);
    }
    options.malloc_all = malloc_all_p(malloc);
    uint64_t frames = setting(depth, 0);
    options.depth = frames > UINT32_MAX ? 0 : (uint32_t)frames;
    options.memory_bytes = setting(memory, 0);
    options.seeded = !NIL_P(seed);
    if (options.seeded) options.seed = NUM2ULL(rb_int_and(rb_to_int(seed), ULL2NUM(UINT64_MAX)));
    periodic_settings(&options, every, signal, keep, out);
    options.owners = RTEST(owners);
    options.rss = RTEST(rss);
    options.peak = RTEST(peak);
    options.lifetimes = RTEST(lifetimes);

    check_range(&options);
    int error = rb_heapprof_periodic_place(&options, directory, sizeof(directory));
    if (error) rb_syserr_fail(error, options.out);
    if (!rb_heapprof_start_with(&options)) {
        rb_raise(rb_eRuntimeError, "the heap profiler is running already; stop it first");
    }
    if (!rb_heapprof_periodic_start(&options, NULL, directory)) {
        rb_heapprof_stop();
        rb_raise(rb_eArgError, "signal: a library handles %"PRIsVALUE, signal);
    }
    return Qtrue;
}

static VALUE
heapprof_set_interval(rb_execution_context_t *ec, VALUE self, VALUE interval)
{
    struct heapprof_options options;

    rb_heapprof_options_default(&options);
    options.interval_bytes = interval_setting(interval);
    check_range(&options);
    if (!rb_heapprof_set_interval(options.interval_bytes)) raise_not_running();
    return interval;
}

/* Does not run the work if an interrupt is pending. */
static void
beside(void *(*work)(void *data), void *data)
{
    rb_nogvl(work, data, NULL, NULL, RB_NOGVL_INTR_FAIL);
}

static VALUE
heapprof_snapshot(rb_execution_context_t *ec, VALUE self, VALUE gc, VALUE owners, VALUE rss,
                  VALUE native_leaks)
{
    /* Made before the snapshot is taken: if this raises, no snapshot is lost. */
    VALUE profile = new_profile(cHeapProfile);
    unsigned int with =
        (RTEST(gc) ? RB_HEAPPROF_GC : 0) | (RTEST(owners) ? RB_HEAPPROF_OWNERS : 0) |
        (RTEST(rss) ? RB_HEAPPROF_RSS : 0) | (RTEST(native_leaks) ? RB_HEAPPROF_NATIVE_LEAKS : 0);
    static const struct heapprof_others others = { .between = rb_thread_schedule,
                                                   .beside = beside };
    int jump;
    rb_heapprof_snapshot_t *snapshot = rb_heapprof_snapshot_beside(with, &others, &jump);

    if (jump) rb_jump_tag(jump);
    if (!snapshot) {
        if (rb_heapprof_running_p()) rb_memerror();
        raise_not_running();
    }
    keep(profile, snapshot);
    return profile;
}

/* ---- what extensions have lost ---- */

/* nil: Valgrind finds the leaks instead. */
static VALUE
heapprof_native_leaks_start(rb_execution_context_t *ec, VALUE self)
{
    bool started;

    if (rb_heapprof_valgrind_p()) return Qnil;
    const char *refusal = rb_heapprof_gc_malloc_all_refusal();
    if (refusal) rb_raise(rb_eNotImpError, "native leaks cannot be told: malloc: :all %s", refusal);
    refusal = rb_heapprof_native_leaks_start(&started);
    if (refusal) rb_raise(rb_eRuntimeError, "%s", refusal);
    return RBOOL(started);
}

/* The innermost address of the caller's stack. Further in are words of functions that it calls,
 * or has called. */
static VALUE
heapprof_native_leaks_frame(rb_execution_context_t *ec, VALUE self)
{
    return ULL2NUM((uintptr_t)__builtin_frame_address(0));
}

static VALUE
heapprof_native_leaks_fork(rb_execution_context_t *ec, VALUE self, VALUE fd, VALUE frame,
                           VALUE since)
{
    uintptr_t before = (uintptr_t)NUM2ULL(frame), here = (uintptr_t)__builtin_frame_address(0);
    int descriptor = NUM2INT(fd);
    size_t since_gc = NUM2SIZET(since);
    const char *refusal = rb_heapprof_native_leaks_refusal();

    if (refusal) rb_raise(rb_eRuntimeError, "%s", refusal);
    rb_pid_t pid =
        rb_heapprof_native_leaks_fork(descriptor, here > before ? here : before, since_gc);
    if (pid < 0) rb_sys_fail("fork(2)");
    return PIDT2NUM(pid);
}

/* The name of the file that Ruby's own C functions are in, as callers have it. */
static VALUE
heapprof_core_library(rb_execution_context_t *ec, VALUE self)
{
    struct heapprof_symbol_name ruby;

    return rb_utf8_str_new_cstr(rb_heapprof_memcheck_core(&ruby));
}

/* ---- each ---- */

static VALUE
heapprof_each(rb_execution_context_t *ec, VALUE self)
{
    rb_heapprof_sample_each(snapshot_of(self));
    return self;
}

static VALUE
heapprof_row_count(rb_execution_context_t *ec, VALUE self)
{
    return SIZET2NUM(snapshot_of(self)->row_count);
}

static VALUE
heapprof_allocation_stack(rb_execution_context_t *ec, VALUE self, VALUE object)
{
    VALUE holder = new_profile(0);
    struct profile *held = RTYPEDDATA_DATA(holder);
    struct heapprof_snapshot *snapshot;

    if (!rb_heapprof_snapshot_object(object, &snapshot)) rb_memerror();
    if (!snapshot) return Qnil;
    keep(holder, snapshot);

    VALUE frames = rb_heapprof_sample_frames(snapshot, snapshot->rows[0].stack);
    rb_heapprof_gc_report_own(-(ssize_t)snapshot_memsize(snapshot));
    rb_heapprof_snapshot_free(snapshot);
    held->snapshot = NULL;
    RB_GC_GUARD(holder);
    return frames;
}

/* ---- without the GVL ---- */

/* Runs the function without the GVL. If an interrupt is pending, runs it with the GVL; the
 * interrupt is served later, when nothing is lost by it. The function sets *done. */
static void
run_apart(void *(*function)(void *), void *data, const bool *done)
{
    rb_nogvl(function, data, NULL, NULL, RB_NOGVL_INTR_FAIL);
    if (!*done) function(data);
}

/* ---- difference ---- */

struct subtraction {
    const struct heapprof_snapshot *later, *earlier;
    struct heapprof_snapshot *difference;
    bool done;
};

static void *
subtract(void *data)
{
    struct subtraction *subtraction = data;

    subtraction->difference =
        rb_heapprof_snapshot_difference(subtraction->later, subtraction->earlier);
    subtraction->done = true;
    return NULL;
}

static VALUE
heapprof_minus(rb_execution_context_t *ec, VALUE self, VALUE earlier)
{
    VALUE difference = new_profile(cHeapProfile);
    struct subtraction subtraction = { .later = snapshot_of(self),
                                       .earlier = snapshot_of(earlier) };

    run_apart(subtract, &subtraction, &subtraction.done);
    RB_GC_GUARD(self);
    RB_GC_GUARD(earlier);
    if (!subtraction.difference) rb_memerror();
    struct profile *profile = RTYPEDDATA_DATA(difference);
    RB_OBJ_WRITE(difference, &profile->later, self);
    RB_OBJ_WRITE(difference, &profile->earlier, earlier);
    keep(difference, subtraction.difference);
    return difference;
}

/* ---- equality ---- */

struct comparison {
    const struct heapprof_snapshot *one, *other;
    bool equal, compared, done;
};

static void *
compare(void *data)
{
    struct comparison *comparison = data;

    comparison->compared =
        rb_heapprof_snapshot_equal_p(comparison->one, comparison->other, &comparison->equal);
    comparison->done = true;
    return NULL;
}

static VALUE
heapprof_equal(rb_execution_context_t *ec, VALUE self, VALUE other)
{
    if (self == other) return Qtrue;
    if (!rb_typeddata_is_kind_of(other, &heapprof_type)) return Qfalse;

    struct comparison comparison = { .one = snapshot_of(self), .other = snapshot_of(other) };
    run_apart(compare, &comparison, &comparison.done);
    RB_GC_GUARD(self);
    RB_GC_GUARD(other);
    if (!comparison.compared) rb_memerror();
    return RBOOL(comparison.equal);
}

/* A hash of the sums over all rows: equal profiles have equal sums. */
static VALUE
heapprof_content_hash(rb_execution_context_t *ec, VALUE self)
{
    const struct heapprof_snapshot *snapshot = snapshot_of(self);
    uint64_t sums[8] = {0};
    st_index_t hash = rb_hash_start(numberof(sums));

    for (size_t i = 0; i < snapshot->row_count; i++) {
        const struct heapprof_row *row = &snapshot->rows[i];
        const double values[numberof(sums)] = {
            row->alloc_objects, row->alloc_slot_bytes, row->alloc_malloc_bytes, row->inuse_objects,
            row->inuse_slot_bytes, row->inuse_malloc_bytes, row->resident_bytes, row->memsize_bytes,
        };
        for (size_t v = 0; v < numberof(sums); v++)
            sums[v] += (uint64_t)(int64_t)fmod(values[v], 0x1p62);
    }
    for (size_t v = 0; v < numberof(sums); v++)
        hash = rb_hash_uint(hash, sums[v] & ((UINT64_C(1) << 62) - 1));
    RB_GC_GUARD(self);
    return ST2FIX(rb_hash_end(hash));
}

/* ---- inspect ---- */

/* A size as RUBY_HEAPPROF takes it: "512k". */
static void
size_text(char *text, size_t size, uint64_t bytes)
{
    static const char units[] = "\0kmg";
    int unit = 0;

    while (unit < 3 && bytes > 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, size, "%"PRIu64"%.1s", bytes, &units[unit]);
}

/* "12.3 MB in use, 1234 samples, interval 512k". For a difference: "grew by 1.2 MB, ...". */
static VALUE
heapprof_summary(rb_execution_context_t *ec, VALUE self)
{
    const struct heapprof_snapshot *snapshot = snapshot_of(self);
    const struct heapprof_facts *facts = &snapshot->facts;
    char amount[64], interval[32];
    double bytes = 0;

    for (size_t i = 0; i < snapshot->row_count; i++) {
        bytes += snapshot->rows[i].inuse_slot_bytes + snapshot->rows[i].inuse_malloc_bytes;
    }
    rb_heapprof_answer_bytes(amount, sizeof(amount), facts->difference ? fabs(bytes) : bytes);
    size_text(interval, sizeof(interval), facts->interval_bytes);
    VALUE text = facts->difference ? rb_sprintf("%s by %s, interval %s",
                                                bytes < 0 ? "shrank" : "grew", amount, interval)
                                   : rb_sprintf("%s in use, %" PRIu64 " samples, interval %s",
                                                amount, facts->live_samples, interval);
    RB_GC_GUARD(self);
    return text;
}

/* ---- write ---- */

/* A profile that is being encoded without the GVL. */
struct flush {
    const struct heapprof_snapshot *snapshot;
    const char *by;
    char  *bytes;
    size_t size;
    bool   done;
};

/* A sample type, as a symbol. */
static const char *
by_setting(const struct heapprof_snapshot *snapshot, VALUE by)
{
    const char *name = SYMBOL_P(by) ? rb_id2name(SYM2ID(by)) : "";

    if (!rb_heapprof_pprof_type_p(&snapshot->facts, name)) {
        rb_raise(rb_eArgError,
                 "by: %+" PRIsVALUE " is no sample type of this profile (expected such as "
                 ":inuse_space)", by);
    }
    return name;
}

static void *
encode_without_gvl(void *data)
{
    struct flush *flush = data;
    flush->done = true;
    flush->bytes = rb_heapprof_flush_encode_by(flush->snapshot, flush->by, &flush->size);
    return NULL;
}

static VALUE
heapprof_write_path(rb_execution_context_t *ec, VALUE self, VALUE path, VALUE by)
{
    FilePathValue(path);
    const char *name = StringValueCStr(path);
    struct flush flush = { .snapshot = snapshot_of(self),
                           .by = by_setting(snapshot_of(self), by) };

    run_apart(encode_without_gvl, &flush, &flush.done);
    RB_GC_GUARD(self);
    if (!flush.bytes) rb_memerror();
    int error = rb_heapprof_flush_write(name, flush.bytes, flush.size, false);
    if (error) rb_syserr_fail_str(error, path);
    return SIZET2NUM(flush.size);
}

static bool
responds_p(VALUE value, const char *method)
{
    return rb_respond_to(value, rb_intern(method)) != 0;
}

/* True if it takes bytes, and is not the path of a file. Here, because each method of Ruby code
 * takes slots when a process begins. */
static VALUE
heapprof_output_p(rb_execution_context_t *ec, VALUE self, VALUE value)
{
    return RBOOL(responds_p(value, "to_io") ||
                 (responds_p(value, "write") && !responds_p(value, "to_path")));
}

/* A text that was made of a profile, into a file like the profile's own. */
static VALUE
heapprof_write_text(rb_execution_context_t *ec, VALUE self, VALUE path, VALUE text)
{
    FilePathValue(path);
    const char *name = StringValueCStr(path);
    size_t size = (size_t)RSTRING_LEN(text);
    char *bytes = malloc(size + 1);

    if (!bytes) rb_memerror();
    memcpy(bytes, RSTRING_PTR(text), size);
    RB_GC_GUARD(text);
    int error = rb_heapprof_flush_write(name, bytes, size, false);
    if (error) rb_syserr_fail_str(error, path);
    return SIZET2NUM(size);
}

static VALUE
heapprof_encode(rb_execution_context_t *ec, VALUE self, VALUE by)
{
    struct flush flush = { .snapshot = snapshot_of(self),
                           .by = by_setting(snapshot_of(self), by) };

    run_apart(encode_without_gvl, &flush, &flush.done);
    RB_GC_GUARD(self);
    if (!flush.bytes) rb_memerror();
    VALUE string = rb_str_new(flush.bytes, (long)flush.size);
    free(flush.bytes);
    return string;
}

/* ---- load ---- */

/* name is the file's, for messages, or nil. */
static VALUE
heapprof_load(rb_execution_context_t *ec, VALUE self, VALUE io, VALUE limit, VALUE name)
{
    VALUE profile = new_profile(cHeapProfile);
    struct heapprof_io input = { .io = io, .most = setting(limit, 0), .raised = Qnil };

    if (input.most == 0 || input.most > HEAPPROF_READER_MOST) {
        rb_raise(rb_eArgError, "limit: out of range (expected 1 to %" PRIu32 " bytes)",
                 HEAPPROF_READER_MOST);
    }
    rb_heapprof_io_load(&input);
    RB_GC_GUARD(io);
    if (input.tag) rb_heapprof_io_raise(&input);
    if (!input.snapshot && !input.error[0]) rb_memerror();
    if (!input.snapshot && NIL_P(name)) rb_raise(rb_eArgError, "%s", input.error);
    if (!input.snapshot) rb_raise(rb_eArgError, "%"PRIsVALUE": %s", name, input.error);
    keep(profile, input.snapshot);
    return profile;
}

/* ---- stat ---- */

#define STAT(S) \
    S(interval_bytes) S(malloc_interval_bytes) S(malloc_all) S(live_samples) S(total_samples) \
    S(dropped) S(folded) S(truncated) S(sites) S(stack_nodes) S(functions) \
    S(memory_used) S(memory_peak) S(memory_budget) S(doublings)

#define STAT_OF_DEAD_CODE(S) \
    S(dead_functions) S(dead_stack_nodes) S(dead_sites) S(merged_sites) S(nameless_sites) \
    S(other_labels) S(left_out_labels)

#define SET(name) rb_hash_aset(hash, ID2SYM(rb_intern(#name)), ULL2NUM(stat.name));
#define RETURN(name) if (key == ID2SYM(rb_intern(#name))) return ULL2NUM(stat.name);

static VALUE
heapprof_stat(rb_execution_context_t *ec, VALUE self)
{
    struct rb_heapprof_stat stat;
    VALUE hash = rb_hash_new();

    rb_heapprof_stat(&stat);
    STAT(SET)
    STAT_OF_DEAD_CODE(SET)
    return hash;
}

/* The number of one key; nil if there is no such key. */
static VALUE
heapprof_stat_of(rb_execution_context_t *ec, VALUE self, VALUE key)
{
    struct rb_heapprof_stat stat;

    rb_heapprof_stat_sized(&stat, offsetof(struct rb_heapprof_stat, dead_functions));
    STAT(RETURN)
    rb_heapprof_stat(&stat);
    STAT_OF_DEAD_CODE(RETURN)
    return Qnil;
}

#undef SET
#undef RETURN

/* ---- rss ---- */

#define SET(name, title) rb_hash_aset(hash, ID2SYM(rb_intern("rss_" #name)), ULL2NUM(rss.name));
#define RETURN(name, title) if (key == ID2SYM(rb_intern("rss_" #name))) return ULL2NUM(rss.name);

static VALUE
heapprof_rss(rb_execution_context_t *ec, VALUE self)
{
    struct rb_heapprof_rss rss;
    VALUE hash = rb_hash_new();

    rb_heapprof_rss(&rss);
    rb_hash_aset(hash, ID2SYM(rb_intern("rss")), ULL2NUM(rss.rss));
    HEAPPROF_RUNGS(SET)
    SET(absent,)
    return hash;
}

static VALUE
heapprof_rss_of(rb_execution_context_t *ec, VALUE self, VALUE key)
{
    struct rb_heapprof_rss rss;

    rb_heapprof_rss(&rss);
    if (key == ID2SYM(rb_intern("rss"))) return ULL2NUM(rss.rss);
    HEAPPROF_RUNGS(RETURN)
    RETURN(absent,)
    return Qnil;
}

#undef SET
#undef RETURN

/* What the resident memory consists of: pairs of a name and bytes. Empty if the snapshot was
 * taken without rss. */
static VALUE
heapprof_ladder(rb_execution_context_t *ec, VALUE self)
{
    const struct heapprof_ladder *ladder = &snapshot_of(self)->ladder;
    VALUE rungs = rb_ary_new();

    if (ladder->rss == 0) return rungs;
#define PUSH(name, title) \
    rb_ary_push(rungs, rb_assoc_new(rb_utf8_str_new_cstr(title), ULL2NUM(ladder->name)));
    HEAPPROF_RUNGS(PUSH)
#undef PUSH
    return rungs;
}

/* ---- report ---- */

/* A text of report/ as a String in UTF-8. Frees it. */
static VALUE
take_text(char *text, size_t size)
{
    if (!text) rb_memerror();
    VALUE string = rb_utf8_str_new(text, (long)size);
    free(text);
    return string;
}

static VALUE
heapprof_collapsed(rb_execution_context_t *ec, VALUE self, VALUE by)
{
    struct heapprof_report report = { .snapshot = snapshot_of(self),
                                      .by = by_setting(snapshot_of(self), by) };

    run_apart(rb_heapprof_report_collapsed, &report, &report.done);
    RB_GC_GUARD(self);
    return take_text(report.text, report.size);
}

/* A text that the program cannot change meanwhile; NULL for nil. *holder keeps it alive. */
static const char *
text_setting(VALUE value, VALUE *holder)
{
    *holder = NIL_P(value) ? Qnil : rb_str_new_frozen(StringValue(value));
    return NIL_P(value) ? NULL : StringValueCStr(*holder);
}

static size_t
count_setting(VALUE value, const char *key, long most)
{
    VALUE integer = rb_to_int(value);

    if (!FIXNUM_P(integer) || FIX2LONG(integer) < 0 || FIX2LONG(integer) > most) {
        rb_raise(rb_eArgError, "%s: out of range (expected 0 to %ld)", key, most);
    }
    return (size_t)FIX2LONG(integer);
}

/* directories: those of the application, in lines (report/own.h); nil: the one in the profile. */
static VALUE
heapprof_report(rb_execution_context_t *ec, VALUE self, VALUE by, VALUE group, VALUE sort,
                VALUE limit, VALUE frames, VALUE directories, VALUE focus, VALUE ignore,
                VALUE focus_label, VALUE width, VALUE colour)
{
    static const char *const names[] = { "profile" }, *const both[] = { "earlier", "later" };
    const struct profile *profile = profile_of(self);
    VALUE holders[6];
    struct heapprof_report report = {
        .snapshot = profile->snapshot, .by = by_setting(profile->snapshot, by), .ask = {
            .names = names, .colour = RTEST(colour),
            .limit = count_setting(limit, "limit", INT_MAX),
            .frames = count_setting(frames, "frames", INT_MAX),
            .width = (unsigned)count_setting(width, "width", INT_MAX),
            .group = text_setting(group, &holders[0]),
            .directory = text_setting(directories, &holders[1]),
            .focus = text_setting(focus, &holders[2]), .ignore = text_setting(ignore, &holders[3]),
            .focus_label = text_setting(focus_label, &holders[4]),
            .sort = text_setting(sort, &holders[5]),
        },
    };

    if (profile->later) {
        report.snapshot = snapshot_of(profile->later);
        report.earlier = snapshot_of(profile->earlier);
        report.ask.names = both;
    }
    run_apart(rb_heapprof_report_table, &report, &report.done);
    RB_GC_GUARD(self);
    for (int i = 0; i < 6; i++) RB_GC_GUARD(holders[i]);
    if (!report.text && report.error[0]) rb_raise(rb_eArgError, "%s", report.error);
    return take_text(report.text, report.size);
}

/* The columns of the terminal, 0 if io is not one; and whether to print colours. */
static VALUE
heapprof_terminal(rb_execution_context_t *ec, VALUE self, VALUE io)
{
    int fd = RB_TYPE_P(io, T_FILE) ? rb_io_descriptor(io) : -1;

    return rb_assoc_new(UINT2NUM(fd < 0 ? 0 : rb_heapprof_terminal_width(fd)),
                        RBOOL(rb_heapprof_terminal_colour_p(fd)));
}

static VALUE
heapprof_graph_dump(rb_execution_context_t *ec, VALUE self, VALUE path_or_io, VALUE gc, VALUE fork,
                    VALUE values)
{
    return rb_heapprof_graph_dump_to(path_or_io, gc, fork, values);
}

/* ---- labels ---- */

static VALUE
heapprof_label_begin(rb_execution_context_t *ec, VALUE self, VALUE labels)
{
    return rb_heapprof_label_api_begin(ec, labels);
}

static VALUE
heapprof_label_end(rb_execution_context_t *ec, VALUE self, VALUE before)
{
    return rb_heapprof_label_api_end(ec, before);
}

static VALUE
heapprof_label_change(rb_execution_context_t *ec, VALUE self, VALUE labels)
{
    return rb_heapprof_label_api_change(ec, labels);
}

static VALUE
heapprof_label_all(rb_execution_context_t *ec, VALUE self)
{
    return rb_heapprof_label_api_all(ec);
}

#include "heapprof.rbinc"
