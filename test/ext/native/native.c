/* native.c - C functions in each other and in Ruby code, all of which end in park: there the thread
 * waits for ever, and gdb and heapprof see the same stack (test/attach/test_native.rb). */
#include <ruby.h>
#include <ruby/thread.h>

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "native.h"

#define KEEP __attribute__((noinline, noclone))

volatile int native_after; /* so that no call is the last thing that a function does */

/* Says that it is there, and waits. */
KEEP void
native_park(void)
{
    static const char ready[] = "ready\n";

    if (write(1, ready, sizeof(ready) - 1) < 0) abort();
    for (;;) pause();
}

static KEEP VALUE
park(VALUE self)
{
    native_park();
    native_after++;
    return self;
}

/* ---- Ruby code from C ---- */

static KEEP VALUE
call_yield(VALUE value)
{
    VALUE result = rb_yield(value);
    native_after++;
    return result;
}

static VALUE
yields(VALUE self)
{
    VALUE result = call_yield(self);
    native_after++;
    return result;
}

static KEEP int
compare(const void *left, const void *right)
{
    (void)right;
    rb_yield(INT2FIX(*(const int *)left));
    native_after++;
    return 0;
}

static VALUE
sorts(VALUE self)
{
    int numbers[] = { 2, 1 };

    qsort(numbers, 2, sizeof(*numbers), compare);
    native_after++;
    return self;
}

static KEEP VALUE
each_block(RB_BLOCK_CALL_FUNC_ARGLIST(value, data))
{
    (void)data;
    VALUE result = rb_funcall(value, rb_intern("itself"), 0);
    park(result);
    native_after++;
    return result;
}

/* A block of C, called by Array#each. */
static VALUE
c_block(VALUE self)
{
    VALUE result = rb_block_call(rb_ary_new_from_args(1, self), rb_intern("each"), 0, NULL,
                                 each_block, Qnil);
    native_after++;
    return result;
}

static KEEP VALUE
protected_call(VALUE value)
{
    VALUE result = call_yield(value);
    native_after++;
    return result;
}

static VALUE
protects(VALUE self)
{
    int state = 0;
    VALUE result = rb_protect(protected_call, self, &state);
    native_after++;
    return result;
}

/* Called from Ruby code, which is called from here, so many times. */
static VALUE
recurses(VALUE self, VALUE depth)
{
    VALUE result = rb_funcall(self, rb_intern("recurse_in_ruby"), 1, depth);
    native_after++;
    return result;
}

/* ---- frames of other kinds ---- */

static KEEP void
with_pointer(int bytes)
{
    volatile char *room = alloca((size_t)bytes);

    room[0] = 1;
    native_park();
    native_after += room[0];
}

/* Its frame ends where an expression says: the stack is aligned anew, and has no fixed size. */
static KEEP void
with_alignment(int bytes)
{
    volatile char aligned[64] __attribute__((aligned(64)));
    volatile char *room = alloca((size_t)bytes);

    aligned[0] = room[0] = 1;
    with_pointer(bytes);
    native_after += aligned[0] + room[0];
}

static VALUE
odd_frames(VALUE self)
{
    with_alignment(1 + native_after);
    native_after++;
    return self;
}

static KEEP void
handler(int signal)
{
    (void)signal;
    native_park();
    native_after++;
}

static KEEP void
raise_signal(void)
{
    raise(SIGUSR2);
    native_after++;
}

static VALUE
signals(VALUE self)
{
    struct sigaction action = { .sa_handler = handler };

    sigaction(SIGUSR2, &action, NULL);
    raise_signal();
    native_after++;
    return self;
}

/* ---- libraries that call back ---- */

static voidpf
allocate(voidpf data, uInt items, uInt size)
{
    (void)data, (void)items, (void)size;
    native_park();
    native_after++;
    return NULL;
}

static VALUE
deflates(VALUE self)
{
    z_stream stream = { .zalloc = allocate };

    deflateInit(&stream, 9);
    native_after++;
    return self;
}

/* ---- without the GVL ---- */

static KEEP void *
wait_for_condition(void *data)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&condition, &mutex);
    native_after++;
    return data;
}

static VALUE
waits(VALUE self)
{
    rb_thread_call_without_gvl(wait_for_condition, NULL, NULL, NULL);
    native_after++;
    return self;
}

/* ---- in a garbage collection ---- */

static bool marks;

static void
mark_it(void *data)
{
    (void)data;
    if (marks) native_park();
    native_after++;
}

static const rb_data_type_t marked = {
    .wrap_struct_name = "native marked", .function = { .dmark = mark_it }
};

static VALUE
collects(VALUE self)
{
    volatile VALUE object = TypedData_Wrap_Struct(rb_cObject, &marked, &marks);

    marks = true;
    rb_gc_start();
    native_after++;
    return object;
}

/* ---- C++ ---- */

static VALUE
catches(VALUE self)
{
    native_catch();
    native_after++;
    return self;
}

static VALUE
unwinds(VALUE self)
{
    native_unwind();
    native_after++;
    return self;
}

void
Init_heapprof_native(void)
{
    VALUE module = rb_define_module("Native");

    rb_define_singleton_method(module, "park", park, 0);
    rb_define_singleton_method(module, "yields", yields, 0);
    rb_define_singleton_method(module, "sorts", sorts, 0);
    rb_define_singleton_method(module, "c_block", c_block, 0);
    rb_define_singleton_method(module, "protects", protects, 0);
    rb_define_singleton_method(module, "recurses", recurses, 1);
    rb_define_singleton_method(module, "odd_frames", odd_frames, 0);
    rb_define_singleton_method(module, "signals", signals, 0);
    rb_define_singleton_method(module, "deflates", deflates, 0);
    rb_define_singleton_method(module, "waits", waits, 0);
    rb_define_singleton_method(module, "collects", collects, 0);
    rb_define_singleton_method(module, "catches", catches, 0);
    rb_define_singleton_method(module, "unwinds", unwinds, 0);
}
