#include "pair.h"

VALUE
of_the_data(VALUE self, VALUE other)
{
    DATA_PTR(self) = get_pair(other); // error first list[] point.label second
    return self;
}

VALUE
by_the_struct_of_ruby(VALUE self, VALUE other)
{
    RTYPEDDATA(self)->data = get_pair(other); // error first list[] point.label second
    return self;
}

/* What the object holds already does not change with the place where it is. */
VALUE
of_the_same_data_made_larger(VALUE self)
{
    struct pair *pair = get_pair(self);

    DATA_PTR(self) = ruby_xrealloc(pair, sizeof(*pair) * 2);
    return self;
}

VALUE
of_new_data(VALUE self, VALUE value)
{
    struct pair *pair = ruby_xcalloc(1, sizeof(*pair));

    pair->first = value; // error first
    DATA_PTR(self) = pair;
    return self;
}

VALUE
of_new_data_with_a_barrier(VALUE self, VALUE value)
{
    struct pair *pair = ruby_xcalloc(1, sizeof(*pair));

    DATA_PTR(self) = pair;
    pair->first = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}
