/* list.c - what objects referred to at the last check, in the order in which the check saw
 * them. Marking functions tell it, so weak references are not in it. Compiled inside gc.c.
 * wbcheck.c calls it under the VM lock. */
#include "gc/wbcheck/wbcheck.h"

struct wb_parent {
    VALUE    object;               /* 0 if it has died */
    uint32_t count;
    size_t   first;
};

struct wb_list {
    struct heapprof_mem *mem;
    struct wb_parent *parents;     /* by address */
    size_t parents_capacity, parent_count;
    VALUE *children;               /* the children of each parent by address, each once */
    size_t children_capacity, child_count;
    bool   refused;                /* memory was refused for the object at hand */
};

/* Makes a heap of the i-th value and those below it: each is no less than its two children. */
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

/* Heapsort works in place, takes no longer for any order, and calls nothing that may allocate. */
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
    list->refused = !HEAPPROF_MEM_GROW(list->mem, list->children, list->children_capacity,
                                       list->child_count + 1);
    if (!list->refused) list->children[list->child_count++] = child;
}

/* Asks marking functions. A GC that is about to mark counts as begun, and MRI would refuse
 * that: so it is hidden meanwhile. Nothing is marked yet. */
HEAPPROF_COLD static void
each_child(VALUE object, void (*each_i)(VALUE child, void *data), void *data)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    unsigned int begun = during_gc;

    during_gc = FALSE;
    rb_objspace_reachable_objects_from(object, each_i, data);
    during_gc = begun;
}

/* Adds an object at the end of the list. Returns NULL when memory is refused. */
HEAPPROF_COLD static struct wb_parent *
add_parent(struct wb_list *list, VALUE object)
{
    size_t first = list->child_count;

    if (!HEAPPROF_MEM_GROW(list->mem, list->parents, list->parents_capacity,
                           list->parent_count + 1))
        return NULL;
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
    return low < list->parent_count && list->parents[low].object == object ? &list->parents[low]
                                                                           : NULL;
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
