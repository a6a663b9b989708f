// functions_test.cc - names of functions by their addresses, of a file that is made here.

#include <gtest/gtest.h>

#include <unistd.h>

#include "test/unit/support/elf_image.h"

extern "C" {
#include "unwind/functions.h"
}

namespace {

struct FunctionsTest : testing::Test {
    heapprof_mem mem;
    unwind_functions functions = {};

    FunctionsTest() { rb_heapprof_mem_init(&mem, SIZE_MAX); }
    ~FunctionsTest() override { unwind_functions_free(&functions); }

    // With the binding of each symbol.
    void Read(const std::vector<ElfFunction> &all, const std::vector<int> &bindings) {
        ElfImage image(all);
        size_t first = image.symbols.size() - all.size();
        for (size_t i = 0; i < all.size(); i++)
            image.symbols[first + i].st_info = ELF64_ST_INFO(bindings[i], STT_FUNC);
        MemoryFile file(image.Bytes());
        heapprof_elf elf;
        ASSERT_TRUE(rb_heapprof_elf_open(&elf, &mem, file.fd()));
        ASSERT_TRUE(unwind_functions_read(&functions, &elf));
        rb_heapprof_elf_close(&elf);
    }

    std::string At(uint64_t address) const {
        const char *name = unwind_functions_name(&functions, address);
        return name ? name : "none";
    }
};

TEST_F(FunctionsTest, AnAddressWithinAFunctionHasItsName) {
    Read({{"second", 0x200, 0x10}, {"first", 0x100, 0x10}}, {STB_GLOBAL, STB_LOCAL});
    EXPECT_EQ("first", At(0x100));
    EXPECT_EQ("first", At(0x10f));
    EXPECT_EQ("second", At(0x20f));
    for (uint64_t address : {0x0, 0xff, 0x110, 0x1ff, 0x210})
        EXPECT_EQ("none", At(address)) << address;
}

TEST_F(FunctionsTest, OfSeveralNamesThePlainestIsTaken) {
    Read({{"__poll", 0x100, 8},
          {"poll", 0x100, 8},
          {"gsignal", 0x200, 8},
          {"raise", 0x200, 8},
          {"b", 0x300, 8},
          {"a", 0x300, 8}},
         {STB_GLOBAL, STB_WEAK, STB_WEAK, STB_GLOBAL, STB_GLOBAL, STB_GLOBAL});
    EXPECT_EQ("poll", At(0x104));
    EXPECT_EQ("raise", At(0x204));
    EXPECT_EQ("a", At(0x304));
}

TEST_F(FunctionsTest, WithoutMemoryThereAreNone) {
    rb_heapprof_mem_init(&mem, 80000); // for the reader's buffer, and no more
    ElfImage image({{"one", 0x100, 8}});
    MemoryFile file(image.Bytes());
    heapprof_elf elf;
    ASSERT_TRUE(rb_heapprof_elf_open(&elf, &mem, file.fd()));
    mem.budget_bytes = mem.used_bytes;
    EXPECT_FALSE(unwind_functions_read(&functions, &elf));
    rb_heapprof_elf_close(&elf);
    EXPECT_EQ("none", At(0x104));
}

} // namespace
