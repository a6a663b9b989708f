#include "pair.h"

/* Functions that Ruby calls for us, with what they are given: they store into the object of who
 * gave it. */
static VALUE
yielded_i(RB_BLOCK_CALL_FUNC_ARGLIST(yielded, argument))
{
    ((struct pair *)argument)->first = yielded; // error first
    return Qnil;
}

VALUE
through_rb_block_call(VALUE self, VALUE array)
{
    return rb_block_call(array, rb_intern("each"), 0, NULL, yielded_i, (VALUE)get_pair(self));
}

static VALUE
ensured(VALUE argument)
{
    ((struct pair *)argument)->second = rb_str_new_cstr("new"); // error second
    return Qnil;
}

static VALUE
nothing(VALUE unused)
{
    return unused;
}

VALUE
through_rb_ensure(VALUE self)
{
    return rb_ensure(nothing, self, ensured, (VALUE)get_pair(self));
}

/* On the stack it is no object's. */
static int
into_any_i(VALUE key, VALUE value, VALUE argument)
{
    ((struct pair *)argument)->first = value;
    return ST_CONTINUE;
}

VALUE
on_the_stack(VALUE self, VALUE hash)
{
    struct pair pair = {0};

    rb_hash_foreach(hash, into_any_i, (VALUE)&pair);
    return pair.first;
}

/* The object goes along with its data. */
struct with_object {
    VALUE        object;
    struct pair *pair;
};

static int
with_object_i(VALUE key, VALUE value, VALUE argument)
{
    struct with_object *with = (struct with_object *)argument;

    RB_OBJ_WRITE(with->object, &with->pair->first, value);
    return ST_CONTINUE;
}

VALUE
along(VALUE self, VALUE hash)
{
    struct with_object with = {self, get_pair(self)};

    rb_hash_foreach(hash, with_object_i, (VALUE)&with);
    return self;
}

/* A barrier behind the call comes too late: the next store may have started a GC. */
static int
late_i(VALUE key, VALUE value, VALUE argument)
{
    ((struct pair *)argument)->first = value; // error first
    return ST_CONTINUE;
}

VALUE
late(VALUE self, VALUE hash)
{
    struct pair *pair = get_pair(self);

    rb_hash_foreach(hash, late_i, (VALUE)pair);
    RB_OBJ_WRITTEN(self, Qundef, pair->first);
    return self;
}

/* Of an object that promises nothing any more none is needed. */
static int
unprotected_i(VALUE key, VALUE value, VALUE argument)
{
    ((struct pair *)argument)->first = value; // note first
    return ST_CONTINUE;
}

VALUE
unprotected(VALUE self, VALUE hash)
{
    RB_OBJ_WB_UNPROTECT(self);
    rb_hash_foreach(hash, unprotected_i, (VALUE)get_pair(self));
    return self;
}

/* Kept, and called some day: whose data it is then is not seen. */
static VALUE
kept_i(RB_BLOCK_CALL_FUNC_ARGLIST(yielded, argument))
{
    ((struct pair *)argument)->first = yielded; // warning first
    return Qnil;
}

VALUE
keep(VALUE self)
{
    return rb_proc_new(kept_i, (VALUE)get_pair(self));
}
