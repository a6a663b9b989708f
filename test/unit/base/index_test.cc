// index_test.cc - the hash index against std::unordered_map, with hashes that collide,
// cluster and wrap as well as good ones.

#include <gtest/gtest.h>

#include <unordered_map>
#include <vector>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "base/index.h"
}

namespace {

// Turns a key into a hash.
using Hash = uint64_t (*)(uint64_t key);

uint64_t
Spread(uint64_t key)
{
    return rb_heapprof_index_hash(key);
}

uint64_t
EightHomes(uint64_t key)
{
    return key % 8;
}

// Homes at the end of every capacity, so that clusters wrap.
uint64_t
LastHomes(uint64_t key)
{
    return UINT64_MAX - key % 32;
}

// Neighbouring homes: long clusters of entries that belong to many homes.
uint64_t
Neighbours(uint64_t key)
{
    return key / 2;
}

// A table as the profiler's are: keys by number, and an index over them.
class Owner {
  public:
    explicit Owner(Hash hash) : hash_(hash)
    {
        rb_heapprof_mem_init(&mem, SIZE_MAX);
    }

    ~Owner()
    {
        rb_heapprof_index_release(&index, &mem);
    }

    Owner(const Owner &) = delete;
    Owner &operator=(const Owner &) = delete;

    bool
    Add(uint64_t key)
    {
        if (!rb_heapprof_index_reserve(&index, &mem, numbers.size(), HashI, this)) return false;
        uint32_t number = free_.empty() ? static_cast<uint32_t>(keys.size()) : free_.back();
        if (free_.empty()) {
            keys.push_back(key);
        }
        else {
            free_.pop_back();
            keys[number] = key;
        }
        numbers[key] = number;
        rb_heapprof_index_insert(&index, hash_(key), number);
        return true;
    }

    void
    Remove(uint64_t key)
    {
        uint32_t number = numbers.at(key);
        rb_heapprof_index_erase(&index, number, HashI, this);
        numbers.erase(key);
        free_.push_back(number);
    }

    uint32_t
    Find(uint64_t key) const
    {
        uint64_t probe = hash_(key);
        uint32_t number;
        while ((number = rb_heapprof_index_at(&index, probe)) != 0 && keys[number] != key) probe++;
        return number;
    }

    void
    ExpectSame() const
    {
        rb_heapprof_index_check(&index, numbers.size(), HashI, this);
        for (const auto &each : numbers) ASSERT_EQ(each.second, Find(each.first));
    }

    heapprof_mem mem;
    heapprof_index index = {};
    std::vector<uint64_t> keys = {0}; // by number; the model's side of the table
    std::unordered_map<uint64_t, uint32_t> numbers;

  private:
    Hash hash_;
    std::vector<uint32_t> free_;

    static uint64_t
    HashI(const void *owner, uint32_t number)
    {
        const Owner *self = static_cast<const Owner *>(owner);
        return self->hash_(self->keys[number]);
    }
};

class IndexTest : public testing::TestWithParam<Hash> {};

// Keys of a universe so small that adds and removes of a key alternate. The load goes up
// and down, through all capacities the universe can fill.
TEST_P(IndexTest, AgreesWithAMapOverRandomOperations)
{
    const uint64_t universe = GetParam() == Spread || GetParam() == Neighbours ? 6000 : 300;
    Owner owner(GetParam());
    Choices choose(2);
    for (int i = 0; i < kOperations; i++) {
        uint64_t key = choose.Below(universe);
        bool growing = i / 20000 % 2 == 0;
        ASSERT_EQ(owner.numbers.count(key) ? owner.numbers[key] : 0, owner.Find(key));
        if (!owner.numbers.count(key)) {
            bool add = growing || choose.OneIn(3);
            ASSERT_TRUE(!add || owner.Add(key));
        }
        else if (!growing || choose.OneIn(3)) {
            owner.Remove(key);
        }
        if (i % kFullLook == 0) owner.ExpectSame();
    }
    EXPECT_GT(owner.index.capacity, 0u);
}

TEST_P(IndexTest, EraseKeepsProbeChain)
{
    for (uint64_t erased = 1; erased <= 40; erased++) {
        Owner owner(GetParam());
        for (uint64_t key = 1; key <= 40; key++) ASSERT_TRUE(owner.Add(key));
        owner.Remove(erased);
        EXPECT_EQ(0u, owner.Find(erased));
        owner.ExpectSame();
    }
}

INSTANTIATE_TEST_SUITE_P(Hashes, IndexTest,
                         testing::Values(Spread, EightHomes, LastHomes, Neighbours));

TEST(Index, GrowthKeepsEveryEntryThroughManyDoublings)
{
    Owner owner(Spread);
    for (uint64_t key = 1; key <= 200000; key++) ASSERT_TRUE(owner.Add(key * 40));
    owner.ExpectSame();
    EXPECT_LE(owner.numbers.size(), owner.index.capacity / 4 * 3);
    EXPECT_GT(owner.numbers.size(), owner.index.capacity / 8 * 3);
}

TEST(Index, GrowthMovesClustersThatWrap)
{
    Owner owner(LastHomes);
    for (uint64_t key = 1; key <= 3000; key++) {
        ASSERT_TRUE(owner.Add(key));
        if (key % 256 == 0) owner.ExpectSame();
    }
    owner.ExpectSame();
}

TEST(Index, SearchInAnIndexWithoutBucketsEnds)
{
    Owner owner(Spread);
    EXPECT_EQ(0u, owner.Find(7));
    EXPECT_EQ(0u, owner.mem.used_bytes);
}

TEST(Index, RefusedGrowthLeavesAllAsItWas)
{
    Owner owner(Spread);
    owner.mem.budget_bytes = 0;
    int refusals = 0;
    for (uint64_t key = 1; key <= 20000; key++) {
        refusals += AddPageByPage(
            &owner.mem, [&] { return owner.Add(key); }, [&] { owner.ExpectSame(); });
    }
    EXPECT_GE(refusals, 6);
    owner.ExpectSame();
}

TEST(Index, NumbersBeyondThirtyOneBitsAreRefused)
{
    Owner owner(Spread);
    EXPECT_FALSE(rb_heapprof_index_reserve(&owner.index, &owner.mem, INT32_MAX, nullptr, nullptr));
    EXPECT_EQ(1u, owner.mem.refused);
    EXPECT_EQ(0u, owner.mem.used_bytes);
}

TEST(IndexDeathTest, CheckSeesAnEntryCutOffFromItsHome)
{
    Owner owner(EightHomes);
    for (uint64_t key = 1; key <= 20; key++) ASSERT_TRUE(owner.Add(key));
    owner.index.buckets[3] = 0;
    EXPECT_DEATH(owner.ExpectSame(), "broken");
}

TEST(IndexDeathTest, CheckSeesALostEntry)
{
    Owner owner(Spread);
    for (uint64_t key = 1; key <= 20; key++) ASSERT_TRUE(owner.Add(key));
    owner.numbers.erase(7);
    EXPECT_DEATH(owner.ExpectSame(), "broken");
}

} // namespace
