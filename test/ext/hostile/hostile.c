/* hostile.c - objects whose functions wait for ever or crash in any process but the one that made
 * them, as those do that take a lock or use memory that a child of fork does not have. */
#include <ruby.h>
#include <unistd.h>

struct hostile {
    pid_t pid;
    VALUE held;
};

static int
at_home_p(const struct hostile *hostile)
{
    return hostile->pid == getpid();
}

static void
mark_held(void *data)
{
    rb_gc_mark(((struct hostile *)data)->held);
}

static void
mark_waiting(void *data)
{
    while (!at_home_p(data)) pause();
    mark_held(data);
}

static void
mark_crashing(void *data)
{
    static char *volatile nowhere = NULL;

    mark_held(data);
    if (!at_home_p(data)) *nowhere = 0;
}

static size_t
size(const void *data)
{
    return sizeof(struct hostile);
}

static size_t
size_waiting(const void *data)
{
    while (!at_home_p(data)) pause();
    return size(data);
}

static const rb_data_type_t types[] = {
    {"hostile_tame", {mark_held, RUBY_DEFAULT_FREE, size}},
    {"hostile_waits", {mark_waiting, RUBY_DEFAULT_FREE, size}},
    {"hostile_crashes", {mark_crashing, RUBY_DEFAULT_FREE, size}},
    {"hostile_waits_for_size", {mark_held, RUBY_DEFAULT_FREE, size_waiting}},
};

static VALUE
hostile_new(VALUE klass, VALUE how, VALUE held)
{
    const char *name = rb_id2name(SYM2ID(how));
    struct hostile *hostile;

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (strcmp(types[i].wrap_struct_name + strlen("hostile_"), name) != 0) continue;
        VALUE object = TypedData_Make_Struct(klass, struct hostile, &types[i], hostile);
        hostile->pid = getpid();
        hostile->held = held;
        return object;
    }
    rb_raise(rb_eArgError, "how: %"PRIsVALUE" is not known", how);
}

/* A leak of an extension's: what its variable leads to. */
static VALUE hostile_cache;

static VALUE
hostile_keep(VALUE klass, VALUE object)
{
    return rb_ary_push(hostile_cache, object);
}

/* A reference in memory of malloc, which has no name. */
static VALUE
hostile_keep_in_memory(VALUE klass, VALUE object)
{
    VALUE *address = malloc(sizeof(*address));

    *address = object;
    rb_gc_register_address(address);
    return object;
}

void
Init_heapprof_hostile(void)
{
    VALUE hostile = rb_define_class("HeapProfHostile", rb_cObject);

    rb_undef_alloc_func(hostile);
    rb_gc_register_address(&hostile_cache);
    hostile_cache = rb_ary_new();
    rb_define_singleton_method(hostile, "new", hostile_new, 2);
    rb_define_singleton_method(hostile, "keep", hostile_keep, 1);
    rb_define_singleton_method(hostile, "keep_in_memory", hostile_keep_in_memory, 1);
}
