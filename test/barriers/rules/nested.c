#include "pair.h"

VALUE
of_a_struct_in_it(VALUE self, VALUE value)
{
    get_pair(self)->point.label = value; // error point.label
    return value;
}

VALUE
of_an_array(VALUE self, VALUE value)
{
    get_pair(self)->list[2] = value; // error list[]
    return value;
}

VALUE
of_an_array_in_a_loop(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < 4; i++) {
        pair->list[i] = value; // error list[]
    }
    return value;
}

VALUE
of_an_array_with_barriers(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    for (int i = 0; i < 4; i++) {
        pair->list[i] = value;
        RB_OBJ_WRITTEN(self, Qundef, pair->list[i]);
    }
    return value;
}

/* The mark function says that these are the object's. */
VALUE
of_what_it_points_to(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    pair->many[pair->count++] = value; // warning many[]
    return value;
}

VALUE
of_what_it_points_to_with_a_barrier(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    RB_OBJ_WRITE(self, &pair->many[pair->count++], value);
    return value;
}
