/* stack_end.c - an object that is made where hardly any machine stack is left, and which is the
 * first of a page: there the allocator holds the VM lock (newobj_cache_miss).
 */
#define _GNU_SOURCE
#include "ruby/ruby.h"
#include <alloca.h>
#include <pthread.h>
#include "heap.h"

static uintptr_t
lowest_address(void)
{
    pthread_attr_t attributes;
    void *lowest;
    size_t size_bytes;

    if (pthread_getattr_np(pthread_self(), &attributes)) rb_sys_fail("pthread_getattr_np");
    pthread_attr_getstack(&attributes, &lowest, &size_bytes);
    pthread_attr_destroy(&attributes);
    return (uintptr_t)lowest;
}

struct page {
    VALUE start, end; /* of the page that has object */
    VALUE object;
};

void rb_objspace_each_objects(int (*callback)(void *start, void *end, size_t stride, void *data),
                              void *data);

static int
page_found_i(void *start, void *end, size_t slot_bytes, void *data)
{
    struct page *page = data;

    if (page->object < (VALUE)start || page->object >= (VALUE)end) return 0;
    *page = (struct page){ (VALUE)start, (VALUE)end, page->object };
    return 1;
}

static bool
on_page_p(const struct page *page, VALUE object)
{
    return object >= page->start && object < page->end;
}

/* Makes one object after another: those that are left of a page, all of the next, which is new and
 * is used from its end to its start, and with `room` bytes of stack left one more. Returns whether
 * that is on another page. */
static VALUE
make_at_stack_end(VALUE self, VALUE room)
{
    struct page page = { .object = rb_ary_new() };
    uintptr_t lowest = lowest_address();
    size_t left = NUM2SIZET(room);
    VALUE last;

    rb_objspace_each_objects(page_found_i, &page);
    while (on_page_p(&page, last = rb_ary_new())) ;
    page.object = last;
    rb_objspace_each_objects(page_found_i, &page);
    while (last != page.start && on_page_p(&page, last)) last = rb_ary_new();

    volatile char *space = alloca((uintptr_t)__builtin_frame_address(0) - lowest - left);
    space[0] = 0;
    return on_page_p(&page, rb_ary_new()) ? Qfalse : Qtrue;
}

void
Init_stack_end(VALUE heap)
{
    rb_define_singleton_method(heap, "make_at_stack_end", make_at_stack_end, 1);
}
