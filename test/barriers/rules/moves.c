/* Nodes and arrays that move to another object: what they hold is stored into that one. */
#include <ruby.h>

struct node {
    struct node *next;
    VALUE        value;
};

struct list {
    struct node *head, *tail;
    VALUE       *many;      /* count VALUEs */
    long         count;
};

static void
list_mark(void *data)
{
    struct list *list = (struct list *)data;

    for (struct node *node = list->head; node; node = node->next) rb_gc_mark(node->value);
    for (long i = 0; i < list->count; i++) rb_gc_mark(list->many[i]);
}

static const rb_data_type_t list_type = {
    .wrap_struct_name = "list",
    .function = {.dmark = list_mark, .dfree = RUBY_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static struct list *
get_list(VALUE self)
{
    return (struct list *)rb_check_typeddata(self, &list_type);
}

VALUE
to_the_head(VALUE self, VALUE other)
{
    struct list *from = get_list(self), *to = get_list(other);
    struct node *node = from->head;

    from->head = node->next;
    node->next = to->head;
    to->head = node; // warning head->value
    return self;
}

VALUE
to_the_head_with_a_barrier(VALUE self, VALUE other)
{
    struct list *from = get_list(self), *to = get_list(other);
    struct node *node = from->head, *next = node->next;

    node->next = to->head;
    to->head = node;
    from->head = next;
    RB_OBJ_WRITTEN(other, Qundef, to->head->value);
    return self;
}

VALUE
to_the_head_with_a_barrier_for_the_old_list(VALUE self, VALUE other)
{
    struct list *from = get_list(self), *to = get_list(other);
    struct node *node = from->head;

    from->head = node->next;
    node->next = to->head;
    to->head = node; // warning head->value
    RB_OBJ_WRITTEN(self, Qundef, node->value);
    return self;
}

VALUE
to_the_tail(VALUE self, VALUE other)
{
    struct list *from = get_list(self), *to = get_list(other);
    struct node *node = from->head;

    from->head = node->next;
    node->next = NULL;
    to->tail->next = node; // warning tail->next->value
    to->tail = node;
    return self;
}

VALUE
to_the_tail_with_a_barrier(VALUE self, VALUE other)
{
    struct list *from = get_list(self), *to = get_list(other);
    struct node *node = from->head;

    from->head = node->next;
    node->next = NULL;
    to->tail->next = node;
    to->tail = node;
    RB_OBJ_WRITTEN(other, Qundef, node->value);
    return self;
}

VALUE
within_one_list(VALUE self)
{
    struct list *list = get_list(self);
    struct node *node = list->head;

    list->head = node->next;
    list->tail->next = node;
    list->tail = node;
    node->next = NULL;
    return self;
}

/* ---- found in a loop ---- */

VALUE
found(VALUE self, VALUE other, VALUE key)
{
    struct list *from = get_list(self), *to = get_list(other);

    for (struct node **at = &from->head; *at; at = &(*at)->next) {
        struct node *node = *at;
        if (node->value != key) continue;
        *at = node->next;
        node->next = to->head;
        to->head = node; // warning head->value
        return self;
    }
    return Qnil;
}

VALUE
found_with_a_barrier(VALUE self, VALUE other, VALUE key)
{
    struct list *from = get_list(self), *to = get_list(other);
    struct node *before = NULL;

    for (struct node *node = from->head; node; before = node, node = node->next) {
        if (node->value != key) continue;
        if (before) before->next = node->next;
        else from->head = node->next;
        node->next = to->head;
        to->head = node;
        RB_OBJ_WRITTEN(other, Qundef, node->value);
        return self;
    }
    return Qnil;
}

/* ---- by other functions ---- */

static struct node *
take(struct list *list)
{
    struct node *node = list->head;

    if (node) list->head = node->next;
    return node;
}

static void
put(struct list *list, struct node *node)
{
    node->next = list->head;
    list->head = node;
}

VALUE
by_functions(VALUE self, VALUE other)
{
    struct node *node = take(get_list(self));

    if (!node) return Qnil;
    put(get_list(other), node); // warning head->value
    return self;
}

VALUE
by_functions_with_a_barrier(VALUE self, VALUE other)
{
    struct node *node = take(get_list(self));

    if (!node) return Qnil;
    put(get_list(other), node);
    RB_OBJ_WRITTEN(other, Qundef, node->value);
    return self;
}

VALUE
by_functions_within_one_list(VALUE self)
{
    struct node *node = take(get_list(self));

    if (node) put(get_list(self), node);
    return self;
}

/* ---- arrays ---- */

VALUE
of_an_array(VALUE self, VALUE other)
{
    struct list *from = get_list(self), *to = get_list(other);

    to->many = from->many; // warning many[]
    to->count = from->count;
    from->many = NULL;
    from->count = 0;
    return self;
}

VALUE
of_an_array_with_barriers(VALUE self, VALUE other)
{
    struct list *from = get_list(self), *to = get_list(other);

    to->many = from->many;
    to->count = from->count;
    from->many = NULL;
    from->count = 0;
    for (long i = 0; i < to->count; i++) RB_OBJ_WRITTEN(other, Qundef, to->many[i]);
    return self;
}

VALUE
to_a_new_object(VALUE self)
{
    struct list *from = get_list(self), *to;
    VALUE other = TypedData_Make_Struct(rb_cObject, struct list, &list_type, to);

    to->head = from->head; // note head->value
    from->head = NULL;
    return other;
}

/* ---- empty nodes ---- */

static void
clear(struct node *node)
{
    node->value = Qnil;
}

VALUE
cleared(VALUE self, VALUE other, VALUE value)
{
    struct list *from = get_list(self), *to = get_list(other);
    struct node *node = take(from), *next = take(from);

    node->value = Qnil;
    put(to, node);
    RB_OBJ_WRITE(other, &node->value, value);
    clear(next);
    put(to, next);
    return self;
}

VALUE
cleared_and_filled(VALUE self, VALUE other, VALUE value)
{
    struct list *from = get_list(self), *to = get_list(other);
    struct node *node = from->head;

    from->head = node->next;
    node->value = Qnil;
    node->next = to->head;
    to->head = node;
    node->value = value; // warning head->value
    return self;
}

VALUE
cleared_perhaps(VALUE self, VALUE other, VALUE value)
{
    struct list *from = get_list(self), *to = get_list(other);
    struct node *node = from->head;

    from->head = node->next;
    if (NIL_P(value)) node->value = Qnil;
    node->next = to->head;
    to->head = node; // warning head->value
    return self;
}
