#include "pair.h"

VALUE
of_the_struct(VALUE self, VALUE other)
{
    *get_pair(self) = *get_pair(other); // error first list[] point.label second
    return self;
}

VALUE
of_the_struct_with_barriers(VALUE self, VALUE other)
{
    struct pair *pair = get_pair(self);

    *pair = *get_pair(other); // error list[] point.label
    RB_OBJ_WRITTEN(self, Qundef, pair->first);
    RB_OBJ_WRITTEN(self, Qundef, pair->second);
    return self;
}

VALUE
of_a_struct_in_it(VALUE self, VALUE other)
{
    get_pair(self)->point = get_pair(other)->point; // error point.label
    return self;
}

VALUE
by_memcpy(VALUE self, VALUE other)
{
    struct pair *to = get_pair(self), *from = get_pair(other);

    memcpy(to, from, sizeof(*to)); // error first list[] point.label second
    return self;
}

VALUE
by_rubys_macro(VALUE self, VALUE array)
{
    MEMCPY(get_pair(self)->list, RARRAY_CONST_PTR(array), VALUE, 4); // error list[]
    return self;
}

VALUE
by_memmove_of_one(VALUE self, VALUE value)
{
    memmove(&get_pair(self)->second, &value, sizeof(value)); // error second
    return self;
}

VALUE
of_numbers(VALUE self, VALUE other)
{
    memcpy(&get_pair(self)->number, &get_pair(other)->number, sizeof(long));
    get_pair(self)->number = get_pair(other)->number;
    return self;
}

/* A variable is no object. */
VALUE
to_a_variable(VALUE self)
{
    struct pair copy = *get_pair(self);

    copy.first = copy.second;
    return copy.first;
}

/* ---- arrays of structs ---- */

struct table {
    struct point points[2];
};

static void
table_mark(void *data)
{
    struct table *table = (struct table *)data;

    for (int i = 0; i < 2; i++) rb_gc_mark(table->points[i].label);
}

static const rb_data_type_t table_type = {
    .wrap_struct_name = "table",
    .function = {.dmark = table_mark, .dfree = RUBY_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

VALUE
table_copy(VALUE self, VALUE other)
{
    struct table *to = rb_check_typeddata(self, &table_type),
        *from = rb_check_typeddata(other, &table_type);

    *to = *from; // error points[].label
    RB_OBJ_WRITTEN(self, Qundef, to->points[0].label);
    return self;
}

VALUE
table_copy_with_barriers(VALUE self, VALUE other)
{
    struct table *to = rb_check_typeddata(self, &table_type),
        *from = rb_check_typeddata(other, &table_type);

    *to = *from;
    for (int i = 0; i < 2; i++) RB_OBJ_WRITTEN(self, Qundef, to->points[i].label);
    return self;
}

/* ---- of a union, which a number tells of ---- */

struct tagged {
    int kind, other;
    union {
        VALUE  object;
        double number;
    } as;
    VALUE name;
};

static void
tagged_mark(void *data)
{
    struct tagged *tagged = data;

    if (tagged->kind == 1) rb_gc_mark(tagged->as.object);
    rb_gc_mark(tagged->name);
}

static const rb_data_type_t tagged_type = {
    .wrap_struct_name = "tagged",
    .function = {.dmark = tagged_mark, .dfree = RUBY_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static int
object_p(const struct tagged *tagged)
{
    return tagged->kind == 1;
}

VALUE
tagged_copy(VALUE self, VALUE other)
{
    struct tagged *to = rb_check_typeddata(self, &tagged_type),
        *from = rb_check_typeddata(other, &tagged_type);

    *to = *from;
    if (to->kind == 1) RB_OBJ_WRITTEN(self, Qundef, to->as.object);
    RB_OBJ_WRITTEN(self, Qundef, to->name);
    *to = *from;
    if (from->kind != 1) to->other++;
    else RB_OBJ_WRITTEN(self, Qundef, from->as.object);
    RB_OBJ_WRITTEN(self, Qundef, to->name);
    *to = *from;
    if (object_p(to)) RB_OBJ_WRITTEN(self, Qundef, to->as.object);
    RB_OBJ_WRITTEN(self, Qundef, to->name);
    return self;
}

VALUE
tagged_copy_with_another_test(VALUE self, VALUE other, int kind)
{
    struct tagged *to = rb_check_typeddata(self, &tagged_type),
        *from = rb_check_typeddata(other, &tagged_type);

    *to = *from; // error as.object
    if (kind == 1) RB_OBJ_WRITTEN(self, Qundef, to->as.object);
    RB_OBJ_WRITTEN(self, Qundef, to->name);
    return self;
}

VALUE
tagged_store(VALUE self, VALUE value)
{
    struct tagged *tagged = rb_check_typeddata(self, &tagged_type);

    tagged->name = value; // error name
    if (tagged->kind == 1) RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
tagged_copy_of_the_other_field(VALUE self, VALUE other)
{
    struct tagged *to = rb_check_typeddata(self, &tagged_type),
        *from = rb_check_typeddata(other, &tagged_type);

    *to = *from; // error name
    if (to->kind == 1) RB_OBJ_WRITTEN(self, Qundef, to->as.object);
    return self;
}

/* ---- to an address of bytes ---- */

VALUE
copy_to_bytes(VALUE self, VALUE value)
{
    struct pair *pair = get_pair(self);
    long number = 3;
    char bytes[sizeof(VALUE)];

    memcpy((char *)pair + 8, &value, sizeof(value)); // error []
    rb_gc_start();
    memcpy((char *)pair->many + 8, &value, sizeof(value)); // warning many[]
    rb_gc_start();
    memcpy((char *)pair + 8, &value, sizeof(value));
    RB_OBJ_WRITTEN(self, Qundef, value);
    memcpy((char *)pair + 80, &number, sizeof(number));
    memcpy(&pair->number, &value, sizeof(value));
    memcpy(bytes, &value, sizeof(value));
    return rb_str_new(bytes, sizeof(bytes));
}
