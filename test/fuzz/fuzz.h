// fuzz.h - what the fuzz targets share.
//
// A target turns bytes into calls and compares what comes of them with a model: the sanitizers
// see what is out of bounds, REQUIRE what is wrong. The provider takes numbers from the end of
// the bytes and text from their beginning, and gives zeros and "" when there are none left.

#ifndef HEAPPROF_FUZZ_H
#define HEAPPROF_FUZZ_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <fuzzer/FuzzedDataProvider.h>

// What has to be so. If not, the run ends here, and libFuzzer keeps the input.
#define REQUIRE(condition) \
    ((condition) ? (void)0 : \
                   (fprintf(stderr, "%s:%d: wrong: %s\n", __FILE__, __LINE__, #condition), abort()))

// A number from 0 to below - 1.
inline uint32_t
Below(FuzzedDataProvider *input, uint32_t below)
{
    return input->ConsumeIntegralInRange<uint32_t>(0, below - 1);
}

#endif
