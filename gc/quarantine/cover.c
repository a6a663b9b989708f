/* cover.c - makes dead objects inaccessible, as a museum covers what nobody may touch. Compiled
 * inside gc.c.
 *
 * Under Valgrind, Valgrind is told of each slot. It reports each access, and the program goes on
 * with what the slot contains. So the class of the object stays there, and what says how it is laid
 * out. The flags stay accessible: walkers read them (T_ZOMBIE).
 *
 * Without it, the kernel is told (mprotect), page of memory by page of memory:
 *
 *     heap page, 64 KB    | header ... |  dead  |  dead  | alive, dead |  dead  | ...
 *     pages of memory          0           1        2          3           4
 *     covered                                --------                  --------
 *
 *   I1  a page of memory is covered only if each slot that it has a part of is held back. Page 0 is
 *       never covered: the collector reads the header.
 *   I2  covered bits are set for pages that are inaccessible. While MRI compacts, it makes pages
 *       accessible that it walks over; they are covered again when the sweep ends.
 *
 * The first access is a fault (gc/uses/fault.c). Then the page stays accessible until the next GC
 * has marked, or has swept. So the program goes on.
 *
 * The collector itself reads dead objects: what looks like a reference on a machine stack, all
 * objects when it has compacted, neighbours when it frees one. So do walks. The handler of the
 * fault knows that by touch, and lets them go on.
 *
 * The kernel allows a process some 65,530 mappings (vm.max_map_count). A range of covered pages
 * costs two. At most half of them are used: what is covered no more is counted.
 *
 * In a GC, or under the VM lock; touch in a handler of SIGSEGV, on any thread.
 */
#include "gc/interpreter.h"
#include "gc/quarantine/quarantine.h"
#include "gc/book/walk.h"
#include "os/memory_limit.h"
#include <sys/mman.h>
#include <unistd.h>

#ifdef HAVE_VALGRIND_MEMCHECK_H
# include <valgrind/memcheck.h>
#endif
#ifndef RUNNING_ON_VALGRIND
# define RUNNING_ON_VALGRIND 0
#endif
#ifndef VALGRIND_MAKE_MEM_NOACCESS
# define VALGRIND_MAKE_MEM_NOACCESS(memory, bytes) 0
#endif

#define MAPS_USUAL 65530
#define MAPS_SHARE 4     /* a range of two mappings for each so many */

static struct {
    bool     by_page;      /* mprotect is used */
    bool     by_nothing;   /* it is wanted, and cannot be */
    size_t   page_bytes;   /* of a page of memory */
    size_t   ranges, most; /* of covered pages next to each other */
    size_t   compactions;  /* of MRI, when the pages were last looked at */
    bool     again;        /* some pages were made accessible, and are to be covered again */
} covers;

/* ---- pages of memory, as bits ---- */

/* Those that a slot has a part of. */
HEAPPROF_COLD static uint32_t
memory_pages_of(const struct heap_page *page, VALUE slot)
{
    uintptr_t offset = slot - (uintptr_t)page->body;
    uintptr_t first = offset / covers.page_bytes;
    uintptr_t last = (offset + (uintptr_t)page->slot_size - 1) / covers.page_bytes;

    return (UINT32_C(2) << last) - (UINT32_C(1) << first);
}

struct pages_of_slots {
    const struct heap_page *page;
    uint32_t pages;
};

HEAPPROF_COLD static void
add_pages_i(VALUE slot, void *data)
{
    struct pages_of_slots *sum = data;
    sum->pages |= memory_pages_of(sum->page, slot);
}

/* Those that the slots with a bit have a part of. */
HEAPPROF_COLD static uint32_t
memory_pages_of_bits(const struct heap_page *page, const bits_t bits[HEAP_PAGE_BITMAP_LIMIT])
{
    struct pages_of_slots sum = { .page = page };

    each_slot(page, bits, add_pages_i, &sum);
    return sum.pages;
}

HEAPPROF_COLD static uint32_t
all_memory_pages(void)
{
    return (uint32_t)((UINT64_C(1) << HEAP_PAGE_SIZE / covers.page_bytes) - 1);
}

