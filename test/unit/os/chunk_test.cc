// chunk_test.cc - what is a block of glibc's, by the words around it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <malloc.h>
#include <vector>

extern "C" {
#include "os/chunk.h"
#include "os/peek.h"
}

namespace {

const uintptr_t kInUse = 1, kMapped = 2;

class ChunkTest : public testing::Test {
  protected:
    alignas(16) uintptr_t words_[64] = {};

    static bool Word(uintptr_t address, uintptr_t *word, void *data) {
        auto *test = static_cast<ChunkTest *>(data);
        auto begin = reinterpret_cast<uintptr_t>(test->words_);
        if (address < begin || address + sizeof(*word) > begin + sizeof(test->words_)) return false;
        *word = test->words_[(address - begin) / sizeof(*word)];
        return true;
    }

    // A chunk whose header is at words_[at]; the block is two words behind.
    void Chunk(size_t at, size_t words, bool next_says_in_use) {
        words_[at + 1] = words * sizeof(uintptr_t) | kInUse;
        words_[at + words + 1] = 4 * sizeof(uintptr_t) | (next_says_in_use ? kInUse : 0);
    }

    size_t Bytes(size_t block)
    {
        return rb_heapprof_chunk_bytes(reinterpret_cast<uintptr_t>(&words_[block]), Word, this);
    }
};

TEST_F(ChunkTest, ABlockInUseEndsWhereTheNextSizeIs) {
    Chunk(4, 8, true);
    EXPECT_EQ(7 * sizeof(uintptr_t), Bytes(6));
}

TEST_F(ChunkTest, ABlockThatTheNextSaysIsFreeIsNone) {
    Chunk(4, 8, false);
    EXPECT_EQ(0u, Bytes(6));
}

TEST_F(ChunkTest, WhatLooksUnlikeABlockIsNone) {
    EXPECT_EQ(0u, Bytes(6));                                         // no size
    Chunk(4, 8, true);
    EXPECT_EQ(0u, rb_heapprof_chunk_bytes(reinterpret_cast<uintptr_t>(&words_[6]) + 8, Word,
                                          this)); // not aligned
    words_[5] |= 8;
    EXPECT_EQ(0u, Bytes(6));                                         // a size that is none
    words_[5] = uintptr_t{1} << 41 | kInUse;
    EXPECT_EQ(0u, Bytes(6));                                         // and one beyond all memory
    words_[5] = sizeof(words_) | kInUse;
    EXPECT_EQ(0u, Bytes(6));                                         // the next is not mapped
    EXPECT_EQ(0u, Bytes(0));                                         // nothing is mapped before it
}

TEST_F(ChunkTest, TheHeaderOfAFreeChunkIsNoBlock) {
    Chunk(4, 8, true);
    Chunk(6, 4,
          false); // a free chunk that seems to begin at the block, with its size at both its ends
    words_[5] = 8 * sizeof(uintptr_t) | kInUse;
    words_[13] = 4 * sizeof(uintptr_t) | kInUse;
    words_[10] = 4 * sizeof(uintptr_t);
    auto chunk = reinterpret_cast<uintptr_t>(&words_[6]),
         list = reinterpret_cast<uintptr_t>(&words_[20]);
    words_[8] = words_[9] = list; // the list has it alone
    words_[22] = words_[23] = chunk;
    EXPECT_EQ(0u, Bytes(6));
    words_[10] = 0;
    EXPECT_EQ(7 * sizeof(uintptr_t), Bytes(6));
}

// As a name of openssl's and its number, beside another one's: no list has it.
TEST_F(ChunkTest, ABlockWhoseNumbersLookLikeTheSizeOfAFreeChunkIsOne) {
    Chunk(4, 4, true);
    words_[7] = 16 * sizeof(uintptr_t);
    words_[6 + 16] = 16 * sizeof(uintptr_t);
    words_[6 + 17] = 0;
    EXPECT_EQ(3 * sizeof(uintptr_t), Bytes(6));
}

TEST_F(ChunkTest, InAHeapABlockEndsBeforeTheHeapAndIsNoMapping) {
    auto in_heap = [this](size_t block, size_t end) {
        return rb_heapprof_chunk_bytes_in_heap(reinterpret_cast<uintptr_t>(&words_[block]),
                                               reinterpret_cast<uintptr_t>(&words_[end]), Word,
                                               this);
    };
    Chunk(4, 8, true);
    EXPECT_EQ(7 * sizeof(uintptr_t), in_heap(6, 13));
    EXPECT_EQ(0u, in_heap(6, 12));
    EXPECT_EQ(0u, in_heap(6, 6));
    for (uintptr_t size : {uintptr_t{8}, uintptr_t{kMapped}, uintptr_t{1} << 41}) {
        words_[13] = size | kInUse; // what no chunk has
        EXPECT_EQ(7 * sizeof(uintptr_t), Bytes(6));
        EXPECT_EQ(0u, in_heap(6, 64));
    }
    words_[5] = 8192 | kMapped;
    words_[4] = 0;
    EXPECT_EQ(0u, rb_heapprof_chunk_bytes_in_heap(reinterpret_cast<uintptr_t>(&words_[6]),
                                                  UINTPTR_MAX, Word, this));
}

TEST_F(ChunkTest, AMappedBlockIsWholePages) {
    uintptr_t into_page = reinterpret_cast<uintptr_t>(&words_[4]) % 4096;
    words_[4] = into_page; // the chunk is that far behind where the mapping begins
    words_[5] = (8192 - into_page) | kMapped;
    EXPECT_EQ(8192u - into_page - 16, Bytes(6));
    words_[5] += 16; // it does not end with a page
    EXPECT_EQ(0u, Bytes(6));
    words_[4] += 4096 - 16; // nor begin with one
    EXPECT_EQ(0u, Bytes(6));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they have their own malloc
TEST(Chunk, WhatMallocGaveHasItsUsableSize) {
    int fd = rb_heapprof_peek_open();
    auto word = [](uintptr_t address, uintptr_t *word, void *data) {
        return rb_heapprof_peek(*static_cast<int *>(data), address, word, sizeof(*word)) ==
               sizeof(*word);
    };
    std::vector<void *> blocks;
    for (size_t bytes : {1, 24, 25, 1000, 100000, 1000000}) {
        void *block = malloc(bytes);
        blocks.push_back(block);
        EXPECT_EQ(malloc_usable_size(block),
                  rb_heapprof_chunk_bytes(reinterpret_cast<uintptr_t>(block), word, &fd))
            << bytes;
    }
    for (void *block : blocks) free(block);
    rb_heapprof_peek_close(fd);
}
#endif

} // namespace
