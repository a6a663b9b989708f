/* What is told of types, behind the line in which each begins: the rule, and the field. */
#include "ruby/ruby.h"

struct pair {
    VALUE first, second;
};

extern void do_something(struct pair *pair);

static void
mark_both(void *pointer)
{
    struct pair *pair = pointer;

    rb_gc_mark(pair->first);
    rb_gc_mark(pair->second);
}

/* ---- references that move ---- */

struct moving {
    VALUE pinned, moves, updated, both;
    struct {
        VALUE here;
    } part;
};

static void
mark_moving(void *pointer)
{
    struct moving *moving = pointer;

    rb_gc_mark(moving->pinned);
    rb_gc_mark_movable(moving->moves);
    rb_gc_mark_movable(moving->updated);
    rb_gc_mark_movable(moving->both);
    rb_gc_mark(moving->both);
    rb_gc_mark_movable(moving->part.here);
}

static void
update(VALUE *reference)
{
    *reference = rb_gc_location(*reference);
}

static void
compact_moving(void *pointer)
{
    struct moving *moving = pointer;

    moving->updated = rb_gc_location(moving->updated);
    update(&moving->part.here);
}

/* The same function is that of a type, and helps that of another. */
struct inner {
    VALUE moves;
};

struct outer {
    struct inner inner;
    VALUE        stays; /* behind, where it was */
};

static void
mark_inner(void *pointer)
{
    struct inner *inner = pointer;

    rb_gc_mark_movable(inner->moves);
}

static void
compact_inner(void *pointer)
{
    struct inner *inner = pointer;

    inner->moves = rb_gc_location(inner->moves);
}

static void
mark_outer(void *pointer)
{
    struct outer *outer = pointer;

    mark_inner(&outer->inner);
    rb_gc_mark_movable(outer->stays);
}

static void
compact_outer(void *pointer)
{
    struct outer *outer = pointer;

    compact_inner(&outer->inner);
}

const rb_data_type_t inner_type =
    { "inner", { mark_inner, NULL, NULL, compact_inner }, 0, 0, RUBY_TYPED_WB_PROTECTED };
const rb_data_type_t outer_type = // moved-reference stays
    { "outer", { mark_outer, NULL, NULL, compact_outer }, 0, 0, RUBY_TYPED_WB_PROTECTED };

static const rb_data_type_t moving_type = { // moved-reference moves
    "moving", { mark_moving, RUBY_DEFAULT_FREE, NULL, compact_moving }, 0, 0,
    RUBY_TYPED_WB_PROTECTED
};

struct stays {
    VALUE reference, other;
};

static void
mark_stays(void *pointer)
{
    struct stays *stays = pointer;

    rb_gc_mark_movable(stays->reference);
    rb_gc_mark(stays->other);
}

static const rb_data_type_t stays_type = { // moved-reference reference
    "stays", { mark_stays, RUBY_DEFAULT_FREE }, 0, 0, RUBY_TYPED_WB_PROTECTED
};

struct given {
    VALUE reference;
};

extern void update_all(struct given *given);

static void
mark_given(void *pointer)
{
    struct given *given = pointer;

    rb_gc_mark_movable(given->reference);
}

static void
compact_given(void *pointer)
{
    update_all(pointer);
}

static const rb_data_type_t given_type = {
    "given", { mark_given, RUBY_DEFAULT_FREE, NULL, compact_given }, 0, 0, RUBY_TYPED_WB_PROTECTED
};

/* ---- references that are not marked ---- */

struct forgotten {
    VALUE kept, lost, never, nil;
    VALUE list[3];
};

static void
mark_forgotten(void *pointer)
{
    struct forgotten *forgotten = pointer;

    rb_gc_mark(forgotten->kept);
}

static const rb_data_type_t forgotten_type = { // unmarked-reference lost; unmarked-reference list[]
    "forgotten", { mark_forgotten, RUBY_DEFAULT_FREE }, 0, 0, RUBY_TYPED_WB_PROTECTED
};

VALUE
forget(VALUE self, VALUE value)
{
    struct forgotten *forgotten = rb_check_typeddata(self, &forgotten_type);

    RB_OBJ_WRITE(self, &forgotten->kept, value);
    RB_OBJ_WRITE(self, &forgotten->lost, value);
    forgotten->nil = Qnil;
    forgotten->list[1] = value;
    return self;
}

