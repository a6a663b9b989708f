/* memcheck.c - at the very end of a process: what of malloc's blocks is left, and whether anything leads to it.
 *
 *     at_exit blocks   sampled: each block is known, with its stack
 *     prepare          off: no new blocks, but frees are followed by the filter as ever
 *     finalizers, dfree functions, ruby_vm_destruct: MRI gives back all that is its own (RUBY_FREE_AT_EXIT)
 *     write            what is left, and the search for it (profiler/lost.h), from the roots (os/roots.h)
 *
 * No fiber is left then, but their stacks are: MRI keeps them, with what they held when they ended.
 *
 * What finalizers, functions that free objects, and threads that are being ended allocate is not known.
 *
 * Behind prepare nobody but write uses the tables, frees apart, which take the blocks' lock.
 */
#include "ruby/ruby.h"
#include "memcheck.h"
#include "caller_names.h"
#include "frames.h"
#include "gc/state.h"
#include "os/clock.h"
#include "names.h"
#include "origin.h"
#include "os/file.h"
#include "os/peek.h"
#include "os/roots.h"
#include "pprof/gzip.h"
#include "profiler/leak_profile.h"
#include "run.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <errno.h>
#include <setjmp.h>

#ifdef HAVE_VALGRIND_MEMCHECK_H
# include <valgrind/memcheck.h>
#else
# define RUNNING_ON_VALGRIND 0
#endif

/* What is known as long as the VM is there. */
static struct {
    uint32_t origin;            /* string: which process it is */
    size_t   fiber_stack_bytes; /* of each that MRI has made */
} before;

/* As fiber_pool_initialize in cont.c has it. */
static size_t
fiber_stack_bytes(void)
{
    const rb_vm_t *vm = GET_VM();
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t asked = vm->default_params.fiber_machine_stack_size + vm->default_params.fiber_vm_stack_size;

    return (asked / page_bytes + 1) * page_bytes;
}

void
rb_heapprof_memcheck_settings(struct heapprof_options *options)
{
    options->malloc_all = true;
    options->malloc_interval_bytes = 1;
}

void
rb_heapprof_memcheck_prepare(void)
{
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    rb_heapprof_gc_resolve_all();
    rb_heapprof_names_refresh();
    rb_heapprof_gc_begin_change();
    before.fiber_stack_bytes = fiber_stack_bytes();
    before.origin = rb_heapprof_origin_intern(&rb_heapprof.tables.strings);
    rb_heapprof_gc_stop();
    rb_heapprof_frames_free();
    rb_heapprof.ending = true;
    rb_heapprof_gc_end_change();
    RB_VM_LOCK_LEAVE();
}

/* ---- what is left, and where to look ---- */

struct search {
    struct heapprof_mem mem;          /* an account of its own */
    struct heapprof_lost lost;
    struct heapprof_memory *roots;
    size_t roots_capacity, root_count;
    bool   known;                     /* all of the roots are */
};

/* A block stands where it last grew, as realloc's caller. */
static void
add_blocks(struct heapprof_lost *lost)
{
    const struct heapprof_blocks *blocks = &rb_heapprof.tables.blocks;

    rb_heapprof_gc_lock_blocks();
    for (uint32_t entry = 0; (entry = rb_heapprof_blocks_next(blocks, entry)) != 0; ) {
        uintptr_t address = rb_heapprof_address_table_address(&blocks->addresses, entry);
        uint32_t site = blocks->pieces[blocks->pieces_of[entry]].site;
        if (rb_heapprof_reported_block_p(address)) continue;
        if (site == HEAPPROF_SITE_WAITING) site = 0;
        rb_heapprof_lost_add(lost, address, rb_heapprof_blocks_end(blocks, address), site);
    }
    rb_heapprof_gc_unlock_blocks();
}

static void
note_memory_i(const struct heapprof_memory *memory, void *data)
{
    struct search *search = data;
    struct heapprof_lost_range range = { memory->begin, memory->end, true };

    if (memory->heap) {
        rb_heapprof_lost_add_range(&search->lost, &range);
    }
    else if (HEAPPROF_MEM_GROW(&search->mem, search->roots, search->roots_capacity, search->root_count + 1)) {
        search->roots[search->root_count++] = *memory;
    }
    else {
        search->known = false;
    }
}

