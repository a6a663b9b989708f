// table_testing.h - what the tests of the tables share: seeded choices, and memory
// that is refused at every growth in turn.

#ifndef HEAPPROF_TABLE_TESTING_H
#define HEAPPROF_TABLE_TESTING_H

#include <cstdint>
#include <random>

extern "C" {
#include "base/mem.h"
}

// How many random operations a table is compared with its model over.
constexpr int kOperations = 200000;

// After how many of them everything is looked at, not only what was touched.
constexpr int kFullLook = 1000;

// Seeded choices. std::mt19937_64 gives the same numbers everywhere; the standard's
// distributions need not.
class Choices {
  public:
    explicit Choices(uint64_t seed) : bits_(seed) {}

    // 0 to below - 1.
    uint64_t
    Below(uint64_t below)
    {
        return bits_() % below;
    }

    // True once in so many times.
    bool
    OneIn(uint64_t times)
    {
        return Below(times) == 0;
    }

  private:
    std::mt19937_64 bits_;
};

// Calls add until it returns true, with a page more of budget after each refusal; look is
// called after each refusal, when all must be as before. No table grows by less than a
// page, so every growth is refused at least once before it comes about. Returns how often
// add was refused.
template <typename Add, typename Look>
int
AddPageByPage(heapprof_mem *mem, Add add, Look look)
{
    int refusals = 0;

    while (!add()) {
        look();
        mem->budget_bytes += 4096;
        refusals++;
    }
    return refusals;
}

#endif
