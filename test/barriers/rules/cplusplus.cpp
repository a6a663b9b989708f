#include "pair.h"
#include <stdexcept>

namespace {

class Holder {
    struct pair *pair;

  public:
    explicit Holder(VALUE self) : pair(get_pair(self)) {}
    void store(VALUE value) {pair->first = value;} // error first
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

struct box {
    struct point *point;
};

void
box_mark(void *data)
{
    rb_gc_mark(static_cast<box *>(data)->point->label);
}

const rb_data_type_t box_type = {
    "box", { box_mark, RUBY_DEFAULT_FREE }, nullptr, nullptr,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

VALUE
braces(VALUE self, VALUE value)
{
    struct box *box = static_cast<struct box *>(rb_check_typeddata(self, &box_type));

    box->point = new point{1, value}; // error label
    return self;
}

/* A call of a callback: the lambda is a function. What it stores comes too late for any barrier. */
VALUE
called_back(VALUE self, VALUE hash)
{
    rb_hash_foreach(hash, [](VALUE, VALUE value, VALUE data) -> int {
        reinterpret_cast<struct pair *>(data)->first = value; // error first
        return ST_CONTINUE;
    }, reinterpret_cast<VALUE>(get_pair(self)));
    return self;
}

/* What is behind a lambda with a return is read. */
VALUE
behind_a_lambda(VALUE self, VALUE value)
{
    auto small = [](long number) { return number < 10; };

    if (small(get_pair(self)->number)) return Qnil;
    get_pair(self)->second = value; // error second
    return self;
}

/* What the condition says may be whether it has stored: then there is a barrier where it has. */
bool
second_changes(struct pair *pair, VALUE value)
{
    if (pair->second == value) return false;
    pair->second = value;
    return true;
}

bool
first_changes(struct pair *pair, VALUE value)
{
    if (pair->first == value) return false;
    pair->first = value; // error first
    return true;
}

VALUE
told(VALUE self, VALUE value)
{
    struct pair *pair = static_cast<struct pair *>(rb_check_typeddata(self, &pair_type));

    if (second_changes(pair, value)) RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
told_of_another(VALUE self, VALUE value, VALUE other)
{
    struct pair *pair = static_cast<struct pair *>(rb_check_typeddata(self, &pair_type));

    if (first_changes(pair, value)) RB_OBJ_WRITTEN(self, Qundef, other);
    return self;
}

VALUE
stored_before(VALUE self, VALUE value)
{
    struct pair *pair = static_cast<struct pair *>(rb_check_typeddata(self, &pair_type));

    pair->first = value; // error first
    if (second_changes(pair, value)) RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

}

extern "C" void
Init_cplusplus()
{
    rb_define_method(rb_cObject, "assign", RUBY_METHOD_FUNC(assign), 1);
    rb_define_method(rb_cObject, "caught", RUBY_METHOD_FUNC(caught), 1);
}
