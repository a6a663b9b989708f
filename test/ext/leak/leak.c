/* leak.c - an extension with a leak, and two that only look like one.
 *
 *     HeapProfLeak.call -> nil             1 KB of ruby_xmalloc that each call forgets
 *     HeapProfLeak.lose(bytes) -> nil      a list of its own with so many bytes, forgotten with
 *                                          them
 *     HeapProfLeak.keep(bytes) -> nil      the same at the end of a list that a static variable
 *                                          leads to
 *     HeapProfLeak.seem(address) -> true   a static variable leads to what looks like a block of
 *                                          malloc's, a gigabyte long, on a page of its own there;
 *                                          nil: that is taken
 *     HeapProfLeak::Chain.new              an object whose struct leads to a list
 *         .add(bytes) -> self              the same in that list; large ones are zeros that
 *                                          nobody has written to
 *         .write(bytes) -> self            and that many bytes of the newest written to, a byte a
 *                                          page
 *
 *     T_DATA --> chain --> link --> link --> link
 *                           |        |        |
 *                         bytes    bytes    bytes
 */
#include "ruby/ruby.h"
#include <sys/mman.h>

#define LEAKED_BYTES 1024
#define PAGE_BYTES 4096
#define MOST_SEEMING 256
#define MAPPED 2 /* glibc's: the block is a mapping of its own */

struct link {
    struct link *next;
    void *bytes;
};

struct chain {
    struct link *first;
};

static struct chain kept;
static size_t *volatile seeming[MOST_SEEMING]; /* else the compiler leaves them out */
static size_t seeming_count;

static void
chain_add(struct chain *chain, size_t bytes)
{
    struct link *link = ruby_xmalloc(sizeof(*link));

    link->bytes = ruby_xcalloc(1, bytes);
    link->next = chain->first;
    chain->first = link;
}

static void
chain_free(void *pointer)
{
    struct chain *chain = pointer;
    struct link *next;

    for (struct link *link = chain->first; link; link = next) {
        next = link->next;
        ruby_xfree(link->bytes);
        ruby_xfree(link);
    }
    ruby_xfree(chain);
}

static const rb_data_type_t chain_type = {
    "heapprof_chain", { NULL, chain_free, NULL }, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};

static VALUE
leak_chain_new(VALUE class)
{
    return TypedData_Wrap_Struct(class, &chain_type, ruby_xcalloc(1, sizeof(struct chain)));
}

static VALUE
leak_chain_add(VALUE self, VALUE bytes)
{
    chain_add(rb_check_typeddata(self, &chain_type), NUM2SIZET(bytes));
    return self;
}

static VALUE
leak_chain_write(VALUE self, VALUE bytes)
{
    struct chain *chain = rb_check_typeddata(self, &chain_type);
    volatile char *newest = chain->first->bytes;

    for (size_t at = 0; at < NUM2SIZET(bytes); at += PAGE_BYTES) newest[at] = 1;
    return self;
}

static VALUE
leak_keep(VALUE self, VALUE bytes)
{
    chain_add(&kept, NUM2SIZET(bytes));
    return Qnil;
}

static VALUE
leak_lose(VALUE self, VALUE bytes)
{
    struct chain *chain = ruby_xcalloc(1, sizeof(*chain));

    chain_add(chain, NUM2SIZET(bytes));
    return Qnil;
}

static VALUE
leak_seem(VALUE self, VALUE address)
{
    void *page = mmap((void *)NUM2SIZET(address), PAGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    size_t *words = page;

    if (page == MAP_FAILED || seeming_count == MOST_SEEMING) return Qnil;
    words[1] = ((size_t)1 << 30) | MAPPED;
    seeming[seeming_count++] = words + 2;
    return Qtrue;
}

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
    VALUE leak = rb_define_module("HeapProfLeak");
    VALUE chain = rb_define_class_under(leak, "Chain", rb_cObject);

    rb_undef_alloc_func(chain);
    rb_define_singleton_method(chain, "new", leak_chain_new, 0);
    rb_define_method(chain, "add", leak_chain_add, 1);
    rb_define_method(chain, "write", leak_chain_write, 1);
    rb_define_module_function(leak, "keep", leak_keep, 1);
    rb_define_module_function(leak, "lose", leak_lose, 1);
    rb_define_module_function(leak, "seem", leak_seem, 1);
    rb_define_module_function(leak, "call", leak_call, 0);
}
