/* calls.c - os/calls.h and getrusage, for Ruby. Calls are counted while a caller wants it.
 * malloc=all fills the same slots, and has precedence.
 */
#include "ruby/ruby.h"
#include "vm/memprof/calls.h"
#include "gc/book/state.h"
#include "os/calls.h"
#include "internal.h"
#include "vm_sync.h"
#include <sys/resource.h>

static unsigned int calls_wanted; /* how many callers want it; 0: not counted */

static void
start(void)
{
    RB_VM_LOCK_ENTER();
    if (!rb_heapprof_gc_malloc_all_on_p()) rb_heapprof_calls_start();
    RB_VM_LOCK_LEAVE();
}

/* Whether calls can be counted in this process. */
static VALUE
count_calls(VALUE self)
{
    if (rb_heapprof_calls_refusal()) return Qfalse;
    calls_wanted++;
    start();
    return Qtrue;
}

static VALUE
forget_calls(VALUE self)
{
    if (--calls_wanted > 0) return Qnil;
    RB_VM_LOCK_ENTER();
    rb_heapprof_calls_stop();
    RB_VM_LOCK_LEAVE();
    return Qnil;
}

/* Returns the number of the run, 0 while nothing is counted; and for each function its calls,
 * nanoseconds, bytes asked for, and bytes that the allocator gave. */
static VALUE
counted_calls(VALUE self)
{
    struct heapprof_call_counts counts;
    VALUE hash = rb_hash_new();

    for (size_t i = 0; rb_heapprof_calls_read(i, &counts); i++) {
        VALUE numbers = rb_ary_new();
        rb_ary_push(numbers, ULL2NUM(counts.calls));
        rb_ary_push(numbers, ULL2NUM(counts.time_ns));
        rb_ary_push(numbers, ULL2NUM(counts.bytes));
        rb_ary_push(numbers, ULL2NUM(counts.actual_bytes));
        rb_hash_aset(hash, rb_str_new_cstr(counts.name), numbers);
    }
    return rb_assoc_new(UINT2NUM(rb_heapprof_calls_run()), hash);
}

static double
seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* What the process has used so far, as the system counts it: seconds, bytes, and numbers of
 * events. */
static VALUE
resource_usage(VALUE self)
{
    struct rusage usage;
    VALUE hash = rb_hash_new();

    getrusage(RUSAGE_SELF, &usage);
    rb_hash_aset(hash, rb_str_new_cstr("utime"), DBL2NUM(seconds(usage.ru_utime)));
    rb_hash_aset(hash, rb_str_new_cstr("stime"), DBL2NUM(seconds(usage.ru_stime)));
    rb_hash_aset(hash, rb_str_new_cstr("maxrss"), LL2NUM((long long)usage.ru_maxrss * 1024));
    rb_hash_aset(hash, rb_str_new_cstr("minflt"), LONG2NUM(usage.ru_minflt));
    rb_hash_aset(hash, rb_str_new_cstr("majflt"), LONG2NUM(usage.ru_majflt));
    rb_hash_aset(hash, rb_str_new_cstr("inblock"), LONG2NUM(usage.ru_inblock));
    rb_hash_aset(hash, rb_str_new_cstr("oublock"), LONG2NUM(usage.ru_oublock));
    rb_hash_aset(hash, rb_str_new_cstr("nvcsw"), LONG2NUM(usage.ru_nvcsw));
    rb_hash_aset(hash, rb_str_new_cstr("nivcsw"), LONG2NUM(usage.ru_nivcsw));
    return hash;
}

void
rb_heapprof_calls_define(VALUE reflection)
{
    rb_define_singleton_method(reflection, "count_calls", count_calls, 0);
    rb_define_singleton_method(reflection, "forget_calls", forget_calls, 0);
    rb_define_singleton_method(reflection, "counted_calls", counted_calls, 0);
    rb_define_singleton_method(reflection, "resource_usage", resource_usage, 0);
}
