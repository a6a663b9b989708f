/* What a variable does when its block is left. */
#include "pair.h"

namespace {

class Tell {
    VALUE object, value;

public:
    Tell(VALUE object, VALUE value) : object(object), value(value) {}
    ~Tell()
    {
        RB_OBJ_WRITTEN(object, Qundef, value);
    }
};

class Collect {
public:
    ~Collect();
};

Collect::~Collect()
{
    rb_gc_start();
}

class Store {
    struct pair *pair;
    VALUE value;

public:
    Store(struct pair *pair, VALUE value) : pair(pair), value(value) {}
    ~Store()
    {
        pair->first = value; // error first
    }
};

} // namespace

VALUE
told_at_the_end(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    Tell tell(self, value);

    pair->first = value;
    if (NIL_P(pair->second)) return Qnil;
    pair->second = value;
    return value;
}

VALUE
told_at_the_end_of_a_block(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    {
        Tell tell{self, value};
        pair->first = value;
    }
    rb_gc_start();
    return value;
}

void
told_without_a_result(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    Tell tell(self, value);

    pair->first = value;
    if (NIL_P(pair->second)) return;
    pair->second = value;
}

VALUE
told_for_another(VALUE self, VALUE other, VALUE value)
{
    struct pair *pair = get_pair(self);
    Tell tell(other, value);

    pair->first = value; // error first
    return value;
}

VALUE
told_before(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    {
        Tell tell(self, value);
    }
    rb_gc_start();
    pair->first = value; // error first
    return value;
}

/* The last one is destroyed first. */
VALUE
collected_before_it_is_told(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    Tell tell(self, value);
    Collect collect;

    pair->first = value; // error first
    return value;
}

VALUE
told_before_it_is_collected(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    Collect collect;
    Tell tell(self, value);

    pair->first = value;
    return value;
}

VALUE
stored_at_the_end(VALUE self, VALUE value)
{
    Store store(get_pair(self), value);

    return value;
}

/* A lambda leaves its own blocks alone. */
VALUE
told_behind_a_lambda(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    Tell tell(self, value);
    auto store = [pair](VALUE given) {
        pair->first = given;
        return given;
    };

    return store(value);
}
