/* Code that knows of an object, or of none: where there is none, the struct is in none. */
#include "pair.h"

struct call {
    struct pair *pair;
    VALUE        self; /* Qfalse: the pair is on the stack */
};

static void
by_macro(struct call *call, VALUE *field, VALUE value)
{
    if (RTEST(call->self)) RB_OBJ_WRITE(call->self, field, value);
    else *field = value;
}

static void
behind_it(VALUE self, VALUE *field, VALUE value)
{
    *field = value;
    if (self) RB_OBJ_WRITTEN(self, Qundef, value);
}

static inline int
key_of(VALUE value)
{
    return value == Qnil;
}

static void
other_way_round(VALUE self, VALUE *field, VALUE value)
{
    *field = value;
    if (self == Qnil) (void)key_of(value);
    else RB_OBJ_WRITTEN(self, Qundef, value);
}

int
each_i(VALUE key, VALUE value, VALUE data)
{
    struct call *call = (struct call *)data;

    by_macro(call, &call->pair->first, value);
    behind_it(call->self, &call->pair->second, value);
    other_way_round(call->self, &call->pair->second, value);
    return 0;
}

/* What is asked is not the object. */
int
other_i(VALUE key, VALUE value, VALUE data)
{
    struct call *call = (struct call *)data;

    call->pair->first = value; // warning pair->first
    if (key) RB_OBJ_WRITTEN(call->self, Qundef, value);
    return 0;
}

/* Another object has none. */
VALUE
another(VALUE self, VALUE other, VALUE value)
{
    get_pair(self)->first = value; // error first
    if (RTEST(other)) RB_OBJ_WRITTEN(other, Qundef, value);
    return self;
}

/* ---- what is asked is whether the value is an object ---- */

VALUE
tested(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    pair->first = value;
    if (!SPECIAL_CONST_P(value)) RB_OBJ_WRITTEN(self, Qundef, value);
    pair->second = value;
    if (NIL_P(value)) return self;
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (FIXNUM_P(value)) pair->point.label = value;
    else RB_OBJ_WRITE(self, &pair->point.label, value);
    return self;
}

VALUE
tested_twice(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    pair->first = value;
    if (value != Qnil && !FIXNUM_P(value)) RB_OBJ_WRITTEN(self, Qundef, value);
    pair->second = value;
    if (RB_LIKELY(RTEST(pair->second))) RB_OBJ_WRITTEN(self, Qundef, pair->second);
    return self;
}

/* The test is of another value, says nothing of objects, or is the wrong way round. */
VALUE
not_tested(VALUE self, VALUE value, VALUE other)
{
    struct pair *pair = get_pair(self);

    pair->first = value; // error first
    if (!SPECIAL_CONST_P(other)) RB_OBJ_WRITTEN(self, Qundef, value);
    pair->second = value; // error second
    if (RB_TYPE_P(value, T_STRING)) RB_OBJ_WRITTEN(self, Qundef, value);
    pair->point.label = value; // error point.label
    if (SPECIAL_CONST_P(value)) RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
several_tests(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    if (NIL_P(value) || FIXNUM_P(value)) pair->first = value;
    if (value == Qtrue || Qfalse == value) pair->second = value;
    if (!NIL_P(value) && value != Qundef) return self;
    pair->point.label = value;
    return self;
}

VALUE
several_tests_that_leave_objects(VALUE self, VALUE value, VALUE other)
{
    struct pair *pair = get_pair(self);

    if (NIL_P(value) || FIXNUM_P(other)) pair->first = value; // error first
    if (NIL_P(value) && other == Qtrue) return self;
    pair->second = value; // error second
    if (value == Qtrue || other == value) pair->point.label = value; // error point.label
    return self;
}

VALUE
types_of_no_object(VALUE self, VALUE value, VALUE other)
{
    struct pair *pair = get_pair(self);

    if (RB_TYPE_P(value, T_FIXNUM)) pair->first = value;
    if (TYPE(value) == T_NIL || TYPE(value) == T_TRUE) pair->second = value;
    switch (TYPE(value)) {
      case T_NIL:
      case T_FIXNUM:
        pair->list[0] = value;
        break;
      case T_STRING:
        pair->list[1] = value; // error list[]
        break;
      default:
        pair->list[2] = value; // error list[]
    }
    if (TYPE(other) != T_SYMBOL) return self;
    pair->list[3] = other; // error list[]
    return self;
}

VALUE
checked_type(VALUE self, VALUE value, VALUE other)
{
    struct pair *pair = get_pair(self);

    Check_Type(value, T_FIXNUM);
    pair->first = value;
    Check_Type(other, T_STRING);
    pair->second = other; // error second
    return self;
}
