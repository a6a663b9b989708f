/* stacks.c - call stacks as a trie with counts.
 *
 * Two stacks that share their outer frames share nodes:
 *
 *     node   parent  frame      holds
 *     1      0       <main>:9   1      (child 2)
 *     2      1       run:3      2      (children 3 and 4)
 *     3      2       map:0      1      (held: some site's stack is 1 2 3)
 *     4      2       Foo.new:0  0      goes at the next trim
 *
 *   I1  no two nodes have the same parent, function and line: equal stacks have
 *       equal numbers.
 *   I2  holds of a node = its children + the holds on it.
 *   I3  the parent of a node in use is in use. A node's depth is its parent's + 1.
 *   I4  the empty stack 0 has no node and is never freed.
 *   I5  between two mergings no node has a flag above its depth.
 *
 * Nodes go only in trim, never when a hold goes. A stack that is being pushed has no hold on
 * its last node yet, and the next sample often needs the same nodes again. trim needs no
 * memory. It passes over the nodes once. From each node that nobody needs it walks outwards, as
 * long as only that child kept the parent.
 *
 * The caller serialises. push allocates (mem.c). The rest may run anywhere.
 */
#include "profiler/stacks.h"

#include <string.h>

#include "base/check.h"

static uint64_t
key_hash(const struct heapprof_stacks *stacks, uint32_t parent, uint32_t function, uint32_t line)
{
    uint64_t key = ((uint64_t)parent << 32 | function) ^ stacks->salt;

    return rb_heapprof_index_hash(rb_heapprof_index_hash(key) + line);
}

static uint64_t
hash_i(const void *owner, uint32_t stack)
{
    const struct heapprof_stack_node *node =
        rb_heapprof_stacks_node((const struct heapprof_stacks *)owner, stack);

    return key_hash(owner, node->parent, node->function, node->line);
}

static uint32_t
find(const struct heapprof_stacks *stacks, uint32_t parent, uint32_t function, uint32_t line)
{
    uint64_t probe = key_hash(stacks, parent, function, line);
    uint32_t stack;

    for (; (stack = rb_heapprof_index_at(&stacks->index, probe)) != 0; probe++) {
        const struct heapprof_stack_node *node = &stacks->nodes[stack];
        if (node->parent == parent && node->function == function && node->line == line) break;
    }
    return stack;
}

/* ---- nodes ---- */

static bool
reserve(struct heapprof_stacks *stacks)
{
    return HEAPPROF_NUMBERS_RESERVE(&stacks->numbers, stacks->mem, stacks->nodes) &&
           rb_heapprof_index_reserve(&stacks->index, stacks->mem, stacks->numbers.count, hash_i,
                                     stacks);
}

static void
free_node(struct heapprof_stacks *stacks, uint32_t stack)
{
    struct heapprof_stack_node *node = &stacks->nodes[stack];

    rb_heapprof_index_erase(&stacks->index, stack, hash_i, stacks);
    memset(node, 0, sizeof(*node));
    rb_heapprof_numbers_give_back(&stacks->numbers, stack, &node->holds);
}

/* ---- life ---- */

void
rb_heapprof_stacks_init(struct heapprof_stacks *stacks, struct heapprof_mem *mem)
{
    memset(stacks, 0, sizeof(*stacks));
    stacks->mem = mem;
    rb_heapprof_numbers_init(&stacks->numbers);
}

void
rb_heapprof_stacks_free(struct heapprof_stacks *stacks)
{
    HEAPPROF_NUMBERS_RELEASE(&stacks->numbers, stacks->mem, stacks->nodes);
    rb_heapprof_index_release(&stacks->index, stacks->mem);
    rb_heapprof_stacks_init(stacks, stacks->mem);
}

/* ---- operations ---- */

uint32_t
rb_heapprof_stacks_push(struct heapprof_stacks *stacks, uint32_t parent,
                        uint32_t function, uint32_t line)
{
    struct heapprof_stack_node *node;
    uint32_t stack = find(stacks, parent, function, line);

    HEAPPROF_ASSERT(function != 0);
    if (stack) return stack;
    if (!reserve(stacks)) return HEAPPROF_NO_STACK;

    stack = rb_heapprof_numbers_next(&stacks->numbers);
    node = &stacks->nodes[stack];
    rb_heapprof_numbers_take(&stacks->numbers, &node->holds);
    node->parent = parent;
    node->function = function;
    node->line = line;
    node->holds = 0;
    node->depth = parent ? stacks->nodes[parent].depth + 1 : 1;
    rb_heapprof_stacks_hold(stacks, parent);
    rb_heapprof_index_insert(&stacks->index, hash_i(stacks, stack), stack);
    return stack;
}

