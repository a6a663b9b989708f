/* hooks.c - the two ways to hear of allocations, with as little behind them as there can be.
 *
 *   Hooks.event(mean_bytes)   rb_gc_sample_allocations()
 *   Hooks.newobj(k)           RUBY_INTERNAL_EVENT_NEWOBJ, of which each k-th is looked at; 0: none
 *
 * A look counts the line of the program that allocates, and the Ractor: Hooks.lines, and Hooks.looks. */

#include "ruby/ruby.h"
#include "ruby/debug.h"

enum { MOST_LINES = 1000 };

static size_t lines[MOST_LINES]; /* looks by line; VM lock */
static size_t looks, objects, each;
static VALUE tracepoint;

static void
look(void)
{
    VALUE frames[8];
    int numbers[8], depth = rb_profile_frames(0, 8, frames, numbers), i = 0;

    looks++;
    while (i < depth && numbers[i] == 0) i++; /* Class#new */
    if (i < depth && numbers[i] < MOST_LINES) lines[numbers[i]]++;
}

static void
sampled(VALUE object, size_t size, void *data)
{
    look();
}

static void
newobj(VALUE point, void *data)
{
    if (each && ++objects % each == 0) look();
}

static VALUE
hooks_event(VALUE mod, VALUE mean_bytes)
{
    return rb_gc_sample_allocations(NUM2SIZET(mean_bytes), sampled, NULL) ? Qtrue : Qfalse;
}

static VALUE
hooks_newobj(VALUE mod, VALUE k)
{
    each = NUM2SIZET(k);
    tracepoint = rb_tracepoint_new(Qnil, RUBY_INTERNAL_EVENT_NEWOBJ, newobj, NULL);
    rb_tracepoint_enable(tracepoint);
    return Qnil;
}

static VALUE
hooks_lines(VALUE mod)
{
    VALUE all = rb_hash_new();

    rb_gc_sample_allocations(0, sampled, NULL);
    if (tracepoint) rb_tracepoint_disable(tracepoint);
    for (int i = 0; i < MOST_LINES; i++) {
        if (lines[i]) rb_hash_aset(all, INT2FIX(i), SIZET2NUM(lines[i]));
    }
    return all;
}

static VALUE
hooks_looks(VALUE mod)
{
    return SIZET2NUM(looks);
}

void
Init_hooks(void)
{
    VALUE mod = rb_define_module("Hooks");

    rb_gc_register_address(&tracepoint);
    rb_define_module_function(mod, "event", hooks_event, 1);
    rb_define_module_function(mod, "newobj", hooks_newobj, 1);
    rb_define_module_function(mod, "lines", hooks_lines, 0);
    rb_define_module_function(mod, "looks", hooks_looks, 0);
}
