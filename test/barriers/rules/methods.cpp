/* A class whose mark function is one of its methods; and a list of structs in braces. */
#include "pair.h"
#include <vector>

namespace {

struct handler {
    VALUE callback;
    int   number;
};

class Engine {
    std::vector<handler> handlers;
    VALUE               *stack = nullptr;
    size_t               size = 0;

  public:
    static void mark(void *data)
    {
        auto *engine = static_cast<Engine *>(data);

        for (auto &each : engine->handlers) rb_gc_mark(each.callback);
        for (size_t i = 0; i < engine->size; i++) rb_gc_mark(engine->stack[i]);
    }
    void push(VALUE value) {stack[size++] = value;} // warning stack[]
    void push_also(VALUE self, VALUE value) {RB_OBJ_WRITE(self, &stack[size++], value);}
    bool add(VALUE value)
    {
        if (handlers.size() > 10) return false;
        handlers.push_back({value, 1});
        return true;
    }
    bool add_without(VALUE value)
    {
        if (handlers.size() > 10) return false;
        handlers.push_back({value, 1}); // error handlers[].callback
        return true;
    }
};

const rb_data_type_t engine_type = {
    "engine", {Engine::mark, RUBY_DEFAULT_FREE, 0}, 0, 0, RUBY_TYPED_WB_PROTECTED
};

Engine *
get_engine(VALUE self)
{
    return static_cast<Engine *>(rb_check_typeddata(self, &engine_type));
}

VALUE
pushes(VALUE self, VALUE value, VALUE other)
{
    get_engine(self)->push_also(self, other);
    get_engine(self)->push(value);
    return self;
}

VALUE
adds(VALUE self, VALUE value)
{
    if (!get_engine(self)->add(value)) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
adds_the_wrong_way_round(VALUE self, VALUE value)
{
    if (get_engine(self)->add_without(value)) return Qnil;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

}
