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

/* ---- bytes behind a pointer ---- */

VALUE
bytes_behind(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    char *at = (char *)pair->many;

    *(VALUE *)((char *)pair->many + 8) = value; // warning many[]
    rb_gc_start();
    at += sizeof(VALUE);
    *(VALUE *)at = value; // warning many
    rb_gc_start();
    *(VALUE *)((char *)pair->many + 8) = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    *(int *)((char *)pair->many + 8) = 1;
    return value;
}

/* ---- who owns an address is known by the caller of the helper with the barrier ---- */

static void
write_one(VALUE object, VALUE *slot, VALUE value)
{
    RB_OBJ_WRITE(object, slot, value);
}

static void
store_and_tell(VALUE object, struct pair *pair, VALUE value)
{
    pair->second = value;
    RB_OBJ_WRITTEN(object, Qundef, value);
}

static void
write_all(VALUE object, VALUE *many, long count, VALUE value)
{
    for (long i = 0; i < count; i++) write_one(object, many + i, value);
}

VALUE
told_by_helpers(VALUE self, VALUE other, VALUE value)
{
    struct pair *pair = get_pair(self);

    write_one(self, &pair->first, value);
    store_and_tell(self, pair, value);
    write_all(self, pair->many, pair->count, value);
    return other;
}

VALUE
told_by_helpers_for_another(VALUE self, VALUE other, VALUE value)
{
    struct pair *pair = get_pair(self);

    write_one(other, &pair->first, value); // error first
    rb_gc_start();
    store_and_tell(other, pair, value); // error second
    rb_gc_start();
    write_all(other, pair->many, pair->count, value); // warning many[]
    return other;
}

VALUE
told_by_helpers_and_told(VALUE self, VALUE other, VALUE value)
{
    struct pair *pair = get_pair(self);

    write_one(other, &pair->first, value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return other;
}