void
rb_heapprof_stacks_hold(struct heapprof_stacks *stacks, uint32_t stack)
{
    if (stack == 0) return;
    HEAPPROF_ASSERT(stacks->nodes[stack].function != 0);
    stacks->nodes[stack].holds++;
}

void
rb_heapprof_stacks_unhold(struct heapprof_stacks *stacks, uint32_t stack)
{
    if (stack == 0) return;
    HEAPPROF_ASSERT(stacks->nodes[stack].function != 0 && stacks->nodes[stack].holds > 0);
    stacks->nodes[stack].holds--;
}

static bool
needless_p(const struct heapprof_stacks *stacks, uint32_t stack)
{
    return stack && stacks->nodes[stack].function && stacks->nodes[stack].holds == 0;
}

uint32_t
rb_heapprof_stacks_trim(struct heapprof_stacks *stacks)
{
    uint32_t each, stack, before = stacks->numbers.count;

    for (each = 1; each < stacks->numbers.end; each++) {
        for (stack = each; needless_p(stacks, stack); ) {
            uint32_t parent = stacks->nodes[stack].parent;
            free_node(stacks, stack);
            rb_heapprof_stacks_unhold(stacks, parent);
            stack = parent;
        }
    }
    return before - stacks->numbers.count;
}

/* ---- merging ----
 *
 * Which nodes are equal is known when their parents are. So each is come to after its parent, and
 * the index is filled anew. No memory is needed: on the way outwards each node's parent is turned
 * round, as Schorr and Waite (1967) do it, and shows the way back.
 *
 *     1 <- 2 <- 3        outwards from 3, 1 is done      1    2 -> 3
 *                        inwards                         1 <- 2 <- 3
 *
 * A node that another stands for has that as its parent, and is in no index. Its holds are the
 * other's, too. */

#define DEPTH  (UINT32_MAX >> 4)
#define DONE   (UINT32_C(1) << 31) /* it has been come to */
#define MERGED (UINT32_C(1) << 30) /* its parent stands for it */
#define KEPT   (UINT32_C(1) << 29)
#define INSIDE (UINT32_C(1) << 28)

bool
rb_heapprof_stacks_mergeable_p(const struct heapprof_stacks *stacks)
{
    return stacks->numbers.end <= DEPTH;
}

void
rb_heapprof_stacks_keep(struct heapprof_stacks *stacks, uint32_t stack)
{
    for (; stack && !(stacks->nodes[stack].depth & KEPT); stack = stacks->nodes[stack].parent) {
        stacks->nodes[stack].depth |= KEPT;
    }
}

bool
rb_heapprof_stacks_kept_p(const struct heapprof_stacks *stacks, uint32_t stack)
{
    return stack && stacks->nodes[stack].depth & KEPT;
}

bool
rb_heapprof_stacks_inside_p(const struct heapprof_stacks *stacks, uint32_t stack)
{
    return stack && stacks->nodes[stack].depth & INSIDE;
}

typedef void visit_i(struct heapprof_stacks *stacks, uint32_t stack, const void *data);

/* The nodes from leaf outwards that have not been come to, from the outermost of them. */
static void
go_inwards_to(struct heapprof_stacks *stacks, uint32_t leaf, visit_i *visit, const void *data)
{
    uint32_t stack = leaf, inner = 0;

    while (stack && !(stacks->nodes[stack].depth & DONE)) {
        uint32_t parent = stacks->nodes[stack].parent;
        stacks->nodes[stack].parent = inner;
        inner = stack;
        stack = parent;
    }
    while (inner) {
        struct heapprof_stack_node *node = &stacks->nodes[inner];
        uint32_t next = node->parent;
        node->parent = stack;
        node->depth |= DONE;
        visit(stacks, inner, data);
        stack = inner;
        inner = next;
    }
}

static void
go_inwards(struct heapprof_stacks *stacks, visit_i *visit, const void *data)
{
    for (uint32_t stack = 1; stack < stacks->numbers.end; stack++) {
        if (stacks->nodes[stack].function) go_inwards_to(stacks, stack, visit, data);
    }
}

static void
clear_flags(struct heapprof_stacks *stacks, uint32_t flags)
{
    for (uint32_t stack = 1; stack < stacks->numbers.end; stack++) {
        if (stacks->nodes[stack].function) stacks->nodes[stack].depth &= ~flags;
    }
}

struct inside {
    bool (*of_p)(uint32_t function, void *data);
    void *data;
};

