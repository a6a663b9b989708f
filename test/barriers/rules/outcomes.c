/* A function says whether it has stored: where it has not, no barrier is needed. */
#include "pair.h"
#include <stdbool.h>
#include <stdlib.h>

static bool
store_bool(struct pair *pair, VALUE value)
{
    if (pair->number > 3) return false;
    pair->first = value;
    return true;
}

static int
store_number(struct pair *pair, VALUE value)
{
    if (pair->number > 3) return -1;
    pair->second = value;
    return 0;
}

static VALUE *
store_pointer(struct pair *pair, VALUE value)
{
    VALUE *many = malloc(sizeof(VALUE));

    if (!many) return NULL;
    pair->list[0] = value;
    return many;
}

static int
store_flag(struct pair *pair, VALUE value)
{
    int stored = 0;

    if (pair->number < 4) {
        pair->point.label = value;
        stored = 1;
    }
    return stored;
}

static VALUE
store_value(struct pair *pair, VALUE value)
{
    if (pair->number > 3) return Qnil;
    pair->list[2] = value;
    return Qtrue;
}

static int
store_passed(struct pair *pair, VALUE value)
{
    if (NIL_P(value)) return -1;
    return store_number(pair, value);
}

VALUE
returns_early(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    if (!store_bool(pair, value)) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (store_bool(pair, value) == false) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
compared(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    if (store_number(pair, value) < 0) rb_raise(rb_eArgError, "full");
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (store_number(pair, value) != 0) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (-1 == store_number(pair, value)) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (store_number(pair, value)) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (RB_UNLIKELY(store_number(pair, value) < 0)) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (store_passed(pair, value) <= -1) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
compared_with_null(VALUE self, VALUE value)
{
    VALUE *many = store_pointer(get_pair(self), value);

    if (many == NULL) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    free(many);
    return self;
}

VALUE
in_a_variable(VALUE self, VALUE value)
{
    int stored = store_flag(get_pair(self), value);
    bool failed = !stored;

    if (failed) goto fail;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;

fail:
    rb_raise(rb_eArgError, "full");
}

VALUE
in_one_function(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    bool stored = false;

    if (pair->number < 4) {
        pair->first = value;
        stored = true;
    }
    if (stored) RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
of_ruby(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    if (NIL_P(store_value(pair, value))) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (store_value(pair, value) == Qnil) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (!RTEST(store_value(pair, value))) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
of_two_parts(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    if (pair->count > 3 || !store_bool(pair, value)) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (pair->count && store_bool(pair, value)) RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* ---- the same, in other words ---- */

static struct point *
store_point(struct pair *pair, VALUE value)
{
    struct point *point;

    if (pair->number > 3) return NULL;
    point = &pair->point;
    point->label = value;
    return point;
}

static int
store_or_jump(struct pair *pair, VALUE value)
{
    int error = 0;

    if (pair->number > 3) {
        error = -1;
        goto out;
    }
    pair->first = value;
out:
    return error;
}

VALUE
of_an_address(VALUE self, VALUE value)
{
    struct point *point = store_point(get_pair(self), value);

    if (!point) return Qnil;
    point->x = 3;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
of_a_switch(VALUE self, VALUE value)
{
    switch (store_or_jump(get_pair(self), value)) {
      case 0: RB_OBJ_WRITTEN(self, Qundef, value); break;
      default: rb_raise(rb_eArgError, "full");
    }
    return self;
}

VALUE
of_an_assignment(VALUE self, VALUE value)
{
    int error;

    if ((error = store_number(get_pair(self), value)) != 0) rb_raise(rb_eArgError, "%d", error);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
of_another_variable(VALUE self, VALUE value)
{
    VALUE result = Qnil;
    bool stored = false;

    if (store_number(get_pair(self), value) == 0) stored = true;
    if (stored) {
        RB_OBJ_WRITTEN(self, Qundef, value);
        result = self;
    }
    return result;
}

/* ---- tested the wrong way round, or not at all ---- */

static bool
bad_bool(struct pair *pair, VALUE value)
{
    if (pair->number > 3) return false;
    pair->first = value; // error first
    return true;
}

VALUE
returns_early_too_often(VALUE self, VALUE value)
{
    if (bad_bool(get_pair(self), value)) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static bool
bad_branch(struct pair *pair, VALUE value)
{
    if (pair->number > 3) return false;
    pair->first = value; // error first
    return true;
}

VALUE
of_the_wrong_branch(VALUE self, VALUE value)
{
    if (!bad_branch(get_pair(self), value)) RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static int
bad_number(struct pair *pair, VALUE value)
{
    if (pair->number > 3) return -1;
    pair->second = value; // error second
    return 0;
}

VALUE
compared_for_success(VALUE self, VALUE value)
{
    if (bad_number(get_pair(self), value) >= 0) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* It may have stored before it fails. */
static int
bad_order(struct pair *pair, VALUE value)
{
    pair->second = value; // error second
    if (pair->number > 3) return -1;
    return 0;
}

VALUE
compared_too_late(VALUE self, VALUE value)
{
    if (bad_order(get_pair(self), value) < 0) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE *
bad_pointer(struct pair *pair, VALUE value)
{
    VALUE *many = malloc(sizeof(VALUE));

    if (!many) return NULL;
    pair->list[0] = value; // error list[]
    return many;
}

VALUE
compared_with_something(VALUE self, VALUE value)
{
    VALUE *many = bad_pointer(get_pair(self), value);

    if (many != NULL) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_value(struct pair *pair, VALUE value)
{
    if (pair->number > 3) return Qnil;
    pair->list[2] = value; // error list[]
    return Qtrue;
}

VALUE
of_ruby_wrong_way_round(VALUE self, VALUE value)
{
    if (RTEST(bad_value(get_pair(self), value))) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static struct point *
bad_point(struct pair *pair, VALUE value)
{
    struct point *point;

    if (pair->number > 3) return NULL;
    point = &pair->point;
    point->label = value; // error point.label
    return point;
}

VALUE
of_an_address_wrong_way_round(VALUE self, VALUE value)
{
    struct point *point = bad_point(get_pair(self), value);

    if (point) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* The result is about something else. */
static struct point *
find_point(struct pair *pair)
{
    return pair->number > 3 ? &pair->point : NULL;
}

static struct point *
bad_result(struct pair *pair, VALUE value)
{
    struct point *point = find_point(pair);

    pair->first = value; // error first
    return point;
}

VALUE
of_something_else(VALUE self, VALUE value)
{
    if (bad_result(get_pair(self), value) == NULL) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static int
bad_switch(struct pair *pair, VALUE value)
{
    if (pair->number > 3) return 1;
    pair->first = value; // error first
    return 0;
}

VALUE
of_a_switch_with_the_wrong_case(VALUE self, VALUE value)
{
    switch (bad_switch(get_pair(self), value)) {
      case 1: RB_OBJ_WRITTEN(self, Qundef, value); break;
      case 2 ... 5: return Qnil;
    }
    return self;
}

/* ---- variables that say something else ---- */

static int
bad_flag(struct pair *pair, VALUE value)
{
    int stored = 0;

    if (pair->number < 4) {
        pair->point.label = value; // error point.label
        stored = 1;
    }
    return stored;
}

VALUE
of_a_variable_that_changes(VALUE self, VALUE value, VALUE other)
{
    int stored = bad_flag(get_pair(self), value);

    if (RTEST(other)) stored = 0;
    if (!stored) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
in_one_function_wrong_way_round(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    bool stored = false;

    if (pair->number < 4) {
        pair->first = value; // error first
        stored = true;
    }
    if (!stored) RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
of_a_variable_that_is_counted(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    int stored = 0;

    if (pair->number < 4) {
        pair->first = value; // error first
        stored = 1;
        stored--;
    }
    if (stored) RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static int
bad_loop(struct pair *pair, VALUE value)
{
    if (pair->number > 3) return -1;
    pair->second = value; // error second
    return 0;
}

VALUE
of_the_last_one(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    int stored = 0;

    for (long i = 0; i < pair->count; i++) stored = bad_loop(pair, value);
    if (stored < 0) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* ---- the first one may have stored ---- */

static bool
bad_first(struct pair *pair, VALUE value)
{
    if (pair->number > 3) return false;
    pair->list[3] = value; // error list[]
    return true;
}

VALUE
of_two_parts_that_store(VALUE self, VALUE value, VALUE other)
{
    struct pair *pair = get_pair(self);

    if (!bad_first(pair, value) || !store_bool(pair, other)) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    RB_OBJ_WRITTEN(self, Qundef, other);
    return self;
}
