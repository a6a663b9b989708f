/* barrier.c - a moment that lasts: nothing of Ruby happens between what a reader outside takes
 * and what the process takes itself.
 *
 *     HeapProfBarrier.take(out, input, path, blocks)
 *
 * has a thread without the GVL ask for so many blocks, and free every other one; writes a line to
 * the file descriptor out, and waits for a byte from input; then takes a snapshot and writes it
 * to path. All with the GVL.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include <pthread.h>
#include <unistd.h>

static void *
ask_for_blocks(void *count)
{
    for (long i = 0; i < *(long *)count; i++) {
        void *block = ruby_xmalloc(10000 + i);
        if (i % 2) ruby_xfree(block);
    }
    return NULL;
}

static VALUE
barrier_s_take(VALUE self, VALUE out, VALUE input, VALUE path, VALUE blocks)
{
    const char *name = StringValueCStr(path);
    int ready = NUM2INT(out), go_on = NUM2INT(input);
    long count = NUM2LONG(blocks);
    pthread_t thread;
    char byte;

    if (pthread_create(&thread, NULL, ask_for_blocks, &count) != 0) rb_sys_fail("pthread_create");
    pthread_join(thread, NULL);
    if (write(ready, "ready\n", 6) != 6 || read(go_on, &byte, 1) != 1) rb_sys_fail("barrier");
    rb_heapprof_snapshot_t *snapshot = rb_heapprof_snapshot(0);
    if (!snapshot || rb_heapprof_snapshot_write(snapshot, name) < 0) rb_sys_fail(name);
    rb_heapprof_snapshot_free(snapshot);
    return Qnil;
}

void
Init_heapprof_barrier(void)
{
    rb_define_module_function(rb_define_module("HeapProfBarrier"), "take", barrier_s_take, 4);
}
