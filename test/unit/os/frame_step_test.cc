// frame_step_test.cc - steps from frame to frame, held against the unwinder; and tables byte by
// byte.

#include <gtest/gtest.h>

#include <alloca.h>
#include <unwind.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include "os/frame_step.h"

struct dwarf_eh_bases {
    void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *address, dwarf_eh_bases *bases);
}

#if defined(__x86_64__) && defined(__linux__)
namespace {

using Addresses = std::vector<uintptr_t>;

// ---- of functions as the compiler makes them ----

_Unwind_Reason_Code Add(_Unwind_Context *context, void *data) {
    static_cast<Addresses *>(data)->push_back(_Unwind_GetIP(context));
    return _URC_NO_REASON;
}

heapprof_frame_step StepOf(uintptr_t address) {
    dwarf_eh_bases bases;
    const void *record = _Unwind_Find_FDE(reinterpret_cast<void *>(address - 1), &bases);
    return record ? rb_heapprof_frame_step_read(record, reinterpret_cast<uintptr_t>(bases.function),
                                                address)
                  : heapprof_frame_step { 0, 0, HEAPPROF_STEP_LAST };
}

struct Walks {
    Addresses by_steps, by_unwinding;
    bool by_rbp = false;
};
Walks walks;

__attribute__((noinline)) void Walk() {
    auto *begin = static_cast<const uintptr_t *>(__builtin_frame_address(0));
    heapprof_c_frame frame = {begin + 1, begin[0]};
    heapprof_frame_step step;

    walks = {};
    do {
        walks.by_steps.push_back(*frame.place);
        step = StepOf(*frame.place);
        walks.by_rbp |= step.kind == HEAPPROF_STEP_BY_RBP;
    } while (rb_heapprof_frame_step_take(&step, &frame, UINTPTR_MAX));
    _Unwind_Backtrace(Add, &walks.by_unwinding);
}

volatile uintptr_t sink;

__attribute__((noinline)) void Small(int depth);

__attribute__((noinline)) void WithAlloca(int depth) {
    auto *room = static_cast<volatile char *>(alloca(16 + 48 * (depth & 7)));
    room[depth & 7] = 1;
    Small(depth - 1);
    sink = room[depth & 7];
}

__attribute__((noinline)) void Large(int depth) {
    volatile char room[3000];
    room[depth & 7] = 1;
    WithAlloca(depth - 1);
    sink = room[depth & 7];
}

// Keeps many values over the call, so that rbp is one of those that are saved and used for
// something else.
__attribute__((noinline)) void Small(int depth) {
    uintptr_t a = sink, b = sink, c = sink, d = sink, e = sink, f = sink, g = sink;
    if (depth <= 0) Walk();
    else if (depth % 2) Large(depth - 1);
    else WithAlloca(depth - 1);
    sink = a + b * 3 + c * 5 + d * 7 + e * 9 + f * 11 + g * 13;
}

TEST(FrameStep, LeadsWhereTheUnwinderDoes) {
    for (int depth = 0; depth < 30; depth++) {
        Small(depth);
        ASSERT_GT(walks.by_steps.size(), size_t(depth));
        // The unwinder begins in Walk itself.
        ASSERT_GT(walks.by_unwinding.size(), walks.by_steps.size());
        walks.by_unwinding.erase(walks.by_unwinding.begin());
        walks.by_unwinding.resize(walks.by_steps.size());
        EXPECT_EQ(walks.by_unwinding, walks.by_steps);
        EXPECT_TRUE(walks.by_rbp || depth == 0);
    }
}

// ---- of tables ----

using Bytes = std::string;

Bytes Number(uint32_t value) {
    return Bytes(reinterpret_cast<const char *>(&value), sizeof(value));
}

Bytes Record(const Bytes &contents) {
    return Number(uint32_t(contents.size())) + contents;
}

Bytes Of(std::initializer_list<int> bytes) {
    Bytes text;
    for (int byte : bytes) text.push_back(char(byte));
    return text;
}

const Bytes kBeginning =
    Of({ 0x0c, 7, 8, 0x90, 1 }); // the end is rsp + 8, the return address at end - 8
constexpr uintptr_t kFunction = 0x10000;

struct Table {
    Bytes augmentation = Bytes("zR\0", 3), fields = Of({1, 0x1b}), beginning = kBeginning;
    int version = 1;

    heapprof_frame_step Read(const Bytes &instructions, uintptr_t at = 0x20) const {
        return ReadWhole(Number(0) + Number(0x1000) + Of({0}) + instructions, at);
    }

