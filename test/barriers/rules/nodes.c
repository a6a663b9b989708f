/* Lists and trees whose mark function calls itself, and the ways of linking a node. */
#include <ruby.h>

struct node {
    struct node *left, *right;
    VALUE        value;
};

struct tree {
    struct node *root, *other;
};

static void
node_mark(struct node *node)
{
    if (!node) return;
    node_mark(node->left);
    rb_gc_mark(node->value);
    node_mark(node->right);
}

static void
tree_mark(void *data)
{
    struct tree *tree = data;

    node_mark(tree->root);
    node_mark(tree->other);
}

static const rb_data_type_t tree_type = {
    "tree", {tree_mark, RUBY_DEFAULT_FREE}, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

static struct tree *
get(VALUE self)
{
    return rb_check_typeddata(self, &tree_type);
}

static struct node *
new_node(VALUE value)
{
    struct node *node = ZALLOC(struct node);

    node->value = value; // error value
    return node;
}

VALUE
link_behind_another(VALUE self, VALUE value)
{
    struct node *node = ZALLOC(struct node);

    node->value = value; // error value
    get(self)->root->left->right = node;
    return self;
}

VALUE
link_behind_another_with_barrier(VALUE self, VALUE value)
{
    struct node *node = ZALLOC(struct node);

    node->value = value;
    get(self)->root->left->right = node;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
link_one_of_two(VALUE self, VALUE value)
{
    struct tree *tree = get(self);
    struct node **link = RTEST(value) ? &tree->root : &tree->other, *node = ZALLOC(struct node);

    node->value = value; // error value
    *link = node;
    return self;
}

VALUE
link_one_of_two_with_barrier(VALUE self, VALUE value)
{
    struct tree *tree = get(self);
    struct node **link = RTEST(value) ? &tree->root : &tree->other, *node = ZALLOC(struct node);

    RB_OBJ_WRITE(self, &node->value, value);
    *link = node;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
insert_where_the_loop_breaks(VALUE self, VALUE value)
{
    struct node **link = &get(self)->root, *node = ZALLOC(struct node);

    node->value = value; // error value
    for (; *link; link = &(*link)->right) {
        if ((*link)->value > value) break;
    }
    node->right = *link;
    *link = node;
    return self;
}

VALUE
insert_in_a_tree(VALUE self, VALUE value)
{
    struct node **link = &get(self)->root;

    while (*link) link = value < (*link)->value ? &(*link)->left : &(*link)->right;
    *link = new_node(value);
    return self;
}

VALUE
insert_behind_the_last(VALUE self, VALUE value)
{
    struct node *last = get(self)->root, *node = ZALLOC(struct node);

    node->value = value; // error value
    for (struct node *each = last; each; each = each->right) {
        last = each;
        if (each->value == value) break;
    }
    last->right = node;
    return self;
}

static struct node *
insert(struct node *node, VALUE value)
{
    if (!node) {
        node = ZALLOC(struct node);
        node->value = value; // error value
        return node;
    }
    if (value < node->value) node->left = insert(node->left, value);
    else node->right = insert(node->right, value);
    return node;
}

VALUE
insert_by_recursion(VALUE self, VALUE value)
{
    struct tree *tree = get(self);

    tree->root = insert(tree->root, value);
    return self;
}

static struct node *
insert_right(struct node *node, VALUE value)
{
    if (!node) {
        node = ZALLOC(struct node);
        node->value = value;
    }
    else node->right = insert_right(node->right, value);
    return node;
}

VALUE
insert_by_recursion_with_barrier(VALUE self, VALUE value)
{
    struct tree *tree = get(self);

    tree->root = insert_right(tree->root, value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

static void
replace_all(struct node *node, VALUE from, VALUE to)
{
    if (!node) return;
    if (node->value == from) {
        node->value = to; // warning root->value root->left->value root->right->value
    }
    replace_all(node->left, from, to);
    replace_all(node->right, from, to);
}

VALUE
replace(VALUE self, VALUE from, VALUE to)
{
    replace_all(get(self)->root, from, to);
    return self;
}

/* Another function that only a recursive one calls is visited once. */
static void
clear_value(VALUE self, VALUE value)
{
    get(self)->root->value = value; // warning root->value
}

VALUE
count_down(VALUE self, VALUE value, int number)
{
    if (number == 0) return self;
    clear_value(self, value);
    return count_down(self, value, number - 1);
}

/* The place of the last link. */

struct cell {
    struct cell *next;
    VALUE        value;
};

struct queue {
    struct cell *first, **end;
};

static void
queue_mark(void *data)
{
    struct queue *queue = data;

    for (struct cell *cell = queue->first; cell; cell = cell->next) rb_gc_mark(cell->value);
}

static const rb_data_type_t queue_type = {
    "queue", {queue_mark, RUBY_DEFAULT_FREE}, 0, 0, RUBY_TYPED_WB_PROTECTED
};

VALUE
queue_push(VALUE self, VALUE value)
{
    struct queue *queue = rb_check_typeddata(self, &queue_type);
    struct cell *cell = ZALLOC(struct cell);

    cell->value = value; // error value
    *queue->end = cell;
    queue->end = &cell->next;
    return self;
}

VALUE
queue_push_with_barrier(VALUE self, VALUE value)
{
    struct queue *queue = rb_check_typeddata(self, &queue_type);
    struct cell *cell = ZALLOC(struct cell);

    cell->value = value;
    *queue->end = cell;
    queue->end = &cell->next;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* ---- new memory that new memory leads to ---- */

struct inner {
    VALUE value;
};

struct outer {
    struct inner *inner;
    VALUE         name;
};

struct holder {
    struct outer *outer;
};

static void
holder_mark(void *data)
{
    struct holder *holder = data;

    if (!holder->outer) return;
    rb_gc_mark(holder->outer->name);
    if (holder->outer->inner) rb_gc_mark(holder->outer->inner->value);
}

static const rb_data_type_t holder_type = {
    "holder", {holder_mark, RUBY_DEFAULT_FREE}, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
};

VALUE
two_levels(VALUE self, VALUE value)
{
    struct holder *holder = rb_check_typeddata(self, &holder_type);
    struct outer *outer = ALLOC(struct outer);
    struct inner *inner = ALLOC(struct inner);

    inner->value = value; // error value
    outer->inner = inner;
    outer->name = Qnil;
    holder->outer = outer;
    return self;
}

VALUE
two_levels_by_their_pointers(VALUE self, VALUE value)
{
    struct holder *holder = rb_check_typeddata(self, &holder_type);
    struct outer *outer = ALLOC(struct outer);

    outer->name = Qnil;
    outer->inner = ALLOC(struct inner);
    outer->inner->value = value; // error value
    holder->outer = outer;
    return self;
}

VALUE
two_levels_with_a_barrier(VALUE self, VALUE value)
{
    struct holder *holder = rb_check_typeddata(self, &holder_type);
    struct outer *outer = ALLOC(struct outer);
    struct inner *inner = ALLOC(struct inner);

    inner->value = value;
    outer->inner = inner;
    outer->name = Qnil;
    holder->outer = outer;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
two_levels_that_are_freed(VALUE self, VALUE value)
{
    struct outer *outer = ALLOC(struct outer);
    struct inner *inner = ALLOC(struct inner);

    inner->value = value;
    outer->inner = inner;
    xfree(inner);
    xfree(outer);
    return self;
}

void
Init_nodes(void)
{
    rb_define_method(rb_cObject, "count_down", count_down, 2);
}
