/* leak.c - an extension with a leak: 1 KB of ruby_xmalloc that each call forgets.
 *
 *     HeapProfLeak.call -> nil
 */
#include "ruby/ruby.h"

#define LEAKED_BYTES 1024

static VALUE
leak_call(VALUE self)
{
    volatile char *forgotten = ruby_xmalloc(LEAKED_BYTES);

    forgotten[0] = 1;
    return Qnil;
}

void
Init_heapprof_leak(void)
{
    rb_define_module_function(rb_define_module("HeapProfLeak"), "call", leak_call, 0);
}
