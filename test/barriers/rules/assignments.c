#include "pair.h"

VALUE
plain(VALUE self, VALUE value)
{
    struct pair *pair;

    TypedData_Get_Struct(self, struct pair, &pair_type, pair);
    pair->first = value; // error first
    return value;
}

VALUE
with_write(VALUE self, VALUE value)
{
    RB_OBJ_WRITE(self, &get_pair(self)->first, value);
    return value;
}

VALUE
with_written(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    pair->first = value;
    pair->number++;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return value;
}

VALUE
written_of_the_field(VALUE self)
{
    struct pair *pair = get_pair(self);

    pair->first = rb_str_new_cstr("new");
    RB_OBJ_WRITTEN(self, Qundef, pair->first);
    return self;
}

VALUE
written_too_late(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    pair->first = value; // error first
    rb_gc_start();
    RB_OBJ_WRITTEN(self, Qundef, value);
    return value;
}

VALUE
written_of_another_object(VALUE self, VALUE other, VALUE value)
{
    get_pair(self)->first = value; // error first
    RB_OBJ_WRITTEN(other, Qundef, value);
    return value;
}

VALUE
written_of_another_value(VALUE self, VALUE value, VALUE other)
{
    get_pair(self)->first = value; // error first
    RB_OBJ_WRITTEN(self, Qundef, other);
    return value;
}

VALUE
written_on_one_way(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    pair->first = value; // error first
    if (pair->number) RB_OBJ_WRITTEN(self, Qundef, value);
    return value;
}

/* RB_GC_GUARD, and functions that allocate nothing, may stand between. */
VALUE
written_after_what_starts_no_gc(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    pair->first = value;
    if (RB_TYPE_P(value, T_STRING)) pair->number = RSTRING_LEN(value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    RB_GC_GUARD(value);
    return value;
}

VALUE
two_names_of_one_object(VALUE self, VALUE value)
{
    VALUE same = self;
    struct pair *pair = get_pair(self);

    pair->first = value;
    RB_OBJ_WRITTEN(same, Qundef, value);
    return value;
}

VALUE
in_an_expression(VALUE self, VALUE value)
{
    return get_pair(self)->first = get_pair(self)->second = value; // error first; error second
}
