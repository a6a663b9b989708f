// native_leaks_test.cc - old, growing, and without objects that grow with them.

#include <gtest/gtest.h>

#include <initializer_list>

extern "C" {
#include "profiler/leaks/suspects.h"
}

namespace {

class NativeLeaksTest : public testing::Test {
  protected:
    static constexpr uint32_t kSite = 2, kStack = 3;
    heapprof_mem mem_;
    heapprof_native_leaks leaks_;

    void SetUp() override { Init(100); }

    void Init(uint32_t old_gc) {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        ASSERT_TRUE(rb_heapprof_native_leaks_init(&leaks_, &mem_, old_gc, 10, 10));
    }

    void TearDown() override {
        rb_heapprof_native_leaks_free(&leaks_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    void Blocks(std::initializer_list<uint32_t> births) {
        for (uint32_t gc : births) rb_heapprof_native_leaks_block(&leaks_, kSite, gc);
    }

    void Objects(std::initializer_list<uint32_t> births) {
        for (uint32_t gc : births) rb_heapprof_native_leaks_object(&leaks_, kStack, gc);
    }

    bool Suspect() { return rb_heapprof_native_leaks_p(&leaks_, kSite, kStack); }
};

TEST_F(NativeLeaksTest, GrowingBlocksAreSuspect)
{
    Blocks({10, 20});
    EXPECT_FALSE(Suspect());
    Blocks({30});
    EXPECT_TRUE(Suspect());
}

TEST_F(NativeLeaksTest, ManyBlocksOfOneMomentDoNotGrow)
{
    for (int i = 0; i < 1000; i++) Blocks({10, 11});
    EXPECT_FALSE(Suspect());
}

TEST_F(NativeLeaksTest, YoungBlocksAreNotSeen)
{
    Blocks({10, 20, 100, 101, 150});
    EXPECT_FALSE(Suspect());
    Blocks({99});
    EXPECT_TRUE(Suspect());
}

TEST_F(NativeLeaksTest, ObjectsThatGrowWithThemExplainThem)
{
    Blocks({10, 20, 30, 40});
    Objects({10, 150, 160, 170});
    EXPECT_TRUE(Suspect()); // one survivor is no growth, and the young do not count
    Objects({20, 30});
    EXPECT_FALSE(Suspect());
}

TEST_F(NativeLeaksTest, OtherSitesAndStacksDoNotMatter)
{
    Blocks({10, 20, 30});
    for (uint32_t gc : {10, 20, 30}) rb_heapprof_native_leaks_object(&leaks_, kStack + 1, gc);
    EXPECT_TRUE(Suspect());
    EXPECT_FALSE(rb_heapprof_native_leaks_p(&leaks_, kSite + 1, kStack));
}

TEST_F(NativeLeaksTest, TheCountMayHaveWrapped)
{
    TearDown();
    Init(5);
    Blocks({UINT32_MAX - 20, UINT32_MAX - 10, 2});
    EXPECT_TRUE(Suspect());
}

TEST(NativeLeaks, RefusedMemory)
{
    heapprof_mem mem;
    heapprof_native_leaks leaks;
    rb_heapprof_mem_init(&mem, 4096);
    EXPECT_FALSE(rb_heapprof_native_leaks_init(&leaks, &mem, 0, 512, 512));
    rb_heapprof_native_leaks_free(&leaks);
    EXPECT_EQ(0u, mem.used_bytes);
}

} // namespace
