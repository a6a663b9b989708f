/* What the mark function does not mark, the GC does not follow: a reference there needs no
 * barrier. */
#include "pair.h"

struct cache {
    VALUE held;
    struct {
        VALUE key;
        int   number;
    } rows[4];
};

static void
cache_mark(void *pointer)
{
    struct cache *cache = pointer;

    rb_gc_mark(cache->held);
}

static const rb_data_type_t cache_type = {
    "cache", { cache_mark, RUBY_DEFAULT_FREE }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

VALUE
cache_store(VALUE self, VALUE value)
{
    struct cache *cache = rb_check_typeddata(self, &cache_type);

    cache->held = value; // error held
    cache->rows[1].key = value; // note rows[].key
    return self;
}

static const rb_data_type_t bare_type = {
    .wrap_struct_name = "bare",
    .function = { .dmark = NULL, .dfree = RUBY_DEFAULT_FREE },
    .flags = RUBY_TYPED_WB_PROTECTED
};

VALUE
bare_store(VALUE self, VALUE value)
{
    struct pair *pair = rb_check_typeddata(self, &bare_type);

    pair->first = value; // note first
    return self;
}

/* It marks more than is seen: it gives the data to others, or marks what is not of a field. */

struct open {
    VALUE one, two;
    VALUE *list;
};

extern void mark_somewhere(struct open *open);

static void
open_mark(void *pointer)
{
    struct open *open = pointer;

    rb_gc_mark(open->one);
    mark_somewhere(open);
}

static const rb_data_type_t open_type = {
    "open", { open_mark, RUBY_DEFAULT_FREE }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

VALUE
open_store(VALUE self, VALUE value)
{
    struct open *open = rb_check_typeddata(self, &open_type);

    open->two = value; // error two
    return self;
}

struct range {
    VALUE one, two;
};

static void
range_mark(void *pointer)
{
    struct range *range = pointer;

    rb_gc_mark_locations(&range->one, &range->two + 1);
}

static const rb_data_type_t range_type = {
    "range", { range_mark, RUBY_DEFAULT_FREE }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

VALUE
range_store(VALUE self, VALUE value)
{
    struct range *range = rb_check_typeddata(self, &range_type);

    range->two = value; // error two
    return self;
}
