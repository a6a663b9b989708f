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
 *         .before_malloc(object)  RB_OBJ_WRITTEN, xmalloc, and the store
 *         .before_object(object)  RB_OBJ_WRITTEN, a new object, and the store
 *         .twice(object)      RB_OBJ_WRITTEN, xmalloc, the store, and RB_OBJ_WRITTEN again
 *         .copy(other)        memcpy of the other's struct
 *         .block(object) { }  a store, and what the block does
 *
 * HeapProfUnprotected is the same, and promises nothing of barriers.
 *
 *     HeapProfFar.new.store(object)    a store behind an array of 4 KB
 *     HeapProfNear.new.store(object)   a store into the block behind that of the struct
 *     HeapProfStatic.new.store(object) a store into a struct that is no block
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
pair_before_malloc(VALUE self, VALUE object)
{
    RB_OBJ_WRITTEN(self, Qundef, object);
    xfree(xmalloc(24));
    return pair_store(self, object);
}

static VALUE
pair_before_object(VALUE self, VALUE object)
{
    RB_OBJ_WRITTEN(self, Qundef, object);
    rb_ary_new();
    return pair_store(self, object);
}

static VALUE
pair_twice(VALUE self, VALUE object)
{
    pair_before_malloc(self, object);
    RB_OBJ_WRITTEN(self, Qundef, object);
    return self;
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

/* ---- where the struct is ---- */

struct far {
    long  numbers[512];
    VALUE object;
};

static void
far_mark(void *pointer)
{
    rb_gc_mark(((struct far *)pointer)->object);
}

static const rb_data_type_t far_type = {
    "HeapProfFar", { far_mark, RUBY_DEFAULT_FREE }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

static VALUE
far_alloc(VALUE klass)
{
    struct far *far;

    return TypedData_Make_Struct(klass, struct far, &far_type, far);
}

static VALUE
far_store(VALUE self, VALUE object)
{
    ((struct far *)RTYPEDDATA_GET_DATA(self))->object = object;
    return self;
}

struct near {
    VALUE *object;
};

static void
near_mark(void *pointer)
{
    VALUE *object = ((struct near *)pointer)->object;

    if (object) rb_gc_mark(*object);
}

static const rb_data_type_t near_type = {
    "HeapProfNear", { near_mark, NULL }, 0, 0, RUBY_TYPED_WB_PROTECTED
};

/* Asks for blocks until one lies right behind the one before. None of them is freed. */
static struct near *
two_blocks(void)
{
    enum { block_bytes = 24, distance = 32, tries = 10000 };
    char *before = xcalloc(1, block_bytes);

    for (int i = 0; i < tries; i++) {
        char *next = xcalloc(1, block_bytes);
        if (next == before + distance) {
            ((struct near *)before)->object = (VALUE *)next;
            return (struct near *)before;
        }
        before = next;
    }
    rb_raise(rb_eRuntimeError, "no block lies behind another one");
}

static VALUE
near_alloc(VALUE klass)
{
    return TypedData_Wrap_Struct(klass, &near_type, two_blocks());
}

static VALUE
near_store(VALUE self, VALUE object)
{
    *((struct near *)RTYPEDDATA_GET_DATA(self))->object = object;
    return self;
}

static const rb_data_type_t static_type = {
    "HeapProfStatic", { pair_mark, NULL }, 0, 0, RUBY_TYPED_WB_PROTECTED
};

static VALUE
static_alloc(VALUE klass)
{
    static struct pair pair;

    return TypedData_Wrap_Struct(klass, &static_type, &pair);
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
    rb_define_method(klass, "before_malloc", pair_before_malloc, 1);
    rb_define_method(klass, "before_object", pair_before_object, 1);
    rb_define_method(klass, "twice", pair_twice, 1);
    rb_define_method(klass, "copy", pair_copy, 1);
    rb_define_method(klass, "block", pair_block, 1);
}

static void
define_place(const char *name, VALUE (*alloc)(VALUE klass), VALUE (*store)(VALUE, VALUE))
{
    VALUE klass = rb_define_class(name, rb_cObject);

    rb_define_alloc_func(klass, alloc);
    rb_define_method(klass, "store", store, 1);
}

void
Init_heapprof_missed(void)
{
    rb_ext_ractor_safe(true);
    define("HeapProfMissed", protected_alloc);
    define("HeapProfUnprotected", unprotected_alloc);
    define_place("HeapProfFar", far_alloc, far_store);
    define_place("HeapProfNear", near_alloc, near_store);
    define_place("HeapProfStatic", static_alloc, pair_store);
}
