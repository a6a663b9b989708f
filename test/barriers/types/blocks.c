/* VALUEs in memory of malloc. Behind a store stands whether nothing marks or registers what is
 * stored though something keeps the memory: how sure, the rule, and the field. */
#include "ruby/ruby.h"
#include <stdlib.h>
#include <string.h>

/* ---- kept by a global variable ---- */

struct node {
    VALUE        value, marked;
    struct node *next;
};

static struct node *list;
static VALUE *cell, *known_cell;

static void
mark_list(void *unused)
{
    for (struct node *node = list; node; node = node->next) rb_gc_mark(node->marked);
}

static const rb_data_type_t list_type = { "list", { mark_list, NULL }, 0, 0, 0 };

static VALUE
push(VALUE self, VALUE value)
{
    struct node *node = ALLOC(struct node);

    node->value = value; // error unmarked-memory value
    node->marked = value;
    node->next = list;
    list = node;
    return self;
}

static VALUE
keep_cell(VALUE self, VALUE value)
{
    VALUE *slot = malloc(sizeof(VALUE)), *known = malloc(sizeof(VALUE));

    *slot = value; // error unregistered-global cell
    cell = slot;
    *known = value;
    rb_gc_register_address(known);
    known_cell = known;
    return self;
}

/* ---- kept by an object: behind a pointer, in an array, without a data type ---- */

struct part {
    VALUE callback, marked;
    int   number;
};

struct whole {
    struct part *part;
    VALUE       *forgotten, *counted;
    long         count;
    void        *any;
};

static void
mark_whole(void *pointer)
{
    struct whole *whole = pointer;

    if (whole->part) rb_gc_mark(whole->part->marked);
    for (long i = 0; i < whole->count; i++) rb_gc_mark(whole->counted[i]);
}

static const rb_data_type_t whole_type =
    { "whole", { mark_whole, RUBY_DEFAULT_FREE }, 0, 0, 0 };

static struct whole *
get_whole(VALUE self)
{
    struct whole *whole;

    TypedData_Get_Struct(self, struct whole, &whole_type, whole);
    return whole;
}

static VALUE
whole_on(VALUE self, VALUE value)
{
    struct whole *whole = get_whole(self);

    whole->part = ALLOC(struct part);
    whole->part->callback = rb_block_proc(); // warning unmarked-memory callback
    whole->part->marked = value;
    return self;
}

static VALUE
whole_fill(VALUE self, VALUE value)
{
    struct whole *whole = get_whole(self);

    whole->forgotten = ALLOC_N(VALUE, 4);
    whole->counted = ALLOC_N(VALUE, 4);
    for (int i = 0; i < 4; i++) {
        whole->forgotten[i] = value; // warning unmarked-memory forgotten
        whole->counted[i] = value;
    }
    return self;
}

struct context {
    VALUE self, block, number, symbol, held, registered;
};

static VALUE
whole_watch(VALUE self, VALUE held)
{
    struct whole *whole = get_whole(self);
    struct context *context = malloc(sizeof(*context));

    context->self = self; /* whose memory it is */
    context->block = rb_block_proc(); // warning unmarked-memory block
    context->number = INT2FIX(4);
    context->symbol = ID2SYM(rb_intern("symbol"));
    rb_ivar_set(self, rb_intern("@held"), held);
    context->held = held;
    context->registered = rb_str_new_cstr("registered");
    rb_gc_register_address(&context->registered);
    whole->any = context;
    return self;
}

struct untyped {
    VALUE marked, forgotten;
};

static void
mark_untyped(struct untyped *untyped)
{
    rb_gc_mark(untyped->marked);
}

static VALUE
untyped_new(VALUE class, VALUE value)
{
    struct untyped *untyped = ALLOC(struct untyped);

    untyped->marked = value;
    untyped->forgotten = value; // warning unmarked-memory forgotten
    return Data_Wrap_Struct(class, mark_untyped, free, untyped);
}

/* ---- kept by a library, perhaps ---- */