static void
mark_inside(struct heapprof_stacks *stacks, uint32_t stack, const void *data)
{
    const struct inside *inside = data;
    struct heapprof_stack_node *node = &stacks->nodes[stack];

    if (rb_heapprof_stacks_inside_p(stacks, node->parent) ||
        inside->of_p(node->function, inside->data)) node->depth |= INSIDE;
}

void
rb_heapprof_stacks_mark_inside(struct heapprof_stacks *stacks,
                               bool (*of_p)(uint32_t function, void *data), void *data)
{
    struct inside inside = {.of_p = of_p, .data = data};

    go_inwards(stacks, mark_inside, &inside);
    clear_flags(stacks, DONE);
}

/* The node that stands for this one: its parent, if the two become one, or an equal node that was
 * visited before. Returns 0 if there is none. */
static uint32_t
find_same(const struct heapprof_stacks *stacks, const struct heapprof_stack_node *node,
          uint32_t once)
{
    uint32_t parent = node->parent;

    if (parent && node->function == once && stacks->nodes[parent].function == once) return parent;
    return find(stacks, parent, node->function, node->line);
}

static void
merge_node(struct heapprof_stacks *stacks, uint32_t stack, const void *data)
{
    const struct heapprof_renaming *renaming = data;
    struct heapprof_stack_node *node = &stacks->nodes[stack];
    uint32_t outside;

    renaming->rename(node, node->depth & KEPT, renaming->data);
    node->parent = rb_heapprof_stacks_same(stacks, node->parent);
    uint32_t same = find_same(stacks, node, renaming->once);
    if (same) {
        stacks->nodes[same].holds += node->holds;
        rb_heapprof_stacks_unhold(stacks, node->parent);
        node->parent = same;
        node->depth |= MERGED;
        return;
    }
    outside = node->parent ? stacks->nodes[node->parent].depth & DEPTH : 0;
    node->depth = (node->depth & ~DEPTH) | (outside + 1);
    rb_heapprof_index_insert(&stacks->index, hash_i(stacks, stack), stack);
}

void
rb_heapprof_stacks_merge(struct heapprof_stacks *stacks, const struct heapprof_renaming *renaming)
{
    rb_heapprof_index_clear(&stacks->index, stacks->mem, stacks->numbers.count);
    go_inwards(stacks, merge_node, renaming);
}

uint32_t
rb_heapprof_stacks_same(const struct heapprof_stacks *stacks, uint32_t stack)
{
    return stack && stacks->nodes[stack].depth & MERGED ? stacks->nodes[stack].parent : stack;
}

uint32_t
rb_heapprof_stacks_end_merging(struct heapprof_stacks *stacks)
{
    uint32_t stack, before = stacks->numbers.count;

    for (stack = 1; stack < stacks->numbers.end; stack++) {
        struct heapprof_stack_node *node = &stacks->nodes[stack];
        if (node->function == 0 || !(node->depth & MERGED)) continue;
        memset(node, 0, sizeof(*node));
        rb_heapprof_numbers_give_back(&stacks->numbers, stack, &node->holds);
    }
    clear_flags(stacks, DONE | KEPT | INSIDE);
    return before - stacks->numbers.count;
}

/* ---- debug ---- */

static uint32_t
link_i(const void *owner, uint32_t stack)
{
    const struct heapprof_stack_node *node = rb_heapprof_stacks_node(owner, stack);

    return node->function ? HEAPPROF_NUMBER_USED : node->holds;
}

static void
check_node(const struct heapprof_stacks *stacks, uint32_t stack)
{
    const struct heapprof_stack_node *node = &stacks->nodes[stack];
    const struct heapprof_stack_node *parent = &stacks->nodes[node->parent];

    HEAPPROF_ASSERT(node->parent < stacks->numbers.end);
    HEAPPROF_ASSERT(!node->parent || (parent->function && parent->holds > 0));
    HEAPPROF_ASSERT(node->depth == (node->parent ? parent->depth + 1 : 1));
    HEAPPROF_ASSERT(find(stacks, node->parent, node->function, node->line) == stack);
}

void
rb_heapprof_stacks_check(const struct heapprof_stacks *stacks)
{
    uint32_t stack;
    uint64_t children = 0, holds = 0;

    for (stack = 1; stack < stacks->numbers.end; stack++) {
        if (stacks->nodes[stack].function == 0) continue;
        check_node(stacks, stack);
        children += stacks->nodes[stack].parent != 0;
        holds += stacks->nodes[stack].holds;
    }
    HEAPPROF_ASSERT(children <= holds);
    rb_heapprof_numbers_check(&stacks->numbers, link_i, stacks);
    rb_heapprof_index_check(&stacks->index, stacks->numbers.count, hash_i, stacks);
}
