// snapshot_threads_test.cc - snapshots are read, encoded and freed by several threads at once,
// none of which holds the GVL, while the tables they were copied from change. And their stacks are
// copied while they do.
//
// Between the threads of a round there is no lock and no order but start and end: whatever a
// snapshot shared with the tables, or two encoders with each other, is a race that
// ThreadSanitizer (make check-tsan) reports. In any build the bytes tell whether a snapshot
// stayed as it was.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/unit/support/table_testing.h"
#include "test/unit/support/take_snapshot.h"

extern "C" {
#include "pprof/gzip.h"
#include "profiler/pprof.h"
}

namespace {

constexpr int kRounds = 4;
constexpr int kWriters = 4;
constexpr int kSnapshots = 3;   // in each round; every writer writes all of them
constexpr int kChanges = 300;   // before each snapshot, and while each is written

using SharedSnapshot = std::shared_ptr<heapprof_snapshot>;

// The profiler's tables, and what a program does to them.
class ChangingTables {
  public:
    explicit ChangingTables(uint64_t seed) : choose_(seed)
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_tables_init(&tables_, &mem_, block_filter_);
    }

    ~ChangingTables()
    {
        rb_heapprof_tables_free(&tables_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    // So many times something is allocated, freed, moved, renamed, or made room for.
    void
    Change(int times)
    {
        for (; times > 0; times--) {
            switch (choose_.Below(12)) {
              case 0: Free(); break;
              case 1: Move(); break;
              case 2: Rename(); break;
              case 3: choose_.OneIn(50) ? MakeRoom() : Allocate(); break;
              case 4: FreeBlock(); break;
              case 5: MoveBlock(); break;
              case 6: case 7: AllocateBlock(); break;
              default: Allocate(); break;
            }
        }
    }

    SharedSnapshot
    Take() const
    {
        heapprof_facts facts = {};
        facts.gc_count = 20;
        return SharedSnapshot(TakeSnapshot(&tables_, &facts, nullptr),
                              rb_heapprof_snapshot_free);
    }

    // The same, but another thread copies the stacks while so many things happen.
    SharedSnapshot
    TakeBeside(int changes)
    {
        heapprof_facts facts = {};
        facts.gc_count = 20;
        heapprof_copies *copies = copies_ = rb_heapprof_copies_begin(&tables_, &facts, nullptr);
        rb_heapprof_copies_follow(copies, &tables_);
        std::thread copier([copies] { rb_heapprof_copies_copy_beside(copies); });
        Change(changes);
        copier.join();
        CopyRest();
        return SharedSnapshot(rb_heapprof_copies_add_up(copies), rb_heapprof_snapshot_free);
    }

    void
    Check() const
    {
        rb_heapprof_tables_check(&tables_);
    }

  private:
    Choices choose_;
    heapprof_mem mem_;
    heapprof_tables tables_;
    uint8_t block_filter_[HEAPPROF_BLOCK_FILTER_SIZE] = {};
    uint32_t head_ = 0, class_head_ = 0; // there is one heap page
    uintptr_t last_address_ = 0x10000;
    heapprof_copies *copies_ = nullptr; // being made

    uint32_t
    String(const char *prefix)
    {
        std::string text = prefix + std::to_string(choose_.Below(5000));
        return rb_heapprof_strings_intern(&tables_.strings, text.data(), text.size());
    }

    uint32_t
    Function()
    {
        heapprof_function function = {};
        function.origin = HEAPPROF_ORIGIN_C | choose_.Below(3000);
        uint32_t known = rb_heapprof_functions_find(&tables_.functions, function.origin, 0);
        if (known) return known;
        function.name = String("f");
        function.path = String("/f");
        return rb_heapprof_functions_add(&tables_.functions, &function);
    }

    uint32_t
    Class()
    {
        heapprof_identities *identities = &tables_.identities;
        if (identities->numbers.end > 200) {
            return 1 + static_cast<uint32_t>(choose_.Below(identities->numbers.end - 1));
        }
        uint32_t id = rb_heapprof_identities_add(identities, &class_head_, last_address_ += 40);
        identities->all[id].name = String("C");
        return id;
    }

    uint32_t
    Stack()
    {
        uint32_t stack = 0;
        for (uint64_t depth = 1 + choose_.Below(8); depth > 0; depth--) {
            uint32_t line = static_cast<uint32_t>(choose_.Below(4));
            stack = rb_heapprof_stacks_push(&tables_.stacks, stack, Function(), line);
        }
        return stack;
    }

    // Of few, so that the next is often of the same block.
    uintptr_t
    BlockAddress()
    {
        return 0x7f0000 + 16 * choose_.Below(300);
    }

    void
    AllocateBlock()
    {
        heapprof_piece piece = {};
        uintptr_t address = BlockAddress();
        piece.site = rb_heapprof_sites_intern(&tables_.sites, Stack(),
                                              Class() | HEAPPROF_SITE_OF_BLOCKS, 0);
        piece.birth_gc = static_cast<uint32_t>(choose_.Below(20));
        piece.begin = choose_.OneIn(2) ? 0 : 1 + choose_.Below(5000);
        piece.asked_bytes = 1 + choose_.Below(5000);
        piece.weight = 1;
        rb_heapprof_sites_count_alloc(&tables_.sites, piece.site, 1, piece.asked_bytes);
        rb_heapprof_blocks_add(&tables_.blocks, address, &piece);
    }

    void
    FreeBlock()
    {
        rb_heapprof_blocks_remove(&tables_.blocks, BlockAddress());
        while (uint32_t site = rb_heapprof_blocks_take_retired(&tables_.blocks)) {
            rb_heapprof_sites_count_free(&tables_.sites, site);
        }
    }

    void
    MoveBlock()
    {
        uintptr_t from = BlockAddress(), to = BlockAddress();
        uint32_t lifted = rb_heapprof_blocks_lift(&tables_.blocks, from);
        if (!lifted) return;
        rb_heapprof_blocks_put(&tables_.blocks, lifted, to);
        rb_heapprof_blocks_cut(&tables_.blocks, to, choose_.Below(10000));
    }

    void
    Allocate()
    {
        uint32_t stack = Stack();
        heapprof_sample sample = {};
        sample.site = rb_heapprof_sites_intern(&tables_.sites, stack, Class(), 0);
        sample.birth_gc = static_cast<uint32_t>(choose_.Below(20));
        sample.birth_bytes = sample.slot_bytes = 40;
        sample.weight = 1;
        rb_heapprof_sites_count_alloc(&tables_.sites, sample.site, 1, 40);
        rb_heapprof_live_table_add(&tables_.live, &head_, last_address_ += 40, &sample);
    }

    // The entry of some live sample, 0 if the one asked for is not alive.
    uint32_t
    SomeEntry()
    {
        const heapprof_address_table *addresses = &tables_.live.addresses;
        uint32_t entry = static_cast<uint32_t>(choose_.Below(addresses->numbers.end));
        return entry && rb_heapprof_address_table_address(addresses, entry) ? entry : 0;
    }

    void
    Free()
    {
        uint32_t entry = SomeEntry();
        if (!entry) return;
        rb_heapprof_sites_count_free(&tables_.sites,
                                     rb_heapprof_live_table_sample(&tables_.live, entry)->site);
        rb_heapprof_address_table_remove(&tables_.live.addresses, &head_, entry);
    }

    void
    Move()
    {
        uint32_t entry = SomeEntry();
        if (!entry) return;
        rb_heapprof_address_table_move(&tables_.live.addresses, entry, &head_, &head_,
                                       last_address_ += 40);
    }

    void
    Rename()
    {
        if (tables_.functions.numbers.count == 0) return;
        uint32_t number = 1 + static_cast<uint32_t>(choose_.Below(tables_.functions.numbers.count));
        rb_heapprof_numbers_change(&tables_.functions.numbers, number);
        rb_heapprof_functions_get(&tables_.functions, number)->name = String("g");
    }

    void
    CopyRest()
    {
        while (copies_ && rb_heapprof_copies_step(copies_, false)) continue;
        copies_ = nullptr;
    }

    void
    MakeRoom()
    {
        CopyRest();
        rb_heapprof_sites_fold(&tables_.sites);
        rb_heapprof_stacks_trim(&tables_.stacks);
    }
};

std::string
Take(char *block, size_t size)
{
    std::string bytes(block ? block : "", size);
    free(block);
    return bytes;
}

std::string
Write(const heapprof_snapshot *snapshot)
{
    size_t size = 0;
    char *block = rb_heapprof_pprof_encode(snapshot, "/opt/bin/ruby", "c0ffee", &size);
    std::string message = Take(block, size);
    block = rb_heapprof_gzip(message.data(), message.size(), &size);
    return Take(block, size);
}

// All frames of all rows, added up.
uint64_t
Read(const heapprof_snapshot *snapshot)
{
    uint64_t sum = rb_heapprof_snapshot_memsize(snapshot);
    for (size_t i = 0; i < snapshot->row_count; i++) {
        heapprof_frame frames[8];
        size_t count = rb_heapprof_snapshot_frames(snapshot, snapshot->rows[i].stack, frames, 8);
        for (size_t f = 0; f < count && f < 8; f++) {
            size_t length;
            rb_heapprof_strings_get(&snapshot->strings, frames[f].name, &length);
            sum += length + frames[f].line;
        }
    }
    return sum;
}

struct Expected {
    SharedSnapshot snapshot;
    std::string file;
    uint64_t sum;
};

TEST(SnapshotThreads, SnapshotsAreWrittenWhileTheirTablesChange)
{
    ChangingTables tables(90);
    for (int round = 0; round < kRounds; round++) {
        std::vector<Expected> expected;
        for (int i = 0; i < kSnapshots; i++) {
            tables.Change(kChanges);
            SharedSnapshot snapshot = tables.Take();
            expected.push_back({snapshot, Write(snapshot.get()), Read(snapshot.get())});
            ASSERT_FALSE(expected.back().file.empty());
        }

        std::atomic<int> wrong(0);
        std::vector<std::thread> writers;
        for (int i = 0; i < kWriters; i++) {
            // Each writer has a share in the snapshots: who is done last frees them.
            writers.emplace_back([expected, &wrong]() mutable {
                for (Expected &each : expected) {
                    if (Write(each.snapshot.get()) != each.file) wrong++;
                    if (Read(each.snapshot.get()) != each.sum) wrong++;
                    each.snapshot.reset();
                }
            });
        }
        expected.clear();
        for (int i = 0; i < kSnapshots; i++) {
            tables.Change(kChanges);
            tables.Take(); // and is freed at once
        }
        for (std::thread &writer : writers) writer.join();
        EXPECT_EQ(0, wrong.load());
        tables.Check();
    }
}

// Free nodes are handed out again, their array grows, and at times all is copied at once.
TEST(SnapshotThreads, StacksAreCopiedWhileTheTablesChange)
{
    ChangingTables tables(91);
    for (int round = 0; round < kRounds; round++) {
        tables.Change(20 * kChanges);
        std::string expected = Write(tables.Take().get());
        EXPECT_EQ(expected, Write(tables.TakeBeside(3 * kChanges).get())) << round;
        tables.Check();
    }
}

} // namespace
