/* reflection.c - ObjectSpace::HeapProfile::Reflection: the heap as Hashes that can be written as
 * JSON.
 *
 *     each_object ── list of all objects, also of hidden ones ── yield object or nil, its fields
 *
 * The list is made at once, without an allocation of Ruby's. It marks its objects, and so pins
 * them: an object that is yielded later is still there, at its address. Objects that are made
 * meanwhile are not in the list. The fields of an object are read at its turn, and other threads
 * run meanwhile.
 *
 * The fields here are those that Ruby code cannot ask. lib/heapprof/memprof/fields.rb asks the
 * rest.
 */
#include "ruby/ruby.h"
#include "vm/memprof/reflection.h"
#include "vm/memprof/calls.h"
#include "vm/memprof/list.h"
#include "vm/memprof/made.h"
#include "vm/memprof/json.h"
#include "vm/memprof/reflection_class.h"
#include "vm/memprof/reflection_code.h"
#include "vm/run/take.h"
#include "gc/book/state.h"
#include "profiler/snapshot.h"
#include "internal.h"
#include "internal/array.h"
#include "internal/gc.h"
#include "internal/imemo.h"
#include "internal/string.h"
#include "internal/symbol.h"
#include "ruby/encoding.h"
#include "ruby/ractor.h"
#include "vm_sync.h"
#include <ctype.h>

/* ---- what is to be said of every object ---- */

/* Where the object was allocated, if it is sampled. */
static void
set_place(VALUE hash, VALUE object)
{
    struct heapprof_snapshot *snapshot;
    struct heapprof_frame frame;
    size_t length;

    if (!rb_heapprof_snapshot_object(object, &snapshot)) rb_memerror();
    if (!snapshot) return;
    if (rb_heapprof_snapshot_frames(snapshot, snapshot->rows[0].stack, &frame, 1) > 0) {
        const char *path = rb_heapprof_strings_get(&snapshot->strings, frame.path, &length);
        rb_heapprof_reflection_set_text(hash, "file", rb_utf8_str_new(path, (long)length));
        rb_heapprof_reflection_set(hash, "line", UINT2NUM(frame.line));
    }
    rb_heapprof_snapshot_free(snapshot);
}

static void
set_time(VALUE hash, VALUE object)
{
    int64_t ns = rb_heapprof_made_at(object);
    if (ns) rb_heapprof_reflection_set(hash, "time", LL2NUM(ns / 1000));
}

/* "string" for T_STRING. */
static VALUE
type_name(VALUE object)
{
    const char *name = rb_type_str(RB_BUILTIN_TYPE(object)) + strlen("T_");
    VALUE lower = rb_str_new_cstr(name);
    for (char *at = RSTRING_PTR(lower); *at; at++) *at = (char)tolower((unsigned char)*at);
    return lower;
}

static void
set_data(VALUE hash, VALUE object)
{
    if (!RTYPEDDATA_P(object)) return;
    const char *name = RTYPEDDATA_TYPE(object)->wrap_struct_name;
    if (name) rb_heapprof_reflection_set_text(hash, "struct", rb_utf8_str_new_cstr(name));
    if (rb_obj_is_proc(object)) rb_heapprof_reflection_proc_fields(hash, object);
}

static VALUE
references(VALUE array)
{
    VALUE all = rb_ary_new();
    for (long i = 0; i < RARRAY_LEN(array); i++) {
        rb_ary_push(all, rb_heapprof_reflection_reference(RARRAY_AREF(array, i)));
    }
    return all;
}

static int
pair_i(VALUE key, VALUE value, VALUE pairs)
{
    VALUE pair = rb_assoc_new(rb_heapprof_reflection_reference(key),
                              rb_heapprof_reflection_reference(value));
    rb_ary_push(pairs, pair);
    return ST_CONTINUE;
}

static VALUE
pairs(VALUE object)
{
    VALUE all = rb_ary_new();
    rb_hash_foreach(object, pair_i, all);
    return all;
}

/* The content of an object that is hidden from Ruby. Other objects are asked by their methods. */
static void
set_hidden_data(VALUE hash, VALUE object)
{
    switch (RB_BUILTIN_TYPE(object)) {
      case T_STRING:
        rb_heapprof_reflection_set(hash, "data", rb_heapprof_reflection_text(object));
        break;
      case T_ARRAY: rb_heapprof_reflection_set(hash, "data", references(object)); break;
      case T_HASH: rb_heapprof_reflection_set(hash, "data", pairs(object)); break;
      default: break;
    }
}

/* The object whose bytes or elements this one shares. */
static void
set_shared(VALUE hash, bool shared, VALUE owner)
{
    if (shared) rb_heapprof_reflection_set(hash, "shared", rb_heapprof_reflection_reference(owner));
}

/* Another ractor may change an object that is not shareable at any time. */
static bool
readable_p(VALUE object)
{
    if (!rb_multi_ractor_p() || RB_TYPE_P(object, T_ICLASS)) return true;
    if (RB_TYPE_P(object, T_IMEMO)) return imemo_type(object) != imemo_env;
    return !rb_objspace_internal_object_p(object) && rb_ractor_shareable_p(object);
}

