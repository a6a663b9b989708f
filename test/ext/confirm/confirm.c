/* confirm.c - a type whose objects barriers protect, with a store of each kind that has none.
 *
 *     HeapProfConfirm.new
 *         .right(object)        with its barrier
 *         .plain(object)        a field
 *         .again(object)        the same field, in another function
 *         .last(object)         another field
 *         .element(i, object)   of an array
 *         .behind(object)       behind a pointer
 *         .each(hash)           in a function that is called for each pair
 *         .far(object)          a field behind an array of 4 KB
 *         .take(other)          all fields, from another object
 *         .bytes(other)         the same, where the source does not say what is copied
 *
 * And stores that have a barrier of which the source does not say that it comes each time:
 *
 *         .guarded(object)      on one way only, where it is needed
 *         .filled(object)       the same, in the function that calls the one that stores
 *         .either(object, way)  or another store of the same function, which has one
 *         .both(object, way)    a store of a function, or that of another one, and a barrier
 *                               behind both of them
 *         .spare(object)        a field that .right_spare stores to, with its barrier
 */
#include "ruby/ruby.h"
#include <string.h>

#define ELEMENTS 3

struct behind {
    VALUE object;
};

struct confirm {
    int count;
    struct {
        VALUE plain;
        VALUE elements[ELEMENTS];
    } part;
    VALUE last;
    struct behind *behind;
    VALUE guarded, filled, either, both, spare;
    long  numbers[512];
    VALUE far;
};

static void
confirm_mark(void *pointer)
{
    struct confirm *confirm = pointer;

    rb_gc_mark(confirm->part.plain);
    for (int i = 0; i < ELEMENTS; i++) rb_gc_mark(confirm->part.elements[i]);
    rb_gc_mark(confirm->last);
    if (confirm->behind) rb_gc_mark(confirm->behind->object);
    rb_gc_mark(confirm->guarded);
    rb_gc_mark(confirm->filled);
    rb_gc_mark(confirm->either);
    rb_gc_mark(confirm->both);
    rb_gc_mark(confirm->spare);
    rb_gc_mark(confirm->far);
}

static void
confirm_free(void *pointer)
{
    struct confirm *confirm = pointer;

    xfree(confirm->behind);
    xfree(confirm);
}

static const rb_data_type_t confirm_type = {
    "HeapProfConfirm", { confirm_mark, confirm_free }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

static struct confirm *
get(VALUE self)
{
    return rb_check_typeddata(self, &confirm_type);
}

static VALUE
confirm_alloc(VALUE klass)
{
    struct confirm *confirm;
    VALUE self = TypedData_Make_Struct(klass, struct confirm, &confirm_type, confirm);

    confirm->behind = ZALLOC(struct behind);
    return self;
}

static VALUE
confirm_right(VALUE self, VALUE object)
{
    return RB_OBJ_WRITE(self, &get(self)->last, object);
}

static VALUE
confirm_plain(VALUE self, VALUE object)
{
    struct confirm *confirm = get(self);

    confirm->part.plain = object;
    return self;
}

static VALUE
confirm_again(VALUE self, VALUE object)
{
    get(self)->part.plain = object;
    return self;
}

static VALUE
confirm_last(VALUE self, VALUE object)
{
    if (RTEST(object)) get(self)->last = object;
    else get(self)->count++;
    return self;
}

static VALUE
confirm_element(VALUE self, VALUE i, VALUE object)
{
    get(self)->part.elements[NUM2UINT(i) % ELEMENTS] = object;
    return self;
}

static VALUE
confirm_behind(VALUE self, VALUE object)
{
    get(self)->behind->object = object;
    return self;
}

static VALUE
confirm_far(VALUE self, VALUE object)
{
    get(self)->far = object;
    return self;
}

static int
each_i(VALUE key, VALUE value, VALUE data)
{
    struct confirm *confirm = (struct confirm *)data;

    confirm->last = value;
    return ST_CONTINUE;
}

static VALUE
confirm_each(VALUE self, VALUE hash)
{
    rb_hash_foreach(hash, each_i, (VALUE)get(self));
    return self;
}

static VALUE
confirm_take(VALUE self, VALUE other)
{
    struct confirm *to = get(self), *from = get(other);

    to->part = from->part;
    return self;
}

static VALUE
confirm_bytes(VALUE self, VALUE other)
{
    memcpy(RTYPEDDATA_GET_DATA(self), RTYPEDDATA_GET_DATA(other), offsetof(struct confirm, behind));
    return self;
}

/* True for everything except numbers. The analysis does not know what the answer means. */
static bool
needs_barrier_p(VALUE object)
{
    return !RB_TYPE_P(object, T_FIXNUM);
}

static VALUE
confirm_guarded(VALUE self, VALUE object)
{
    get(self)->guarded = object;
    if (needs_barrier_p(object)) RB_OBJ_WRITTEN(self, Qundef, object);
    return self;
}

static void
fill(struct confirm *confirm, VALUE object)
{
    confirm->filled = object;
}

static VALUE
confirm_filled(VALUE self, VALUE object)
{
    fill(get(self), object);
    if (needs_barrier_p(object)) RB_OBJ_WRITTEN(self, Qundef, object);
    return self;
}

static VALUE
confirm_either(VALUE self, VALUE object, VALUE way)
{
    if (RTEST(way)) RB_OBJ_WRITE(self, &get(self)->either, object);
    else {
        get(self)->either = object;
        if (needs_barrier_p(object)) RB_OBJ_WRITTEN(self, Qundef, object);
    }
    return self;
}

static void
store_both(struct confirm *confirm, VALUE object)
{
    confirm->both = object;
}

static VALUE
confirm_both(VALUE self, VALUE object, VALUE way)
{
    if (RTEST(way)) {
        get(self)->both = object;
    }
    else {
        store_both(get(self), object);
    }
    if (needs_barrier_p(object)) RB_OBJ_WRITTEN(self, Qundef, object);
    return self;
}

static VALUE
confirm_spare(VALUE self, VALUE object)
{
    get(self)->spare = object;
    if (needs_barrier_p(object)) RB_OBJ_WRITTEN(self, Qundef, object);
    return self;
}

static VALUE
confirm_right_spare(VALUE self, VALUE object)
{
    return RB_OBJ_WRITE(self, &get(self)->spare, object);
}

void
Init_heapprof_confirm(void)
{
    VALUE klass = rb_define_class("HeapProfConfirm", rb_cObject);

    rb_define_alloc_func(klass, confirm_alloc);
    rb_define_method(klass, "right", confirm_right, 1);
    rb_define_method(klass, "plain", confirm_plain, 1);
    rb_define_method(klass, "again", confirm_again, 1);
    rb_define_method(klass, "last", confirm_last, 1);
    rb_define_method(klass, "element", confirm_element, 2);
    rb_define_method(klass, "behind", confirm_behind, 1);
    rb_define_method(klass, "far", confirm_far, 1);
    rb_define_method(klass, "each", confirm_each, 1);
    rb_define_method(klass, "take", confirm_take, 1);
    rb_define_method(klass, "bytes", confirm_bytes, 1);
    rb_define_method(klass, "guarded", confirm_guarded, 1);
    rb_define_method(klass, "filled", confirm_filled, 1);
    rb_define_method(klass, "either", confirm_either, 2);
    rb_define_method(klass, "both", confirm_both, 2);
    rb_define_method(klass, "spare", confirm_spare, 1);
    rb_define_method(klass, "right_spare", confirm_right_spare, 1);
}
