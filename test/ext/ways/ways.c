/* ways.c - ways of C. */
#include "ways.h"

#include <stdarg.h>
#include <string.h>

#define LIST  4
#define ROWS  3
#define STACK 8

struct node {
    VALUE        value;
    struct node *next;
};

struct row {
    long  number;
    VALUE key;
};

struct part {
    VALUE one, two;
};

struct ways {
    VALUE       a, b;
    VALUE       list[LIST];
    struct part part;
    struct row  rows[ROWS];
    union {
        VALUE  object;
        double number;
    } either;
    VALUE      *many;                 /* count VALUEs in a block */
    long        count;
    VALUE       stack[STACK];
    VALUE      *top;                  /* of the stack */
    struct node *head, *last;         /* of a list, which is marked from its head on */
    st_table   *table;
    long        number;
};

static void
ways_mark(void *pointer)
{
    struct ways *ways = pointer;

    rb_gc_mark(ways->a);
    rb_gc_mark(ways->b);
    rb_gc_mark_locations(ways->list, ways->list + LIST);
    rb_gc_mark(ways->part.one);
    rb_gc_mark(ways->part.two);
    for (int i = 0; i < ROWS; i++) rb_gc_mark(ways->rows[i].key);
    rb_gc_mark(ways->either.object);
    for (long i = 0; i < ways->count; i++) rb_gc_mark(ways->many[i]);
    for (VALUE *at = ways->stack; at < ways->top; at++) rb_gc_mark(*at);
    for (struct node *node = ways->head; node; node = node->next) rb_gc_mark(node->value);
    if (ways->table) rb_mark_tbl(ways->table);
}

/* The blocks of the list and the table are not freed: a test makes few. */
static void
ways_free(void *pointer)
{
    struct ways *ways = pointer;

    xfree(ways->many);
    xfree(ways);
}