static void
set_fields(VALUE hash, VALUE object)
{
    switch (RB_BUILTIN_TYPE(object)) {
      case T_STRING:
        set_shared(hash, STR_SHARED_P(object), RSTRING(object)->as.heap.aux.shared);
        break;
      case T_ARRAY:
        set_shared(hash, ARY_SHARED_P(object), RARRAY(object)->as.heap.aux.shared_root);
        break;
      case T_CLASS: case T_MODULE: case T_ICLASS:
        rb_heapprof_reflection_class_fields(hash, object);
        break;
      case T_IMEMO:
        rb_heapprof_reflection_imemo_fields(hash, object);
        break;
      case T_DATA:
        set_data(hash, object);
        break;
      default: break;
    }
    if (rb_objspace_internal_object_p(object)) set_hidden_data(hash, object);
}

static VALUE
fields_of(VALUE object)
{
    VALUE hash = rb_hash_new();

    rb_heapprof_reflection_set(hash, "_id", rb_heapprof_reflection_reference(object));
    rb_heapprof_reflection_set(hash, "type", type_name(object));
    set_place(hash, object);
    set_time(hash, object);
    if (!rb_objspace_internal_object_p(object)) {
        VALUE klass = rb_obj_class(object);
        rb_heapprof_reflection_set(hash, "class", rb_heapprof_reflection_reference(klass));
        rb_heapprof_reflection_set_text(hash, "class_name", rb_mod_name(klass));
    }
    if (readable_p(object)) set_fields(hash, object);
    return hash;
}

/* ---- the heap ---- */

static bool
object_p(VALUE object)
{
    switch (RB_BUILTIN_TYPE(object)) {
      case T_NONE: case T_MOVED: case T_ZOMBIE: return false;
      default: return true;
    }
}

static int
list_page_i(void *start, void *end, size_t stride, void *list)
{
    for (VALUE object = (VALUE)start; object != (VALUE)end; object += stride) {
        asan_unpoisoning_object(object) {
            if (object_p(object)) rb_heapprof_list_push(list, object);
        }
    }
    return 0;
}

/* Yields each object and a Hash of its fields. Yields nil for an object that is hidden from Ruby,
 * or not readable. */
static VALUE
each_object(VALUE self)
{
    struct heapprof_list *list;
    VALUE holder = rb_heapprof_list_new(&list);

    rb_objspace_each_objects(list_page_i, list);
    rb_heapprof_list_check(list);
    for (size_t i = 0; i < list->count; i++) {
        VALUE object = list->objects[i];
        if (object == holder) continue;
        bool visible = !rb_objspace_internal_object_p(object) && readable_p(object);
        rb_yield_values(2, visible ? object : Qnil, fields_of(object));
    }
    RB_GC_GUARD(holder);
    return Qnil;
}

static void
finalizer_i(VALUE object, VALUE finalizers, void *list)
{
    rb_heapprof_list_push(list, object);
    rb_heapprof_list_push(list, finalizers);
}

/* Returns pairs of an object and its finalizers, as references. */
static VALUE
finalizers(VALUE self)
{
    struct heapprof_list *list;
    VALUE holder = rb_heapprof_list_new(&list), pairs = rb_ary_new();

    rb_heapprof_gc_each_finalizer(finalizer_i, list);
    rb_heapprof_list_check(list);
    for (size_t i = 0; i < list->count; i += 2) {
        VALUE object = rb_heapprof_reflection_reference(list->objects[i]);
        rb_ary_push(pairs, rb_assoc_new(object, references(list->objects[i + 1])));
    }
    RB_GC_GUARD(holder);
    return pairs;
}

/* ---- ObjectSpace::HeapProfile::Reflection ---- */

static VALUE
reference(VALUE self, VALUE value)
{
    return rb_heapprof_reflection_reference(value);
}

/* A String that JSON can hold. */
static VALUE
text_of(VALUE self, VALUE string)
{
    return rb_heapprof_reflection_text(rb_str_to_str(string));
}

static const rb_thread_t *
thread_of(VALUE thread)
{
    if (!rb_obj_is_kind_of(thread, rb_cThread)) rb_raise(rb_eTypeError, "expected a Thread");
    return rb_thread_ptr(thread);
}

static VALUE
frames(VALUE self, VALUE thread)
{
    return rb_heapprof_reflection_frames(thread_of(thread));
}

static VALUE
innermost(VALUE self, VALUE thread)
{
    return rb_heapprof_reflection_innermost(thread_of(thread));
}

void
rb_heapprof_reflection_define(VALUE profile_class)
{
    VALUE reflection = rb_define_module_under(profile_class, "Reflection");

    rb_define_singleton_method(reflection, "reference", reference, 1);
    rb_define_singleton_method(reflection, "text", text_of, 1);
    rb_define_singleton_method(reflection, "each_object", each_object, 0);
    rb_define_singleton_method(reflection, "finalizers", finalizers, 0);
    rb_define_singleton_method(reflection, "frames", frames, 1);
    rb_define_singleton_method(reflection, "innermost", innermost, 1);
    rb_heapprof_made_define(reflection);
    rb_heapprof_calls_define(reflection);
}
