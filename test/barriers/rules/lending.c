/* Objects of two types lead to one table. What one of them gets is judged by its own type. */
#include "ruby/ruby.h"

struct table {
    int   users;
    VALUE values[8];
};

struct owner {
    struct table *table;
};

struct user {
    long          number;
    struct table *table;
};

static void
table_mark(struct table *table)
{
    for (int i = 0; table && i < 8; i++) rb_gc_mark(table->values[i]);
}

static void
owner_mark(void *data)
{
    table_mark(((struct owner *)data)->table);
}

static void
user_mark(void *data)
{
    table_mark(((struct user *)data)->table);
}

static const rb_data_type_t owner_type =
    { "owner", { owner_mark, RUBY_DEFAULT_FREE }, 0, 0, RUBY_TYPED_WB_PROTECTED };
static const rb_data_type_t protected_type =
    { "protected", { user_mark, RUBY_DEFAULT_FREE }, 0, 0, RUBY_TYPED_WB_PROTECTED };
static const rb_data_type_t bare_type = { "bare", { user_mark, RUBY_DEFAULT_FREE }, 0, 0, 0 };

static void
lend(struct table *table, struct table **to)
{
    if (!table) return;
    table->users++;
    *to = table;
}

VALUE
to_a_type_that_is_not_protected(VALUE self, VALUE other)
{
    struct owner *owner = rb_check_typeddata(self, &owner_type);
    struct user *user = rb_check_typeddata(other, &bare_type);

    lend(owner->table, &user->table); // note table->values[]
    return other;
}

VALUE
to_one_that_is_protected(VALUE self, VALUE other)
{
    struct owner *owner = rb_check_typeddata(self, &owner_type);
    struct user *user = rb_check_typeddata(other, &protected_type);

    lend(owner->table, &user->table); // warning table->values[]
    return other;
}
