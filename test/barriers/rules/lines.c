#include "pair.h"

/* As a generated file has it: the place is told in the file that it was made from. */
#line 100 "machine.rl"
VALUE
generated(VALUE self, VALUE value)
{
    get_pair(self)->first = value; // error first
    return value;
}
