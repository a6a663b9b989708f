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

VALUE
jump_back(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    int i = 0;

again:
    pair->list[i] = value;
    if (++i < 4) goto again;
    RB_OBJ_WRITTEN(self, Qundef, value);
    rb_gc_start();
retry:
    pair->first = value; // error first
    if (pair->number--) goto retry;
    return self;
}

/* An object that is known by the field in which it has itself. */

struct knows_itself {
    VALUE self, other, value;
};

static void
knows_itself_mark(void *data)
{
    struct knows_itself *knows = data;

    rb_gc_mark(knows->other);
    rb_gc_mark(knows->value);
}

static const rb_data_type_t knows_itself_type = {
    "knows_itself", {knows_itself_mark, RUBY_DEFAULT_FREE}, 0, 0, RUBY_TYPED_WB_PROTECTED
};

VALUE
knows_itself_new(VALUE klass)
{
    struct knows_itself *knows;
    VALUE object = TypedData_Make_Struct(klass, struct knows_itself, &knows_itself_type, knows);

    knows->self = object; // note self
    return object;
}

VALUE
told_by_itself(VALUE self, VALUE value)
{
    struct knows_itself *knows = rb_check_typeddata(self, &knows_itself_type);

    knows->value = value;
    RB_OBJ_WRITTEN(knows->self, Qundef, value);
    return self;
}

VALUE
told_by_another(VALUE self, VALUE value)
{
    struct knows_itself *knows = rb_check_typeddata(self, &knows_itself_type);

    knows->value = value; // error value
    RB_OBJ_WRITTEN(knows->other, Qundef, value);
    return self;
}
