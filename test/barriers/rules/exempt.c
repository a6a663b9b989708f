#include "pair.h"

/* ---- what runs in a GC ---- */

static void
pair_compact(void *data)
{
    struct pair *pair = data;

    pair->first = rb_gc_location(pair->first);
}

static const rb_data_type_t compacted_type = {
    "compacted", {pair_mark, RUBY_DEFAULT_FREE, NULL, pair_compact}, 0, 0, RUBY_TYPED_WB_PROTECTED,
};

/* ---- what is no object ---- */

VALUE
immediates(VALUE self, VALUE number)
{
    struct pair *pair = get_pair(self);

    pair->first = Qnil;
    pair->second = INT2FIX(3);
    pair->list[0] = ID2SYM(rb_intern("x")); /* no GC frees the symbol of an ID */
    pair->list[1] = pair->number ? Qtrue : Qfalse;
    return number;
}

#define COUNT(pair) INT2FIX((pair)->count + 1)

VALUE
numbers(VALUE self, int number, VALUE other)
{
    struct pair *pair = get_pair(self);

    pair->first = INT2FIX(number);
    pair->second = COUNT(pair);
    pair->list[0] = INT2NUM(number);
    pair->list[1] = UINT2NUM(7);
    pair->list[2] = LONG2FIX(pair->number);
    pair->list[3] = LONG2NUM(pair->number); // error list[]
    pair->point.label = DBL2NUM(0.1); // error point.label
    return self;
}

VALUE
answers(VALUE self, VALUE other)
{
    struct pair *pair = get_pair(self);

    pair->first = rb_obj_is_kind_of(other, rb_cString);
    pair->second = rb_equal(self, other);
    pair->list[0] = rb_ivar_defined(self, rb_intern("@name"));
    pair->list[1] = rb_hash_size(other);
    pair->list[2] = rb_obj_frozen_p(other);
    pair->list[3] = rb_str_length(other);
    pair->point.label = rb_obj_class(other); // error point.label
    return self;
}

/* ---- an object that no GC has seen ---- */

VALUE
new_object(VALUE klass, VALUE value)
{
    struct pair *pair;
    VALUE self = TypedData_Make_Struct(klass, struct pair, &compacted_type, pair);

    pair->first = value; // note first
    rb_gc_start();
    pair->second = value; // error second
    return self;
}

VALUE
allocated_by_a_function_of_ours(VALUE klass, VALUE value)
{
    VALUE self = new_object(klass, value);

    get_pair(self)->first = value; // error first
    return self;
}

static VALUE
allocate(VALUE klass)
{
    return rb_data_typed_object_zalloc(klass, sizeof(struct pair), &pair_type);
}

VALUE
duplicate(VALUE self)
{
    VALUE copy = allocate(CLASS_OF(self));

    get_pair(copy)->first = get_pair(self)->first; // note first
    return copy;
}

VALUE
wrapped_memory(VALUE klass, VALUE value)
{
    struct pair *pair = ALLOC(struct pair);

    pair->first = value; // note first
    return TypedData_Wrap_Struct(klass, &pair_type, pair);
}

/* ---- what is reached in another way, too ---- */

VALUE
exchange(VALUE self)
{
    struct pair *pair = get_pair(self);
    VALUE first = pair->first;

    pair->first = pair->second; // note first
    pair->second = first; // note second
    return self;
}

VALUE
itself(VALUE self)
{
    get_pair(self)->first = self; // note first
    return self;
}

static VALUE empty;

VALUE
from_a_global(VALUE self)
{
    get_pair(self)->first = empty; // note first
    return self;
}

void
Init_exempt(void)
{
    rb_gc_register_address(&empty);
    empty = rb_str_new_cstr("");
}

/* ---- what the GC was told of already ---- */

VALUE
told_before(VALUE self, VALUE value, VALUE other)
{
    struct pair *pair = get_pair(self);

    RB_OBJ_WRITE(self, &pair->first, value);
    pair->second = pair->first; // note second
    pair->list[0] = value; // note list[]
    pair->list[1] = other; // error list[]
    rb_gc_start();
    pair->list[2] = value; // error list[]
    return self;
}

VALUE
told_on_one_path(VALUE self, VALUE value, VALUE other)
{
    struct pair *pair = get_pair(self);

    if (RTEST(other)) RB_OBJ_WRITE(self, &pair->first, value);
    pair->second = value; // error second
    return self;
}

VALUE
told_before_the_paths(VALUE self, VALUE value, VALUE other)
{
    struct pair *pair = get_pair(self);

    RB_OBJ_WRITE(self, &pair->first, value);
    if (RTEST(other)) RB_OBJ_WRITE(self, &pair->second, other);
    pair->list[0] = value; // note list[]
    return self;
}

VALUE
told_of_another_element(VALUE self, VALUE *values, int count)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < count; i++) {
        RB_OBJ_WRITTEN(self, Qundef, values[i]);
        i++;
        pair->list[0] = values[i]; // error list[]
    }
    return self;
}
