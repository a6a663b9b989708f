// snapshot_builder.h - makes snapshots for tests: fills the profiler's tables as the collector
// would, sample by sample, and takes a snapshot of them.

#ifndef HEAPPROF_SNAPSHOT_BUILDER_H
#define HEAPPROF_SNAPSHOT_BUILDER_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "test/unit/support/take_snapshot.h"

extern "C" {
#include "profiler/snapshot.h"
#include "profiler/tables.h"
}

using Snapshot = std::unique_ptr<heapprof_snapshot, decltype(&rb_heapprof_snapshot_free)>;

class SnapshotBuilder {
  public:
    struct Frame {
        uint32_t function;
        uint32_t line;
    };

    heapprof_facts facts = {};
    size_t memsize = 0; // of each live object

    SnapshotBuilder()
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_tables_init(&tables_, &mem_, block_filter_);
        facts.interval_bytes = 524288;
        facts.gc_count = 100;
    }

    ~SnapshotBuilder()
    {
        rb_heapprof_tables_free(&tables_);
    }

    SnapshotBuilder(const SnapshotBuilder &) = delete;
    SnapshotBuilder &operator=(const SnapshotBuilder &) = delete;

    // A function of its own, even when name and path are those of another.
    uint32_t
    Function(const std::string &name, const std::string &path = "/app/main.rb",
             uint32_t first_line = 1)
    {
        return AddFunction(name, String(path), first_line, false);
    }

    // A C function: shown where it was called.
    uint32_t
    CFunction(const std::string &name)
    {
        return AddFunction(name, 0, 0, true);
    }

    // A stack, from the outermost frame to the innermost.
    uint32_t
    Stack(const std::vector<Frame> &frames)
    {
        uint32_t stack = 0;
        for (const Frame &frame : frames) {
            stack = rb_heapprof_stacks_push(&tables_.stacks, stack, frame.function, frame.line);
        }
        return stack;
    }

    uint32_t
    UnnamedClass()
    {
        return rb_heapprof_identities_add(&tables_.identities, &class_head_, NextAddress());
    }

    uint32_t
    Class(const std::string &name)
    {
        uint32_t id = UnnamedClass();
        tables_.identities.all[id].name = String(name);
        return id;
    }

    // A C function that asks the allocator.
    uint32_t
    UnnamedCaller()
    {
        uint32_t no_page = 0;
        return rb_heapprof_identities_add(&tables_.identities, &no_page,
                                          rb_heapprof_callers_key(NextAddress()));
    }

    uint32_t
    Caller(const std::string &name, const std::string &library = "")
    {
        uint32_t id = UnnamedCaller();
        tables_.identities.all[id].name = String(name);
        tables_.identities.all[id].library = String(library);
        return id;
    }

    // One live sample, born age GCs ago, that stands for weight objects of size bytes. Returns
    // its entry.
    uint32_t
    Live(uint32_t stack, uint32_t class_id, double weight, uint16_t size, uint32_t age = 0)
    {
        uint32_t site = Dead(stack, class_id, weight, size, true);
        uint32_t birth_gc = static_cast<uint32_t>(facts.gc_count) - age;
        heapprof_sample sample = {site, birth_gc, static_cast<float>(weight), size, size};
        return rb_heapprof_live_table_add(&tables_.live, &live_head_, NextAddress(), &sample);
    }

    // One block alive, asked for age GCs ago, each byte of which stands for weight. Returns its
    // address.
    uintptr_t
    Block(uint32_t stack, uint32_t caller, double weight, size_t bytes, uint32_t age = 0)
    {
        return Grow(NextAddress(), 0, stack, caller, weight, bytes, age);
    }

    // The same for what a block is asked to have from begin on.
    uintptr_t
    Grow(uintptr_t address, size_t begin, uint32_t stack, uint32_t caller, double weight,
         size_t bytes, uint32_t age = 0)
    {
        heapprof_piece piece = {};
        piece.begin = begin;
        piece.asked_bytes = bytes;
        piece.site = Dead(stack, caller | HEAPPROF_SITE_OF_BLOCKS, weight, bytes, true);
        piece.birth_gc = static_cast<uint32_t>(facts.gc_count) - age;
        piece.weight = static_cast<float>(weight);
        rb_heapprof_blocks_add(&tables_.blocks, address, &piece);
        return address;
    }

    // An object of that class holds the block: the live one of entry, or one that is not sampled.
    void
    Own(uintptr_t block, uint32_t class_id, uint32_t entry = 0)
    {
        heapprof_owner owner = { 0x10, class_id,
                                 rb_heapprof_owner_seen(static_cast<uint32_t>(facts.gc_count), 0) };
        if (entry) {
            owner.object = rb_heapprof_address_table_address(&tables_.live.addresses, entry);
        }
        rb_heapprof_blocks_own(&tables_.blocks, block, &owner);
        facts.owners = true;
    }

    // The block has that many bytes now; of 0 nothing is left.
    void
    Cut(uintptr_t address, size_t bytes)
    {
        rb_heapprof_blocks_cut(&tables_.blocks, address, bytes);
    }

    // Tells the sites of what has been freed.
    void
    Settle()
    {
        while (uint32_t site = rb_heapprof_blocks_take_retired(&tables_.blocks)) {
            rb_heapprof_sites_count_free(&tables_.sites, site);
        }
    }

    // A block that was freed again.
    void
    DeadBlock(uint32_t stack, uint32_t caller, double weight, size_t bytes)
    {
        Dead(stack, caller | HEAPPROF_SITE_OF_BLOCKS, weight, bytes);
    }

    // The object of this entry was moved to a slot of another size.
    void
    Resize(uint32_t entry, uint16_t size)
    {
        rb_heapprof_live_table_sample(&tables_.live, entry)->slot_bytes = size;
    }

    // One sample that was freed again, unless keep. Returns its site.
    uint32_t
    Dead(uint32_t stack, uint32_t class_id, double weight, size_t size, bool keep = false)
    {
        uint32_t site = rb_heapprof_sites_intern(&tables_.sites, stack, class_id, 0);
        rb_heapprof_sites_count_alloc(&tables_.sites, site, weight, size);
        if (keep) return site;
        heapprof_sample sample = { site, static_cast<uint32_t>(facts.gc_count),
                                   static_cast<float>(weight), static_cast<uint16_t>(size),
                                   static_cast<uint16_t>(size) };
        if (class_id & HEAPPROF_SITE_OF_BLOCKS)
            rb_heapprof_sites_count_free(&tables_.sites, site);
        else rb_heapprof_sites_count_death(&tables_.sites, &sample, sample.birth_gc);
        return site;
    }

    // Gives up all sites that have no live sample.
    void
    Fold()
    {
        rb_heapprof_sites_fold(&tables_.sites);
    }

    // Gives up what no site leads to: stacks and functions, whose numbers are void then.
    void
    Trim()
    {
        rb_heapprof_tables_trim(&tables_, nullptr);
        rb_heapprof_tables_check(&tables_);
    }

    Snapshot
    Take()
    {
        rb_heapprof_tables_check(&tables_);
        heapprof_asks asks = {};
        asks.gone_p = [](uintptr_t, void *) { return false; };
        asks.memsize = [](uintptr_t, void *builder) {
            return static_cast<SnapshotBuilder *>(builder)->memsize;
        };
        asks.data = this;
        return Snapshot(TakeSnapshot(&tables_, &facts, &asks),
                        rb_heapprof_snapshot_free);
    }

    // Until the next change.
    const heapprof_tables *
    Tables() const
    {
        return &tables_;
    }

    heapprof_tables *
    Tables()
    {
        return &tables_;
    }

    Snapshot
    TakeSample(uint32_t entry)
    {
        return Snapshot(rb_heapprof_snapshot_take_sample(&tables_, &facts, entry),
                        rb_heapprof_snapshot_free);
    }

  private:
    heapprof_mem mem_ = {};
    heapprof_tables tables_ = {};
    uint8_t block_filter_[HEAPPROF_BLOCK_FILTER_SIZE] = {};
    uint32_t class_head_ = 0, live_head_ = 0; // all are on one heap page
    uintptr_t last_address_ = 0x10000;
    uint64_t last_origin_ = 0;

    uintptr_t
    NextAddress()
    {
        return last_address_ += 40;
    }

    uint32_t
    String(const std::string &text)
    {
        return rb_heapprof_strings_intern(&tables_.strings, text.data(), text.size());
    }

    uint32_t
    AddFunction(const std::string &name, uint32_t path, uint32_t first_line, bool cfunc)
    {
        heapprof_function function = {};
        function.origin = HEAPPROF_ORIGIN_C | ++last_origin_; // one that is no identity
        function.name = String(name);
        function.path = path;
        function.first_line = first_line;
        function.cfunc = cfunc;
        return rb_heapprof_functions_add(&tables_.functions, &function);
    }
};

#endif
