/* Static variables in functions. An object that is made with zeros or nil holds no reference. */
#include "ruby/ruby.h"
#include <map>
#include <string>
#include <vector>

struct Registry {
    VALUE              last;
    std::vector<VALUE> list;

    static Registry &get()
    {
        static Registry registry;
        return registry;
    }
    void keep(VALUE value) {last = value;} // unregistered-global registry
};

struct Nil {
    VALUE value;

    Nil(VALUE given) : value(given) {}
};

struct Made {
    VALUE value;

    Made() {value = rb_ary_new();} // unregistered-global made
};

struct Registered {
    VALUE value;

    Registered()
    {
        value = rb_ary_new();
        rb_gc_register_address(&value);
    }
};

static std::map<std::string, VALUE> &
cache()
{
    static std::map<std::string, VALUE> cache;
    return cache;
}

static std::vector<VALUE> &
unused()
{
    static std::vector<VALUE> unused;
    return unused;
}

VALUE
stores(VALUE self, VALUE value)
{
    Registry::get().keep(value);
    cache()["x"] = value; // unregistered-global cache
    return self;
}

VALUE
asks(VALUE self)
{
    static Nil nil(Qnil);
    static Made made;
    static Registered registered;
    static Registry other;

    if (!unused().empty()) return unused()[0];
    return rb_ary_new_from_args(4, nil.value, made.value, registered.value, other.last);
}