/* ---- types that could be protected ---- */

struct bare {
    int number;
};

static const rb_data_type_t bare_type = // could-be-protected
    { "bare", { NULL, RUBY_DEFAULT_FREE }, 0, 0, 0 };

struct full {
    VALUE reference;
};

static void
mark_full(void *pointer)
{
    rb_gc_mark(((struct full *)pointer)->reference);
}

static const rb_data_type_t full_type = // could-be-protected
    { "full", { mark_full, RUBY_DEFAULT_FREE }, 0, 0, 0 };

VALUE
fill(VALUE self, VALUE value)
{
    struct full *full = rb_check_typeddata(self, &full_type);

    return RB_OBJ_WRITE(self, &full->reference, value);
}

static const rb_data_type_t pair_type = // could-be-protected
    { "pair", { mark_both, RUBY_DEFAULT_FREE }, 0, 0, 0 };
static const rb_data_type_t other_type = // could-be-protected
    { "other", { mark_both, RUBY_DEFAULT_FREE }, 0, 0, 0 };

VALUE
lack(VALUE self, VALUE value)
{
    struct pair *pair = rb_check_typeddata(self, &pair_type);

    pair->first = value;
    pair->second = value;
    return self;
}

VALUE
use_other(VALUE self)
{
    struct pair *pair = rb_check_typeddata(self, &other_type);

    return pair->first;
}

static void
mark_somewhere(void *pointer)
{
    do_something(pointer);
}

static const rb_data_type_t unseen_type =
    { "unseen", { mark_somewhere, RUBY_DEFAULT_FREE }, 0, 0, 0 };

struct table {
    struct st_table *table;
};

static void
mark_table(void *pointer)
{
    rb_mark_tbl(((struct table *)pointer)->table);
}

static const rb_data_type_t table_type = { "table", { mark_table, RUBY_DEFAULT_FREE }, 0, 0, 0 };

/* Several types may share a struct. What one does with a field says nothing of the others. */

struct shared {
    VALUE reference;
};

static void
move_shared(void *pointer)
{
    rb_gc_mark_movable(((struct shared *)pointer)->reference);
}

static void
pin_shared(void *pointer)
{
    rb_gc_mark(((struct shared *)pointer)->reference);
}

static void
update_shared(void *pointer)
{
    struct shared *shared = pointer;

    shared->reference = rb_gc_location(shared->reference);
}

static void
update_nothing(void *pointer)
{
}

static const rb_data_type_t moved_type = // moved-reference reference
    { "moved", { move_shared, RUBY_DEFAULT_FREE }, 0, 0, RUBY_TYPED_WB_PROTECTED };
static const rb_data_type_t pinned_type =
    { "pinned", { pin_shared, RUBY_DEFAULT_FREE }, 0, 0, RUBY_TYPED_WB_PROTECTED };
static const rb_data_type_t updated_type =
    { "updated", { move_shared, RUBY_DEFAULT_FREE, NULL, update_shared }, 0, 0,
      RUBY_TYPED_WB_PROTECTED };
static const rb_data_type_t stale_type = // moved-reference reference
    { "stale", { move_shared, RUBY_DEFAULT_FREE, NULL, update_nothing }, 0, 0,
      RUBY_TYPED_WB_PROTECTED };
static const rb_data_type_t forgetful_type = // unmarked-reference reference
    { "forgetful", { update_nothing, RUBY_DEFAULT_FREE }, 0, 0, RUBY_TYPED_WB_PROTECTED };

/* A slip of the pen: the compact function updates one field twice, or from another field. */
struct twins {
    VALUE one, other, third;
};

static void
mark_twins(void *pointer)
{
    struct twins *twins = pointer;

    rb_gc_mark_movable(twins->one);
    rb_gc_mark_movable(twins->other);
    rb_gc_mark_movable(twins->third);
}

static void
update_twins(void *pointer)
{
    struct twins *twins = pointer;
    VALUE third = rb_gc_location(twins->third);

    twins->one = rb_gc_location(twins->one);
    twins->other = rb_gc_location(twins->one);
    twins->third = third;
}

static const rb_data_type_t twins_type = // moved-reference other
    { "twins", { mark_twins, RUBY_DEFAULT_FREE, NULL, update_twins }, 0, 0,
      RUBY_TYPED_WB_PROTECTED };

