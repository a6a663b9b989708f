/* held.c - words that lead to memory in use: copies of stacks, and addresses of blocks.
 *
 * The stacks of native threads are those that the system reports (os/roots). A waiting fiber has
 * its own stack, in use from the stack pointer that MRI has saved. So has the own stack of a
 * thread that runs a fiber. If another thread runs the fiber, all of the fiber's stack is taken.
 *
 * What an extension's objects lead to is searched conservatively, like the rest: also by the
 * middle of a block, and through blocks that are not in the tables.
 */
#include "ruby/ruby.h"
#include "vm/memcheck/held.h"
#include "gc/book/state.h"
#include "internal/cont.h"
#include "vm/memcheck/leak_search.h"
#include "os/peek.h"
#include "os/roots.h"
#include "ractor_core.h"
#include "vm_core.h"

/* Below the stack pointer that MRI saves of a fiber: registers, and the frame of the switch. */
#define SWITCH_WORDS 64

void
rb_heapprof_held_init(struct heapprof_held *held)
{
    *held = (struct heapprof_held){ .count = 0 };
    rb_heapprof_mem_init(&held->mem, SIZE_MAX);
}

void
rb_heapprof_held_free(struct heapprof_held *held)
{
    HEAPPROF_MEM_RELEASE(&held->mem, held->words, held->words_capacity);
}

static void
add_word(struct heapprof_held *held, uintptr_t word)
{
    if (HEAPPROF_MEM_GROW(&held->mem, held->words, held->words_capacity, held->count + 1))
        held->words[held->count++] = word;
    else held->incomplete = true;
}

/* ---- stacks ---- */

struct stacks {
    struct heapprof_held *held;
    int fd;
};

/* Meanwhile a stack may become shorter, or its thread may end. */
static void
add_stack(const struct stacks *stacks, uintptr_t begin, uintptr_t end)
{
    struct heapprof_held *held = stacks->held;
    size_t words = (end - begin) / sizeof(*held->words);

    if (!HEAPPROF_MEM_GROW(&held->mem, held->words, held->words_capacity, held->count + words)) {
        held->incomplete = true;
        return;
    }
    size_t bytes = rb_heapprof_peek(stacks->fd, begin, held->words + held->count,
                                    words * sizeof(*held->words));
    held->count += bytes / sizeof(*held->words);
}

static void
add_stack_i(const struct heapprof_memory *memory, void *stacks)
{
    if (memory->kind == HEAPPROF_MEMORY_STACK) add_stack(stacks, memory->begin, memory->end);
}

static uintptr_t
saved_pointer(const rb_execution_context_t *ec)
{
    return (uintptr_t)ec->machine.stack_end - SWITCH_WORDS * sizeof(uintptr_t);
}

static void
add_fiber_i(void *fiber, void *stacks)
{
    const rb_execution_context_t *ec = rb_fiberptr_get_ec(fiber);
    const rb_thread_t *th = ec->thread_ptr;
    uintptr_t end = (uintptr_t)ec->machine.stack_start, begin = end - ec->machine.stack_maxsize;

    if (!end || !ec->machine.stack_end || ec == GET_EC() || !th || th->root_fiber == fiber) return;
    add_stack(stacks, th->ec == ec ? begin : saved_pointer(ec), end);
}

/* From where the own stacks of threads are in use that run a fiber. */
static struct heapprof_held
own_stacks(void)
{
    struct heapprof_held pointers;
    rb_ractor_t *ractor = GET_RACTOR();
    const rb_thread_t *th;

    rb_heapprof_held_init(&pointers);
    ccan_list_for_each(&ractor->threads.set, th, lt_node) {
        if (!th->root_fiber || th->root_fiber == th->ec->fiber_ptr) continue;
        add_word(&pointers, saved_pointer(rb_fiberptr_get_ec(th->root_fiber)));
    }
    return pointers;
}

void
rb_heapprof_held_add_stacks(struct heapprof_held *held, uintptr_t innermost)
{
    struct heapprof_held own = own_stacks();
    const struct heapprof_root_stacks known = { .innermost = innermost,
                                                .pointers = own.words,
                                                .pointer_count = own.count };
    struct stacks stacks = { held, rb_heapprof_peek_open() };

    if (!rb_heapprof_roots_read(stacks.fd, &known, add_stack_i, &stacks)) held->incomplete = true;
    rb_heapprof_gc_each_fiber(add_fiber_i, &stacks);
    if (own.incomplete) held->incomplete = true;
    rb_heapprof_peek_close(stacks.fd);
    rb_heapprof_held_free(&own);
}

/* ---- objects ---- */

static void
lead_on_i(VALUE unused, uintptr_t begin, uintptr_t end, void *lost)
{
    rb_heapprof_lost_root_of(lost, begin, end);
}

void
rb_heapprof_held_add_blocks_of_objects(struct heapprof_held *held)
{
    const struct heapprof_root_stacks none = { .innermost = 0 };
    struct heapprof_leak_search search;

    rb_heapprof_leak_search_begin(&search, &none, held, 0);
    rb_heapprof_gc_each_foreign(lead_on_i, &search.lost);
    for (size_t i = 0; i < search.lost.block_count; i++) {
        const struct heapprof_lost_block *block = &search.lost.blocks[i];
        if (block->fate >= HEAPPROF_POSSIBLE) add_word(held, block->address);
    }
    if (search.lost.incomplete) held->incomplete = true;
    rb_heapprof_leak_search_free(&search);
}
