/* What a header of the system stores is told where the extension calls it. */
#include "pair.h"
#include "headers_system.h"

namespace {

VALUE
stores(VALUE self, VALUE value)
{
    store_behind(get_pair(self), value); // error first
    return self;
}

VALUE
stores_deeper(VALUE self, VALUE value)
{
    store_deeper(get_pair(self), value); // error first
    return self;
}

VALUE
stores_with_a_barrier(VALUE self, VALUE value)
{
    store_behind(get_pair(self), value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

}
