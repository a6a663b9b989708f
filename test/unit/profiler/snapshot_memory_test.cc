// snapshot_memory_test.cc - taking a snapshot when memory runs out. The C library's mapping
// functions are replaced for this program by ones that refuse the request a test asks them
// to; each request of a snapshot is refused in turn.

#include <gtest/gtest.h>

#include "test/unit/support/refusing.h"
#include "test/unit/support/take_snapshot.h"

extern "C" {
#include "profiler/snapshot.h"
}

namespace {

#if HEAPPROF_MEM_GUARD
const long kGuardBytes = 4096; // behind each block; charged to nobody
#else
const long kGuardBytes = 0;
#endif

size_t refused;
bool watching;
long mapped_bytes; // taken and not given back while watching

REPLACEMENT bool
Refuse()
{
    bool refuse = RefuseP();
    refused += refuse;
    return refuse;
}

REPLACEMENT void *
Count(void *pages, long bytes)
{
    if (watching && pages != MAP_FAILED) mapped_bytes += bytes;
    return pages;
}

} // namespace

extern "C" {

REPLACEMENT void *
mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) noexcept
{
    if (Refuse()) return MAP_FAILED;
    return Count(MapPages(address, bytes, protection, flags, file, offset),
                 static_cast<long>(bytes) - kGuardBytes);
}

REPLACEMENT void *
mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...) noexcept
{
    if (Refuse()) return MAP_FAILED;
    long pages = syscall(SYS_mremap, old, old_bytes, bytes, flags);
    return Count(reinterpret_cast<void *>(pages), static_cast<long>(bytes - old_bytes));
}

REPLACEMENT int
munmap(void *pages, size_t bytes) noexcept
{
    if (watching) mapped_bytes -= static_cast<long>(bytes) - kGuardBytes;
    return static_cast<int>(syscall(SYS_munmap, pages, bytes));
}

} // extern "C"

namespace {

// Tables whose rows need several growths.
struct Tables {
    heapprof_mem mem;
    heapprof_tables tables;

    Tables()
    {
        rb_heapprof_mem_init(&mem, SIZE_MAX);
        static uint8_t block_filter[HEAPPROF_BLOCK_FILTER_SIZE];
        rb_heapprof_tables_init(&tables, &mem, block_filter);

        heapprof_function function = {};
        function.origin = 1;
        function.name = rb_heapprof_strings_intern(&tables.strings, "f", 1);
        uint32_t number = rb_heapprof_functions_add(&tables.functions, &function);
        uint32_t head = 0;
        for (uint32_t line = 1; line <= 1000; line++) {
            uint32_t stack = rb_heapprof_stacks_push(&tables.stacks, 0, number, line);
            uint32_t site = rb_heapprof_sites_intern(&tables.sites, stack, 0, 0);
            heapprof_sample sample = { site, 0, 1, 40, 40 };
            rb_heapprof_sites_count_alloc(&tables.sites, sample.site, 1, 40);
            rb_heapprof_live_table_add(&tables.live, &head, 40 * line, &sample);
        }
        for (uint32_t line = 1; line <= 1000; line++) {
            uint32_t stack = rb_heapprof_stacks_push(&tables.stacks, 0, number, line);
            heapprof_piece piece = {};
            piece.site = rb_heapprof_sites_intern(&tables.sites, stack, HEAPPROF_SITE_OF_BLOCKS, 0);
            piece.asked_bytes = 64;
            piece.weight = 1;
            rb_heapprof_sites_count_alloc(&tables.sites, piece.site, 1, 64);
            rb_heapprof_blocks_add(&tables.blocks, 64 * line, &piece);
        }
    }
};

heapprof_snapshot *
TakeWithRefusalOf(const heapprof_tables *tables, long request)
{
    heapprof_facts facts = {};
    requests_left = request;
    heapprof_snapshot *snapshot = TakeSnapshot(tables, &facts, nullptr);
    requests_left = -1;
    return snapshot;
}

TEST(SnapshotMemory, EveryRefusalGivesNullAndTheMemoryBack)
{
    static Tables tables;
    watching = true;
    heapprof_snapshot *snapshot;
    long request = 0;
    while (!(snapshot = TakeWithRefusalOf(&tables.tables, request))) {
        EXPECT_EQ(0, mapped_bytes) << request;
        request++;
        ASSERT_EQ(static_cast<size_t>(request), refused);
    }
    EXPECT_GT(request, 10); // 5 copies, 4 for adding up, and the rows' growths
    EXPECT_EQ(2000u, snapshot->row_count);
    EXPECT_EQ(static_cast<size_t>(mapped_bytes), snapshot->mem.used_bytes);
    rb_heapprof_snapshot_free(snapshot);
    EXPECT_EQ(0, mapped_bytes);
    watching = false;
}

// Of empty tables, so that each array has to grow for the rows of the rest.
heapprof_snapshot *
TakeRestWithRefusalOf(long request)
{
    static heapprof_mem mem;
    static heapprof_tables tables;
    static uint8_t block_filter[HEAPPROF_BLOCK_FILTER_SIZE];
    heapprof_facts facts = {};
    heapprof_ladder ladder = {};
    ladder.rss = ladder.free_slots = 1;

    rb_heapprof_mem_init(&mem, SIZE_MAX);
    rb_heapprof_tables_init(&tables, &mem, block_filter);
    heapprof_snapshot *snapshot = TakeSnapshot(&tables, &facts, nullptr);
    requests_left = request;
    bool added = rb_heapprof_ladder_add_rows(snapshot, &ladder);
    requests_left = -1;
    if (added) return snapshot;
    rb_heapprof_snapshot_free(snapshot);
    return nullptr;
}

TEST(SnapshotMemory, EveryRefusalOfARowForTheRestIsFalse)
{
    heapprof_snapshot *snapshot;
    long request = 0;
    watching = true;
    while (!(snapshot = TakeRestWithRefusalOf(request))) {
        EXPECT_EQ(0, mapped_bytes) << request;
        request++;
    }
    EXPECT_EQ(3, request); // functions, stacks and rows; strings have room
    EXPECT_EQ(1u, snapshot->row_count);
    rb_heapprof_snapshot_free(snapshot);
    EXPECT_EQ(0, mapped_bytes);
    watching = false;
}

} // namespace