struct request {
    VALUE proc;
};

struct answer {
    VALUE proc;
};

struct freed {
    VALUE proc;
};

/* Gets what on_exit kept. */
static void
at_exit(int status, void *request)
{
}

static VALUE
call_freed(VALUE freed)
{
    return rb_funcall(((struct freed *)freed)->proc, rb_intern("call"), 0);
}

static VALUE
end_freed(VALUE freed)
{
    xfree((void *)freed);
    return Qnil;
}

static void
drop(struct answer *answer)
{
    free(answer);
}

static VALUE
ask(VALUE self, VALUE proc)
{
    struct request *request = malloc(sizeof(*request));
    struct answer *answer = malloc(sizeof(*answer));
    struct freed *freed = ALLOC(struct freed);
    VALUE *slot = malloc(sizeof(VALUE)), *short_slot = malloc(sizeof(VALUE));

    request->proc = proc; // warning unmarked-memory proc
    on_exit(at_exit, request);
    answer->proc = proc;
    on_exit(at_exit, answer);
    drop(answer);
    *slot = proc; // warning unmarked-memory
    on_exit(at_exit, slot);
    *short_slot = proc;
    on_exit(at_exit, short_slot);
    free(short_slot);
    freed->proc = proc;
    return rb_ensure(call_freed, (VALUE)freed, end_freed, (VALUE)freed);
}

/* ---- nothing to tell ---- */

struct pair {
    VALUE key;
};

/* A mark function of a table's entries. */
static int
mark_entry(st_data_t key, st_data_t value, st_data_t unused)
{
    rb_gc_mark(((struct pair *)value)->key);
    return ST_CONTINUE;
}

struct table {
    st_table *entries;
    VALUE     own;
};

static void
mark_table(void *pointer)
{
    struct table *table = pointer;

    rb_gc_mark(table->own);
    if (table->entries) st_foreach(table->entries, mark_entry, 0);
}

static const rb_data_type_t table_type =
    { "table", { mark_table, RUBY_DEFAULT_FREE }, 0, 0, 0 };
static struct pair *last;

static VALUE
table_set(VALUE self, VALUE key)
{
    struct table *table = rb_check_typeddata(self, &table_type);
    struct pair *entry = ALLOC(struct pair);

    entry->key = key;
    st_insert(table->entries, (st_data_t)key, (st_data_t)entry);
    last = entry;
    return key;
}

/* An iterator's memory, which ends with its function. */
struct iterator {
    VALUE block;
};

static VALUE
iterate(VALUE self, VALUE block)
{
    struct iterator *iterator = ALLOC(struct iterator), on_stack;

    iterator->block = block;
    on_stack.block = block;
    rb_funcall(iterator->block, rb_intern("call"), 1, on_stack.block);
    xfree(iterator);
    return self;
}

/* What a function in none of these files may mark. */
struct foreign {
    VALUE value;
};
extern void elsewhere_adopt(struct foreign *foreign);
static struct foreign *foreigns;

static VALUE
give(VALUE self, VALUE value)
{
    struct foreign *foreign = ALLOC(struct foreign);

    foreign->value = value;
    elsewhere_adopt(foreign);
    foreigns = foreign;
    return self;
}

void
Init_blocks(void)
{
    VALUE class = rb_define_class("Blocks", rb_cObject);

    rb_define_method(class, "push", push, 1);
    rb_define_method(class, "keep_cell", keep_cell, 1);
    rb_define_method(class, "on", whole_on, 1);
    rb_define_method(class, "fill", whole_fill, 1);
    rb_define_method(class, "watch", whole_watch, 1);
    rb_define_method(class, "ask", ask, 1);
    rb_define_method(class, "set", table_set, 1);
    rb_define_method(class, "iterate", iterate, 1);
    rb_define_method(class, "give", give, 1);
    rb_define_singleton_method(class, "untyped", untyped_new, 1);
    TypedData_Wrap_Struct(class, &list_type, NULL);
}
