/* leak_search.c - profiler/leaks/lost with the blocks of our tables, and the roots of os/roots.
 *
 * Our own tables are no root, because they contain the address of each block.
 */
#include "ruby/ruby.h"
#include "vm/memcheck/leak_search.h"
#include "gc/book/state.h"
#include "os/peek.h"
#include "profiler/options.h"

/* The site of a block is where it last grew: the caller of realloc. */
static void
add_blocks(struct heapprof_lost *lost, uint32_t since_gc)
{
    const struct heapprof_blocks *blocks = &rb_heapprof.tables.blocks;

    rb_heapprof_gc_lock_blocks();
    for (uint32_t entry = 0; (entry = rb_heapprof_blocks_next(blocks, entry)) != 0; ) {
        uintptr_t address = rb_heapprof_address_table_address(&blocks->addresses, entry);
        const struct heapprof_piece *piece = &blocks->pieces[blocks->pieces_of[entry]];
        bool nobodys =
            piece->site == HEAPPROF_SITE_WAITING || (int32_t)(piece->birth_gc - since_gc) < 0;
        if (rb_heapprof_reported_block_p(address)) continue;
        rb_heapprof_lost_add(lost, address, rb_heapprof_blocks_end(blocks, address),
                             nobodys ? 0 : piece->site);
    }
    rb_heapprof_gc_unlock_blocks();
}

static void
note_memory_i(const struct heapprof_memory *memory, void *data)
{
    struct heapprof_leak_search *search = data;
    struct heapprof_lost_range range = { memory->begin, memory->end, true };

    if (memory->kind == HEAPPROF_MEMORY_HEAP) {
        rb_heapprof_lost_add_range(&search->lost, &range);
    }
    else if (HEAPPROF_MEM_GROW(&search->mem, search->roots, search->roots_capacity,
                               search->root_count + 1)) {
        search->roots[search->root_count++] = *memory;
    }
    else {
        search->known = false;
    }
}

static void
leave_out(struct heapprof_lost *lost, const struct heapprof_mem *mem)
{
    for (int i = 0; i < HEAPPROF_MEM_BLOCKS; i++) {
        uintptr_t begin = mem->blocks[i].address;
        struct heapprof_lost_range range = { begin, begin + mem->blocks[i].bytes, false };
        if (mem->blocks[i].bytes > 0) rb_heapprof_lost_add_range(lost, &range);
    }
}

void
rb_heapprof_leak_search_begin(struct heapprof_leak_search *search,
                              const struct heapprof_root_stacks *stacks,
                              const struct heapprof_held *held, uint32_t since_gc)
{
    struct heapprof_lost *lost = &search->lost;
    int fd = rb_heapprof_peek_open();

    *search = (struct heapprof_leak_search){ .known = rb_heapprof_options_malloc_interval(
                                                           &rb_heapprof.run.options) == 1 };
    setjmp(search->registers); /* before this function loads addresses of blocks into registers */
    rb_heapprof_mem_init(&search->mem, SIZE_MAX);
    rb_heapprof_lost_init(lost, &search->mem, fd, rb_heapprof_roots_freed_key(fd));
    add_blocks(lost, since_gc);
    search->known = rb_heapprof_roots_read(fd, stacks, note_memory_i, search) && search->known;
    leave_out(lost, &rb_heapprof.mem);
    leave_out(lost, &search->mem);
    if (held) leave_out(lost, &held->mem);
    rb_heapprof_lost_sort(lost);
}

bool
rb_heapprof_leak_search_settle(struct heapprof_leak_search *search,
                               const struct heapprof_held *held)
{
    struct heapprof_lost *lost = &search->lost;

    if (!held)
        rb_heapprof_lost_root(lost, (uintptr_t)search->registers,
                              (uintptr_t)search->registers + sizeof(search->registers));
    for (size_t i = 0; i < search->root_count; i++) {
        rb_heapprof_lost_root(lost, search->roots[i].begin, search->roots[i].end);
    }
    if (held)
        rb_heapprof_lost_root_of(lost, (uintptr_t)held->words,
                                 (uintptr_t)(held->words + held->count));
    return rb_heapprof_lost_settle(lost) && search->known;
}

void
rb_heapprof_leak_search_free(struct heapprof_leak_search *search)
{
    rb_heapprof_peek_close(search->lost.fd);
    rb_heapprof_lost_free(&search->lost);
    HEAPPROF_MEM_RELEASE(&search->mem, search->roots, search->roots_capacity);
}
