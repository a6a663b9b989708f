#ifndef HEAPPROF_STACKS_H
#define HEAPPROF_STACKS_H
/* Call stacks, each stored once, in a trie: stacks with the same outer frames share them.
 *
 *     0 (empty) -- <main>:9 -- Object#run:3 -- Array#map:0 -- block in ...:4
 *                                          \__ Foo.new:0
 *
 * A stack is the number of its innermost node. Following parents leads outwards. Each node
 * counts its children and the holds on it. A stack is pushed frame by frame from the outermost,
 * and then its innermost node is held. trim takes away every node without children or holds. So
 * a number without a hold is good only until the next trim. */
#include "base/index.h"
#include "base/numbers.h"

struct heapprof_stack_node {
    uint32_t parent;    /* 0: outermost frame */
    uint32_t function;  /* functions.h; 0 in a free node */
    uint32_t line;
    uint32_t holds;     /* children + holds. Of a free node: its link */
    uint32_t
        depth; /* frames from the outermost, this one included. Flags above it during merging */
};

struct heapprof_stacks {
    struct heapprof_mem *mem;
    struct heapprof_stack_node *nodes; /* [0] unused: the empty stack has no node */
    struct heapprof_numbers numbers; /* of nodes */
    struct heapprof_index index; /* (parent, function, line) -> node */
    uint64_t salt; /* secret of the index, if somebody else chooses the keys; else 0 */
};

#define HEAPPROF_NO_STACK UINT32_MAX

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_stacks_init(struct heapprof_stacks *stacks, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. */
void rb_heapprof_stacks_free(struct heapprof_stacks *stacks);

/* The stack that has one frame more than parent. function is not 0. Returns HEAPPROF_NO_STACK
 * if memory is refused; frames that were pushed before stay until the next trim. */
uint32_t rb_heapprof_stacks_push(struct heapprof_stacks *stacks, uint32_t parent,
                                 uint32_t function, uint32_t line);

/* A held stack survives trim. Holds add up: each needs its own unhold. Holds on the empty stack
 * 0 are allowed and ignored. */
void rb_heapprof_stacks_hold(struct heapprof_stacks *stacks, uint32_t stack);
void rb_heapprof_stacks_unhold(struct heapprof_stacks *stacks, uint32_t stack);

/* Frees all nodes without children or holds, and parents that this leaves without. Returns how
 * many. */
uint32_t rb_heapprof_stacks_trim(struct heapprof_stacks *stacks);

/* ---- merging: nodes get other functions, and equal nodes then become one (dead_code.h) ----
 *
 *     keep, mark_inside    mark nodes that stay as they are, and nodes inside of certain functions
 *     merge                equal nodes become one: same says which
 *     end_merging          the rest is free
 *
 * From the first to the last, nothing else may be done with the stacks except hold and unhold.
 * Allocates nothing. */

/* Whether the stacks can be merged: depths leave room for flags. */
bool rb_heapprof_stacks_mergeable_p(const struct heapprof_stacks *stacks);

/* keep marks the stack and all its outer frames. kept_p says whether a stack is marked so. */
void rb_heapprof_stacks_keep(struct heapprof_stacks *stacks, uint32_t stack);
bool rb_heapprof_stacks_kept_p(const struct heapprof_stacks *stacks, uint32_t stack);

/* mark_inside marks the stacks that have a function on them for which of_p returns true.
 * inside_p says whether a stack is marked so. */
void rb_heapprof_stacks_mark_inside(struct heapprof_stacks *stacks,
                                    bool (*of_p)(uint32_t function, void *data), void *data);
bool rb_heapprof_stacks_inside_p(const struct heapprof_stacks *stacks, uint32_t stack);

/* Calls rename for each node, which may give it another function or line. Then nodes of one
 * parent, function and line become one. A node and its parent become one, too, if both have the
 * function `once` (0: no function). */
struct heapprof_renaming {
    void (*rename)(struct heapprof_stack_node *node, bool kept, void *data);
    void *data;
    uint32_t once;
};
void
rb_heapprof_stacks_merge(struct heapprof_stacks *stacks, const struct heapprof_renaming *renaming);

/* The stack that stands for that stack after merge. */
uint32_t rb_heapprof_stacks_same(const struct heapprof_stacks *stacks, uint32_t stack);

/* Frees the nodes that another node stands for, and takes the marks away. Returns how many it
 * freed. */
uint32_t rb_heapprof_stacks_end_merging(struct heapprof_stacks *stacks);

/* The innermost frame of a stack, which is not the empty one. Good until the next push. */
static inline const struct heapprof_stack_node *
rb_heapprof_stacks_node(const struct heapprof_stacks *stacks, uint32_t stack)
{
    return &stacks->nodes[stack];
}

/* Asserts the invariants of stacks.c. */
void rb_heapprof_stacks_check(const struct heapprof_stacks *stacks);

#endif