static const rb_data_type_t ways_type = {
    "HeapProfWays", { ways_mark, ways_free }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

static struct ways *
get(VALUE self)
{
    return rb_check_typeddata(self, &ways_type);
}

static VALUE
ways_alloc(VALUE klass)
{
    struct ways *ways;
    VALUE self = TypedData_Make_Struct(klass, struct ways, &ways_type, ways);

    ways->top = ways->stack;
    ways->head = ZALLOC(struct node);
    ways->last = ways->head->next = ZALLOC(struct node);
    ways->table = st_init_numtable();
    ways->many = ZALLOC_N(VALUE, 1);
    ways->count = 1;
    return self;
}

/* ---- an assignment ---- */

static VALUE
bad_field(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    ways->a = value;
    return self;
}

static VALUE
good_field(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    RB_OBJ_WRITE(self, &ways->a, value);
    return self;
}

static VALUE
bad_chain(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    ways->a = ways->number ? Qnil : (ways->b = value);
    return self;
}

static VALUE
good_chain(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    ways->a = ways->b = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_element(VALUE self, VALUE value)
{
    get(self)->list[NUM2INT(INT2FIX(2))] = value;
    return self;
}

static VALUE
good_element(VALUE self, VALUE value)
{
    get(self)->list[2] = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_row(VALUE self, VALUE value)
{
    struct row *row = &get(self)->rows[1];

    row->key = value;
    return self;
}

static VALUE
good_row(VALUE self, VALUE value)
{
    struct row *row = &get(self)->rows[1];

    RB_OBJ_WRITE(self, &row->key, value);
    return self;
}

static VALUE
bad_union(VALUE self, VALUE value)
{
    get(self)->either.object = value;
    return self;
}

static VALUE
good_union(VALUE self, VALUE value)
{
    RB_OBJ_WRITE(self, &get(self)->either.object, value);
    return self;
}

#define SET(ways, field, value) ((ways)->field = (value))

static VALUE
bad_macro(VALUE self, VALUE value)
{
    SET(get(self), b, value);
    return self;
}

static VALUE
good_macro(VALUE self, VALUE value)
{
    SET(get(self), b, value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* ---- through pointers ---- */

static VALUE
bad_slot(VALUE self, VALUE value)
{
    VALUE *slot = &get(self)->b;

    *slot = value;
    return self;
}

static VALUE
good_slot(VALUE self, VALUE value)
{
    VALUE *slot = &get(self)->b;

    *slot = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_choice(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    *(ways->number ? &ways->a : &ways->b) = value;
    return self;
}

static VALUE
good_choice(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    RB_OBJ_WRITE(self, ways->number ? &ways->a : &ways->b, value);
    return self;
}

static VALUE
bad_integer(VALUE self, VALUE value)
{
    uintptr_t address = (uintptr_t)get(self) + offsetof(struct ways, b);

    *(VALUE *)address = value;
    return self;
}

static VALUE
good_integer(VALUE self, VALUE value)
{
    uintptr_t address = (uintptr_t)get(self) + offsetof(struct ways, b);

    *(VALUE *)address = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_bytes(VALUE self, VALUE value)
{
    char *bytes = (char *)get(self);

    *(VALUE *)(bytes + offsetof(struct ways, a)) = value;
    return self;
}

static VALUE
good_bytes(VALUE self, VALUE value)
{
    char *bytes = (char *)get(self);

    RB_OBJ_WRITE(self, (VALUE *)(bytes + offsetof(struct ways, a)), value);
    return self;
}

static VALUE
bad_push(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    if (ways->top < ways->stack + STACK) *ways->top++ = value;
    return self;
}

static VALUE
good_push(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    if (ways->top < ways->stack + STACK) {
        *ways->top++ = value;
        RB_OBJ_WRITTEN(self, Qundef, value);
    }
    return self;
}

static VALUE
bad_many(VALUE self, VALUE value)
{
    *(get(self)->many + 0) = value;
    return self;
}

static VALUE
good_many(VALUE self, VALUE value)
{
    *(get(self)->many + 0) = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_grown(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    REALLOC_N(ways->many, VALUE, ways->count + 1);
    ways->many[ways->count++] = value;
    return self;
}

static VALUE
good_grown(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    REALLOC_N(ways->many, VALUE, ways->count + 1);
    ways->many[ways->count++] = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* The new block holds the value before the object holds the block. */
static VALUE
bad_replaced(VALUE self, VALUE value)
{
    struct ways *ways = get(self);
    VALUE *more = ALLOC_N(VALUE, ways->count + 1);

    memcpy(more, ways->many, ways->count * sizeof(VALUE));
    more[ways->count] = value;
    xfree(ways->many);
    ways->many = more;
    ways->count++;
    return self;
}

static VALUE
good_replaced(VALUE self, VALUE value)
{
    struct ways *ways = get(self);
    VALUE *more = ALLOC_N(VALUE, ways->count + 1);

    memcpy(more, ways->many, ways->count * sizeof(VALUE));
    more[ways->count] = value;
    xfree(ways->many);
    ways->many = more;
    ways->count++;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_node(VALUE self, VALUE value)
{
    struct node *node = get(self)->head;

    node->value = value;
    return self;
}

static VALUE
good_node(VALUE self, VALUE value)
{
    struct node *node = get(self)->head;

    RB_OBJ_WRITE(self, &node->value, value);
    return self;
}

static VALUE
bad_tail(VALUE self, VALUE value)
{
    struct node *node = get(self)->head;

    while (node->next) node = node->next;
    node->value = value;
    return self;
}

static VALUE
good_tail(VALUE self, VALUE value)
{
    struct node *node = get(self)->head;

    while (node->next) node = node->next;
    node->value = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* The node is new; the object that it is put into is not. */
static VALUE
bad_linked(VALUE self, VALUE value)
{
    struct ways *ways = get(self);
    struct node *node = ALLOC(struct node);

    node->value = value;
    node->next = ways->head;
    ways->head = node;
    return self;
}

static VALUE
good_linked(VALUE self, VALUE value)
{
    struct ways *ways = get(self);
    struct node *node = ALLOC(struct node);

    node->value = value;
    node->next = ways->head;
    ways->head = node;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* What is missing is allocated, and returned. */
static VALUE *
reserve(struct ways *ways)
{
    if (!ways->many) ways->many = ZALLOC_N(VALUE, 1);
    if (!ways->count) ways->count = 1;
    return ways->many;
}

static VALUE
bad_reserved(VALUE self, VALUE value)
{
    reserve(get(self))[0] = value;
    return self;
}

static VALUE
good_reserved(VALUE self, VALUE value)
{
    reserve(get(self))[0] = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static struct node *
made_node(struct ways *ways)
{
    struct node *node = ZALLOC(struct node);

    node->next = ways->head;
    ways->head = node;
    return node;
}

static VALUE
bad_made(VALUE self, VALUE value)
{
    made_node(get(self))->value = value;
    return self;
}

static VALUE
good_made(VALUE self, VALUE value)
{
    RB_OBJ_WRITE(self, &made_node(get(self))->value, value);
    return self;
}

static VALUE
bad_last(VALUE self, VALUE value)
{
    get(self)->last->value = value;
    return self;
}

static VALUE
good_last(VALUE self, VALUE value)
{
    RB_OBJ_WRITE(self, &get(self)->last->value, value);
    return self;
}

/* The first node without a value from the last one on, or a new one behind it. */
static struct node *
free_node(struct ways *ways)
{
    struct node *node = ways->last;

    if (!node) {
        node = ZALLOC(struct node);
        ways->head = ways->last = node;
    }
    else if (node->value) {
        if (node->next) node = node->next;
        else {
            node = ZALLOC(struct node);
            ways->last->next = node;
        }
        ways->last = node;
    }
    return node;
}

static VALUE
bad_appended(VALUE self, VALUE value)
{
    free_node(get(self))->value = value;
    return self;
}

static VALUE
good_appended(VALUE self, VALUE value)
{
    free_node(get(self))->value = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_table(VALUE self, VALUE value)
{
    st_insert(get(self)->table, 1, (st_data_t)value);
    return self;
}

static VALUE
good_table(VALUE self, VALUE value)
{
    st_insert(get(self)->table, 1, (st_data_t)value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* ---- copies ---- */

static VALUE
bad_copy(VALUE self, VALUE value)
{
    struct part part = { value, Qnil };

    get(self)->part = part;
    return self;
}

static VALUE
good_copy(VALUE self, VALUE value)
{
    struct part part = { value, Qnil };

    get(self)->part = part;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_literal(VALUE self, VALUE value)
{
    get(self)->part = (struct part){ .two = value };
    return self;
}

static VALUE
good_literal(VALUE self, VALUE value)
{
    get(self)->part = (struct part){ .two = value };
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_memcpy(VALUE self, VALUE value)
{
    VALUE values[LIST] = { value, value, value, value };

    memcpy(get(self)->list, values, sizeof(values));
    return self;
}

static VALUE
good_memcpy(VALUE self, VALUE value)
{
    VALUE values[LIST] = { value, value, value, value };

    memcpy(get(self)->list, values, sizeof(values));
    for (int i = 0; i < LIST; i++) RB_OBJ_WRITTEN(self, Qundef, values[i]);
    return self;
}

/* All data is replaced by that of a struct that was made apart. */
static struct ways *
bad_data_copy(struct ways *ways, VALUE value)
{
    struct ways *copy = ALLOC(struct ways);

    *copy = *ways;
    copy->top = copy->stack;
    copy->a = value;
    return copy;
}

static VALUE
bad_data(VALUE self, VALUE value)
{
    struct ways *old = get(self);

    DATA_PTR(self) = bad_data_copy(old, value);
    xfree(old);
    return self;
}

static struct ways *
good_data_copy(struct ways *ways, VALUE value)
{
    struct ways *copy = ALLOC(struct ways);

    *copy = *ways;
    copy->top = copy->stack;
    copy->a = value;
    return copy;
}

static VALUE
good_data(VALUE self, VALUE value)
{
    struct ways *old = get(self);

    DATA_PTR(self) = good_data_copy(old, value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    xfree(old);
    return self;
}

/* ---- by other functions ---- */

static void
bad_callee_set(struct ways *ways, VALUE value)
{
    ways->a = value;
}

static VALUE
bad_callee(VALUE self, VALUE value)
{
    bad_callee_set(get(self), value);
    return self;
}

static void
good_callee_set(struct ways *ways, VALUE value)
{
    ways->a = value;
}

static VALUE
good_callee(VALUE self, VALUE value)
{
    good_callee_set(get(self), value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static void
bad_address_set(VALUE *slot, VALUE value)
{
    *slot = value;
}

static VALUE
bad_address(VALUE self, VALUE value)
{
    bad_address_set(&get(self)->b, value);
    return self;
}

static void
good_address_set(VALUE self, VALUE *slot, VALUE value)
{
    RB_OBJ_WRITE(self, slot, value);
}

static VALUE
good_address(VALUE self, VALUE value)
{
    good_address_set(self, &get(self)->b, value);
    return self;
}

static VALUE
bad_scan(VALUE self, VALUE value)
{
    rb_scan_args(1, &value, "01", &get(self)->a);
    return self;
}

static VALUE
good_scan(VALUE self, VALUE value)
{
    VALUE object;

    rb_scan_args(1, &value, "01", &object);
    RB_OBJ_WRITE(self, &get(self)->a, object);
    return self;
}

static int
bad_each_i(VALUE key, VALUE value, VALUE data)
{
    ((struct ways *)data)->b = value;
    return ST_CONTINUE;
}

static VALUE
bad_each(VALUE self, VALUE value)
{
    VALUE hash = rb_hash_new();

    rb_hash_aset(hash, INT2FIX(1), value);
    rb_hash_foreach(hash, bad_each_i, (VALUE)get(self));
    return self;
}

static int
good_each_i(VALUE key, VALUE value, VALUE self)
{
    RB_OBJ_WRITE(self, &get(self)->b, value);
    return ST_CONTINUE;
}

static VALUE
good_each(VALUE self, VALUE value)
{
    VALUE hash = rb_hash_new();

    rb_hash_aset(hash, INT2FIX(1), value);
    rb_hash_foreach(hash, good_each_i, self);
    return self;
}

struct call {
    struct ways *ways;
    VALUE        self, value;
};

static VALUE
bad_protect_call(VALUE data)
{
    struct call *call = (struct call *)data;

    call->ways->part.one = call->value;
    return Qnil;
}

static VALUE
bad_protect(VALUE self, VALUE value)
{
    struct call call = { get(self), self, value };

    rb_protect(bad_protect_call, (VALUE)&call, NULL);
    return self;
}

static VALUE
good_protect_call(VALUE data)
{
    struct call *call = (struct call *)data;

    RB_OBJ_WRITE(call->self, &call->ways->part.one, call->value);
    return Qnil;
}

static VALUE
good_protect(VALUE self, VALUE value)
{
    struct call call = { get(self), self, value };

    rb_protect(good_protect_call, (VALUE)&call, NULL);
    return self;
}

static void
bad_arguments_set(struct ways *ways, ...)
{
    va_list arguments;

    va_start(arguments, ways);
    ways->a = va_arg(arguments, VALUE);
    va_end(arguments);
}

static VALUE
bad_arguments(VALUE self, VALUE value)
{
    bad_arguments_set(get(self), value);
    return self;
}

static void
good_arguments_set(VALUE self, ...)
{
    va_list arguments;

    va_start(arguments, self);
    RB_OBJ_WRITE(self, &get(self)->a, va_arg(arguments, VALUE));
    va_end(arguments);
}

static VALUE
good_arguments(VALUE self, VALUE value)
{
    good_arguments_set(self, value);
    return self;
}

static void
bad_pointer_set(struct ways *ways, VALUE value)
{
    ways->b = value;
}

static VALUE
bad_pointer(VALUE self, VALUE value)
{
    void (*set)(struct ways *, VALUE) = bad_pointer_set;

    set(get(self), value);
    return self;
}

static void
good_pointer_set(VALUE self, VALUE value)
{
    RB_OBJ_WRITE(self, &get(self)->b, value);
}

static VALUE
good_pointer(VALUE self, VALUE value)
{
    void (*set)(VALUE, VALUE) = good_pointer_set;

    set(self, value);
    return self;
}

/* ---- barriers that are wrong ---- */

static VALUE
bad_late(VALUE self, VALUE value)
{
    get(self)->a = value;
    rb_gc_start();
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
good_late(VALUE self, VALUE value)
{
    rb_gc_start();
    get(self)->a = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
bad_early(VALUE self, VALUE value)
{
    RB_OBJ_WRITTEN(self, Qundef, value);
    rb_gc_start();
    get(self)->a = value;
    return self;
}

static VALUE
good_early(VALUE self, VALUE value)
{
    RB_OBJ_WRITE(self, &get(self)->a, value);
    rb_gc_start();
    return self;
}

static VALUE
bad_parent(VALUE self, VALUE value)
{
    RB_OBJ_WRITE(value, &get(self)->b, value);
    return self;
}

static VALUE
good_parent(VALUE self, VALUE value)
{
    RB_OBJ_WRITE(self, &get(self)->b, value);
    return self;
}

static VALUE
bad_value(VALUE self, VALUE value)
{
    VALUE other = rb_obj_class(value);

    get(self)->a = value;
    RB_OBJ_WRITTEN(self, Qundef, other);
    return self;
}

static VALUE
good_value(VALUE self, VALUE value)
{
    VALUE same = value;

    get(self)->a = value;
    RB_OBJ_WRITTEN(self, Qundef, same);
    return self;
}

static VALUE
bad_path(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    ways->a = value;
    if (ways->number) RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static VALUE
good_path(VALUE self, VALUE value)
{
    struct ways *ways = get(self);

    ways->a = value;
    if (!RB_SPECIAL_CONST_P(value)) RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

void
Init_heapprof_ways(void)
{
    VALUE klass = rb_define_class("HeapProfWays", rb_cObject);

    rb_define_alloc_func(klass, ways_alloc);
    DEFINE(klass, field);
    DEFINE(klass, chain);
    DEFINE(klass, element);
    DEFINE(klass, row);
    DEFINE(klass, union);
    DEFINE(klass, macro);
    DEFINE(klass, slot);
    DEFINE(klass, choice);
    DEFINE(klass, integer);
    DEFINE(klass, bytes);
    DEFINE(klass, push);
    DEFINE(klass, many);
    DEFINE(klass, grown);
    DEFINE(klass, replaced);
    DEFINE(klass, node);
    DEFINE(klass, tail);
    DEFINE(klass, linked);
    DEFINE(klass, reserved);
    DEFINE(klass, made);
    DEFINE(klass, last);
    DEFINE(klass, appended);
    DEFINE(klass, table);
    DEFINE(klass, copy);
    DEFINE(klass, literal);
    DEFINE(klass, memcpy);
    DEFINE(klass, data);
    DEFINE(klass, callee);
    DEFINE(klass, address);
    DEFINE(klass, scan);
    DEFINE(klass, each);
    DEFINE(klass, protect);
    DEFINE(klass, arguments);
    DEFINE(klass, pointer);
    DEFINE(klass, late);
    DEFINE(klass, early);
    DEFINE(klass, parent);
    DEFINE(klass, value);
    DEFINE(klass, path);
    init_containers();
    init_hidden();
}
