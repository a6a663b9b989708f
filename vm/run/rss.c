/* rss.c - measures what the resident memory of the process consists of. profiler/ladder.h adds it
 * up.
 *
 *     heap pages, in slices ─ smaps ─ malloc ─ threads' stacks ─ our own tables ─ libraries' zeroed data
 *
 * Nothing here asks the allocator for memory or makes a Ruby object. The numbers can disagree
 * only by what other threads do between two slices, or without the GVL.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "ruby/thread.h"
#include "vm/run/rss.h"
#include "vm/names/fiber.h"
#include "vm/names/symbols.h"
#include "gc/book/state.h"
#include "os/allocator.h"
#include "os/resident.h"
#include "os/smaps.h"
#include "internal/cont.h"
#include "ractor_core.h"
#include "vm/thread/others.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <link.h>

/* ---- stacks ---- */

static bool
within_p(struct heapprof_range range, uintptr_t address)
{
    return range.begin <= address && address < range.end;
}

/* Whether the VM stack is a block of the allocator. Threads of shared native threads (M:N) have
 * it beside their machine stacks instead. */
static bool
block_stack_p(const rb_thread_t *th, const rb_execution_context_t *ec)
{
    return !th->sched.context_stack || th->sched.context_stack == (void *)ec->vm_stack;
}

/* Adds a thread's own stacks, whichever fiber it runs. */
static void
add_thread(struct heapprof_measured *measured, struct heapprof_range main_stack,
           const rb_thread_t *th)
{
    struct rb_fiber_struct *root = th->root_fiber ? th->root_fiber : th->ec->fiber_ptr;
    const rb_execution_context_t *ec = rb_fiberptr_get_ec(root);
    struct heapprof_range machine = rb_heapprof_fiber_machine_stack(ec);
    if (!ec->vm_stack || !machine.end) return;

    if (!within_p(main_stack, machine.end - 1))
        measured->stacks += rb_heapprof_resident_bytes(machine.begin, machine.end - machine.begin);
    size_t bytes =
        rb_heapprof_resident_bytes((uintptr_t)ec->vm_stack, rb_heapprof_fiber_vm_stack_bytes(ec));
    if (block_stack_p(th, ec)) {
        measured->block_stacks += bytes;
        measured->code.vm_stacks += rb_heapprof_fiber_vm_stack_bytes(ec);
    }
    else {
        measured->stacks += bytes;
    }
}

static void
add_threads(struct heapprof_measured *measured, struct heapprof_range main_stack)
{
    rb_ractor_t *ractor;
    rb_thread_t *th;

    ccan_list_for_each(&GET_VM()->ractor.set, ractor, vmlr_node) {
        ccan_list_for_each(&ractor->threads.set, th, lt_node) {
            add_thread(measured, main_stack, th);
        }
    }
}

/* ---- libraries ---- */

/* Zeroed data of a library: anonymous memory behind the pages of its file. */
static int
add_bss_i(struct dl_phdr_info *library, size_t size, void *data)
{
    struct heapprof_measured *measured = data;
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);

    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
        uintptr_t begin = library->dlpi_addr + segment->p_vaddr;
        uintptr_t file_end = (begin + segment->p_filesz + page_bytes - 1) / page_bytes * page_bytes;
        uintptr_t end = begin + segment->p_memsz;
        if (segment->p_type != PT_LOAD || end <= file_end) continue;
        measured->bss += rb_heapprof_resident_bytes(file_end, end - file_end);
    }
    return 0;
}

/* ---- blocks ---- */

static uint64_t
smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Blocks from before the start that are still there, and blocks that did not come from xmalloc. */
static uint64_t
other_blocks(const struct heapprof_measured *measured)
{
    const struct heapprof_code *now = &measured->code;
    const struct heapprof_code *before = rb_heapprof_on ? &rb_heapprof.run.before : now;

    return smaller(now->iseqs, before->iseqs) + smaller(now->method_tables, before->method_tables) +
           smaller(now->symbols, before->symbols) + smaller(now->vm_stacks, before->vm_stacks) +
           measured->page_descriptors;
}

/* Bytes in use, as the samples estimate them. */
static uint64_t
sampled_blocks(void)
{
    double bytes;

    if (!rb_heapprof_on) return 0;
    rb_heapprof_gc_lock_blocks();
    bytes = rb_heapprof_blocks_in_use(&rb_heapprof.tables.blocks);
    rb_heapprof_gc_unlock_blocks();
    return (uint64_t)bytes;
}

