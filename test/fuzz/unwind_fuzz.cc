// unwind_fuzz.cc - any bytes as unwind tables, registers and a stack: as they are, and as a record
// whose head is right.
//
// Whatever is in them, a walk ends, and each step leads upwards or has to do with a signal handler.
// The copies have their own size, so the sanitizer sees what is read behind them.

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "fuzz.h"

extern "C" {
#include "unwind/step.h"
#include "unwind/table.h"
}

namespace {

constexpr uint64_t kIndex = 0x10000, kRecords = 0x11000, kCode = 0x20000, kStack = 0x7000;

std::string
Number(uint32_t value)
{
    return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
}

std::string
Record(const std::string &contents)
{
    return Number(static_cast<uint32_t>(contents.size())) + contents;
}

// An index with one entry, for the function at kCode.
std::string
Index(uint32_t record)
{
    return std::string("\x01\x1b\x03\x3b", 4) + Number(kRecords - kIndex - 4) + Number(1) +
           Number(kCode - kIndex) + Number(kRecords - kIndex + record);
}

struct Stack {
    std::string bytes;

    static bool
    Read(void *data, uint64_t address, uint64_t *word)
    {
        const std::string &bytes = static_cast<Stack *>(data)->bytes;
        if (address < kStack || address - kStack > bytes.size() ||
            bytes.size() - (address - kStack) < sizeof(*word))
            return false;
        memcpy(word, bytes.data() + (address - kStack), sizeof(*word));
        return true;
    }
};

void
Walk(const unwind_table &table, FuzzedDataProvider *input)
{
    Stack stack = { input->ConsumeRandomLengthString(512) };
    const unwind_memory memory = { Stack::Read, &stack };
    unwind_registers registers = {};

    registers.pc = kCode + Below(input, 64);
    registers.exact = input->ConsumeBool();
    registers.known = input->ConsumeIntegral<uint64_t>();
    for (unsigned i = 0; i < HEAPPROF_CFI_REGISTERS; i++)
        registers.values[i] = kStack + 8 * Below(input, 64);
    unwind_set(&registers, HEAPPROF_CFI_SP, kStack);
    for (int steps = 0; steps < 200; steps++) {
        heapprof_cfi_row row = {};
        unwind_registers before = registers;
        bool known = unwind_table_find(&table, unwind_place(&registers), &row);
        unwind_result result = known ? unwind_step(&row, &registers, &memory)
                               : steps % 2 ? unwind_step_by_pointer(&registers, &memory)
                                           : unwind_step_out(&registers, &memory);
        if (result != UNWIND_CALLER) {
            REQUIRE(!memcmp(before.values, registers.values, sizeof(before.values)));
            REQUIRE(before.pc == registers.pc && before.known == registers.known);
            return;
        }
        REQUIRE(registers.pc != 0 && unwind_sp(&registers) % 8 == 0);
        REQUIRE(registers.exact || unwind_sp(&registers) >= unwind_sp(&before));
        REQUIRE(registers.exact || before.exact || unwind_sp(&registers) > unwind_sp(&before));
        if (input->ConsumeBool()) registers.pc = kCode + Below(input, 64);
    }
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzedDataProvider input(data, size);
    std::string index, records;

    if (input.ConsumeBool()) {
        index = input.ConsumeRandomLengthString(256);
        records = input.ConsumeRandomLengthString(512);
    }
    else {
        std::string augmentation =
            input.ConsumeBool() ? std::string("zR\0", 3) : std::string("zRS\0", 4);
        std::string cie = Record(Number(0) + "\x01" + augmentation +
                                 std::string("\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01", 10) +
                                 input.ConsumeRandomLengthString(64));
        std::string fde = Number(static_cast<uint32_t>(cie.size() + 4)) + Number(0) + Number(64) +
                          std::string(1, '\0') + input.ConsumeRandomLengthString(256);
        index = Index(static_cast<uint32_t>(cie.size()));
        records = cie + Record(fde);
    }
    std::vector<uint8_t> index_copy(index.begin(), index.end()),
        records_copy(records.begin(), records.end());
    unwind_table table = {
        index_copy.data(), records_copy.data(), index_copy.size(), records_copy.size(), kIndex,
        kRecords};
    Walk(table, &input);
    return 0;
}
