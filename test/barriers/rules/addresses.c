#include "pair.h"

VALUE
given_to_a_function_that_may_store(int argc, VALUE *argv, VALUE self)
{
    struct pair *pair = get_pair(self);

    rb_scan_args(argc, argv, "11", &pair->first, &pair->second); // warning first; warning second
    return self;
}

VALUE
given_to_one_that_only_reads(VALUE self)
{
    struct pair *pair = get_pair(self);

    return rb_funcallv(self, rb_intern("call"), 4, pair->list);
}

VALUE
kept_in_a_pointer(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    VALUE *slot = &pair->second;

    *slot = value; // error second
    return value;
}

static void
set(VALUE *slot, VALUE value)
{
    *slot = value; // error first
}

VALUE
given_to_a_function_that_is_seen(VALUE self, VALUE value)
{
    set(&get_pair(self)->first, value);
    return value;
}

VALUE
of_variables(int argc, VALUE *argv, VALUE self)
{
    VALUE first, second;

    rb_scan_args(argc, argv, "11", &first, &second);
    set(&second, first);
    RB_OBJ_WRITE(self, &get_pair(self)->first, first);
    return second;
}
