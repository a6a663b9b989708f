/* Classes in global variables. Those that C defines are neither freed nor moved, whoever looks them
 * up; one that is written in Ruby may move, and may be removed. */
#include "ruby/ruby.h"

static VALUE point, line, range, data, nameless, defined, text, status, missing, big, error, kept;
static VALUE of_ruby, of_module, of_name, looked_up, of_path, singleton, made;
static VALUE module;

static VALUE
get(VALUE self, VALUE name)
{
    looked_up = rb_const_get(module, SYM2ID(name)); // unregistered-global looked_up
    of_name = rb_path2class(StringValueCStr(name)); // unregistered-global of_name
    return self;
}

void
Init_classes(void)
{
    module = rb_define_module("Shapes");
    defined = rb_define_class_under(module, "Circle", rb_cObject);
    point = rb_struct_define_under(module, "Point", "x", "y", NULL);
    line = rb_struct_define("Line", "from", "to", NULL);
    range = rb_struct_define_without_accessor_under(module, "Range", rb_cObject, NULL, "to", NULL);
    data = rb_data_define(NULL, "x", "y", NULL);
    nameless = rb_struct_define(NULL, "x", "y", NULL); // unregistered-global nameless
    made = rb_class_new(rb_cObject); // unregistered-global made
    kept = rb_class_new(rb_cObject);
    rb_const_set(module, rb_intern("Kept"), kept);
    text = rb_path2class("String");
    VALUE rb_mProcess = rb_path2class("Process");
    status = rb_const_get(rb_mProcess, rb_intern("Status"));
    missing = rb_path2class("Errno::ENOENT");
    big = rb_const_get(rb_cObject, rb_intern("BigDecimal"));
    error = rb_const_get_at(rb_cObject, rb_intern("StandardError"));
    of_ruby = rb_const_get(rb_cObject, rb_intern("Set")); // unregistered-global of_ruby
    of_module = rb_const_get(module, rb_intern("String")); // unregistered-global of_module
    of_path = rb_path2class("Shapes::Square"); // unregistered-global of_path
    singleton = rb_singleton_class(module); // unregistered-global singleton
    rb_define_method(module, "get", get, 1);
}
