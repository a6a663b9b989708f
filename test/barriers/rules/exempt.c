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
