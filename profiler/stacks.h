#ifndef HEAPPROF_STACKS_H
#define HEAPPROF_STACKS_H
/* Call stacks, interned in a trie that shares what they have in common.
 *
 *     0 (empty) -- <main>:9 -- Object#run:3 -- Array#map:0 -- block in ...:4
 *                                          \__ Foo.new:0
 *
 * A stack is the number of its innermost node; following parents leads outwards.
 * Each node counts its children and the holds others have on it. A stack is
 * pushed frame by frame from the outermost, then held by its leaf; trim takes
 * away every node nobody needs. So numbers without a hold are good only until
 * the next trim. */
#include "base/index.h"
#include "base/numbers.h"

struct heapprof_stack_node {
    uint32_t parent;    /* 0: outermost frame */
    uint32_t function;  /* functions.h; 0 in a free node */
    uint32_t line;
    uint32_t holds;     /* children + holds; the link of a free node */
    uint32_t depth;     /* frames from the outermost, this one included; flags above it while nodes are merged */
};

struct heapprof_stacks {
    struct heapprof_mem *mem;
    struct heapprof_stack_node *nodes; /* [0] unused: the empty stack has no node */
    struct heapprof_numbers numbers; /* of nodes */
    struct heapprof_index index; /* (parent, function, line) -> node */
    uint64_t salt;               /* of the index, where somebody else chooses the keys; 0: nobody does */
};

#define HEAPPROF_NO_STACK UINT32_MAX

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_stacks_init(struct heapprof_stacks *stacks, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. */
void rb_heapprof_stacks_free(struct heapprof_stacks *stacks);

/* The stack that has one frame more than parent; HEAPPROF_NO_STACK when memory is
 * refused, where what was pushed before stays for the next trim. function is not 0. */
uint32_t rb_heapprof_stacks_push(struct heapprof_stacks *stacks, uint32_t parent,
                                 uint32_t function, uint32_t line);

/* A held stack survives trim. Holds add up: each wants its own unhold. Holds on the
 * empty stack 0 are allowed and ignored. */
void rb_heapprof_stacks_hold(struct heapprof_stacks *stacks, uint32_t stack);
void rb_heapprof_stacks_unhold(struct heapprof_stacks *stacks, uint32_t stack);

/* Frees all nodes without children or holds, and what that leaves without. Returns how many. */
uint32_t rb_heapprof_stacks_trim(struct heapprof_stacks *stacks);

/* ---- merging: nodes get other functions, and those that are equal then become one (dead_code.h) ----
 *
 *     keep, go_inwards     marks which are to stay as they are, and which lie in what
 *     merge                nodes get other numbers: same says which
 *     end_merging          the others are free
 *
 * From the first to the last nothing else may be done with the stacks, except hold and unhold.
 * Allocates nothing. */

/* Whether they may be merged: there is room for flags above the depth. */
bool rb_heapprof_stacks_mergeable_p(const struct heapprof_stacks *stacks);

/* Marks the stack, and all that it lies in; and whether it is. */
void rb_heapprof_stacks_keep(struct heapprof_stacks *stacks, uint32_t stack);
bool rb_heapprof_stacks_kept_p(const struct heapprof_stacks *stacks, uint32_t stack);

/* Marks the stacks that have a function on them that of_p says this of; and whether one is. */
void rb_heapprof_stacks_mark_inside(struct heapprof_stacks *stacks,
                                    bool (*of_p)(uint32_t function, void *data), void *data);
bool rb_heapprof_stacks_inside_p(const struct heapprof_stacks *stacks, uint32_t stack);

/* Has rename give each node another function, or line. Then nodes of one parent, function and line
 * become one; and so do a node and its parent if both have the function once (0: none). */
struct heapprof_renaming {
    void (*rename)(struct heapprof_stack_node *node, bool kept, void *data);
    void *data;
    uint32_t once;
};
void rb_heapprof_stacks_merge(struct heapprof_stacks *stacks, const struct heapprof_renaming *renaming);

/* The stack that stands for it. */
uint32_t rb_heapprof_stacks_same(const struct heapprof_stacks *stacks, uint32_t stack);

/* Frees the nodes that others stand for, and takes the marks away. Returns how many it freed. */
uint32_t rb_heapprof_stacks_end_merging(struct heapprof_stacks *stacks);

/* The innermost frame of a stack other than the empty one; good until the next push. */
static inline const struct heapprof_stack_node *
rb_heapprof_stacks_node(const struct heapprof_stacks *stacks, uint32_t stack)
{
    return &stacks->nodes[stack];
}

/* Asserts the invariants of stacks.c. */
void rb_heapprof_stacks_check(const struct heapprof_stacks *stacks);

#endif
