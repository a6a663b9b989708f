/* missed.c - a type whose objects barriers protect, with a method for each way to store a
 * reference.
 *
 *     HeapProfMissed.new
 *         .write(object)      with RB_OBJ_WRITE
 *         .written(object)    a store, and RB_OBJ_WRITTEN behind it
 *         .store(object)      a store alone
 *         .wrong(object)      a store, and RB_OBJ_WRITTEN of another parent
 *         .absent(object)     RB_OBJ_WRITTEN, and no store
 *         .ahead(object)      RB_OBJ_WRITTEN, and the store behind it
 *         .early(object)      RB_OBJ_WRITTEN, a GC, and the store
 *         .copy(other)        memcpy of the other's struct
 *         .block(object) { }  a store, and what the block does
 *
 * HeapProfUnprotected is the same, and promises nothing of barriers.
 */
#include "ruby/ruby.h"
#include <string.h>

struct pair {
    VALUE first, second;
};

static void
pair_mark(void *pointer)
{
    struct pair *pair = pointer;

    rb_gc_mark(pair->first);
    rb_gc_mark(pair->second);
}

static const rb_data_type_t protected_type = {
    "HeapProfMissed", { pair_mark, RUBY_DEFAULT_FREE }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

static const rb_data_type_t unprotected_type = {
    "HeapProfUnprotected", { pair_mark, RUBY_DEFAULT_FREE }, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};

static VALUE
pair_alloc(VALUE klass, const rb_data_type_t *type)
{
    struct pair *pair;
    VALUE self = TypedData_Make_Struct(klass, struct pair, type, pair);

    pair->first = pair->second = Qnil;
    return self;
}

static VALUE
protected_alloc(VALUE klass)
{
    return pair_alloc(klass, &protected_type);
}

static VALUE
unprotected_alloc(VALUE klass)
{
    return pair_alloc(klass, &unprotected_type);
}

static VALUE
pair_write(VALUE self, VALUE object)
{
    return RB_OBJ_WRITE(self, &((struct pair *)RTYPEDDATA_GET_DATA(self))->second, object);
}

static VALUE
pair_store(VALUE self, VALUE object)
{
    ((struct pair *)RTYPEDDATA_GET_DATA(self))->second = object;
    return self;
}

static VALUE
pair_written(VALUE self, VALUE object)
{
    pair_store(self, object);
    return RB_OBJ_WRITTEN(self, Qundef, object);
}

static VALUE
pair_wrong(VALUE self, VALUE object)
{
    pair_store(self, object);
    RB_OBJ_WRITTEN(rb_obj_class(self), Qundef, object);
    return self;
}

static VALUE
pair_absent(VALUE self, VALUE object)
{
    return RB_OBJ_WRITTEN(self, Qundef, object);
}

static VALUE
pair_ahead(VALUE self, VALUE object)
{
    RB_OBJ_WRITTEN(self, Qundef, object);
    return pair_store(self, object);
}

static VALUE
pair_early(VALUE self, VALUE object)
{
    RB_OBJ_WRITTEN(self, Qundef, object);
    rb_gc();
    return pair_store(self, object);
}

static VALUE
pair_copy(VALUE self, VALUE other)
{
    memcpy(RTYPEDDATA_GET_DATA(self), RTYPEDDATA_GET_DATA(other), sizeof(struct pair));
    return self;
}

static VALUE
pair_block(VALUE self, VALUE object)
{
    pair_store(self, object);
    rb_yield(object);
    return self;
}

static void
define(const char *name, VALUE (*alloc)(VALUE klass))
{
    VALUE klass = rb_define_class(name, rb_cObject);

    rb_define_alloc_func(klass, alloc);
    rb_define_method(klass, "write", pair_write, 1);
    rb_define_method(klass, "written", pair_written, 1);
    rb_define_method(klass, "store", pair_store, 1);
    rb_define_method(klass, "wrong", pair_wrong, 1);
    rb_define_method(klass, "absent", pair_absent, 1);
    rb_define_method(klass, "ahead", pair_ahead, 1);
    rb_define_method(klass, "early", pair_early, 1);
    rb_define_method(klass, "copy", pair_copy, 1);
    rb_define_method(klass, "block", pair_block, 1);
}

void
Init_heapprof_missed(void)
{
    define("HeapProfMissed", protected_alloc);
    define("HeapProfUnprotected", unprotected_alloc);
}