VALUE
store_twins(VALUE self, VALUE one, VALUE other, VALUE third)
{
    struct twins *twins = rb_check_typeddata(self, &twins_type);

    RB_OBJ_WRITE(self, &twins->one, one);
    RB_OBJ_WRITE(self, &twins->other, other);
    RB_OBJ_WRITE(self, &twins->third, third);
    return self;
}

VALUE
store_shared(VALUE self, VALUE pinned, VALUE forgetful, VALUE value)
{
    struct shared *one = rb_check_typeddata(pinned, &pinned_type);
    struct shared *other = rb_check_typeddata(forgetful, &forgetful_type);

    RB_OBJ_WRITE(pinned, &one->reference, value);
    RB_OBJ_WRITE(forgetful, &other->reference, value);
    return self;
}

/* These do not store: what is stored into the others is not forgotten by them. */
void
read_shared(VALUE moved, VALUE updated, VALUE stale)
{
    (void)rb_check_typeddata(moved, &moved_type);
    (void)rb_check_typeddata(updated, &updated_type);
    (void)rb_check_typeddata(stale, &stale_type);
}

/* ---- what moves behind a pointer ---- */

struct link {
    struct link *next;
    VALUE        key, value;
};

struct chain {
    struct link *first;
    VALUE       *many;
    long         count;
};

static void
link_mark(struct link *link)
{
    if (!link) return;
    rb_gc_mark(link->key);
    rb_gc_mark_movable(link->value);
    link_mark(link->next);
}

static void
chain_mark(void *data)
{
    struct chain *chain = data;

    link_mark(chain->first);
    for (long i = 0; i < chain->count; i++) rb_gc_mark_movable(chain->many[i]);
}

static void
link_compact(struct link *link)
{
    if (!link) return;
    link->value = rb_gc_location(link->value);
    link_compact(link->next);
}

static void
chain_compact(void *data)
{
    struct chain *chain = data;

    for (long i = 0; i < chain->count; i++) chain->many[i] = rb_gc_location(chain->many[i]);
    link_compact(chain->first);
}

static void
half_compact(void *data)
{
    link_compact(((struct chain *)data)->first);
}

static void
first_mark(void *data)
{
    link_mark(((struct chain *)data)->first);
}

static const rb_data_type_t left_behind_type = // moved-reference link.value
    { "left_behind", { first_mark, RUBY_DEFAULT_FREE }, 0, 0, RUBY_TYPED_WB_PROTECTED };

static const rb_data_type_t half_type = // moved-reference many[]
    { "half", { chain_mark, RUBY_DEFAULT_FREE, 0, half_compact }, 0, 0, RUBY_TYPED_WB_PROTECTED };

static const rb_data_type_t chain_type =
    { "chain", { chain_mark, RUBY_DEFAULT_FREE, 0, chain_compact }, 0, 0, RUBY_TYPED_WB_PROTECTED };

void
read_chains(VALUE left_behind, VALUE half, VALUE chain)
{
    (void)rb_check_typeddata(left_behind, &left_behind_type);
    (void)rb_check_typeddata(half, &half_type);
    (void)rb_check_typeddata(chain, &chain_type);
}

/* ---- an object of its own ---- */

/* Where a part has an object, that one updates the part. What else it holds, it does not if it has
 * none. */
struct part {
    VALUE self, name;
};

struct whole {
    struct part *part;
};

static void
part_mark(void *data)
{
    struct part *part = data;

    rb_gc_mark_movable(part->self);
    rb_gc_mark_movable(part->name);
}

static void
part_compact(void *data)
{
    struct part *part = data;

    part->self = rb_gc_location(part->self);
    part->name = rb_gc_location(part->name);
}

static void
whole_mark(void *data)
{
    part_mark(((struct whole *)data)->part);
}

static const rb_data_type_t part_type = // could-be-protected
    { "part", { part_mark, RUBY_DEFAULT_FREE, NULL, part_compact }, 0, 0, 0 };

static const rb_data_type_t whole_type = // moved-reference part.name; could-be-protected
    { "whole", { whole_mark, RUBY_DEFAULT_FREE }, 0, 0, 0 };

VALUE
part_of(VALUE self)
{
    struct part *part = ((struct whole *)rb_check_typeddata(self, &whole_type))->part;

    if (NIL_P(part->self)) part->self = rb_data_typed_object_wrap(rb_cObject, part, &part_type);
    return part->self;
}
