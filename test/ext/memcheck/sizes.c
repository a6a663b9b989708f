/* sizes.c - types whose dsize functions say what is right, or not.
 *
 *     HeapProfSizes.little   4,096 bytes of text that dsize leaves out
 *     HeapProfSizes.much     no text, and dsize says so much all the same
 *     HeapProfSizes.right    text, and dsize says so
 *     HeapProfSizes.embedded the same, with the struct in the object
 *     HeapProfSizes.shared   two objects with one text, which dsize leaves out
 *     HeapProfSizes.cached   a variable leads to the text, too, and dsize leaves it out
 *     HeapProfSizes.silent   text, and no dsize
 *
 * Each returns one object, or two. */
#include "ruby/ruby.h"

#include <stdlib.h>

#define TEXT_BYTES 4096

struct sized {
    char *text;
    int  *shared; /* how many objects have the text */
};

static char *volatile cached[16];

static char *
text(void)
{
    char *bytes = calloc(1, TEXT_BYTES);

    if (!bytes) rb_memerror();
    return bytes;
}

static void
sized_free(void *data)
{
    struct sized *sized = data;

    if (!sized->shared) free(sized->text);
    else if (--*sized->shared == 0) {
        free(sized->text);
        free(sized->shared);
    }
}

static void
apart_free(void *data)
{
    sized_free(data);
    xfree(data);
}

static size_t
says_struct(const void *data)
{
    return sizeof(struct sized);
}

static size_t
says_text(const void *data)
{
    return sizeof(struct sized) + TEXT_BYTES;
}

static size_t
says_text_alone(const void *data)
{
    return TEXT_BYTES;
}

#define SIZED_TYPE(name, free, size, flags) \
    static const rb_data_type_t name##_type = \
        { "heapprof_sizes/" #name, { NULL, free, size }, 0, 0, flags }

SIZED_TYPE(little, apart_free, says_struct, 0);
SIZED_TYPE(much, apart_free, says_text, 0);
SIZED_TYPE(right, apart_free, says_text, 0);
SIZED_TYPE(embedded, sized_free, says_text_alone,
           RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_EMBEDDABLE);
SIZED_TYPE(shared, apart_free, says_struct, 0);
SIZED_TYPE(cached, apart_free, says_struct, 0);
SIZED_TYPE(silent, apart_free, NULL, 0);

static VALUE
make(const rb_data_type_t *type, char *bytes)
{
    struct sized *sized;
    VALUE object = TypedData_Make_Struct(rb_cObject, struct sized, type, sized);

    sized->text = bytes;
    return object;
}

static VALUE
sizes_little(VALUE self)
{
    return make(&little_type, text());
}

static VALUE
sizes_much(VALUE self)
{
    return make(&much_type, NULL);
}

static VALUE
sizes_right(VALUE self)
{
    return make(&right_type, text());
}

static VALUE
sizes_embedded(VALUE self)
{
    return make(&embedded_type, text());
}

static VALUE
sizes_shared(VALUE self)
{
    char *bytes = text();
    VALUE one = make(&shared_type, bytes), other = make(&shared_type, bytes);
    int *count = malloc(sizeof(*count));

    if (!count) rb_memerror();
    *count = 2;
    ((struct sized *)RTYPEDDATA_GET_DATA(one))->shared = count;
    ((struct sized *)RTYPEDDATA_GET_DATA(other))->shared = count;
    return rb_assoc_new(one, other);
}

static VALUE
sizes_cached(VALUE self)
{
    static unsigned count;
    char *bytes = text();

    cached[count++ % 16] = bytes;
    return make(&cached_type, bytes);
}

static VALUE
sizes_silent(VALUE self)
{
    return make(&silent_type, text());
}

void
memcheck_define_sizes(void)
{
    VALUE sizes = rb_define_module("HeapProfSizes");

    rb_define_singleton_method(sizes, "little", sizes_little, 0);
    rb_define_singleton_method(sizes, "much", sizes_much, 0);
    rb_define_singleton_method(sizes, "right", sizes_right, 0);
    rb_define_singleton_method(sizes, "embedded", sizes_embedded, 0);
    rb_define_singleton_method(sizes, "shared", sizes_shared, 0);
    rb_define_singleton_method(sizes, "cached", sizes_cached, 0);
    rb_define_singleton_method(sizes, "silent", sizes_silent, 0);
}
