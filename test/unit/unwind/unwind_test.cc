// unwind_test.cc - steps through our own stack, held against the unwinder of the C++ runtime; steps
// and expressions, byte by byte.

#include <gtest/gtest.h>

#include <link.h>
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

extern "C" {
#include "unwind/expression.h"
#include "unwind/step.h"
#include "unwind/table.h"
}

namespace {

using Addresses = std::vector<uintptr_t>;

// ---- a stack in memory ----

struct Words {
    std::map<uint64_t, uint64_t> words;
    unwind_memory memory = {Read, this};

    static bool Read(void *data, uint64_t address, uint64_t *word) {
        auto &words = static_cast<Words *>(data)->words;
        auto found = words.find(address);
        if (found == words.end()) return false;
        *word = found->second;
        return true;
    }
};

unwind_registers Registers(uint64_t pc, uint64_t sp, uint64_t fp) {
    unwind_registers registers = {};
    registers.pc = pc;
    unwind_set(&registers, HEAPPROF_CFI_SP, sp);
    unwind_set(&registers, HEAPPROF_CFI_FP, fp);
    return registers;
}

TEST(StepByPointer, LeadsUpwards) {
    Words stack;
    stack.words = {{0x1020, 0x1100}, {0x1028, 0x4000}};
    unwind_registers registers = Registers(0x4444, 0x1000, 0x1020);
    ASSERT_EQ(UNWIND_CALLER, unwind_step_by_pointer(&registers, &stack.memory));
    EXPECT_EQ(0x4000u, registers.pc);
    EXPECT_EQ(0x1030u, unwind_sp(&registers));
    EXPECT_EQ(0x1100u, registers.values[HEAPPROF_CFI_FP]);
    for (uint64_t pointer : {0x0ff8, 0x1021, 0x2000}) { // below sp, not at a word, not readable
        registers = Registers(0x4444, 0x1000, pointer);
        EXPECT_EQ(UNWIND_UNKNOWN, unwind_step_by_pointer(&registers, &stack.memory)) << pointer;
    }
}

TEST(StepByPointer, EndsAtTheOutermost) {
    Words stack;
    stack.words = {{0x1020, 0}, {0x1028, 0}};
    unwind_registers registers = Registers(0x4444, 0x1000, 0x1020);
    EXPECT_EQ(UNWIND_OUTERMOST, unwind_step_by_pointer(&registers, &stack.memory));
}

TEST(Step, NeverGoesInwards) {
    Words stack;
    stack.words = {{0x0ff8, 0x4000}, {0x0ff0, 1}};
    heapprof_cfi_row row = {};
    row.end_register = HEAPPROF_CFI_SP;
    row.end.kind = HEAPPROF_CFI_VALUE;
    row.return_register = HEAPPROF_CFI_REGISTERS - 1;
    row.registers[row.return_register] = {nullptr, -8, HEAPPROF_CFI_SAVED};
    unwind_registers registers = Registers(0x4444, 0x1000, 0);
    EXPECT_EQ(UNWIND_UNKNOWN, unwind_step(&row, &registers, &stack.memory));
    row.signal_frame = true; // a handler may have a stack of its own
    EXPECT_EQ(UNWIND_CALLER, unwind_step(&row, &registers, &stack.memory));
    EXPECT_TRUE(registers.exact);
}

// ---- expressions ----

bool Compute(const std::string &bytes, uint64_t *value, const uint64_t *push = nullptr) {
    std::vector<uint8_t> copy(bytes.begin(), bytes.end()); // of its own size, for the sanitizer
    heapprof_cfi_rule rule = {copy.data(), int64_t(copy.size()), HEAPPROF_CFI_EXPRESSION};
    unwind_registers registers = Registers(0, 0x1000, 0x2000);
    Words stack;
    stack.words = {{0x1008, 77}};
    return unwind_expression(&rule, &registers, &stack.memory, push, value);
}

std::string Of(std::initializer_list<int> bytes) {
    std::string text;
    for (int byte : bytes) text.push_back(char(byte));
    return text;
}

TEST(Expression, ComputesWhatTablesHave) {
    const int sp = 0x70 + HEAPPROF_CFI_SP;
    const std::vector<std::pair<std::string, uint64_t>> computed = {
        {Of({0x08, 200}), 200},
        {Of({0x09, 200}), uint64_t(-56)},
        {Of({0x35}), 5},
        {Of({sp, 8}), 0x1008},
        {Of({sp, 8, 0x06}), 77},
        {Of({0x92, HEAPPROF_CFI_SP, 8}), 0x1008},
        {Of({0x35, 0x33, 0x22}), 8},
        {Of({0x35, 0x33, 0x1c}), 2},
        {Of({0x35, 0x33, 0x16, 0x1c}), uint64_t(-2)},
        {Of({0x35, 0x23, 0x81, 0x01}), 134},
        {Of({0x31, 0x34, 0x24}), 16},
        {Of({0x35, 0x33, 0x2a}), 1},
        {Of({0x35, 0x12, 0x1e}), 25},
        {Of({0x10, 0x80, 0x01}), 128},
        {Of({0x11, 0x7f}), uint64_t(-1)},
    };
    for (const auto &[bytes, expected] : computed) {
        uint64_t value = 0;
        ASSERT_TRUE(Compute(bytes, &value)) << testing::PrintToString(bytes);
        EXPECT_EQ(expected, value) << testing::PrintToString(bytes);
    }
}

TEST(Expression, RefusesWhatIsBrokenOrNotKnown) {
    uint64_t value;
    for (const std::string &bytes : {
             Of({}), Of({0x22}), Of({0x31, 0x22}), Of({0x08}), Of({0x70 + 3, 0}),
             Of({0x92, 200, 1, 0}), Of({0x31, 0x06}), // a word that cannot be read
             Of({0x2f, 0, 0}),                        // a jump
             std::string(65, 0x31),                   // more than the stack has room for
         }) {
        EXPECT_FALSE(Compute(bytes, &value)) << testing::PrintToString(bytes);
    }
}

// ---- our own stack ----

#if defined(__x86_64__) && defined(__linux__)

struct Search {
    uintptr_t address;
    unwind_table table;
    bool found;
};

int FindTable(dl_phdr_info *info, size_t, void *data) {
    auto *search = static_cast<Search *>(data);
    const ElfW(Phdr) *index = nullptr, *part = nullptr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *each = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + each->p_vaddr;
        if (each->p_type == PT_GNU_EH_FRAME) index = each;
        if (each->p_type == PT_LOAD && search->address - start < each->p_memsz) part = each;
    }
    if (!index || !part) return 0;
    unwind_table *table = &search->table;
    table->index_address = info->dlpi_addr + index->p_vaddr;
    table->index = reinterpret_cast<const uint8_t *>(table->index_address);
    table->index_bytes = index->p_memsz;
    if (!unwind_table_records(table, &table->records_address)) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *each = &info->dlpi_phdr[i];
        uint64_t inside = table->records_address - info->dlpi_addr - each->p_vaddr;
        if (each->p_type == PT_LOAD && inside < each->p_filesz)
            table->records_bytes = each->p_filesz - inside;
    }
    table->records = reinterpret_cast<const uint8_t *>(table->records_address);
    search->found = true;
    return 1;
}

