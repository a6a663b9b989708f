/* Tables of st.h that an object makes when it needs them. */
#include <ruby.h>
#include <ruby/st.h>

struct dictionary {
    st_table *names;
};

static int
mark_name(st_data_t key, st_data_t value, st_data_t data)
{
    rb_gc_mark((VALUE)value);
    return ST_CONTINUE;
}

static void
dictionary_mark(void *data)
{
    struct dictionary *dictionary = data;

    if (dictionary->names) st_foreach(dictionary->names, mark_name, 0);
}

static const rb_data_type_t dictionary_type = {
    "dictionary", {dictionary_mark, RUBY_DEFAULT_FREE}, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

static struct dictionary *
get(VALUE self)
{
    return rb_check_typeddata(self, &dictionary_type);
}

VALUE
made_at_the_first_store(VALUE self, VALUE value)
{
    struct dictionary *dictionary = get(self);

    if (!dictionary->names) dictionary->names = st_init_numtable();
    st_insert(dictionary->names, 1, (st_data_t)value); // error names[]
    return self;
}

VALUE
made_in_a_variable(VALUE self, VALUE value)
{
    struct dictionary *dictionary = get(self);
    st_table *table = dictionary->names;

    if (!table) {
        table = st_init_strtable_with_size(3);
        dictionary->names = table;
    }
    st_insert(table, (st_data_t)"key", (st_data_t)value); // error names[]
    return self;
}

VALUE
made_with_a_barrier(VALUE self, VALUE value)
{
    struct dictionary *dictionary = get(self);

    if (!dictionary->names) dictionary->names = st_init_numtable();
    st_insert(dictionary->names, 1, (st_data_t)value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
made_for_the_call_alone(VALUE self, VALUE value)
{
    st_table *table = st_init_numtable();

    st_insert(table, 1, (st_data_t)value);
    st_free_table(table);
    return self;
}
