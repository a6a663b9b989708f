/* Between a store and its barrier stand functions that start no GC, and functions that may. */
#include "pair.h"
#include <ruby/encoding.h>
#include <ruby/st.h>
#include <stdio.h>

#define STORE(self, value) get_pair(self)->first = (value)
#define TELL(self, value) RB_OBJ_WRITTEN(self, Qundef, value)

VALUE
of_a_string(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    STORE(self, value);
    pair->number = RSTRING_PTR(value) != RSTRING_END(value);
    TELL(self, value);
    STORE(self, value);
    pair->number = rb_enc_str_coderange(value) + rb_enc_asciicompat(rb_enc_get(value));
    TELL(self, value);
    STORE(self, value);
    pair->number = (long)rb_str_hash(value) + rb_memhash(pair, sizeof(*pair));
    TELL(self, value);
    return self;
}

VALUE
of_an_array(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    RARRAY_PTR_USE(value, elements, { pair->first = elements[0]; });
    RB_OBJ_WRITTEN(self, Qundef, pair->first);
    STORE(self, value);
    pair->number = RARRAY_AREF(value, 0) == RARRAY_CONST_PTR(value)[0];
    TELL(self, value);
    return self;
}

VALUE
of_a_hash(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    STORE(self, value);
    pair->number = RHASH_SIZE(value) + RHASH_EMPTY_P(value);
    TELL(self, value);
    return self;
}

VALUE
of_others(VALUE self, VALUE value, st_table *table)
{
    struct pair *pair = get_pair(self);
    char text[20];

    STORE(self, value);
    pair->number = RSTRUCT_LEN(value) + FIX2INT(value);
    TELL(self, value);
    STORE(self, value);
    snprintf(text, sizeof(text), "%ld", pair->number);
    TELL(self, value);
    STORE(self, value);
    pair->number = rb_class_real(CLASS_OF(value)) == rb_cObject;
    TELL(self, value);
    STORE(self, value);
    pair->number = st_lookup(table, 1, NULL);
    TELL(self, value);
    STORE(self, value);
    pair->number = rb_thread_current() == value || !NIL_P(rb_errinfo());
    TELL(self, value);
    return self;
}

/* ---- functions that may start a GC ---- */

VALUE
with_a_conversion(VALUE self, VALUE value)
{
    STORE(self, value); // error first
    get_pair(self)->number = (long)StringValueCStr(value);
    TELL(self, value);
    return self;
}

VALUE
with_an_allocation(VALUE self, VALUE value)
{
    STORE(self, value); // error first
    rb_ary_push(value, self);
    TELL(self, value);
    return self;
}

VALUE
with_a_call(VALUE self, VALUE value)
{
    STORE(self, value); // error first
    get_pair(self)->number = NIL_P(rb_hash_aref(value, self));
    TELL(self, value);
    return self;
}

VALUE
with_a_lock_of_all_ractors(VALUE self, VALUE value, ID id)
{
    STORE(self, value); // error first
    get_pair(self)->number = NIL_P(rb_ivar_get(value, id));
    TELL(self, value);
    return self;
}

VALUE
with_a_registration(VALUE self, VALUE value)
{
    STORE(self, value); // error first
    rb_gc_register_address(&get_pair(self)->second);
    TELL(self, value);
    return self;
}

/* A function that starts no GC may store where it is told to. */
VALUE
found(VALUE self, VALUE key, st_table *table)
{
    struct pair *pair = get_pair(self);

    st_lookup(table, 1, (st_data_t *)&pair->first); // warning first
    return self;
}

/* ---- what an object holds itself ---- */

VALUE
its_class(VALUE self, VALUE other)
{
    struct pair *pair = get_pair(self);

    pair->first = rb_obj_class(self); // note first
    pair->second = rb_class_real(CLASS_OF(self)); // note second
    pair->point.label = rb_obj_class(other); // error point.label
    return self;
}

static void
note_class(VALUE self, struct pair *pair)
{
    pair->list[0] = CLASS_OF(self); // note list[]
}

VALUE
its_class_by_a_helper(VALUE self)
{
    note_class(self, get_pair(self));
    return self;
}
