// live_table_fuzz.cc - what a collector does to its live table: objects are born young, are judged
// when marking has ended, die by the page, move between pages, and memory is refused at any moment.
// A map says what is to be there.

#include <cstring>
#include <vector>

#include "fuzz.h"

extern "C" {
#include "profiler/live_table.h"
}

namespace {

constexpr uint32_t kPages = 3;
constexpr uint32_t kPageSlots = 400;
constexpr uint32_t kSlots = kPages * kPageSlots; // enough for each block to grow twice
constexpr uintptr_t kSlotBytes = 40;
constexpr uintptr_t kPageBytes = 0x10000;

uintptr_t
Address(uint32_t slot)
{
    return kPageBytes * (1 + slot / kPageSlots) + kSlotBytes * (slot % kPageSlots);
}

uint32_t
SlotAt(uintptr_t address)
{
    return static_cast<uint32_t>((address / kPageBytes - 1) * kPageSlots +
                                 address % kPageBytes / kSlotBytes);
}

class Heap {
  public:
    explicit Heap(FuzzedDataProvider *input) : input_(*input)
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_live_table_init(&table_, &mem_);
    }

    ~Heap()
    {
        rb_heapprof_live_table_free(&table_);
        REQUIRE(mem_.used_bytes == 0);
    }

    void
    Step()
    {
        switch (Below(&input_, 7)) {
          case 0: Allocate(1); break;
          case 1: Allocate(Slot()); break;
          case 2: Free(); break;
          case 3: MoveSome(); break;
          case 4: Sweep(); break;
          case 5: Compact(); break;
          case 6: Limit(); break;
        }
        RequireSame();
    }

  private:
    FuzzedDataProvider &input_;
    heapprof_mem mem_;
    heapprof_live_table table_;
    uint32_t heads_[kPages] = {};
    heapprof_sample model_[kSlots] = {}; // by slot; weight 0: nothing there
    uint32_t entries_[kSlots] = {};      // the same, for what is there
    uint32_t count_ = 0;

    uint32_t
    Slot()
    {
        return Below(&input_, kSlots);
    }

    uint32_t *
    Head(uint32_t slot)
    {
        return &heads_[slot / kPageSlots];
    }

    bool
    UsedP(uint32_t slot) const
    {
        return model_[slot].weight != 0;
    }

    uint32_t
    Find(uint32_t slot) const
    {
        return rb_heapprof_address_table_find(&table_.addresses, Address(slot));
    }

    bool
    YoungP(uint32_t entry) const
    {
        return table_.addresses.entries[entry].previous & HEAPPROF_ADDRESS_YOUNG;
    }

    // Samples of the free ones among so many slots in a row. A refusal is no other change.
    void
    Allocate(uint32_t count)
    {
        heapprof_sample sample;
        memset(&sample, static_cast<int>(1 + Below(&input_, 255)), sizeof(sample));
        sample.weight = 1.5f;
        for (uint32_t slot = Slot(); count > 0 && slot < kSlots; slot++, count--) {
            if (UsedP(slot)) continue;
            sample.site = slot;
            uint64_t refused = mem_.refused;
            if (uint32_t entry =
                    rb_heapprof_live_table_add_young(&table_, Address(slot), &sample)) {
                model_[slot] = sample;
                entries_[slot] = entry;
                count_++;
            }
            else {
                REQUIRE(mem_.refused > refused);
            }
        }
    }

    void
    Remove(uint32_t slot, uint32_t entry)
    {
        rb_heapprof_address_table_remove(&table_.addresses, Head(slot), entry);
        model_[slot] = {};
        count_--;
    }

    void
    Free()
    {
        uint32_t slot = Slot();
        if (UsedP(slot)) Remove(slot, entries_[slot]);
    }

    // As gc/objects/free.c does when marking has ended.
    void
    Judge()
    {
        uint32_t survivors = input_.ConsumeIntegral<uint8_t>();
        while (uint32_t entry = table_.addresses.young) {
            uint32_t slot = SlotAt(rb_heapprof_address_table_address(&table_.addresses, entry));
            REQUIRE(Find(slot) == 0 && entries_[slot] == entry);
            if (survivors >> slot % 8 & 1) {
                rb_heapprof_address_table_settle(&table_.addresses, Head(slot), entry);
                continue;
            }
            rb_heapprof_address_table_remove_young(&table_.addresses);
            model_[slot] = {};
            count_--;
        }
    }

