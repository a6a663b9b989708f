/* StringValue stores only where there is no String. */
#include "pair.h"

struct named {
    VALUE name, any, given;
};

static void
named_mark(void *pointer)
{
    struct named *named = pointer;

    rb_gc_mark(named->name);
    rb_gc_mark(named->any);
    rb_gc_mark(named->given);
}

static const rb_data_type_t named_type = {
    "named", { named_mark, RUBY_DEFAULT_FREE }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

static struct named *
get(VALUE self)
{
    return rb_check_typeddata(self, &named_type);
}

static VALUE
text_of(VALUE text)
{
    if (NIL_P(text)) return Qnil;
    return RSTRING_LEN(text) > 5 ? rb_str_dup(text) : rb_str_substr(text, 0, 5);
}

VALUE
set(VALUE self, VALUE any)
{
    struct named *named = get(self);

    RB_OBJ_WRITE(self, &named->name, Qnil);
    RB_OBJ_WRITE(self, &named->name, text_of(any));
    RB_OBJ_WRITE(self, &named->name, rb_str_new_frozen(any));
    RB_OBJ_WRITE(self, &named->any, rb_str_new_frozen(any));
    RB_OBJ_WRITE(self, &named->any, any);
    RB_OBJ_WRITE(self, &named->given, rb_str_new_frozen(any));
    return self;
}

VALUE
copy(VALUE self, VALUE other)
{
    RB_OBJ_WRITE(self, &get(self)->name, get(other)->name);
    return self;
}

extern void change(VALUE *value);

VALUE
use(VALUE self)
{
    struct named *named = get(self);

    StringValueCStr(named->name);
    StringValueCStr(named->any); // warning any
    StringValue(named->any); // warning any
    change(&named->given); // warning given
    return self;
}
