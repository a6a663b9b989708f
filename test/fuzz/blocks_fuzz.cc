// blocks_fuzz.cc - what programs do to the table of blocks: they ask for memory, grow it, cut it
// short, move it while others use its old address, free it with or without our knowledge, and stop
// the profiler in between; a walk finds owners; room is made, and memory refused at any moment. A
// map says what is to be there.

#include <algorithm>
#include <map>
#include <vector>

#include "fuzz.h"

extern "C" {
#include "profiler/blocks.h"
}

namespace {

constexpr uint32_t kAddresses = 300; // some share a byte of the filter
constexpr uint32_t kSites = 8;

// An even half are blocks, two of each lead to one byte; the others were only reported.
uintptr_t
Address(uint32_t number)
{
    if (number % 2) return uintptr_t{number} << 4 | 1;
    return 0x7f0000000000 + 16 * (number / 4) +
           (number % 4 ? uintptr_t{16} * HEAPPROF_BLOCK_FILTER_SIZE : 0);
}

struct Piece {
    size_t begin, asked, held;
    uint32_t site;
};

using Pieces = std::vector<Piece>; // the one furthest back last

struct Block {
    Pieces pieces;
    uintptr_t owner = 0;
};

class Allocator {
  public:
    explicit Allocator(FuzzedDataProvider *input)
        : input_(*input), filter_(HEAPPROF_BLOCK_FILTER_SIZE)
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_blocks_init(&blocks_, &mem_, filter_.data());
    }

    ~Allocator()
    {
        Stop();
        RequireSame();
        REQUIRE(mem_.used_bytes == 0);
    }

    void
    Step()
    {
        switch (Below(&input_, 11)) {
          case 0: Malloc(SomeAddress(), 1); break;
          case 1: Malloc(0, Below(&input_, kAddresses)); break;
          case 2: Grow(); break;
          case 3: Free(); break;
          case 4: Lift(); break;
          case 5: Put(); break;
          case 6: Cut(); break;
          case 7: TakeRetired(); break;
          case 8: input_.ConsumeBool() ? Limit() : Stop(); break;
          case 9: Own(); break;
          case 10: rb_heapprof_blocks_reserve(&blocks_, Below(&input_, 300)); break;
        }
        RequireSame();
    }

  private:
    struct Lifted {
        uint32_t number;
        Block block;
    };

    FuzzedDataProvider &input_;
    heapprof_mem mem_;
    heapprof_blocks blocks_;
    std::vector<uint8_t> filter_;
    std::map<uintptr_t, Block> model_;
    std::vector<Lifted> lifted_;
    std::vector<uint32_t> forgotten_; // lifted when all was forgotten
    std::map<uint32_t, uint32_t> retired_; // by site

    uint32_t
    SomeAddress()
    {
        return Below(&input_, kAddresses);
    }

    uintptr_t
    SomeKnown()
    {
        if (model_.empty()) return Address(SomeAddress());
        return std::next(model_.begin(), Below(&input_, model_.size()))->first;
    }

    // Retires what the block has from there on.
    void
    CutModel(uintptr_t address, size_t bytes)
    {
        auto block = model_.find(address);
        if (block == model_.end()) return;
        Pieces &pieces = block->second.pieces;
        for (; !pieces.empty() && pieces.back().begin >= bytes; pieces.pop_back()) {
            retired_[pieces.back().site]++;
        }
        if (pieces.empty()) {
            model_.erase(block);
            return;
        }
        pieces.back().held = std::min(pieces.back().held, bytes - pieces.back().begin);
    }

    // A refusal is no other change. Where there is room there is none.
    void
    Add(uintptr_t address, size_t begin, size_t bytes)
    {
        uint64_t refused = mem_.refused;
        size_t used = mem_.used_bytes;
        bool room = rb_heapprof_blocks_room_p(&blocks_);
        uint32_t number = rb_heapprof_blocks_next_piece(&blocks_);
        heapprof_piece piece = {};
        piece.begin = begin;
        piece.asked_bytes = bytes;
        piece.site = 1 + Below(&input_, kSites);
        piece.weight = 1.5f;
        if (!rb_heapprof_blocks_add(&blocks_, address, &piece)) {
            REQUIRE(mem_.refused > refused && !room);
            return;
        }
        REQUIRE(!room || mem_.used_bytes == used);
        REQUIRE(blocks_.pieces[number].site == piece.site && blocks_.pieces[number].begin == begin);
        uintptr_t owner = begin ? model_[address].owner : 0;
        CutModel(address, begin);
        model_[address].owner = owner;
        model_[address].pieces.push_back({begin, bytes, bytes, piece.site});
    }

    // So many in a row. What is known there, somebody else has freed.
    void
    Malloc(uint32_t first, uint32_t count)
    {
        size_t bytes = 1 + Below(&input_, 10000);
        for (uint32_t n = first; n < kAddresses && count > 0; n++, count--)
            Add(Address(n), 0, bytes);
    }

    // Behind its end, or amid it, when the block that was known there is another now.
    void
    Grow()
    {
        uintptr_t address = SomeKnown();
        size_t begin = rb_heapprof_blocks_end(&blocks_, address) + Below(&input_, 100);
        if (input_.ConsumeBool()) begin = Below(&input_, 20000);
        Add(address, begin, 1 + Below(&input_, 10000));
    }

    void
    Free()
    {
        uintptr_t address = SomeKnown();
        rb_heapprof_blocks_remove(&blocks_, address);
        CutModel(address, 0);
    }