    // What comes behind the FDE's distance to its CIE.
    heapprof_frame_step ReadWhole(const Bytes &fde, uintptr_t at = 0x20) const {
        Bytes cie = Record(Number(0) + Of({ version }) + augmentation + Of({ 1, 0x78, 16 }) +
                           fields + beginning);
        Bytes whole = cie + Record(Number(uint32_t(cie.size() + 4)) + fde);
        // Of its own size, for the sanitizer to see what lies behind it.
        std::vector<char> copy(whole.begin(), whole.end());
        return rb_heapprof_frame_step_read(copy.data() + cie.size(), kFunction, kFunction + at);
    }
};

void ExpectStep(const heapprof_frame_step &step, int kind, int bytes, int saved) {
    EXPECT_EQ(kind, step.kind);
    EXPECT_EQ(bytes, step.bytes);
    EXPECT_EQ(saved, step.saved);
}

const Bytes kPushRbp =
    Of({ 0x41, 0x0e, 16, 0x86, 2 }); // one byte further: the end is rsp + 16, rbp at end - 16
const Bytes kMoveToRbp = Of({0x43, 0x0d, 6});           // three bytes further: the end is rbp + 16

TEST(FrameStepTable, OnlyWhatComesBeforeTheAddressCounts) {
    Table table;
    const Bytes table_of_frame =
        kPushRbp + kMoveToRbp + Of({ 0x5a, 0x0c, 7, 8 }); // and 26 bytes further it is left

    ExpectStep(table.Read(table_of_frame, 1), HEAPPROF_STEP_BY_PLACE, 8, 0);
    ExpectStep(table.Read(table_of_frame, 2), HEAPPROF_STEP_BY_PLACE, 16, 2);
    ExpectStep(table.Read(table_of_frame, 4), HEAPPROF_STEP_BY_PLACE, 16, 2);
    ExpectStep(table.Read(table_of_frame, 5), HEAPPROF_STEP_BY_RBP, 16, 2);
    ExpectStep(table.Read(table_of_frame, 30), HEAPPROF_STEP_BY_RBP, 16, 2);
    ExpectStep(table.Read(table_of_frame, 31), HEAPPROF_STEP_BY_PLACE, 8, 2);
}

TEST(FrameStepTable, EachWayToAdvance) {
    Table table;

    ExpectStep(table.Read(Of({0x02, 0x10, 0x0e, 16}), 0x10), HEAPPROF_STEP_BY_PLACE, 8, 0);
    ExpectStep(table.Read(Of({0x02, 0x10, 0x0e, 16}), 0x11), HEAPPROF_STEP_BY_PLACE, 16, 0);
    ExpectStep(table.Read(Of({0x03, 0x10, 0x01, 0x0e, 16}), 0x110), HEAPPROF_STEP_BY_PLACE, 8, 0);
    ExpectStep(table.Read(Of({0x03, 0x10, 0x01, 0x0e, 16}), 0x111), HEAPPROF_STEP_BY_PLACE, 16, 0);
    ExpectStep(table.Read(Of({ 0x04, 0x10, 0, 0x01, 0, 0x0e, 16 }), 0x10010),
               HEAPPROF_STEP_BY_PLACE, 8, 0);
    ExpectStep(table.Read(Of({ 0x04, 0x10, 0, 0x01, 0, 0x0e, 16 }), 0x10011),
               HEAPPROF_STEP_BY_PLACE, 16, 0);
}

TEST(FrameStepTable, ARowIsKeptAndBroughtBack) {
    Table table;

    ExpectStep(table.Read(kPushRbp + Of({ 0x0a, 0x41, 0xc6, 0x0e, 8, 0x41, 0x0b }), 3),
               HEAPPROF_STEP_BY_PLACE, 8, 0);
    ExpectStep(table.Read(kPushRbp + Of({ 0x0a, 0x41, 0xc6, 0x0e, 8, 0x41, 0x0b }), 4),
               HEAPPROF_STEP_BY_PLACE, 16, 2);
    EXPECT_EQ(HEAPPROF_STEP_UNKNOWN, table.Read(Of({0x0b})).kind);
    EXPECT_EQ(HEAPPROF_STEP_BY_PLACE, table.Read(Bytes(8, 0x0a)).kind);
    EXPECT_EQ(HEAPPROF_STEP_UNKNOWN, table.Read(Bytes(9, 0x0a)).kind);
}

TEST(FrameStepTable, OtherRegistersDoNotMatter) {
    Table table;

    // rbx saved, in another register, by an expression; arguments on the stack
    ExpectStep(table.Read(Of({ 0x83, 3, 0x09, 3, 12, 0x10, 3, 2, 0x77, 8, 0x2e, 0x10, 0xc3, 0x08, 3,
                               0x0e, 24 })),
               HEAPPROF_STEP_BY_PLACE, 24, 0);
    ExpectStep(table.Read(Of({0x05, 6, 3, 0x05, 3, 4})), HEAPPROF_STEP_BY_PLACE, 8, 3);
    ExpectStep(table.Read(Of({0x11, 6, 0x03, 0x13, 0x7d})), HEAPPROF_STEP_BY_PLACE, 24, 3);
}

TEST(FrameStepTable, NumbersOfMoreThanSevenBits) {
    Table table;

    ExpectStep(table.Read(Of({0x0e, 0xc0, 0x1f})), HEAPPROF_STEP_BY_PLACE, 4032, 0);
    ExpectStep(table.Read(Of({ 0x0e, 0xc0, 0x1f, 0x86, 0x81, 0x01 })), HEAPPROF_STEP_BY_PLACE, 4032,
               129);
    ExpectStep(table.Read(Of({0x12, 6, 0xc0, 0x7e})), HEAPPROF_STEP_BY_RBP, 1536, 0);
}

TEST(FrameStepTable, TheOutermostHasNoCaller) {
    Table table;

    EXPECT_EQ(HEAPPROF_STEP_LAST, table.Read(Of({0x07, 16})).kind);
    table.beginning += Of({0x07, 16});
    EXPECT_EQ(HEAPPROF_STEP_LAST, table.Read("").kind);
    EXPECT_EQ(HEAPPROF_STEP_LAST, table.Read(Of({0x06, 16})).kind);
}

TEST(FrameStepTable, WhatIsFoundOtherwiseIsNotKnown) {
    const std::vector<Bytes> others = {
        Of({0x0f, 2, 0x77, 8}),    // the end by an expression
        Of({0x0c, 10, 0}),         // by r10, as where the stack is aligned
        Of({0x10, 6, 2, 0x76, 0}), // rbp by one
        Of({0x16, 6, 2, 0x76, 0}),
        Of({0x09, 6, 3}),          // rbp in rbx
        Of({0x09, 16, 3}),         // the return address
        Of({0x90, 2}),             // not right at the end
        Of({0x01, 0, 0, 0, 0}),    // another way to advance
        Of({0x2d}), Of({0x3f}),    // of other machines; none
        Of({0x11, 6, 0x7e}),       // rbp behind the end
    };

    for (const Bytes &instructions : others) {
        EXPECT_EQ(HEAPPROF_STEP_UNKNOWN, Table().Read(instructions).kind)
            << testing::PrintToString(instructions);
        // Behind the address it is no matter.
        EXPECT_EQ(HEAPPROF_STEP_BY_PLACE, Table().Read(Of({0x60}) + instructions).kind);
    }
}

TEST(FrameStepTable, Augmentations) {
    Table table;

    table.augmentation = Bytes("zPLR\0", 5);
    table.fields = Of({7, 0x9b, 1, 2, 3, 4, 0x1b, 0x1b});
    ExpectStep(table.Read(kPushRbp), HEAPPROF_STEP_BY_PLACE, 16, 2);
    table.fields = Of({3, 0x9b, 1, 2}); // shorter than what is in it
    EXPECT_EQ(HEAPPROF_STEP_UNKNOWN, table.Read(kPushRbp).kind);
    table.augmentation = Bytes("zRS\0", 4); // a signal handler's
    table.fields = Of({1, 0x1b});
    EXPECT_EQ(HEAPPROF_STEP_UNKNOWN, table.Read(kPushRbp).kind);
    table.augmentation = Bytes("eh\0", 3);
    EXPECT_EQ(HEAPPROF_STEP_UNKNOWN, table.Read(kPushRbp).kind);
}

TEST(FrameStepTable, PointersAsTheyAreWritten) {
    Table table;

    for (auto [encoding, bytes] : {std::pair{0x00, 8}, {0x02, 2}, {0x1b, 4}, {0x0c, 8}}) {
        table.fields = Of({1, encoding});
        ExpectStep(table.ReadWhole(Bytes(2 * bytes, 1) + Of({ 0 }) + kPushRbp),
                   HEAPPROF_STEP_BY_PLACE, 16, 2);
    }
    table.fields = Of({1, 0x01}); // of any length
    EXPECT_EQ(HEAPPROF_STEP_UNKNOWN, table.Read(kPushRbp).kind);
    // Without a z there are no lengths, and pointers are whole.
    table.augmentation = Bytes("\0", 1);
    table.fields = "";
    ExpectStep(table.ReadWhole(Bytes(16, 1) + kPushRbp), HEAPPROF_STEP_BY_PLACE, 16, 2);
}

TEST(FrameStepTable, AnotherVersionIsNotKnown) {
    Table table;

    table.version = 3;
    EXPECT_EQ(HEAPPROF_STEP_BY_PLACE, table.Read("").kind);
    table.version = 4;
    EXPECT_EQ(HEAPPROF_STEP_UNKNOWN, table.Read("").kind);
}

TEST(FrameStepTable, WhatIsCutShortIsNotKnown) {
    Table table;
    const Bytes fde = Number(0) + Number(0x1000) + Of({ 0 }) +
                      Of({ 0x86, 2, 0x0c, 6, 0x90, 0x01, 0x10, 3, 2, 0x77, 0x08 });
    const std::vector<size_t> whole = {9, 11, 15, 20}; // where an instruction ends

    ExpectStep(table.ReadWhole(fde), HEAPPROF_STEP_BY_RBP, 144, 2);
    for (size_t length = 0; length < fde.size(); length++) {
        bool ends = std::find(whole.begin(), whole.end(), length) != whole.end();
        EXPECT_EQ(ends, table.ReadWhole(fde.substr(0, length)).kind != HEAPPROF_STEP_UNKNOWN)
            << length;
    }
    EXPECT_EQ(HEAPPROF_STEP_UNKNOWN, table.Read(Of({0x0e}) + Bytes(40, char(0x80))).kind);
    table.beginning = Of({0x0c, 7});
    EXPECT_EQ(HEAPPROF_STEP_UNKNOWN, table.Read("").kind);
}

// ---- taking a step ----

struct TakeTest : testing::Test {
    uintptr_t stack[16] = {};
    heapprof_c_frame frame = {stack + 2, uintptr_t(stack + 8)};