HEAPPROF_COLD static uint32_t
ranges_of(uint32_t pages)
{
    return (uint32_t)__builtin_popcount(pages & ~(pages << 1));
}

/* ---- covering ---- */

/* Returns false if the kernel refuses, for a part or for all. */
HEAPPROF_COLD static bool
protect_pages(const struct heap_page *page, uint32_t pages, int protection)
{
    bool done = true;

    while (pages) {
        int first = __builtin_ctz(pages);
        int count = __builtin_ctzll(~((uint64_t)pages >> first));
        done = mprotect((char *)page->body + (size_t)first * covers.page_bytes,
                        (size_t)count * covers.page_bytes, protection) == 0 && done;
        pages &= (uint32_t)~(((UINT64_C(1) << count) - 1) << first);
    }
    return done;
}

/* The handler of faults changes covered bits, but not this count. */
HEAPPROF_COLD static void
count_ranges(struct held_page *held, uint32_t covered)
{
    uint32_t ranges = ranges_of(covered);

    covers.ranges += ranges;
    covers.ranges -= held->ranges;
    held->ranges = ranges;
}

HEAPPROF_COLD static uint32_t
covered_of(const struct held_page *held)
{
    return __atomic_load_n(&held->covered, __ATOMIC_RELAXED);
}

/* Makes pages accessible. */
HEAPPROF_COLD static void
uncover_pages(struct held_page *held, uint32_t pages)
{
    uint32_t covered = __atomic_fetch_and(&held->covered, ~pages, __ATOMIC_RELAXED);

    protect_pages(held->page, covered & pages, PROT_READ | PROT_WRITE);
}

/* Pages of memory on which no slot is in use (I1). */
HEAPPROF_COLD static uint32_t
coverable_pages(const struct held_page *held)
{
    return all_memory_pages() & ~1 & ~memory_pages_of_bits(held->page, held->open);
}

/* Covers all that may be covered of a heap page. */
HEAPPROF_COLD static void
cover_page(struct held_page *held)
{
    if (!covers.by_page || held->page->heapprof.walkers) return;
    uint32_t before = covered_of(held);
    uint32_t pages = coverable_pages(held);
    uint32_t ranges = ranges_of(before | pages);

    count_ranges(held, before);
    if (!(pages & ~before) || covers.ranges - held->ranges + ranges > covers.most) return;
    if (!protect_pages(held->page, pages & ~before, PROT_NONE)) {
        protect_pages(held->page, pages & ~before, PROT_READ | PROT_WRITE);
        return;
    }
    __atomic_fetch_or(&held->covered, pages, __ATOMIC_RELAXED);
    count_ranges(held, before | pages);
}

/* All of a heap page, by one call. */
HEAPPROF_COLD static void
uncover_page(struct held_page *held)
{
    if (__atomic_exchange_n(&held->covered, 0, __ATOMIC_RELAXED))
        mprotect(held->page->body, HEAP_PAGE_SIZE, PROT_READ | PROT_WRITE);
}

/* A slot that was just held back. Without Valgrind, cover_page covers all of a heap page. */
HEAPPROF_COLD static void
cover_slot(const struct heap_page *page, VALUE slot)
{
    (void)VALGRIND_MAKE_MEM_NOACCESS((void *)(slot + sizeof(VALUE)),
                                     (size_t)page->slot_size - sizeof(VALUE));
}

/* A slot that is about to be given back. Without Valgrind, its page was uncovered. */
HEAPPROF_COLD static void
uncover_slot(const struct held_page *held, VALUE slot)
{
    (void)VALGRIND_MAKE_MEM_DEFINED((void *)slot, (size_t)held->page->slot_size);
}

/* A GC has marked, or has swept: what was touched is covered again. What MRI has made accessible
 * when it compacted is covered as the bits say. */
