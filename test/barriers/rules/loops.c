/* A loop of barriers behind the stores: one for each element. */
#include "pair.h"

VALUE
a_loop_of_its_own(int argc, VALUE *argv, VALUE self)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < argc; i++) pair->list[i] = argv[i];
    for (int i = 0; i < argc; i++) RB_OBJ_WRITTEN(self, Qundef, argv[i]);
    return self;
}

VALUE
a_loop_over_the_fields(int argc, VALUE *argv, VALUE self)
{
    struct pair *pair = get_pair(self);
    int i = 0;

    while (i < argc) pair->many[i] = argv[i], i++;
    for (int at = 0; at < argc; at++) RB_OBJ_WRITTEN(self, Qundef, pair->many[at]);
    return self;
}

VALUE
a_loop_after_single_stores(VALUE self, VALUE one, VALUE other)
{
    struct pair *pair = get_pair(self);

    pair->list[0] = one;
    pair->list[1] = other;
    for (int i = 0; i < 2; i++) RB_OBJ_WRITTEN(self, Qundef, pair->list[i]);
    return self;
}

VALUE
a_pointer_that_steps(int argc, VALUE *argv, VALUE self)
{
    struct pair *pair = get_pair(self);
    VALUE *to = pair->list, *end = to + argc;

    memcpy(to, argv, argc * sizeof(VALUE));
    for (; to < end; to++) RB_OBJ_WRITTEN(self, Qundef, *to);
    return self;
}

VALUE
an_argument_that_steps(int argc, VALUE *argv, VALUE self)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < argc; i++) pair->list[i] = argv[i];
    while (argc-- > 0) {
        RB_OBJ_WRITTEN(self, Qundef, *argv);
        argv++;
    }
    return self;
}

VALUE
from_an_array(VALUE self, VALUE array)
{
    struct pair *pair = get_pair(self);
    long count = RARRAY_LEN(array);

    for (long i = 0; i < count; i++) pair->list[i] = RARRAY_AREF(array, i);
    for (long i = 0; i < count; i++) RB_OBJ_WRITTEN(self, Qundef, RARRAY_AREF(array, i));
    return self;
}

VALUE
by_rb_ary_entry(VALUE self, VALUE array)
{
    struct pair *pair = get_pair(self);

    pair->first = rb_ary_entry(array, 0);
    RB_OBJ_WRITTEN(self, Qundef, rb_ary_entry(array, 0));
    for (long i = 0; i < 4; i++) pair->list[i] = rb_ary_entry(array, i);
    for (long i = 0; i < 4; i++) RB_OBJ_WRITTEN(self, Qundef, rb_ary_entry(array, i));
    return self;
}

VALUE
by_another_entry(VALUE self, VALUE array, VALUE other)
{
    struct pair *pair = get_pair(self);

    pair->first = rb_ary_entry(array, 0); // error first
    RB_OBJ_WRITTEN(self, Qundef, rb_ary_entry(array, 1));
    for (long i = 0; i < 4; i++) pair->list[i] = rb_ary_entry(array, i); // error list[]
    for (long i = 0; i < 4; i++) RB_OBJ_WRITTEN(self, Qundef, rb_ary_entry(other, i));
    return self;
}

static void
tell_all(VALUE self, struct pair *pair)
{
    for (int i = 0; i < 4; i++) RB_OBJ_WRITTEN(self, Qundef, pair->list[i]);
}

VALUE
by_a_helper(VALUE self, VALUE one, VALUE other)
{
    struct pair *pair = get_pair(self);

    pair->list[0] = one;
    pair->list[1] = other;
    tell_all(self, pair);
    return self;
}

VALUE
before_the_helper_alone(VALUE self, VALUE one, VALUE other)
{
    struct pair *pair = get_pair(self);

    tell_all(self, pair);
    pair->list[0] = one; // error list[]
    pair->list[1] = other; // error list[]
    return self;
}

/* ---- loops that do not tell of the store ---- */

VALUE
before_the_store(int argc, VALUE *argv, VALUE self)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < argc; i++) RB_OBJ_WRITTEN(self, Qundef, argv[i]);
    rb_gc();
    for (int i = 0; i < argc; i++) pair->list[i] = argv[i]; // error list[]
    return self;
}

VALUE
behind_a_gc(int argc, VALUE *argv, VALUE self)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < argc; i++) pair->list[i] = argv[i]; // error list[]
    rb_gc();
    for (int i = 0; i < argc; i++) RB_OBJ_WRITTEN(self, Qundef, argv[i]);
    return self;
}

VALUE
with_a_gc_inside(VALUE self, VALUE array)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < 4; i++) {
        pair->list[i] = rb_funcall(array, rb_intern("pop"), 0); // error list[]
    }
    for (int i = 0; i < 4; i++) RB_OBJ_WRITTEN(self, Qundef, pair->list[i]);
    return self;
}

VALUE
of_another_array(int argc, VALUE *argv, VALUE self)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < argc; i++) pair->list[i] = argv[i]; // error list[]
    for (int i = 0; i < argc; i++) RB_OBJ_WRITTEN(self, Qundef, pair->many[i]);
    return self;
}

VALUE
of_another_object(int argc, VALUE *argv, VALUE self)
{
    struct pair *pair = get_pair(self);

    for (int i = 1; i < argc; i++) pair->list[i] = argv[i]; // error list[]
    for (int i = 1; i < argc; i++) RB_OBJ_WRITTEN(argv[0], Qundef, argv[i]);
    return self;
}

VALUE
of_one_element(int argc, VALUE *argv, VALUE self)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < argc; i++) pair->list[i] = argv[i]; // error list[]
    for (int i = 0; i < argc; i++) RB_OBJ_WRITTEN(self, Qundef, argv[0]);
    return self;
}

VALUE
of_an_index_that_stays(int argc, VALUE *argv, VALUE self, int other)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < argc; i++) pair->list[i] = argv[i]; // error list[]
    RB_OBJ_WRITTEN(self, Qundef, pair->list[other]);
    return self;
}

VALUE
beside_the_store(int argc, VALUE *argv, VALUE self, int other)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < argc; i++) {
        pair->list[i] = argv[i]; // error list[]
        RB_OBJ_WRITTEN(self, Qundef, pair->list[other]);
    }
    return self;
}
