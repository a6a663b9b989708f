#include "pair.h"

/* A pointer that goes through a VALUE, by a function that gives it to one of ours. */
static int
each_i(VALUE key, VALUE value, VALUE argument)
{
    struct pair *pair = (struct pair *)argument;

    if (key == Qtrue) pair->first = value; // error first
    return ST_CONTINUE;
}

VALUE
through_rb_hash_foreach(VALUE self, VALUE hash)
{
    rb_hash_foreach(hash, each_i, (VALUE)get_pair(self));
    return self;
}

static VALUE
body(VALUE argument)
{
    struct pair *pair = (void *)argument;

    pair->second = rb_str_new_cstr("new"); // error second
    return Qnil;
}

VALUE
through_rb_protect(VALUE self)
{
    int state;

    return rb_protect(body, (VALUE)get_pair(self), &state);
}

/* The object itself is given: it can be told to the GC there. */
static VALUE
body_of_the_object(VALUE self)
{
    RB_OBJ_WRITE(self, &get_pair(self)->second, rb_str_new_cstr("new"));
    return Qnil;
}

VALUE
of_the_object(VALUE self)
{
    int state;

    return rb_protect(body_of_the_object, self, &state);
}