HEAPPROF_COLD static void
rb_heapprof_quarantine_cover_again(rb_objspace_t *objspace)
{
    bool compacted = objspace->profile.compact_count != covers.compactions;

    if (!covers.by_page || objspace->flags.during_compacting || (!covers.again && !compacted))
        return;
    covers.again = false;
    covers.compactions = objspace->profile.compact_count;
    for (uint32_t i = 1; i < held_pages.end; i++) {
        struct held_page *held = &held_pages.all[i];
        if (!held->page) continue;
        if (compacted) protect_pages(held->page, covered_of(held), PROT_NONE);
        cover_page(held);
    }
}

/* ---- a walk over all objects ---- */

HEAPPROF_COLD static void
rb_heapprof_quarantine_walk(struct heap_page **walked, struct heap_page *page)
{
    if (*walked == page) return;
    if (*walked) {
        struct held_page *held = held_of(*walked);
        (*walked)->heapprof.walkers--;
        if (held) cover_page(held);
    }
    *walked = page;
    if (!page) return;
    page->heapprof.walkers++;
    if (held_of(page)) uncover_page(held_of(page));
}

/* ---- touching ---- */

/* Without a GC, too, MRI marks to tell what is reachable: also what a machine stack seems to lead
 * to. */
HEAPPROF_COLD static bool
collector_looks_p(const rb_objspace_t *objspace)
{
    const rb_vm_t *vm = GET_VM();

    return during_gc || (vm && vm->gc.mark_func_data) || heap_is_walked ||
           heapprof_thread.own_work || rb_heapprof_sequence.depth > 0;
}

HEAPPROF_COLD static enum touch
touch(uintptr_t address)
{
    struct heap_page_body *body = GET_PAGE_BODY(address);
    const struct heap_page *page = covers.by_page ? walk_page_after((uintptr_t)body - 1) : NULL;
    struct held_page *held = page && page->body == body ? held_of(page) : NULL;

    if (!held) return TOUCHED_ELSEWHERE;
    covers.again = true;
    if (collector_looks_p(rb_gc_get_objspace())) {
        uncover_page(held);
        return TOUCHED_BY_COLLECTOR;
    }
    uint32_t touched = UINT32_C(1) << (address - (uintptr_t)body) / covers.page_bytes;
    if (covered_of(held) & touched) {
        uncover_pages(held, touched);
        return TOUCHED_BY_PROGRAM;
    }
    protect_pages(page, touched, PROT_READ | PROT_WRITE);
    return TOUCHED_BY_COLLECTOR;
}

/* ---- on and off ---- */

HEAPPROF_COLD static void
covers_start(void)
{
    const rb_objspace_t *objspace = rb_gc_get_objspace();

    memset(&covers, 0, sizeof(covers));
    covers.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    covers.compactions = objspace->profile.compact_count;
    covers.most = rb_heapprof_kernel_number("/proc/sys/vm/max_map_count", MAPS_USUAL) / MAPS_SHARE;
    bool wanted = rb_heapprof.run.options.memcheck && !RUNNING_ON_VALGRIND;
    covers.by_page = wanted && HEAP_PAGE_ALLOC_USE_MMAP && covers.page_bytes < HEAP_PAGE_SIZE;
    covers.by_nothing = wanted && !covers.by_page;
}

/* Heap pages side by side. */
struct side_by_side {
    char  *begin;
    size_t bytes;
};

HEAPPROF_COLD static void
make_accessible(const struct side_by_side *pages)
{
    if (pages->bytes > 0) mprotect(pages->begin, pages->bytes, PROT_READ | PROT_WRITE);
}

/* One call for all heap pages side by side: each range by itself would take ten times as long. */
HEAPPROF_COLD static void
uncover_all_i(const struct heap_page *page, void *data)
{
    struct side_by_side *pages = data;
    struct held_page *held = held_of(page);

    if (held) held->covered = 0;
    if (pages->begin + pages->bytes != (char *)page->body) {
        make_accessible(pages);
        *pages = (struct side_by_side){ .begin = (char *)page->body };
    }
    pages->bytes += HEAP_PAGE_SIZE;
}

HEAPPROF_COLD static void
covers_stop(void)
{
    struct side_by_side pages = { .bytes = 0 };

    if (!covers.by_page) return;
    walk_pages(uncover_all_i, &pages);
    make_accessible(&pages);
    covers.by_page = false;
}
