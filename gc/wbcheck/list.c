/* wbcheck_list.c - what objects refer to, as they were gone through: by marking functions, and so without weak references.
 * Compiled inside gc.c, before wbcheck.c, which calls it under the VM lock. */
#include "gc/wbcheck/wbcheck.h"

struct wb_parent {
    VALUE    object;               /* 0: it has died */
    uint32_t count;
    size_t   first;
};

struct wb_list {
    struct heapprof_mem *mem;
    struct wb_parent *parents;     /* by address */
    size_t parents_capacity, parent_count;
    VALUE *children;               /* of each parent by address, each once */
    size_t children_capacity, child_count;
    bool   refused;                /* memory for all children of the object at hand */
};

/* The i-th and what is below it become a heap: each no less than the two it stands over. */
HEAPPROF_COLD static void
sift(VALUE *values, size_t i, size_t count)
{
    VALUE value = values[i];

    for (size_t below; (below = 2 * i + 1) < count; i = below) {
        if (below + 1 < count && values[below + 1] > values[below]) below++;
        if (values[below] <= value) break;
        values[i] = values[below];
    }
    values[i] = value;
}

/* Heapsort: in place, whatever the order, and nothing is called that may allocate. */
HEAPPROF_COLD static void
sort_values(VALUE *values, size_t count)
{
    for (size_t i = count / 2; i-- > 0;) sift(values, i, count);
    for (size_t end = count; end-- > 1;) {
        VALUE most = values[0];
        values[0] = values[end];
        values[end] = most;
        sift(values, 0, end);
    }
}

HEAPPROF_COLD static size_t
each_once(VALUE *values, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || values[i] != values[kept - 1]) values[kept++] = values[i];
    }
    return kept;
}

HEAPPROF_COLD static void
child_i(VALUE child, void *data)
{
    struct wb_list *list = data;

    if (RB_SPECIAL_CONST_P(child) || list->refused) return;
    list->refused = !HEAPPROF_MEM_GROW(list->mem, list->children, list->children_capacity, list->child_count + 1);
    if (!list->refused) list->children[list->child_count++] = child;
}

/* A GC that is about to mark has begun already, as far as those know who ask marking functions; nothing has been marked. */
HEAPPROF_COLD static void
each_child(VALUE object, void (*each_i)(VALUE child, void *data), void *data)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    unsigned int begun = during_gc;

    during_gc = FALSE;
    rb_objspace_reachable_objects_from(object, each_i, data);
    during_gc = begun;
}

/* Puts an object behind those that are in the list; NULL when memory is refused. */
HEAPPROF_COLD static struct wb_parent *
add_parent(struct wb_list *list, VALUE object)
{
    size_t first = list->child_count;

    if (!HEAPPROF_MEM_GROW(list->mem, list->parents, list->parents_capacity, list->parent_count + 1)) return NULL;
    list->refused = false;
    each_child(object, child_i, list);
    if (list->refused) {
        list->child_count = first;
        return NULL;
    }
    sort_values(list->children + first, list->child_count - first);
    list->child_count = first + each_once(list->children + first, list->child_count - first);

    struct wb_parent *parent = &list->parents[list->parent_count++];
    *parent = (struct wb_parent){ object, (uint32_t)(list->child_count - first), first };
    return parent;
}

HEAPPROF_COLD static void
remove_last_parent(struct wb_list *list)
{
    list->child_count = list->parents[--list->parent_count].first;
}

HEAPPROF_COLD static const struct wb_parent *
find_in(const struct wb_list *list, VALUE object)
{
    size_t low = 0, high = list->parent_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (list->parents[middle].object < object) low = middle + 1;
        else high = middle;
    }
    return low < list->parent_count && list->parents[low].object == object ? &list->parents[low] : NULL;
}

HEAPPROF_COLD static bool
refers_p(const struct wb_list *list, const struct wb_parent *parent, VALUE child)
{
    for (uint32_t i = 0; i < parent->count; i++) {
        if (list->children[parent->first + i] == child) return true;
    }
    return false;
}

HEAPPROF_COLD static void
forget_dead_parents(struct wb_list *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->parent_count; i++) {
        if (marked_p(list->parents[i].object)) list->parents[kept++] = list->parents[i];
    }
    list->parent_count = kept;
}

HEAPPROF_COLD static void
clear_list(struct wb_list *list)
{
    list->parent_count = list->child_count = 0;
}

HEAPPROF_COLD static void
release_list(struct wb_list *list)
{
    HEAPPROF_MEM_RELEASE(list->mem, list->parents, list->parents_capacity);
    HEAPPROF_MEM_RELEASE(list->mem, list->children, list->children_capacity);
    clear_list(list);
}