    void
    Move(uint32_t from, uint32_t to)
    {
        if (!UsedP(from) || UsedP(to)) return;
        REQUIRE(Find(from) == entries_[from]);
        rb_heapprof_address_table_move(&table_.addresses, Find(from), Head(from), Head(to),
                                       Address(to));
        model_[to] = model_[from];
        entries_[to] = entries_[from];
        model_[from] = {};
    }

    void
    MoveSome()
    {
        Judge();
        uint32_t from = Slot();
        Move(from, Slot());
    }

    // One page, as gc/objects/free.c walks it: its chain, the next asked for before a removal.
    void
    Sweep()
    {
        Judge();
        uint32_t head = heads_[Below(&input_, kPages)];
        uint32_t survivors = input_.ConsumeIntegral<uint8_t>();
        for (uint32_t entry = head, next; entry; entry = next) {
            uint32_t slot = SlotAt(rb_heapprof_address_table_address(&table_.addresses, entry));
            next = rb_heapprof_address_table_next(&table_.addresses, entry);
            if (!(survivors >> slot % 8 & 1)) Remove(slot, entry);
        }
    }

    // The last objects go where the first holes are.
    void
    Compact()
    {
        Judge();
        uint32_t hole = 0, last = kSlots - 1;
        for (uint32_t moves = Below(&input_, kSlots); moves > 0; moves--) {
            while (hole < last && UsedP(hole)) hole++;
            while (hole < last && !UsedP(last)) last--;
            Move(last, hole);
        }
    }

    // Some pages more than there are, or no limit.
    void
    Limit()
    {
        uint32_t pages = Below(&input_, 8);
        mem_.budget_bytes = pages ? mem_.used_bytes + (pages - 1) * 4096 : SIZE_MAX;
    }

    // The samples of a chain, all of that page, or of any page if it is kPages. None was seen on
    // another chain. Returns how many they are.
    uint32_t
    RequireChain(uint32_t entry, uint32_t page, std::vector<bool> *seen) const
    {
        uint32_t count = 0;
        for (; entry; count++) {
            uint32_t slot = SlotAt(rb_heapprof_address_table_address(&table_.addresses, entry));
            REQUIRE(!seen->at(entry));
            REQUIRE(page == kPages || slot / kPageSlots == page);
            REQUIRE(UsedP(slot) && entries_[slot] == entry);
            const heapprof_sample *sample = rb_heapprof_live_table_sample(&table_, entry);
            REQUIRE(memcmp(sample, &model_[slot], sizeof(*sample)) == 0);
            (*seen)[entry] = true;
            entry = rb_heapprof_address_table_next(&table_.addresses, entry);
        }
        return count;
    }

    // Each chain is of its page's samples, or of the young, and every sample is on one.
    void
    RequireSame() const
    {
        std::vector<bool> seen(table_.addresses.numbers.end);

        rb_heapprof_live_table_check(&table_);
        REQUIRE(mem_.used_bytes <= mem_.budget_bytes);
        uint32_t count = RequireChain(table_.addresses.young, kPages, &seen);
        for (uint32_t page = 0; page < kPages; page++) {
            count += RequireChain(heads_[page], page, &seen);
        }
        REQUIRE(count == count_ && table_.addresses.numbers.count == count_);
        for (uint32_t slot = 0; slot < kSlots; slot++) {
            uint32_t entry = Find(slot), used = UsedP(slot) ? entries_[slot] : 0;
            REQUIRE(used == 0 || seen.at(used));
            REQUIRE(entry == used || (entry == 0 && YoungP(used)));
        }
    }
};

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzedDataProvider input(data, size);
    Heap heap(&input);
    for (int steps = 0; input.remaining_bytes() > 0 && steps < 50; steps++) heap.Step();
    return 0;
}
