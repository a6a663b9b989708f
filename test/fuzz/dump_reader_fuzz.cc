// dump_reader_fuzz.cc - any bytes as the file of an object graph: as they are, and as blocks whose
// heads are right.
//
// What is told may not depend on how the bytes come, and what a cut file tells is the beginning of
// what the whole one tells.

#include <algorithm>
#include <cstdarg>
#include <string>

#include "fuzz.h"
#include "test/unit/graph/file.h"
#include "test/unit/graph/told.h"

using graph_told::Read;
using graph_told::Told;

namespace {

std::string
Framed(FuzzedDataProvider *input)
{
    std::string bytes = graph_file::Begin();

    while (input->remaining_bytes() > 0) {
        int kind = static_cast<int>(Below(input, HEAPPROF_DUMP_BLOCK_KINDS));
        int encoding = input->ConsumeBool() ? HEAPPROF_DUMP_ZLIB : HEAPPROF_DUMP_RAW;
        bytes += graph_file::Block(kind, input->ConsumeRandomLengthString(), encoding);
    }
    return bytes + graph_file::Block(HEAPPROF_DUMP_FOOTER, "");
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzedDataProvider input(data, size);
    bool framed = input.ConsumeBool();
    uint32_t cut = input.ConsumeIntegral<uint16_t>();
    std::string bytes = framed ? Framed(&input) : input.ConsumeRemainingBytesAsString();
    Told whole = Read(bytes), slowly = Read(bytes, 3), part = Read(bytes.substr(0, cut));

    REQUIRE(whole.lines == slowly.lines && whole.result == slowly.result &&
            whole.error == slowly.error);
    REQUIRE(whole.error.empty() == (whole.result == HEAPPROF_DUMP_COMPLETE));
    REQUIRE(whole.error.find('\n') == std::string::npos);
    REQUIRE(part.lines.size() <= whole.lines.size());
    REQUIRE(std::equal(part.lines.begin(), part.lines.end(), whole.lines.begin()));
    return 0;
}
