/* Global variables. Behind a store stands whether the GC does not know what is stored. */
#include "ruby/ruby.h"

struct node {
    VALUE        value;
    struct node *next;
};

static VALUE cache, registered, global, marked, held, constant, of_class, symbol, number, copied;
static VALUE late, in_list[4], by_helper;
static struct { VALUE member; } whole;
static struct other { VALUE value; } *list;
static struct node *marked_list;

static void
mark_globals(void *pointer)
{
    rb_gc_mark(marked);
    for (struct node *node = marked_list; node; node = node->next) rb_gc_mark(node->value);
}

static const rb_data_type_t marker_type =
    { "marker", { mark_globals, NULL }, 0, 0, 0 };

static VALUE
made(void)
{
    return rb_str_new_cstr("made");
}

static VALUE
use(VALUE self, VALUE value)
{
    struct node *node = ALLOC(struct node);

    cache = value; // unregistered-global cache
    whole.member = value; // unregistered-global whole
    in_list[1] = value; // unregistered-global in_list
    list->value = value; // unregistered-global list
    marked_list->value = value;
    marked = value;
    node->value = value; /* only this function knows of it */
    registered = value;
    global = value;
    copied = rb_cObject;
    symbol = ID2SYM(rb_intern("symbol"));
    number = INT2FIX(1);
    return by_helper;
}

void
Init_globals(void)
{
    VALUE object = rb_ary_new();

    rb_gc_register_address(&registered);
    rb_global_variable(&global);
    of_class = rb_define_class("OfClass", rb_cObject);
    constant = rb_str_new_cstr("constant");
    rb_define_const(of_class, "CONSTANT", constant);
    rb_gc_register_mark_object(object);
    held = object;
    late = made(); // unregistered-global late
    by_helper = made();
    rb_gc_register_mark_object(by_helper);
    rb_define_method(of_class, "use", use, 1);
    TypedData_Wrap_Struct(of_class, &marker_type, NULL);
}