    bool Take(int kind, int bytes, int saved = 0, size_t limit = 16) {
        heapprof_frame_step step = {int32_t(bytes), int16_t(saved), uint8_t(kind)};
        return rb_heapprof_frame_step_take(&step, &frame, uintptr_t(stack + limit));
    }
};

TEST_F(TakeTest, ToTheEndOfTheFrame) {
    stack[5] = 0x1234;
    ASSERT_TRUE(Take(HEAPPROF_STEP_BY_PLACE, 4 * 8, 2)); // the end is stack + 7
    EXPECT_EQ(stack + 6, frame.place);
    EXPECT_EQ(0x1234u, frame.rbp);
}

TEST_F(TakeTest, ByRbpWhichStays) {
    ASSERT_TRUE(Take(HEAPPROF_STEP_BY_RBP, 16));
    EXPECT_EQ(stack + 9, frame.place);
    EXPECT_EQ(uintptr_t(stack + 8), frame.rbp);
}

TEST_F(TakeTest, NeverInwardsNorBeyondTheLimit) {
    const uintptr_t *place = frame.place;

    EXPECT_FALSE(Take(HEAPPROF_STEP_UNKNOWN, 16));
    EXPECT_FALSE(Take(HEAPPROF_STEP_LAST, 16));
    EXPECT_FALSE(Take(HEAPPROF_STEP_BY_PLACE, 0));
    EXPECT_FALSE(Take(HEAPPROF_STEP_BY_PLACE, -8));
    EXPECT_FALSE(Take(HEAPPROF_STEP_BY_PLACE, 12));    // not at a word
    EXPECT_FALSE(Take(HEAPPROF_STEP_BY_RBP, -5 * 8));
    EXPECT_FALSE(Take(HEAPPROF_STEP_BY_PLACE, 14 * 8));
    EXPECT_FALSE(Take(HEAPPROF_STEP_BY_PLACE, 16, 3)); // saved in another frame
    EXPECT_EQ(place, frame.place);
    EXPECT_TRUE(Take(HEAPPROF_STEP_BY_PLACE, 13 * 8));
}

} // namespace
#else
TEST(FrameStep, IsNotKnownElsewhere) {
    EXPECT_EQ(HEAPPROF_STEP_UNKNOWN, rb_heapprof_frame_step_read("", 1, 2).kind);
}
#endif