    void
    Lift()
    {
        uintptr_t address = SomeKnown();
        uint32_t number = rb_heapprof_blocks_lift(&blocks_, address);
        auto block = model_.find(address);
        REQUIRE((number != 0) == (block != model_.end()));
        if (!number) return;
        for (const Lifted &other : lifted_) REQUIRE(other.number != number);
        lifted_.push_back({number, block->second});
        model_.erase(block);
    }

    void
    Put()
    {
        if (!lifted_.empty()) {
            auto lifted = lifted_.begin() + Below(&input_, lifted_.size());
            uintptr_t address = Address(SomeAddress());
            rb_heapprof_blocks_put(&blocks_, lifted->number, address);
            CutModel(address, 0);
            model_[address] = lifted->block;
            lifted_.erase(lifted);
        }
        else if (!forgotten_.empty()) { // nothing happens
            rb_heapprof_blocks_put(&blocks_, forgotten_.back(), Address(SomeAddress()));
            forgotten_.pop_back();
        }
    }

    void
    Cut()
    {
        uintptr_t address = SomeKnown();
        size_t bytes = Below(&input_, 20000);
        rb_heapprof_blocks_cut(&blocks_, address, bytes);
        CutModel(address, bytes);
    }

    // Those of an even number belong to somebody now; or nobody's owner is known.
    void
    Own()
    {
        bool forget = input_.ConsumeBool();
        uint32_t n = 0;
        if (forget) rb_heapprof_blocks_forget_owners(&blocks_);
        for (Lifted &lifted : lifted_) {
            if (forget) lifted.block.owner = 0;
        }
        for (auto &[address, block] : model_) {
            if (forget) block.owner = 0;
            if (forget || n++ % 2) continue;
            heapprof_owner owner = {block.owner = 0x1000 + n, n, 0};
            rb_heapprof_blocks_own(&blocks_, address, &owner);
        }
        heapprof_owner owner = {1, 1, 0};
        rb_heapprof_blocks_own(&blocks_, 0x999, &owner); // not known: nothing happens
    }

    void
    TakeRetired()
    {
        for (uint32_t site; (site = rb_heapprof_blocks_take_retired(&blocks_)) != 0;) {
            REQUIRE(retired_[site] > 0);
            retired_[site]--;
        }
        for (const auto &each : retired_) REQUIRE(each.second == 0);
    }

    // Some pages more than there are, or no limit.
    void
    Limit()
    {
        uint32_t pages = Below(&input_, 8);
        mem_.budget_bytes = pages ? mem_.used_bytes + (pages - 1) * 4096 : SIZE_MAX;
    }

    void
    Stop()
    {
        rb_heapprof_blocks_free(&blocks_);
        model_.clear();
        retired_.clear();
        for (const Lifted &lifted : lifted_) forgotten_.push_back(lifted.number);
        lifted_.clear();
    }

    void
    RequireBlock(uint32_t entry, const Block &block) const
    {
        const Pieces &pieces = block.pieces;
        uint32_t number = blocks_.pieces_of[entry];
        REQUIRE(blocks_.owners[entry].object == block.owner);
        for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
            const heapprof_piece &actual = blocks_.pieces[number];
            REQUIRE(number != 0);
            REQUIRE(actual.begin == piece->begin && actual.site == piece->site);
            REQUIRE(actual.asked_bytes == piece->asked && actual.held_bytes == piece->held);
            number = actual.next;
        }
        REQUIRE(number == 0);
    }

    void
    RequireSame() const
    {
        std::map<size_t, uint32_t> filter;
        size_t live = 0, retired = 0, walked = 0;
        double held = 0;

        rb_heapprof_blocks_check(&blocks_);
        REQUIRE(mem_.used_bytes <= mem_.budget_bytes);
        auto count = [&](const Block &block) {
            live += block.pieces.size();
            for (const Piece &piece : block.pieces) held += 1.5 * static_cast<double>(piece.held);
        };
        for (const auto &[address, block] : model_) {
            uint32_t entry = rb_heapprof_address_table_find(&blocks_.addresses, address);
            REQUIRE(entry);
            RequireBlock(entry, block);
            const Piece &last = block.pieces.back();
            REQUIRE(rb_heapprof_blocks_end(&blocks_, address) == last.begin + last.held);
            filter[rb_heapprof_block_filter_index(address)]++;
            count(block);
        }
        for (const Lifted &lifted : lifted_) {
            RequireBlock(lifted.number, lifted.block);
            count(lifted.block);
        }
        for (const auto &each : retired_) retired += each.second;
        for (uint32_t n = 0; (n = rb_heapprof_blocks_next(&blocks_, n)) != 0;) walked++;
        REQUIRE(blocks_.addresses.numbers.count == model_.size() + lifted_.size());
        REQUIRE(blocks_.addresses.numbers.count == walked);
        REQUIRE(blocks_.live_count == live);
        REQUIRE(rb_heapprof_blocks_retired_count(&blocks_) == retired);
        REQUIRE(rb_heapprof_blocks_in_use(&blocks_) == held);
        RequireFilter(filter);
    }

    void
    RequireFilter(const std::map<size_t, uint32_t> &expected) const
    {
        size_t set = HEAPPROF_BLOCK_FILTER_SIZE -
                     static_cast<size_t>(std::count(filter_.begin(), filter_.end(), 0));

        REQUIRE(set == expected.size());
        for (const auto &each : expected) REQUIRE(filter_[each.first] == each.second);
    }
};

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzedDataProvider input(data, size);
    Allocator allocator(&input);
    for (int steps = 0; input.remaining_bytes() > 0 && steps < 50; steps++) allocator.Step();
    return 0;
}
