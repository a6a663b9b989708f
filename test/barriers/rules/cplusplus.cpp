#include "pair.h"
#include <stdexcept>

namespace {

class Holder {
    struct pair *pair;

  public:
    explicit Holder(VALUE self) : pair(get_pair(self)) {}
    void store(VALUE value) {pair->first = value;} // warning pair->first
};

VALUE
assign(VALUE self, VALUE value)
{
    struct pair *pair = static_cast<struct pair *>(rb_check_typeddata(self, &pair_type));

    pair->second = value; // error second
    return value;
}

VALUE
caught(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    try {
        Holder(self).store(value);
        if (pair->number) throw std::runtime_error("number");
    }
    catch (const std::exception &) {
        pair->list[1] = value; // error list[]
    }
    return value;
}

}

extern "C" void
Init_cplusplus()
{
    rb_define_method(rb_cObject, "assign", RUBY_METHOD_FUNC(assign), 1);
    rb_define_method(rb_cObject, "caught", RUBY_METHOD_FUNC(caught), 1);
}
