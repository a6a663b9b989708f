/* heap.c - the heap as it is in memory, for the tests of what the profiler leaves in it.
 *
 * rb_objspace_each_objects ends a GC that is under way before it shows a page. What a GC
 * amidst its work looks like can be seen only if pages are listed first and read later:
 * all slots of theirs, free, dead but not swept, moved or zombies. A page that was given
 * back to the system meanwhile is passed over.
 */
#include "heap.h"
#include <malloc.h>
#include <stdlib.h>

#define SAMPLED_BIT ((VALUE)1 << 6)

void rb_objspace_each_objects(int (*callback)(void *start, void *end, size_t stride, void *data),
                              void *data);
bool rb_gc_pointer_to_heap_p(VALUE object);

struct page {
    VALUE  start, end;
    size_t stride;
};

struct pages {
    struct page *list;
    size_t count, capacity;
};

static void
pages_free(void *pointer)
{
    struct pages *pages = pointer;

    free(pages->list);
    free(pages);
}

static const rb_data_type_t pages_type = {
    "heapprof_heap_pages", { NULL, pages_free, NULL }, NULL, NULL, RUBY_TYPED_FREE_IMMEDIATELY
};

static int
add_page(void *start, void *end, size_t stride, void *data)
{
    struct pages *pages = data;

    if (pages->count == pages->capacity) {
        pages->capacity = pages->capacity * 2 + 64;
        pages->list = realloc(pages->list, pages->capacity * sizeof(*pages->list));
        if (!pages->list) abort();
    }
    pages->list[pages->count++] = (struct page){ (VALUE)start, (VALUE)end, stride };
    return 0;
}

static VALUE
pages(VALUE self)
{
    struct pages *pages = calloc(1, sizeof(*pages));
    VALUE object = TypedData_Wrap_Struct(rb_cObject, &pages_type, pages);

    rb_objspace_each_objects(add_page, pages);
    return object;
}

/* How many slots of those pages have each type: all of them, and those with the flag bit. */
static VALUE
slots(VALUE self, VALUE object)
{
    struct pages *pages = rb_check_typeddata(object, &pages_type);
    size_t all[RUBY_T_MASK + 1] = {0}, flagged[RUBY_T_MASK + 1] = {0};

    for (size_t i = 0; i < pages->count; i++) {
        const struct page *page = &pages->list[i];
        if (!rb_gc_pointer_to_heap_p(page->start)) continue;
        for (VALUE slot = page->start; slot < page->end; slot += page->stride) {
            VALUE flags = *(volatile VALUE *)slot;
            all[flags & RUBY_T_MASK]++;
            if (flags & SAMPLED_BIT) flagged[flags & RUBY_T_MASK]++;
        }
    }
    RB_GC_GUARD(object);

    VALUE counts[2] = { rb_ary_new(), rb_ary_new() };
    for (int type = 0; type <= RUBY_T_MASK; type++) {
        rb_ary_push(counts[0], SIZET2NUM(all[type]));
        rb_ary_push(counts[1], SIZET2NUM(flagged[type]));
    }
    return rb_ary_new_from_values(2, counts);
}

static VALUE
address(VALUE self, VALUE object)
{
    return SIZET2NUM((size_t)object);
}

/* Bytes that malloc has given out and not got back. */
static VALUE
malloced(VALUE self)
{
    struct mallinfo2 info = mallinfo2();

    return SIZET2NUM(info.uordblks + info.hblkhd);
}

void
Init_heapprof_heap(void)
{
    VALUE heap = rb_define_module("HeapProfHeap");

    rb_define_singleton_method(heap, "pages", pages, 0);
    rb_define_singleton_method(heap, "slots", slots, 1);
    rb_define_singleton_method(heap, "address", address, 1);
    rb_define_singleton_method(heap, "malloced", malloced, 0);
    Init_stack_end(heap);
}
