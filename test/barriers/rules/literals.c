/* Structs that are written as a whole: what is named there is stored, and of the rest nothing. */
#include "pair.h"

struct inner {
    int   number;
    VALUE value;
};

struct outer {
    VALUE        first, second;
    struct inner inner;
};

static void
outer_mark(void *pointer)
{
    struct outer *outer = pointer;

    rb_gc_mark(outer->first);
    rb_gc_mark(outer->second);
    rb_gc_mark(outer->inner.value);
}

static const rb_data_type_t outer_type = {
    "outer", { outer_mark, RUBY_DEFAULT_FREE }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

static struct outer *
get(VALUE self)
{
    return rb_check_typeddata(self, &outer_type);
}

VALUE
none(VALUE self, VALUE value)
{
    struct outer *outer = get(self);

    *outer = (struct outer){.first = Qnil, .inner = {.number = FIX2INT(value)}};
    *outer = (struct outer){Qnil, Qtrue, {1}};
    *outer = (struct outer){0};
    RB_OBJ_WRITE(self, &outer->first, value);
    return self;
}

VALUE
named(VALUE self, VALUE value)
{
    *get(self) = (struct outer){.first = Qnil, .second = value}; // error second
    *get(self) = (struct outer){.inner = {.value = value}}; // error inner.value
    return self;
}

VALUE
deeper(VALUE self, VALUE value)
{
    *get(self) = (struct outer){.inner.value = value, .first = Qnil}; // error inner.value
    return self;
}

VALUE
by_place(VALUE self, VALUE value)
{
    *get(self) = (struct outer){value, Qnil, {1, value}}; // error first inner.value
    return self;
}
