// code_test.cc - what is known of code counts until the target frees or moves code.

#include "test/unit/attach/memory.h"
#include <gtest/gtest.h>

extern "C" {
#include "attach/code.h"
}

namespace {

constexpr uint64_t kFreed = 0x2000, kObjspace = 0x3000;

class Code : public ::testing::Test {
  protected:
    Memory memory_;
    attach_vm vm_ = {};
    heapprof_mem mem_;
    attach_names names_ = {};
    attach_codes codes_ = {};

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        memory_.Put(kFreed, std::string(8, '\0'));
        memory_.Put(kObjspace, std::string(16, '\0'));
        vm_.target = memory_.target();
        vm_.objspace = kObjspace;
        vm_.code_generation = {kFreed, 8, HEAPPROF_DESCRIPTOR_UNSIGNED};
        vm_.compactions = {0, 8, 16, HEAPPROF_DESCRIPTOR_UNSIGNED};
        vm_.compacting = {8, 8, 16, HEAPPROF_DESCRIPTOR_UNSIGNED};
        attach_names_init(&names_, &mem_);
        attach_codes_init(&codes_, &vm_, &names_, &mem_);
        EXPECT_TRUE(attach_codes_refresh(&codes_));
    }

    void
    TearDown() override
    {
        attach_codes_free(&codes_);
        attach_names_free(&names_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    void
    Set(uint64_t address, char value)
    {
        auto piece = std::prev(memory_.pieces.upper_bound(address));
        piece->second.bytes[address - piece->first] = value;
    }
};

TEST_F(Code, IsOldWhenSomeWasFreedOrMoved)
{
    for (uint64_t changed : {kFreed, kObjspace, kObjspace + 8}) {
        EXPECT_TRUE(attach_codes_current_p(&codes_));
        Set(changed, 1);
        EXPECT_FALSE(attach_codes_current_p(&codes_));
        EXPECT_FALSE(attach_codes_refresh(&codes_));
        EXPECT_TRUE(attach_codes_refresh(&codes_));
    }
    EXPECT_TRUE(attach_codes_moving_p(&codes_));
    Set(kObjspace + 8, 0);
    EXPECT_TRUE(attach_codes_moving_p(&codes_)) << "it did so when that was read";
    attach_codes_forget(&codes_);
    EXPECT_FALSE(attach_codes_moving_p(&codes_));
}

// While objects move, code may be at an empty slot for a moment. That is not kept.
TEST_F(Code, ForgetsWhatItCouldNotRead)
{
    attach_code_key code = {.iseq = 0x9000, .method = 0, .pc = 1};
    const attach_code_known *known = attach_code_find(&codes_, &code);
    ASSERT_NE(nullptr, known);
    uint64_t reads = memory_.reads;
    EXPECT_EQ(known, attach_code_find(&codes_, &code));
    EXPECT_EQ(reads, memory_.reads);
    EXPECT_EQ(1u, codes_.unreadable);
    attach_codes_forget(&codes_);
    ASSERT_NE(nullptr, attach_code_find(&codes_, &code));
    EXPECT_LT(reads, memory_.reads);
    EXPECT_EQ(2u, codes_.unreadable);
}

// Of a target that cannot be read nothing is current.
TEST_F(Code, OfATargetThatHasGone)
{
    memory_.pieces.erase(kObjspace);
    EXPECT_FALSE(attach_codes_current_p(&codes_));
    EXPECT_FALSE(attach_codes_refresh(&codes_));
}

} // namespace
