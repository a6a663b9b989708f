/* containers.cc - ways of C++. */
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ways.h"

namespace {

/* A constructor has the name of its class. */
struct bad_constructor_node {
    VALUE value;

    explicit bad_constructor_node(VALUE given) : value(given) {}
};

struct good_constructor_node {
    VALUE value;

    explicit good_constructor_node(VALUE given) : value(given) {}
};

struct Containers {
    VALUE a = Qnil, b = Qnil;
    std::vector<VALUE> vector;
    std::map<long, VALUE> map;
    std::optional<VALUE> optional;
    std::pair<VALUE, long> pair{Qnil, 0};
    std::unique_ptr<bad_constructor_node> bad_node;
    std::unique_ptr<good_constructor_node> good_node;

    void bad_method_set(VALUE value) { a = value; }
    void good_method_set(VALUE value) { a = value; }
    VALUE &slot(bool first) { return first ? a : b; }
};

void
containers_mark(void *pointer)
{
    auto *containers = static_cast<Containers *>(pointer);

    rb_gc_mark(containers->a);
    rb_gc_mark(containers->b);
    for (VALUE value : containers->vector) rb_gc_mark(value);
    for (const auto &pair : containers->map) rb_gc_mark(pair.second);
    if (containers->optional) rb_gc_mark(*containers->optional);
    rb_gc_mark(containers->pair.first);
    if (containers->bad_node) rb_gc_mark(containers->bad_node->value);
    if (containers->good_node) rb_gc_mark(containers->good_node->value);
}

void
containers_free(void *pointer)
{
    delete static_cast<Containers *>(pointer);
}

const rb_data_type_t containers_type = {
    "HeapProfContainers", { containers_mark, containers_free }, nullptr, nullptr,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

Containers *
get(VALUE self)
{
    return static_cast<Containers *>(rb_check_typeddata(self, &containers_type));
}

VALUE
containers_alloc(VALUE klass)
{
    return TypedData_Wrap_Struct(klass, &containers_type, new Containers);
}

VALUE
bad_reference(VALUE self, VALUE value)
{
    VALUE &slot = get(self)->a;

    slot = value;
    return self;
}

VALUE
good_reference(VALUE self, VALUE value)
{
    VALUE &slot = get(self)->a;

    slot = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_swap(VALUE self, VALUE value)
{
    std::swap(get(self)->b, value);
    return self;
}

VALUE
good_swap(VALUE self, VALUE value)
{
    Containers *containers = get(self);

    std::swap(containers->b, value);
    RB_OBJ_WRITTEN(self, Qundef, containers->b);
    return self;
}

VALUE
bad_vector(VALUE self, VALUE value)
{
    get(self)->vector.push_back(value);
    return self;
}

VALUE
good_vector(VALUE self, VALUE value)
{
    get(self)->vector.push_back(value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_map(VALUE self, VALUE value)
{
    get(self)->map[1] = value;
    return self;
}

VALUE
good_map(VALUE self, VALUE value)
{
    get(self)->map[1] = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_indexed(VALUE self, VALUE value)
{
    Containers *containers = get(self);

    containers->vector.resize(1);
    containers->vector[0] = value;
    return self;
}

VALUE
good_indexed(VALUE self, VALUE value)
{
    Containers *containers = get(self);

    containers->vector.resize(1);
    containers->vector[0] = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_iterator(VALUE self, VALUE value)
{
    Containers *containers = get(self);

    containers->map[2] = Qnil;
    auto it = containers->map.find(2);
    it->second = value;
    return self;
}

VALUE
good_iterator(VALUE self, VALUE value)
{
    Containers *containers = get(self);

    containers->map[2] = Qnil;
    auto it = containers->map.find(2);
    it->second = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_range(VALUE self, VALUE value)
{
    Containers *containers = get(self);

    containers->vector.resize(1);
    for (auto &each : containers->vector) each = value;
    return self;
}

VALUE
good_range(VALUE self, VALUE value)
{
    Containers *containers = get(self);

    containers->vector.resize(1);
    for (auto &each : containers->vector) each = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_fill(VALUE self, VALUE value)
{
    Containers *containers = get(self);

    containers->vector.resize(1);
    std::fill(containers->vector.begin(), containers->vector.end(), value);
    return self;
}

VALUE
good_fill(VALUE self, VALUE value)
{
    Containers *containers = get(self);

    containers->vector.resize(1);
    std::fill(containers->vector.begin(), containers->vector.end(), value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_whole(VALUE self, VALUE value)
{
    std::vector<VALUE> values{Qnil};

    values[0] = value;
    get(self)->vector = std::move(values);
    return self;
}

VALUE
good_whole(VALUE self, VALUE value)
{
    std::vector<VALUE> values{Qnil};

    values[0] = value;
    get(self)->vector = std::move(values);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_optional(VALUE self, VALUE value)
{
    get(self)->optional = value;
    return self;
}

VALUE
good_optional(VALUE self, VALUE value)
{
    get(self)->optional = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_binding(VALUE self, VALUE value)
{
    auto &[first, second] = get(self)->pair;

    second = 1;
    first = value;
    return self;
}

VALUE
good_binding(VALUE self, VALUE value)
{
    auto &[first, second] = get(self)->pair;

    second = 1;
    first = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_lambda(VALUE self, VALUE value)
{
    Containers *containers = get(self);
    auto store = [&](VALUE given) {
        if (NIL_P(given)) return;
        containers->b = given;
    };

    store(value);
    return self;
}

VALUE
good_lambda(VALUE self, VALUE value)
{
    Containers *containers = get(self);
    auto store = [&](VALUE given) {
        if (NIL_P(given)) return;
        containers->b = given;
    };

    store(value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_method(VALUE self, VALUE value)
{
    get(self)->bad_method_set(value);
    return self;
}

VALUE
good_method(VALUE self, VALUE value)
{
    get(self)->good_method_set(value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_returned(VALUE self, VALUE value)
{
    get(self)->slot(NIL_P(value)) = value;
    return self;
}

VALUE
good_returned(VALUE self, VALUE value)
{
    get(self)->slot(NIL_P(value)) = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
bad_constructor(VALUE self, VALUE value)
{
    get(self)->bad_node.reset(new bad_constructor_node(value));
    return self;
}

VALUE
good_constructor(VALUE self, VALUE value)
{
    get(self)->good_node.reset(new good_constructor_node(value));
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

}

extern "C" void
init_containers(void)
{
    VALUE klass = rb_define_class("HeapProfContainers", rb_cObject);

    rb_define_alloc_func(klass, containers_alloc);
    DEFINE(klass, reference);
    DEFINE(klass, swap);
    DEFINE(klass, vector);
    DEFINE(klass, map);
    DEFINE(klass, indexed);
    DEFINE(klass, iterator);
    DEFINE(klass, range);
    DEFINE(klass, fill);
    DEFINE(klass, whole);
    DEFINE(klass, optional);
    DEFINE(klass, binding);
    DEFINE(klass, lambda);
    DEFINE(klass, method);
    DEFINE(klass, returned);
    DEFINE(klass, constructor);
}
