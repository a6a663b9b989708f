// address_table_test.cc - addresses and page chains against std::map.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "base/address_table.h"
}

namespace {

constexpr uint64_t kPages = 40;
constexpr uint64_t kSlots = 100;

// A heap of pages with slots, and the model: which slots are entered, as what, and which are young.
class AddressTableTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_address_table table_;
    std::vector<uint32_t> heads_ = std::vector<uint32_t>(kPages);
    std::map<uintptr_t, uint32_t> model_; // address -> entry
    std::vector<uintptr_t> young_;        // the last is the first of the chain

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_address_table_init(&table_, &mem_);
    }

    void
    TearDown() override
    {
        rb_heapprof_address_table_free(&table_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    static uintptr_t
    Address(uint64_t page, uint64_t slot)
    {
        return 0x7f0000000000 + page * 65536 + 40 * (slot + 1);
    }

    static uintptr_t
    RandomAddress(Choices *choose)
    {
        return Address(choose->Below(kPages), choose->Below(kSlots));
    }

    uint32_t *
    Head(uintptr_t address)
    {
        return &heads_[(address - 0x7f0000000000) / 65536];
    }

    static AddressTableTest *packed_;

    static uint32_t *
    PageHead(uintptr_t address)
    {
        return packed_->Head(address);
    }

    void
    Pack(bool (*keep)(uint32_t, uint32_t, void *), void *data)
    {
        heapprof_packing packing = {PageHead, nullptr, keep, data};
        packed_ = this;
        rb_heapprof_address_table_pack(&table_, &packing);
    }

    bool
    Add(uintptr_t address)
    {
        uint32_t entry = rb_heapprof_address_table_add(&table_, Head(address), address);
        if (entry) model_[address] = entry;
        return entry != 0;
    }

    bool
    AddYoung(uintptr_t address)
    {
        if (!rb_heapprof_address_table_room_p(&table_) &&
            !rb_heapprof_address_table_reserve(&table_, 1)) return false;
        uint32_t next = rb_heapprof_address_table_next_entry(&table_);
        model_[address] = rb_heapprof_address_table_add_young(&table_, address);
        young_.push_back(address);
        EXPECT_EQ(next, model_[address]);
        return true;
    }

    bool
    Young(uintptr_t address) const
    {
        return std::find(young_.begin(), young_.end(), address) != young_.end();
    }

    void
    Age(uintptr_t address)
    {
        young_.erase(std::remove(young_.begin(), young_.end(), address), young_.end());
    }

    void
    Settle(uintptr_t address)
    {
        rb_heapprof_address_table_settle(&table_, Head(address), model_.at(address));
        Age(address);
    }

    // The head of a page must not be needed for a young entry.
    void
    Remove(uintptr_t address)
    {
        uint32_t *head = Young(address) ? nullptr : Head(address);
        rb_heapprof_address_table_remove(&table_, head, model_.at(address));
        model_.erase(address);
        Age(address);
    }

    void
    RemoveFirstYoung()
    {
        rb_heapprof_address_table_remove_young(&table_);
        model_.erase(young_.back());
        young_.pop_back();
    }

    void
    Move(uintptr_t from, uintptr_t to)
    {
        uint32_t entry = model_.at(from);
        rb_heapprof_address_table_move(&table_, entry, Head(from), Head(to), to);
        model_.erase(from);
        model_[to] = entry;
    }

    // Removes each second entry of a page while walking its chain, as a sweep does.
    void
    Sweep(uint64_t page)
    {
        bool dead = false;
        uint32_t entry = heads_[page], next;
        for (; entry; entry = next, dead = !dead) {
            next = rb_heapprof_address_table_next(&table_, entry);
            if (dead) Remove(rb_heapprof_address_table_address(&table_, entry));
        }
    }

    uint32_t
    Find(uintptr_t address) const
    {
        return rb_heapprof_address_table_find(&table_, address);
    }

    uint32_t
    Known(uintptr_t address) const
    {
        auto known = model_.find(address);
        return known == model_.end() ? 0 : known->second;
    }

    // What find is to say.
    uint32_t
    Found(uintptr_t address) const
    {
        return Young(address) ? 0 : Known(address);
    }

    void
    ExpectSameYoung() const
    {
        uint32_t entry = table_.young;
        for (auto each = young_.rbegin(); each != young_.rend(); ++each) {
            ASSERT_EQ(model_.at(*each), entry);
            entry = rb_heapprof_address_table_next(&table_, entry);
        }
        ASSERT_EQ(0u, entry);
    }

    std::set<uintptr_t>
    Chain(uint64_t page) const
    {
        std::set<uintptr_t> chain;
        for (uint32_t entry = heads_[page]; entry;
             entry = rb_heapprof_address_table_next(&table_, entry)) {
            uintptr_t address = rb_heapprof_address_table_address(&table_, entry);
            EXPECT_TRUE(chain.insert(address).second);
        }
        return chain;
    }

    void
    ExpectSame() const
    {
        rb_heapprof_address_table_check(&table_);
        ASSERT_EQ(model_.size(), table_.numbers.count);
        for (const auto &each : model_) {
            ASSERT_EQ(Found(each.first), Find(each.first));
            ASSERT_EQ(each.first, rb_heapprof_address_table_address(&table_, each.second));
        }
        ExpectSameYoung();
        for (uint64_t page = 0; page < kPages; page++) {
            std::set<uintptr_t> expected;
            auto last = model_.lower_bound(Address(page + 1, 0));
            for (auto each = model_.lower_bound(Address(page, 0)); each != last; ++each) {
                if (!Young(each->first)) expected.insert(each->first);
            }
            ASSERT_EQ(expected, Chain(page));
        }
    }
};

AddressTableTest *AddressTableTest::packed_;

TEST_F(AddressTableTest, AgreesWithAMapOverRandomOperations)
{
    Choices choose(30);
    for (int i = 0; i < kOperations; i++) {
        uintptr_t address = RandomAddress(&choose), other = RandomAddress(&choose);
        ASSERT_EQ(Found(address), Find(address));
        if (choose.OneIn(500)) {
            Sweep(choose.Below(kPages));
        }
        else if (choose.OneIn(300)) {
            while (!young_.empty()) {
                if (choose.OneIn(2)) RemoveFirstYoung();
                else Settle(young_.back());
            }
        }
        else if (!Known(address)) {
            ASSERT_TRUE(choose.OneIn(3) ? AddYoung(address) : Add(address));
        }
        else if (Young(address)) {
            if (choose.OneIn(3)) Settle(address);
            else if (choose.OneIn(2)) Remove(address);
        }
        else if (!Known(other)) {
            Move(address, other);
        }
        else if (choose.OneIn(2)) {
            Remove(address);
        }
        if (i % kFullLook == 0) ExpectSame();
    }
    ExpectSame();
    EXPECT_GT(table_.numbers.count, 500u);
}

TEST_F(AddressTableTest, MoveWithinAPageAndAcrossPagesKeepsTheEntry)
{
    ASSERT_TRUE(Add(Address(1, 1)) && Add(Address(1, 2)) && Add(Address(2, 1)));
    Move(Address(1, 1), Address(1, 3));
    ExpectSame();
    Move(Address(1, 3), Address(2, 2));
    ExpectSame();
    EXPECT_EQ(0u, Find(Address(1, 1)));
}

TEST_F(AddressTableTest, NumbersOfRemovedEntriesAreUsedAgain)
{
    for (uint64_t slot = 0; slot < kSlots; slot++) ASSERT_TRUE(Add(Address(0, slot)));
    uint32_t end = table_.numbers.end;
    for (uint64_t slot = 0; slot < kSlots; slot++) Remove(Address(0, slot));
    for (uint64_t slot = 0; slot < kSlots; slot++) ASSERT_TRUE(Add(Address(3, slot)));
    EXPECT_EQ(end, table_.numbers.end);
    ExpectSame();
}

TEST_F(AddressTableTest, NextEntryIsTheNumberAddGives)
{
    Choices choose(31);
    for (int i = 0; i < 2000; i++) {
        uintptr_t address = RandomAddress(&choose);
        if (Known(address)) {
            Remove(address);
            continue;
        }
        uint32_t next = rb_heapprof_address_table_next_entry(&table_);
        ASSERT_TRUE(Add(address));
        ASSERT_EQ(next, Known(address));
    }
}

TEST_F(AddressTableTest, YoungEntriesNeedNoMemoryToSettle)
{
    for (uint64_t slot = 0; slot < kSlots; slot++) ASSERT_TRUE(AddYoung(Address(0, slot)));
    mem_.budget_bytes = 0;
    uint64_t refused = mem_.refused;
    for (uint64_t slot = 0; slot < kSlots; slot += 2) Settle(Address(0, slot));
    ExpectSame();
    while (!young_.empty()) RemoveFirstYoung();
    ExpectSame();
    EXPECT_EQ(refused, mem_.refused);
    EXPECT_EQ(kSlots / 2, model_.size());
}

TEST_F(AddressTableTest, RefusedYoungLeavesAllAsItWas)
{
    int refusals = 0;
    mem_.budget_bytes = 0;
    for (uint64_t i = 0; i < kPages * kSlots; i++) {
        uintptr_t address = Address(i % kPages, i / kPages);
        refusals += AddPageByPage(
            &mem_, [&] { return AddYoung(address); },
            [&] {
                if (i % kPages == 0) ExpectSame();
            });
    }
    ExpectSame();
    EXPECT_GE(refusals, 2 * 3);
}

TEST_F(AddressTableTest, FindInAnEmptyTableIsZero)
{
    EXPECT_EQ(0u, Find(Address(0, 0)));
    EXPECT_EQ(0u, Find(0));
}

TEST_F(AddressTableTest, RefusedAddLeavesAllAsItWas)
{
    int refusals = 0;
    mem_.budget_bytes = 0;
    for (uint64_t i = 0; i < kPages * kSlots; i++) {
        uintptr_t address = Address(i % kPages, i / kPages);
        refusals += AddPageByPage(
            &mem_, [&] { return Add(address); },
            [&] {
                EXPECT_EQ(0u, Find(address));
                ExpectSame();
            });
    }
    ExpectSame();
    EXPECT_GE(refusals, 2 * 3);
}

// What is packed keeps its order, is numbered without gaps, and can be added to.
TEST_F(AddressTableTest, PackKeepsWhatItIsToldToAndNumbersItAnew)
{
    struct Kept {
        std::map<uint32_t, uint32_t> numbers; // by entry
        uint32_t next = 1;
    } kept;
    auto keep = [](uint32_t entry, uint32_t number, void *data) {
        Kept *told = static_cast<Kept *>(data);
        EXPECT_EQ(told->next, number);
        if (entry % 5 > 1) return false;
        told->numbers[entry] = told->next++;
        return true;
    };
    for (uint64_t page = 0; page < kPages; page++) {
        for (uint64_t slot = 0; slot < kSlots; slot++) {
            uintptr_t address = Address(page, slot);
            ASSERT_TRUE(slot % 3 == 0 ? AddYoung(address) : Add(address));
        }
    }
    for (uint64_t page = 0; page < kPages; page += 3) Sweep(page);
    std::map<uintptr_t, uint32_t> before = model_;
    size_t bytes = mem_.used_bytes;
    Pack(keep, &kept);
    for (const auto &each : before) {
        auto number = kept.numbers.find(each.second);
        if (number == kept.numbers.end()) {
            model_.erase(each.first);
            Age(each.first);
        }
        else {
            model_[each.first] = number->second;
        }
    }
    ExpectSame();
    EXPECT_LT(model_.size(), before.size());
    EXPECT_EQ(model_.size() + 1, table_.numbers.end);
    for (const auto &each : before) {
        ASSERT_TRUE(model_.count(each.first) || Add(each.first));
    }
    ExpectSame();
    EXPECT_LE(mem_.used_bytes, bytes);
}

TEST_F(AddressTableTest, PackOfNothingLeavesAnEmptyTableThatIsSmall)
{
    auto keep = [](uint32_t, uint32_t, void *) { return false; };
    Pack(keep, nullptr);
    for (uint64_t page = 0; page < kPages; page++) {
        for (uint64_t slot = 0; slot < kSlots; slot++) ASSERT_TRUE(Add(Address(page, slot)));
    }
    Pack(keep, nullptr);
    model_.clear();
    ExpectSame();
    EXPECT_LE(mem_.used_bytes, 2u * 4096);
    ASSERT_TRUE(Add(Address(0, 0)));
    ExpectSame();
}

TEST_F(AddressTableTest, FindMoveAndRemoveNeedNoMemory)
{
    for (uint64_t slot = 0; slot < kSlots; slot++) ASSERT_TRUE(Add(Address(0, slot)));
    mem_.budget_bytes = mem_.used_bytes;
    uint64_t refused = mem_.refused;
    for (uint64_t slot = 0; slot < kSlots; slot++) Move(Address(0, slot), Address(1, slot));
    for (uint64_t slot = 0; slot < kSlots; slot += 2) Remove(Address(1, slot));
    ExpectSame();
    EXPECT_EQ(mem_.budget_bytes, mem_.used_bytes);
    EXPECT_EQ(refused, mem_.refused);
}

TEST_F(AddressTableTest, FreeLeavesAnEmptyTable)
{
    ASSERT_TRUE(Add(Address(0, 1)) && Add(Address(0, 2)));
    rb_heapprof_address_table_free(&table_);
    EXPECT_EQ(0u, mem_.used_bytes);
    model_.clear();
    heads_.assign(kPages, 0);
    ASSERT_TRUE(Add(Address(0, 2)));
    ExpectSame();
}

using AddressTableDeathTest = AddressTableTest;

TEST_F(AddressTableDeathTest, AddOfAKnownAddressIsSeen)
{
    ASSERT_TRUE(Add(Address(0, 1)));
    EXPECT_DEATH(Add(Address(0, 1)), "broken");
}

TEST_F(AddressTableDeathTest, MoveOntoAKnownAddressIsSeen)
{
    ASSERT_TRUE(Add(Address(0, 1)) && Add(Address(0, 2)));
    EXPECT_DEATH(Move(Address(0, 1), Address(0, 2)), "broken");
}

TEST_F(AddressTableDeathTest, WrongPageIsSeen)
{
    ASSERT_TRUE(Add(Address(0, 1)) && Add(Address(1, 1)));
    EXPECT_DEATH(rb_heapprof_address_table_remove(&table_, &heads_[1], Known(Address(0, 1))),
                 "broken");
}

TEST_F(AddressTableDeathTest, CheckSeesABrokenChain)
{
    ASSERT_TRUE(Add(Address(0, 1)) && Add(Address(0, 2)));
    table_.entries[Known(Address(0, 1))].previous = 0;
    EXPECT_DEATH(rb_heapprof_address_table_check(&table_), "broken");
}

TEST_F(AddressTableDeathTest, CheckSeesAChangedAddress)
{
    ASSERT_TRUE(Add(Address(0, 1)));
    table_.entries[Known(Address(0, 1))].address += 8;
    EXPECT_DEATH(rb_heapprof_address_table_check(&table_), "broken");
}

} // namespace
