#include "pair.h"

VALUE
jumps(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    if (pair->number) goto store;
    return Qnil;
  store:
    pair->first = value; // error first
    if (pair->number > 1) goto done;
    RB_OBJ_WRITTEN(self, Qundef, value);
  done:
    return value;
}

VALUE
cases(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    switch (pair->number) {
      case 1:
        pair->first = value; // error first
        break;
      case 2:
        pair->second = value;
        RB_OBJ_WRITTEN(self, Qundef, value);
        break;
      case 3:
        pair->list[0] = value;
        /* fall through */
      default:
        RB_OBJ_WRITTEN(self, Qundef, value);
    }
    return value;
}

/* What the end of the loop stores meets the GC at its start. */
VALUE
around(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    while (pair->number--) {
        rb_str_new_cstr("new");
        pair->first = value; // error first
    }
    RB_OBJ_WRITTEN(self, Qundef, value);
    return value;
}

VALUE
choice(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);

    pair->first = pair->number ? value : Qnil; // error first
    rb_gc_start();
    *(pair->number ? &pair->first : &pair->second) = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return value;
}
