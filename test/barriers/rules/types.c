#include <ruby.h>

struct loose {VALUE field;};
struct listed {VALUE field;};
struct old {VALUE field;};

static void
mark(void *data)
{
    rb_gc_mark(((struct loose *)data)->field);
}

/* Not WB_PROTECTED: each GC looks at its objects. */
static const rb_data_type_t loose_type = {
    "loose", {mark, RUBY_DEFAULT_FREE}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};

VALUE
of_a_type_that_is_not_protected(VALUE self, VALUE value)
{
    struct loose *loose = rb_check_typeddata(self, &loose_type);

    loose->field = value; // note field
    return value;
}

RUBY_REFERENCES(listed_references) = {RUBY_REF_EDGE(struct listed, field), RUBY_REF_END};

static const rb_data_type_t listed_type = {
    "listed", {RUBY_REFS_LIST_PTR(listed_references)},
    .flags = RUBY_TYPED_DECL_MARKING | RUBY_TYPED_WB_PROTECTED,
};

VALUE
of_a_type_whose_references_are_listed(VALUE self, VALUE value)
{
    struct listed *listed = rb_check_typeddata(self, &listed_type);

    listed->field = value; // error field
    return value;
}

VALUE
of_data_without_a_type(VALUE self, VALUE value)
{
    struct old *old = DATA_PTR(self);

    old->field = value;
    return value;
}
