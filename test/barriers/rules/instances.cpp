/* Instances of templates that are used by their address alone; types in templates; lambdas as mark
 * functions. */
#include "pair.h"

namespace {

struct Both {
    VALUE first, second;

    void mark() {rb_gc_mark(first); rb_gc_mark(second);}
};

const rb_data_type_t lambda_type = {
    "lambda", {[](void *data) { static_cast<Both *>(data)->mark(); }, RUBY_DEFAULT_FREE, 0},
    0, 0, RUBY_TYPED_WB_PROTECTED
};

Both *
get_both(VALUE self)
{
    return static_cast<Both *>(rb_check_typeddata(self, &lambda_type));
}

/* ---- functions ---- */

template <int number> VALUE
set_numbered(VALUE self, VALUE value)
{
    get_both(self)->first = value; // error first
    return self;
}

template <int number> VALUE
set_with_a_barrier(VALUE self, VALUE value)
{
    get_both(self)->first = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

template <VALUE Both::*member> VALUE
set_member(VALUE self, VALUE value)
{
    get_both(self)->*member = value; // error second
    return self;
}

/* ---- types ---- */

template <class T> struct Wrap {
    static const rb_data_type_t type;

    static void mark(void *data) {static_cast<T *>(data)->mark();}
    static T *get(VALUE object) {return static_cast<T *>(rb_check_typeddata(object, &type));}
};

template <class T> const rb_data_type_t Wrap<T>::type = {
    "wrap", {Wrap<T>::mark, RUBY_DEFAULT_FREE, 0}, 0, 0, RUBY_TYPED_WB_PROTECTED
};

template <class T> struct Within {
    static inline const rb_data_type_t type = {
        "within", {[](void *data) { static_cast<T *>(data)->mark(); }, RUBY_DEFAULT_FREE, 0},
        0, 0, RUBY_TYPED_WB_PROTECTED
    };

    static T *get(VALUE object) {return static_cast<T *>(rb_check_typeddata(object, &type));}
};

VALUE
by_types(VALUE self, VALUE value)
{
    Wrap<Both>::get(self)->first = value; // error first
    return self;
}

VALUE
by_types_within(VALUE self, VALUE value)
{
    Within<Both>::get(self)->second = value; // error second
    return self;
}

VALUE
by_types_with_barriers(VALUE self, VALUE value)
{
    Wrap<Both>::get(self)->second = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

}

extern "C" void
Init_instances()
{
    rb_define_method(rb_cObject, "one=", RUBY_METHOD_FUNC(set_numbered<1>), 1);
    rb_define_method(rb_cObject, "two=", RUBY_METHOD_FUNC(set_with_a_barrier<1>), 1);
    rb_define_method(rb_cObject, "three=", RUBY_METHOD_FUNC(set_member<&Both::second>), 1);
}
