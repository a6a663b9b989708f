/* pair.h - what the rules' files have in common: a type of typed data that is WB_PROTECTED.
 * Behind a line stands what is to be told of it, and nothing else may be told: how sure, and the
 * fields. */
#include <ruby.h>
#include <string.h>

struct point {
    long  x;
    VALUE label;
};

struct pair {
    VALUE        first, second;
    VALUE        list[4];
    struct point point;
    long         number;
    VALUE       *many;     /* count VALUEs */
    long         count;
};

static void
pair_mark(void *data)
{
    struct pair *pair = (struct pair *)data;

    rb_gc_mark(pair->first);
    rb_gc_mark(pair->second);
    rb_gc_mark(pair->point.label);
    rb_gc_mark_locations(pair->list, pair->list + 4);
    for (long i = 0; i < pair->count; i++) rb_gc_mark(pair->many[i]);
}

static const rb_data_type_t pair_type = {
    .wrap_struct_name = "pair",
    .function = {.dmark = pair_mark, .dfree = RUBY_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static inline struct pair *
get_pair(VALUE self)
{
    return (struct pair *)rb_check_typeddata(self, &pair_type);
}
