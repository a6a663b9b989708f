/* containers.cc - ways of C++. */
#include <map>
#include <utility>
#include <vector>

#include "ways.h"

namespace {

struct Containers {
    VALUE a = Qnil, b = Qnil;
    std::vector<VALUE> vector;
    std::map<long, VALUE> map;
};

void
containers_mark(void *pointer)
{
    auto *containers = static_cast<Containers *>(pointer);

    rb_gc_mark(containers->a);
    rb_gc_mark(containers->b);
    for (VALUE value : containers->vector) rb_gc_mark(value);
    for (const auto &pair : containers->map) rb_gc_mark(pair.second);
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
}
