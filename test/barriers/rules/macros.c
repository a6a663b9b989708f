#include "pair.h"

#define STORE(pair, value) do { (pair)->number++; (pair)->first = (value); } while (0)
#define STORE_WITH_BARRIER(self, pair, value) RB_OBJ_WRITE(self, &(pair)->first, value)
#define SELF_PAIR struct pair *pair = get_pair(self)

VALUE
without(VALUE self, VALUE value)
{
    SELF_PAIR;
    STORE(pair, value); // error first
    return value;
}

VALUE
with(VALUE self, VALUE value)
{
    SELF_PAIR;
    STORE_WITH_BARRIER(self, pair, value);
    return value;
}

#define ACCESSOR(field) \
    VALUE set_##field(VALUE self, VALUE value) {get_pair(self)->field = value; return value;}

ACCESSOR(first) // error first
ACCESSOR(second) // error second