/* ---- all of it ---- */

const struct heapprof_measured *rb_heapprof_rss_given;

void
rb_heapprof_rss_measure_outside(struct heapprof_measured *measured, bool with_allocator)
{
    if (!rb_heapprof_smaps_read(&measured->mappings)) measured->mappings.rss = 0;
    if (with_allocator) measured->allocator = rb_heapprof_allocator_read();
}

static void *
read_outside(void *data)
{
    struct heapprof_measured *measured = data;

    if (!rb_heapprof_rss_given) rb_heapprof_rss_measure_outside(measured, true);
    else {
        measured->mappings = rb_heapprof_rss_given->mappings;
        measured->allocator = rb_heapprof_rss_given->allocator;
    }
    return NULL;
}

/* Slow: the kernel looks at each page of the process, and the allocator at each of its free
 * blocks. */
static bool
read_process(struct heapprof_measured *measured, const struct heapprof_others *others)
{
    if (others) others->beside(read_outside, measured);
    if (measured->mappings.rss == 0) read_outside(measured);
    return measured->mappings.rss > 0;
}

static void
measure(struct heapprof_measured *measured, const struct heapprof_snapshot *snapshot,
        const struct heapprof_pages *pages)
{
    measured->sampled_blocks = sampled_blocks();
    measured->slots = pages->slots;
    measured->free_slots = pages->free_slots;
    measured->page_padding = pages->padding;
    measured->page_descriptors = pages->descriptors;
    measured->code = pages->code;
    measured->stacks = pages->fiber_stacks;
    add_threads(measured, (struct heapprof_range){measured->mappings.main_stack_begin,
                                         measured->mappings.main_stack_end});
    measured->other_blocks = other_blocks(measured);
    if (rb_heapprof_on) measured->profiler = rb_heapprof_resident_mem_bytes(&rb_heapprof.mem);
    measured->profiler += rb_heapprof_symbols_bytes();
    if (snapshot && !rb_heapprof_rss_given) /* else it is the copy's, which is not measured */
        measured->profiler += rb_heapprof_resident_mem_bytes(&snapshot->mem);
    dl_iterate_phdr(add_bss_i, measured);
}

/* Returns false, with nothing measured, if the kernel does not give the numbers. */
static bool
build(struct heapprof_ladder *ladder, const struct heapprof_snapshot *snapshot,
      const struct heapprof_pages *pages, const struct heapprof_others *others)
{
    struct heapprof_measured measured = {0};

    if (!read_process(&measured, others)) return false;
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    measure(&measured, snapshot, pages);
    RB_VM_LOCK_LEAVE();
    *ladder = rb_heapprof_ladder_build(&measured);
    return true;
}

struct heapprof_code
rb_heapprof_rss_code(void)
{
    struct heapprof_pages pages = {0};

    while (rb_heapprof_gc_pages_slice(&pages)) continue;
    struct heapprof_measured measured = {.code = pages.code};
    add_threads(&measured, (struct heapprof_range){0});
    return measured.code;
}

bool
rb_heapprof_rss_slice(struct heapprof_pages *pages)
{
    bool more;

    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    more = rb_heapprof_gc_pages_slice(pages);
    RB_VM_LOCK_LEAVE();
    return more;
}

void
rb_heapprof_rss_add(struct heapprof_snapshot **snapshot, const struct heapprof_pages *pages,
                    const struct heapprof_others *others)
{
    struct heapprof_ladder ladder;

    if (!build(&ladder, *snapshot, pages, others)) return;
    if (rb_heapprof_ladder_add_rows(*snapshot, &ladder)) return;
    rb_heapprof_snapshot_free(*snapshot);
    *snapshot = NULL;
}

void
rb_heapprof_rss_measure(struct rb_heapprof_rss *rss)
{
    struct heapprof_ladder ladder = {0};
    struct heapprof_pages pages = {0};

    while (rb_heapprof_rss_slice(&pages)) continue;
    build(&ladder, NULL, &pages, NULL);

    rss->rss = ladder.rss;
    rss->absent = ladder.absent_blocks;
#define COPY_RUNG(name, title) rss->name = ladder.name;
    HEAPPROF_RUNGS(COPY_RUNG)
#undef COPY_RUNG
}
