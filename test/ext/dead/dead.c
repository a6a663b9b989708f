/* dead.c - ways to keep an object where nothing marks it, each with a good twin that is marked.
 *
 * A bad way is HeapProfDead.keep_..., and its use is HeapProfDead.use_...; between the two the
 * test collects. A good way has the same name with _good.
 */
#include "ruby/ruby.h"
#include "ruby/ractor.h"
#include "ruby/thread.h"

/* Overwrites what calls have left on the stack, where the collector would find it. */
__attribute__((noinline)) static void
clear_stack(void)
{
    volatile char junk[16384];
    for (size_t i = 0; i < sizeof(junk); i++) junk[i] = 0;
}

__attribute__((noinline)) static VALUE
make_string(void)
{
    volatile long length = 8; /* a constant would make a String that shares it */
    return rb_str_new("embedded", length);
}

__attribute__((noinline)) static VALUE
make_array(void)
{
    VALUE array = rb_ary_new();
    rb_ary_push(array, INT2FIX(7));
    return array;
}

/* ---- a static variable ---- */

static VALUE kept, kept_good;

static VALUE
keep_static(VALUE self)
{
    kept = make_string();
    clear_stack();
    return Qnil;
}

static VALUE
keep_static_good(VALUE self)
{
    kept_good = make_string();
    return Qnil;
}

static VALUE
use_static(VALUE self)
{
    return LONG2FIX(RSTRING_LEN(kept));
}

static VALUE
use_static_good(VALUE self)
{
    return LONG2FIX(RSTRING_LEN(kept_good));
}

/* Ruby code uses what it gets. */
static VALUE
give_static(VALUE self)
{
    return kept;
}

/* The string is written to. */
static VALUE
write_static(VALUE self)
{
    RSTRING_PTR(kept)[0] = 'E';
    return Qnil;
}

/* The block is called while a word on the stack looks like the string. */
static VALUE
with_word(VALUE self)
{
    volatile VALUE word = kept;
    VALUE result = rb_yield(Qnil);
    return word ? result : Qnil;
}

/* ---- memory of malloc ---- */

struct box {
    VALUE value;
};

static struct box *box, *box_good;

static VALUE
keep_malloc(VALUE self)
{
    box = malloc(sizeof(*box));
    box->value = make_array();
    clear_stack();
    return Qnil;
}

static VALUE
keep_malloc_good(VALUE self)
{
    box_good = malloc(sizeof(*box_good));
    box_good->value = make_array();
    rb_gc_register_address(&box_good->value);
    return Qnil;
}

static VALUE
use_malloc(VALUE self)
{
    VALUE entry = rb_ary_entry(box->value, 0);
    free(box);
    return entry;
}

static VALUE
use_malloc_good(VALUE self)
{
    VALUE entry = rb_ary_entry(box_good->value, 0);
    rb_gc_unregister_address(&box_good->value);
    free(box_good);
    return entry;
}

/* ---- a child that dmark forgets; and one whose move it forgets ---- */

struct pair {
    VALUE marked, forgotten, movable;
};

static void
mark_pair(void *data)
{
    struct pair *pair = data;
    rb_gc_mark(pair->marked);
    rb_gc_mark_movable(pair->movable);
}

static void
mark_whole_pair(void *data)
{
    struct pair *pair = data;
    rb_gc_mark(pair->marked);
    rb_gc_mark(pair->forgotten);
    rb_gc_mark_movable(pair->movable);
}

static void
compact_pair(void *data)
{
    struct pair *pair = data;
    pair->movable = rb_gc_location(pair->movable);
}

static const rb_data_type_t pair_type = {
    "HeapProfDead::Pair", { mark_pair, RUBY_TYPED_DEFAULT_FREE }, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};
static const rb_data_type_t good_pair_type = {
    "HeapProfDead::GoodPair", { mark_whole_pair, RUBY_TYPED_DEFAULT_FREE, 0, compact_pair }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY
};

__attribute__((noinline)) static void
fill(struct pair *pair)
{
    pair->marked = make_string();
    pair->forgotten = make_string();
    pair->movable = make_string();
}

static VALUE
make_pair(const rb_data_type_t *type)
{
    struct pair *pair = ZALLOC(struct pair);
    pair->marked = pair->forgotten = pair->movable = Qnil;
    VALUE object = rb_data_typed_object_wrap(rb_cObject, pair, type);
    fill(pair);
    clear_stack();
    return object;
}

static VALUE
bad_pair(VALUE self)
{
    return make_pair(&pair_type);
}

static VALUE
good_pair(VALUE self)
{
    return make_pair(&good_pair_type);
}

static struct pair *
pair_of(VALUE object)
{
    return RTYPEDDATA_GET_DATA(object);
}

static VALUE
use_forgotten(VALUE self, VALUE object)
{
    VALUE length = LONG2FIX(RSTRING_LEN(pair_of(object)->forgotten));
    pair_of(object)->movable = Qnil;
    return length;
}

/* A GC after compaction would mark the old address, which MRI calls a bug of its own. */
static VALUE
use_movable(VALUE self, VALUE object)
{
    VALUE length = LONG2FIX(RSTRING_LEN(pair_of(object)->movable));
    pair_of(object)->movable = Qnil;
    return length;
}

/* ---- a mark function that gives the collector what is dead by then ---- */

struct late {
    VALUE object;
    bool  marks;
};

static volatile unsigned marks_of_late; /* so that mark_late does not jump to rb_gc_mark */

static void
mark_late(void *data)
{
    struct late *late = data;
    if (late->marks) rb_gc_mark(late->object);
    marks_of_late++;
}

static void
jump_to_mark(void *data)
{
    struct late *late = data;
    if (late->marks) rb_gc_mark(late->object);
}

