/* Global variables. Behind a store stands whether the GC does not know what is stored. */
#include "ruby/ruby.h"
#include <pthread.h>

struct node {
    VALUE        value;
    struct node *next;
};

static VALUE cache, registered, global, marked, held, constant, of_class, symbol, number, copied;
static VALUE late, in_list[4], by_helper, identifier, fetched;
static struct { VALUE member; } whole;
static struct other { VALUE value; } *list;
static struct node *marked_list;

/* A function that gets the value of a variable does not register it, nor does one that gets its
 * address for something else. */
static VALUE tested, truth, sent, *grown, copy_sent, given_own, filled, by_own, kept_by_own, table;
static struct { VALUE object; const char *name; int lock; } entry;
static VALUE *const addresses[] = { &table };

extern void register_all(VALUE *first);
static VALUE by_other;
static VALUE by_caller, by_protecting_caller, by_no_caller;

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
name_of(VALUE object)
{
    return rb_funcall(object, rb_intern("name"), 0);
}

static void
fill(VALUE *place)
{
    *place = rb_ary_new(); // unregistered-global filled
}

static void
keep_at(VALUE *place)
{
    rb_gc_register_address(place);
}

static VALUE
keep(VALUE object)
{
    rb_gc_register_mark_object(object);
    return object;
}

static VALUE
get(VALUE self, VALUE value)
{
    static int count;

    if (NIL_P(tested)) tested = rb_ary_new(); // unregistered-global tested
    if (!RTEST(truth)) truth = value; // unregistered-global truth
    sent = value; // unregistered-global sent
    rb_funcall(sent, rb_intern("name"), 0);
    REALLOC_N(grown, VALUE, count + 1);
    grown[count++] = value; // unregistered-global grown
    copy_sent = value; // unregistered-global copy_sent
    VALUE copy = copy_sent;
    rb_funcall(self, rb_intern("call"), 1, copy);
    given_own = value; // unregistered-global given_own
    name_of(given_own);
    entry.object = value; // unregistered-global entry
    rb_intern(entry.name);
    pthread_mutex_lock((void *)&entry.lock);
    fill(&filled);
    by_own = value;
    kept_by_own = keep(rb_ary_new());
    table = value;
    by_other = value;
    rb_ary_push(value, kept_by_own);
    return tested;
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
    identifier = rb_intern("identifier"); /* an ID, as some gems keep it */
    fetched = rb_const_get(rb_cObject, rb_intern("Fetched")); // unregistered-global fetched
    number = INT2FIX(1);
    return by_helper;
}

static VALUE
load(VALUE name)
{
    return by_caller = rb_const_get(rb_cObject, SYM2ID(name));
}

static VALUE
load_protected(VALUE name)
{
    VALUE loaded = rb_const_get(rb_cObject, SYM2ID(name));

    by_protecting_caller = loaded;
    return loaded;
}

static VALUE
load_and_forget(VALUE name)
{
    by_no_caller = rb_const_get(rb_cObject, SYM2ID(name)); // unregistered-global by_no_caller
    return by_no_caller;
}

void
Init_globals(void)
{
    VALUE object = rb_ary_new(), loaded;
    int state;

    rb_gc_register_address(&registered);
    keep_at(&by_own);
    register_all(&by_other);
    rb_gc_register_address(addresses[0]);
    rb_define_method(rb_cObject, "get", get, 1);
    rb_global_variable(&global);
    of_class = rb_define_class("OfClass", rb_cObject);
    constant = rb_str_new_cstr("constant");
    rb_define_const(of_class, "CONSTANT", constant);
    rb_gc_register_mark_object(object);
    held = object;
    late = made(); // unregistered-global late
    by_helper = made();
    rb_gc_register_mark_object(by_helper);
    rb_gc_register_mark_object(load(ID2SYM(rb_intern("Loaded"))));
    loaded = rb_protect(load_protected, ID2SYM(rb_intern("Protected")), &state);
    if (!state) rb_gc_register_mark_object(loaded);
    loaded = load_and_forget(ID2SYM(rb_intern("Forgotten")));
    rb_define_method(of_class, "use", use, 1);
    TypedData_Wrap_Struct(of_class, &marker_type, NULL);
}