/* Our tables have the address of every block. */
static void
leave_out(struct heapprof_lost *lost, const struct heapprof_mem *mem)
{
    for (int i = 0; i < HEAPPROF_MEM_BLOCKS; i++) {
        uintptr_t begin = mem->blocks[i].address;
        struct heapprof_lost_range range = { begin, begin + mem->blocks[i].bytes, false };
        if (mem->blocks[i].bytes > 0) rb_heapprof_lost_add_range(lost, &range);
    }
}

static bool
search_all(struct search *search, int fd, uintptr_t stack)
{
    const struct heapprof_root_stacks stacks = { stack, before.fiber_stack_bytes };
    struct heapprof_lost *lost = &search->lost;
    jmp_buf registers;

    setjmp(registers);
    add_blocks(lost);
    search->known = rb_heapprof_roots_read(fd, &stacks, note_memory_i, search) && search->known;
    leave_out(lost, &rb_heapprof.mem);
    leave_out(lost, &search->mem);
    rb_heapprof_lost_sort(lost);
    rb_heapprof_lost_root(lost, (uintptr_t)registers, (uintptr_t)registers + sizeof(registers));
    for (size_t i = 0; i < search->root_count; i++) {
        rb_heapprof_lost_root(lost, search->roots[i].begin, search->roots[i].end);
    }
    return rb_heapprof_lost_settle(lost) && search->known;
}

/* ---- the file ---- */

static char *
encode(const struct heapprof_lost *lost, bool decided, size_t *size)
{
    struct heapprof_symbol_name ruby;
    struct heapprof_leak_profile profile = {
        .tables = &rb_heapprof.tables, .lost = lost, .origin = before.origin, .decided = decided, .core = ruby.library,
        .dropped = rb_heapprof.dropped + rb_heapprof.dropped_blocks, .each_block = RUNNING_ON_VALGRIND != 0,
        .interval_bytes = rb_heapprof_options_malloc_interval(&rb_heapprof.options),
        .start_ns = rb_heapprof.start_ns, .time_ns = rb_heapprof_clock_ns(CLOCK_REALTIME),
    };
    size_t plain_size;

    rb_heapprof_symbols_name_from_memory((uintptr_t)ruby_xmalloc + 1, &ruby);
    char *plain = rb_heapprof_leak_profile_encode(&profile, &plain_size);
    char *packed = plain ? rb_heapprof_gzip(plain, plain_size, size) : NULL;
    free(plain);
    return packed;
}

/* ---- under Valgrind ---- */

#ifdef HAVE_VALGRIND_MEMCHECK_H
static void
hide_tables(bool hide)
{
    for (int i = 0; i < HEAPPROF_MEM_BLOCKS; i++) {
        const struct heapprof_mem_block *block = &rb_heapprof.mem.blocks[i];
        if (hide) VALGRIND_MAKE_MEM_NOACCESS(block->address, block->bytes);
        else VALGRIND_MAKE_MEM_DEFINED(block->address, block->bytes);
    }
}

/* Valgrind looks for what is lost by itself, and says which blocks these are: by their addresses they are found in our file.
 * Our tables, too, have them, so it is not to look there. Nothing may be freed between the two requests. */
static void
ask_valgrind(void)
{
    if (!RUNNING_ON_VALGRIND) return;
    hide_tables(true);
    VALGRIND_DO_LEAK_CHECK;
    VALGRIND_MONITOR_COMMAND("block_list 1..2147483647 unlimited");
    hide_tables(false);
}
#else
static void ask_valgrind(void) {}
#endif

int
rb_heapprof_memcheck_write(const char *path, uintptr_t stack)
{
    bool own_work = rb_heapprof_gc_begin_own_work();
    struct search search = { .known = true };
    int fd = rb_heapprof_peek_open();
    size_t size;

    rb_heapprof_mem_init(&search.mem, SIZE_MAX);
    rb_heapprof_lost_init(&search.lost, &search.mem, fd, rb_heapprof_roots_freed_key(fd));
    bool all_known = rb_heapprof_options_malloc_interval(&rb_heapprof.options) == 1;
    bool decided = search_all(&search, fd, stack) && all_known;
    rb_heapprof_peek_close(fd);
    rb_heapprof_caller_names_find();
    char *bytes = encode(&search.lost, decided, &size);
    int error = bytes ? rb_heapprof_file_write_whole(path, bytes, size, true) : ENOMEM;
    free(bytes);
    rb_heapprof_lost_free(&search.lost);
    HEAPPROF_MEM_RELEASE(&search.mem, search.roots, search.roots_capacity);
    ask_valgrind();
    rb_heapprof_gc_end_own_work(own_work);
    return error;
}
