#include "pair.h"

VALUE
given_to_a_function_that_may_store(int argc, VALUE *argv, VALUE self)
{
    struct pair *pair = get_pair(self);

    rb_scan_args(argc, argv, "11", &pair->first, &pair->second); // warning first; warning second
    return self;
}

/* What fills memory with bytes stores no object; what sorts stores those that are there. */
static int
compare(const void *one, const void *other)
{
    return memcmp(one, other, sizeof(VALUE));
}

VALUE
given_to_one_that_stores_no_other(VALUE self)
{
    struct pair *pair = get_pair(self);

    memset(pair->list, 0, sizeof(pair->list));
    qsort(pair->list, 4, sizeof(VALUE), compare);
    return self;
}

extern void set_point(struct point *point);
extern void look_at_point(const struct point *point);

/* A struct in the data, with what it holds. */
VALUE
given_with_what_is_in_it(VALUE self)
{
    struct pair *pair = get_pair(self);

    look_at_point(&pair->point);
    set_point(&pair->point); // warning point.label
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

/* What a function returns through the address of a variable, or of one's field. */
static int
get(VALUE value, VALUE *result)
{
    rb_gc_start();
    if (NIL_P(value)) {
        *result = 0;
        return 0;
    }
    *result = value;
    return 1;
}

VALUE
returned_through_an_address(VALUE self, VALUE value)
{
    VALUE result = 0;

    get(value, &result);
    get_pair(self)->first = result; // error first
    return self;
}

static void
get_point(VALUE value, struct point *point)
{
    point->label = value;
}

VALUE
returned_through_a_structs(VALUE self, VALUE value)
{
    struct point point;

    point.label = Qnil;
    get_point(value, &point);
    get_pair(self)->second = point.label; // error second
    return self;
}
