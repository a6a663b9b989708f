#include "pair.h"

static void
store(struct pair *pair, VALUE value)
{
    pair->first = value; // error first
}

VALUE
without(VALUE self, VALUE value)
{
    store(get_pair(self), value);
    return value;
}

/* Two callers: one of them forgets it. */
VALUE
with(VALUE self, VALUE value)
{
    store(get_pair(self), value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return value;
}

static void
store_second(struct pair *pair, VALUE value)
{
    pair->second = value;
}

VALUE
only_with(VALUE self, VALUE value)
{
    store_second(get_pair(self), value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return value;
}

static void
tell(VALUE self, VALUE value)
{
    RB_OBJ_WRITTEN(self, Qundef, value);
}

VALUE
told_by_a_function(VALUE self, VALUE value)
{
    get_pair(self)->first = value;
    tell(self, value);
    return value;
}

static void
tell_late(VALUE self, VALUE value)
{
    rb_gc_start();
    RB_OBJ_WRITTEN(self, Qundef, value);
}

VALUE
told_late_by_a_function(VALUE self, VALUE value)
{
    get_pair(self)->first = value; // error first
    tell_late(self, value);
    return value;
}

/* A function that fails starts a GC only where we do not go on. */
static void
check(VALUE value)
{
    if (NIL_P(value)) rb_raise(rb_eArgError, "nil");
}

VALUE
checked_between(VALUE self, VALUE value)
{
    get_pair(self)->second = value;
    check(self);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return value;
}

static int
depth(struct pair *pair, VALUE value, int levels)
{
    if (levels == 0) return 0;
    pair->second = value; // error second
    return depth(pair, value, levels - 1);
}

VALUE
recursive(VALUE self, VALUE value)
{
    depth(get_pair(self), value, 3);
    return value;
}