static const rb_data_type_t late_type = {
    "HeapProfDead::Late", { mark_late, RUBY_TYPED_DEFAULT_FREE }, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};
static const rb_data_type_t jumping_type = {
    "HeapProfDead::Jumping", { jump_to_mark, RUBY_TYPED_DEFAULT_FREE }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY
};

static VALUE
make_late(const rb_data_type_t *type, bool marks)
{
    struct late *late = ZALLOC(struct late);
    VALUE object = rb_data_typed_object_wrap(rb_cObject, late, type);
    late->marks = marks;
    late->object = make_string();
    clear_stack();
    return object;
}

static VALUE
late(VALUE self)
{
    return make_late(&late_type, false);
}

static VALUE
late_jumping(VALUE self)
{
    return make_late(&jumping_type, false);
}

static VALUE
never_late(VALUE self)
{
    return make_late(&late_type, true);
}

static VALUE
set_marks(VALUE self, VALUE object, VALUE marks)
{
    struct late *late = RTYPEDDATA_GET_DATA(object);
    late->marks = RTEST(marks);
    return marks;
}

/* ---- a guard that is missing ---- */

__attribute__((noinline)) static const char *
bytes_of_string(void)
{
    return RSTRING_PTR(make_string());
}

static VALUE
use_unguarded(VALUE self)
{
    const char *bytes = bytes_of_string();
    clear_stack();
    rb_gc();
    return INT2FIX(bytes[0]);
}

static VALUE
use_guarded(VALUE self)
{
    VALUE string = make_string();
    const char *bytes = RSTRING_PTR(string);
    clear_stack();
    rb_gc();
    VALUE first = INT2FIX(bytes[0]);
    RB_GC_GUARD(string);
    return first;
}

/* ---- objects of other types, at addresses that are not marked ---- */

static VALUE
keep(VALUE self, VALUE object)
{
    kept = object;
    clear_stack();
    return Qnil;
}

static VALUE
use_object(VALUE self)
{
    VALUE id = rb_funcall(kept, rb_intern("object_id"), 0);
    return RTEST(id) ? Qtrue : Qfalse; /* no tail call: Valgrind sees this function */
}

/* Valgrind reports an error once for the same C functions. */
static VALUE
use_in_fiber(VALUE self)
{
    return LONG2FIX(RSTRING_LEN(kept));
}

static VALUE
use_in_thread(VALUE self)
{
    return LONG2FIX(RSTRING_LEN(kept) + 1);
}

static VALUE
use_in_ractor(VALUE self)
{
    return LONG2FIX(RSTRING_LEN(kept) + 2);
}

static VALUE
use_hash(VALUE self)
{
    VALUE value = rb_hash_aref(kept, INT2FIX(1));
    return NIL_P(value) ? Qfalse : value;
}

/* In front of a dead object, on its page of memory. */
static VALUE
use_before(VALUE self)
{
    return INT2FIX(((const char *)kept)[-200]);
}

static void *
length_without_gvl(void *length)
{
    *(long *)length = RSTRING_LEN(kept);
    return NULL;
}

static VALUE
use_without_gvl(VALUE self)
{
    long length;
    rb_nogvl(length_without_gvl, &length, NULL, NULL, 0);
    return LONG2FIX(length);
}

void
Init_heapprof_dead(void)
{
    VALUE module = rb_define_module("HeapProfDead");

#ifdef HAVE_RB_EXT_RACTOR_SAFE
    rb_ext_ractor_safe(true);
#endif
    rb_gc_register_address(&kept_good);
    rb_define_singleton_method(module, "keep_static", keep_static, 0);
    rb_define_singleton_method(module, "keep_static_good", keep_static_good, 0);
    rb_define_singleton_method(module, "use_static", use_static, 0);
    rb_define_singleton_method(module, "use_static_good", use_static_good, 0);
    rb_define_singleton_method(module, "give_static", give_static, 0);
    rb_define_singleton_method(module, "write_static", write_static, 0);
    rb_define_singleton_method(module, "with_word", with_word, 0);
    rb_define_singleton_method(module, "keep_malloc", keep_malloc, 0);
    rb_define_singleton_method(module, "keep_malloc_good", keep_malloc_good, 0);
    rb_define_singleton_method(module, "use_malloc", use_malloc, 0);
    rb_define_singleton_method(module, "use_malloc_good", use_malloc_good, 0);
    rb_define_singleton_method(module, "bad_pair", bad_pair, 0);
    rb_define_singleton_method(module, "good_pair", good_pair, 0);
    rb_define_singleton_method(module, "use_forgotten", use_forgotten, 1);
    rb_define_singleton_method(module, "use_movable", use_movable, 1);
    rb_define_singleton_method(module, "late", late, 0);
    rb_define_singleton_method(module, "late_jumping", late_jumping, 0);
    rb_define_singleton_method(module, "never_late", never_late, 0);
    rb_define_singleton_method(module, "set_marks", set_marks, 2);
    rb_define_singleton_method(module, "use_unguarded", use_unguarded, 0);
    rb_define_singleton_method(module, "use_guarded", use_guarded, 0);
    rb_define_singleton_method(module, "keep", keep, 1);
    rb_define_singleton_method(module, "use_object", use_object, 0);
    rb_define_singleton_method(module, "use_hash", use_hash, 0);
    rb_define_singleton_method(module, "use_without_gvl", use_without_gvl, 0);
    rb_define_singleton_method(module, "use_before", use_before, 0);
    rb_define_singleton_method(module, "use_in_fiber", use_in_fiber, 0);
    rb_define_singleton_method(module, "use_in_thread", use_in_thread, 0);
    rb_define_singleton_method(module, "use_in_ractor", use_in_ractor, 0);
}
