/* hidden.c - ways of C in which it is not called a VALUE, or it is not said where it is. */
#include "ways.h"

#include <ruby/atomic.h>
#include <string.h>

#define COUNT 4

struct hidden {
    VALUE     a, b;
    VALUE   **grid;    /* of one row of COUNT VALUEs */
    VALUE    *many;    /* COUNT VALUEs */
    st_table *walked;  /* st_foreach marks it */
    void     *pointer; /* a VALUE */
};

static int
mark_i(st_data_t key, st_data_t value, st_data_t unused)
{
    rb_gc_mark((VALUE)value);
    return ST_CONTINUE;
}

static void
hidden_mark(void *data)
{
    struct hidden *hidden = data;

    rb_gc_mark(hidden->a);
    rb_gc_mark(hidden->b);
    rb_gc_mark_locations(hidden->grid[0], hidden->grid[0] + COUNT);
    rb_gc_mark_locations(hidden->many, hidden->many + COUNT);
    st_foreach(hidden->walked, mark_i, 0);
    rb_gc_mark((VALUE)hidden->pointer);
}

/* The blocks are not freed: a test makes few. */
static const rb_data_type_t hidden_type = {
    "HeapProfHidden", { hidden_mark, RUBY_DEFAULT_FREE }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

static struct hidden *
get(VALUE self)
{
    return rb_check_typeddata(self, &hidden_type);
}

static VALUE
hidden_alloc(VALUE klass)
{
    struct hidden *hidden = ZALLOC(struct hidden);

    hidden->grid = ZALLOC_N(VALUE *, 1);
    hidden->grid[0] = ZALLOC_N(VALUE, COUNT);
    hidden->many = ZALLOC_N(VALUE, COUNT);
    hidden->walked = st_init_numtable();
    return TypedData_Wrap_Struct(klass, &hidden_type, hidden);
}

static VALUE
bad_slots(VALUE self, VALUE value)
{
    struct hidden *hidden = get(self);
    VALUE *slots[] = {&hidden->a, &hidden->b};

    *slots[NIL_P(hidden->a)] = value;
    return self;
}

static VALUE
good_slots(VALUE self, VALUE value)
{
    struct hidden *hidden = get(self);
    VALUE *slots[] = {&hidden->a, &hidden->b};

    *slots[NIL_P(hidden->a)] = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_grid(VALUE self, VALUE value)
{
    get(self)->grid[0][1] = value;
    return self;
}

static VALUE
good_grid(VALUE self, VALUE value)
{
    RB_OBJ_WRITE(self, &get(self)->grid[0][1], value);
    return self;
}

static VALUE
bad_line(VALUE self, VALUE value)
{
    VALUE *line = ZALLOC_N(VALUE, COUNT);

    line[0] = value;
    get(self)->grid[0] = line;
    return self;
}

static VALUE
good_line(VALUE self, VALUE value)
{
    VALUE *line = ZALLOC_N(VALUE, COUNT);

    line[0] = value;
    get(self)->grid[0] = line;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_words(VALUE self, VALUE value)
{
    uintptr_t *words = (uintptr_t *)get(self);

    words[1] = (uintptr_t)value;
    return self;
}

static VALUE
good_words(VALUE self, VALUE value)
{
    uintptr_t *words = (uintptr_t *)get(self);

    words[1] = (uintptr_t)value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_untyped(VALUE self, VALUE value)
{
    get(self)->pointer = (void *)value;
    return self;
}

static VALUE
good_untyped(VALUE self, VALUE value)
{
    get(self)->pointer = (void *)value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_walked(VALUE self, VALUE value)
{
    st_insert(get(self)->walked, 1, (st_data_t)value);
    return self;
}

static VALUE
good_walked(VALUE self, VALUE value)
{
    st_insert(get(self)->walked, 1, (st_data_t)value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static int
update_i(st_data_t *key, st_data_t *value, st_data_t argument, int existing)
{
    *value = argument;
    return ST_CONTINUE;
}

static VALUE
bad_update(VALUE self, VALUE value)
{
    st_update(get(self)->walked, 1, update_i, (st_data_t)value);
    return self;
}

static VALUE
good_update(VALUE self, VALUE value)
{
    st_update(get(self)->walked, 1, update_i, (st_data_t)value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_atomic(VALUE self, VALUE value)
{
    __atomic_store_n(&get(self)->a, value, __ATOMIC_SEQ_CST);
    return self;
}

static VALUE
good_atomic(VALUE self, VALUE value)
{
    __atomic_store_n(&get(self)->a, value, __ATOMIC_SEQ_CST);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_exchange(VALUE self, VALUE value)
{
    RUBY_ATOMIC_VALUE_EXCHANGE(get(self)->b, value);
    return self;
}

static VALUE
good_exchange(VALUE self, VALUE value)
{
    VALUE old = RUBY_ATOMIC_VALUE_EXCHANGE(get(self)->b, value);

    RB_OBJ_WRITTEN(self, old, value);
    return self;
}

/* The barriers are for the elements of a block that was copied. */
static VALUE
bad_block(VALUE self, VALUE value)
{
    VALUE values[COUNT] = {value};

    memcpy(get(self)->many, values, sizeof(values));
    return self;
}

static VALUE
good_block(VALUE self, VALUE value)
{
    struct hidden *hidden = get(self);
    VALUE values[COUNT] = {value};

    memset(hidden->many, 0, COUNT * sizeof(VALUE));
    memcpy(hidden->many, values, sizeof(values));
    for (int i = 0; i < COUNT; i++) RB_OBJ_WRITTEN(self, Qundef, hidden->many[i]);
    return self;
}

void
init_hidden(void)
{
    VALUE klass = rb_define_class("HeapProfHidden", rb_cObject);

    rb_define_alloc_func(klass, hidden_alloc);
    DEFINE(klass, slots);
    DEFINE(klass, grid);
    DEFINE(klass, line);
    DEFINE(klass, words);
    DEFINE(klass, untyped);
    DEFINE(klass, walked);
    DEFINE(klass, update);
    DEFINE(klass, atomic);
    DEFINE(klass, exchange);
    DEFINE(klass, block);
}
