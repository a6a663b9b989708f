/* shared.c - a struct, and a function that stores into it, which objects of two types share. Only
 * objects of one type need barriers. */
#include "ruby.h"

struct vector {
    VALUE  name;
    VALUE *elements;
    long   length;
};

static void
mark_vector(void *data)
{
    struct vector *vector = data;

    rb_gc_mark(vector->name);
    for (long i = 0; i < vector->length; i++) rb_gc_mark(vector->elements[i]);
}

static const rb_data_type_t plain_type = { "plain", { mark_vector, RUBY_DEFAULT_FREE, NULL },
                                           0, 0, 0 };
static const rb_data_type_t fast_type = { "fast", { mark_vector, RUBY_DEFAULT_FREE, NULL },
                                          0, 0, RUBY_TYPED_WB_PROTECTED };

static void
set_name(struct vector *vector, VALUE name)
{
    vector->name = name; // error name
}

VALUE
name_plain(VALUE self, VALUE name)
{
    set_name(rb_check_typeddata(self, &plain_type), name);
    return name;
}

VALUE
name_fast(VALUE self, VALUE name)
{
    set_name(rb_check_typeddata(self, &fast_type), name);
    return name;
}

VALUE
set_plain(VALUE self, VALUE value)
{
    struct vector *vector = rb_check_typeddata(self, &plain_type);

    vector->elements[0] = value; // note elements[]
    return value;
}

VALUE
set_fast(VALUE self, VALUE value)
{
    struct vector *vector = rb_check_typeddata(self, &fast_type);

    vector->elements[0] = value; // warning elements[]
    return value;
}