bool ReadOurs(void *, uint64_t address, uint64_t *word) {
    memcpy(word, reinterpret_cast<const void *>(address), sizeof(*word));
    return true;
}

Addresses by_steps, by_runtime;

_Unwind_Reason_Code Add(_Unwind_Context *context, void *data) {
    static_cast<Addresses *>(data)->push_back(_Unwind_GetIP(context));
    return _URC_NO_REASON;
}

__attribute__((noinline)) void Walk() {
    ucontext_t context;
    getcontext(&context);
    static const int places[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                 REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                 REG_R12, REG_R13, REG_R14, REG_R15};
    unwind_registers registers = {};
    for (unsigned i = 0; i < 16; i++)
        unwind_set(&registers, i, uint64_t(context.uc_mcontext.gregs[places[i]]));
    registers.pc = uint64_t(context.uc_mcontext.gregs[REG_RIP]);
    registers.exact = true;
    const unwind_memory memory = {ReadOurs, nullptr};
    unwind_result result = UNWIND_CALLER;

    by_steps.clear();
    while (result == UNWIND_CALLER && by_steps.size() < 1000) {
        Search search = {unwind_place(&registers), {}, false};
        heapprof_cfi_row row;
        dl_iterate_phdr(FindTable, &search);
        result = search.found && unwind_table_find(&search.table, search.address, &row)
                     ? unwind_step(&row, &registers, &memory)
                     : UNWIND_UNKNOWN;
        if (result == UNWIND_CALLER) by_steps.push_back(registers.pc);
    }
    by_runtime.clear();
    _Unwind_Backtrace(Add, &by_runtime);
    by_runtime.erase(by_runtime.begin()); // Walk itself
}

void ExpectTheSame(size_t least) {
    while (!by_runtime.empty() && by_runtime.back() == 0) by_runtime.pop_back();
    EXPECT_GT(by_steps.size(), least);
    EXPECT_EQ(by_runtime, by_steps);
}

volatile int sink;

__attribute__((noinline)) void Aligned(int depth) {
    volatile char room[64] __attribute__((aligned(64)));
    auto *more = static_cast<volatile char *>(__builtin_alloca(size_t(16 + sink)));
    room[0] = more[0] = 1;
    if (depth == 0) Walk();
    else Aligned(depth - 1);
    sink = sink + room[0] - more[0];
}

TEST(OurStack, IsWalkedAsByTheRuntime) {
    Walk();
    ExpectTheSame(3);
    for (int depth = 0; depth < 5; depth++) {
        Aligned(depth);
        ExpectTheSame(size_t(depth) + 3);
    }
}

void Handle(int) {
    Aligned(1);
}

TEST(OurStack, IsWalkedThroughASignalHandler) {
    static char other[1 << 16];
    stack_t own = {other, 0, sizeof(other)}, before;
    struct sigaction action = {}, old;
    action.sa_handler = Handle;
    action.sa_flags = SA_ONSTACK;
    sigaltstack(&own, &before);
    sigaction(SIGUSR1, &action, &old);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &old, nullptr);
    sigaltstack(&before, nullptr);
    ExpectTheSame(6);
}

#endif

} // namespace
