/* node.c - a library that keeps a tree in memory of its own, and its binding, which forgets the
 * trees. Written as libxml2 is: through function pointers that are initialised to malloc's and may
 * be set to another's, with nodes from calloc and names from strdup. It never calls xmalloc.
 *
 *     HeapProfNode.parse(names) -> nil      leaks a node and a name for each
 *
 * node_parse is also for who loads this as a plain library.
 */
#include "ruby/ruby.h"
#include <stdlib.h>
#include <string.h>

typedef void *calloc_function(size_t count, size_t size);
typedef char *strdup_function(const char *text);
typedef void *malloc_function(size_t size);

static malloc_function *node_malloc = malloc;
static calloc_function *node_calloc = calloc;
static strdup_function *node_strdup = strdup;

struct node {
    struct node *parent, *next;
    char *name;
    char *content;
    void *unused[12];
};

RUBY_FUNC_EXPORTED void *node_parse(long names);

static struct node *
node_new(struct node *parent, const char *name)
{
    struct node *node = node_calloc(1, sizeof(*node));

    node->parent = parent;
    node->name = node_strdup(name);
    node->content = node_malloc(64);
    return node;
}

void *
node_parse(long names)
{
    struct node *node = NULL;
    char name[48];

    for (long i = 0; i < names; i++) {
        snprintf(name, sizeof(name), "{urn:example:a-namespace}element-%ld", i);
        node = node_new(node, name);
    }
    return node;
}

static VALUE
node_s_parse(VALUE self, VALUE names)
{
    node_parse(NUM2LONG(names));
    return Qnil;
}

void
Init_heapprof_node(void)
{
    rb_define_module_function(rb_define_module("HeapProfNode"), "parse", node_s_parse, 1);
}
