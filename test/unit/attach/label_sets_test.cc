// label_sets_test.cc - labels of a target that is made up: as they are, and with everything in
// them that must not be.

#include "test/unit/attach/memory.h"
#include <gtest/gtest.h>

extern "C" {
#include "attach/label_sets.h"
#include "base/strings.h"
}

namespace {

constexpr uint64_t kDescriptor = 0x1000, kSets = 0x100000, kLeases = 0x101000, kLates = 0x102000;
constexpr uint64_t kTexts = 0x200000, kStrings = 0x300000, kLeaseTable = 0x400000;
constexpr uint64_t kLeaseCount = 64, kLateCount = 256, kSetCount = 70000;

struct Lease { uint32_t number, label, next; };
struct Late { uint32_t token, outer, unnamed, named, open; };

class LabelSets : public ::testing::Test {
  protected:
    Memory memory_;
    attach_vm vm_ = {};
    heapprof_mem mem_;
    attach_label_sets sets_ = {};
    uint32_t used_ = 16;
    int contract_ = 1;
    std::string left_out_;

    void
    SetUp() override
    {
        memory_.Put(kSets, std::string(sizeof(heapprof_label_sets), '\0'));
        memory_.Put(kLeases, std::string(24, '\0'));
        memory_.Put(kLates, std::string(kLateCount * sizeof(Late), '\0'));
        memory_.Put(kTexts, std::string(1 << 16, '\0'));
        memory_.Put(kStrings, std::string(kSetCount * sizeof(heapprof_string), '\0'));
        memory_.Put(kLeaseTable, std::string(kLeaseCount * sizeof(Lease), '\0'));
        Write(kLeases + 8, kLeaseTable);
        Tables(kTexts, kStrings, kSetCount, 1 << 16);
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        Open();
    }

    void
    TearDown() override
    {
        Close();
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    void
    Close()
    {
        attach_label_sets_free(&sets_, &mem_);
        attach_layout_free(vm_.layout);
    }

    void
    Open()
    {
        Descriptor descriptor;
        auto type = [&](const char *name, uint32_t size) { descriptor.Type(name, size); };
        auto field = [&](const char *name, int form, uint32_t size, size_t offset) {
            if (left_out_ != name) descriptor.Field(name, form, size, offset);
        };
        const int number = HEAPPROF_DESCRIPTOR_UNSIGNED, pointer = HEAPPROF_DESCRIPTOR_POINTER,
                  bytes = HEAPPROF_DESCRIPTOR_BYTES, none = HEAPPROF_DESCRIPTOR_NONE;
        descriptor.Add("label-sets", HEAPPROF_DESCRIPTOR_CONTRACT, none, 0, contract_);
        descriptor.Add("HEAPPROF_LEASES", HEAPPROF_DESCRIPTOR_CONSTANT, none, 0, kLeaseCount);
        descriptor.Add("HEAPPROF_LATES", HEAPPROF_DESCRIPTOR_CONSTANT, none, 0, 255);
        descriptor.Global("rb_heapprof_label_sets", bytes, sizeof(heapprof_label_sets), kSets);
        descriptor.Global("rb_heapprof_leases", bytes, 24, kLeases);
        descriptor.Global("rb_heapprof_lates", bytes, kLateCount * sizeof(Late), kLates);
        type("heapprof_label_sets", sizeof(heapprof_label_sets));
        type("heapprof_string", sizeof(heapprof_string));
        type("heapprof_leases", 24);
        type("heapprof_lease", sizeof(Lease));
        type("heapprof_lates", kLateCount * sizeof(Late));
        type("heapprof_late", sizeof(Late));
        field("heapprof_label_sets.texts.bytes", pointer, 8,
              Text(offsetof(heapprof_strings, bytes)));
        field("heapprof_label_sets.texts.bytes_used", number, 8,
              Text(offsetof(heapprof_strings, bytes_used)));
        field("heapprof_label_sets.texts.all", pointer, 8, Text(offsetof(heapprof_strings, all)));
        field("heapprof_label_sets.texts.numbers.end", number, 4,
              Text(offsetof(heapprof_strings, numbers.end)));
        field("heapprof_string.offset", number, 4, offsetof(heapprof_string, offset));
        field("heapprof_string.length", HEAPPROF_DESCRIPTOR_BITS, 31,
              8 * (offsetof(heapprof_string, offset) + 4));
        field("heapprof_leases.all", pointer, 8, 8);
        field("heapprof_lease.number", number, 4, 0);
        field("heapprof_lease.label", number, 4, 4);
        field("heapprof_lates.all", bytes, kLateCount * sizeof(Late), 0);
        field("heapprof_late.token", number, 4, 0);
        field("heapprof_late.outer", number, 4, 4);
        field("heapprof_late.named", number, 4, 12);
        memory_.Put(kDescriptor, descriptor.Bytes());
        char error[ATTACH_TARGET_ERROR_MAX] = "";
        vm_.target = memory_.target();
        vm_.layout = attach_layout_read(vm_.target, kDescriptor, error);
        ASSERT_TRUE(vm_.layout) << error;
        attach_label_sets_init(&sets_, &vm_, &mem_);
    }

    static size_t Text(size_t offset) { return offsetof(heapprof_label_sets, texts) + offset; }

    template <typename T> void
    Write(uint64_t address, const T &value)
    {
        auto piece = std::prev(memory_.pieces.upper_bound(address));
        memcpy(&piece->second.bytes[address - piece->first], &value, sizeof(value));
    }

    void
    Tables(uint64_t texts, uint64_t strings, uint32_t end, uint64_t used)
    {
        Write(kSets + Text(offsetof(heapprof_strings, bytes)), texts);
        Write(kSets + Text(offsetof(heapprof_strings, all)), strings);
        Write(kSets + Text(offsetof(heapprof_strings, numbers.end)), end);
        Write(kSets + Text(offsetof(heapprof_strings, bytes_used)), used);
    }

    void
    String(uint32_t set, uint32_t offset, uint32_t length)
    {
        heapprof_string string = {};
        string.offset = offset;
        string.length = length & 0x7fffffff;
        Write(kStrings + set * sizeof(string), string);
    }

    // A set of the target; "key=value key=value" becomes its text.
    void
    Set(uint32_t set, std::string text)
    {
        for (char &c : text)
            if (c == '=' || c == ' ') c = '\0';
        text += '\0';
        memcpy(&memory_.pieces[kTexts].bytes[used_], text.data(), text.size());
        String(set, used_, static_cast<uint32_t>(text.size()));
        used_ += static_cast<uint32_t>(text.size());
    }

    void
    SetLease(uint32_t number, uint32_t label)
    {
        Write(kLeaseTable + number % kLeaseCount * sizeof(Lease), Lease{number, label, 0});
    }

    void
    SetLate(uint32_t token, uint32_t outer, uint32_t named)
    {
        Write(kLates + (token & 255) * sizeof(Late), Late{token, outer, 0, named, 1});
    }

    static uint32_t Leased(uint32_t number) { return HEAPPROF_LABEL_LEASED | number; }

    std::string
    Of(uint32_t label, uint32_t late = 0)
    {
        size_t length;
        uint32_t set = attach_label_sets_of(&sets_, label, late);
        const char *bytes = attach_label_sets_text(&sets_, set, &length);
        std::string text(bytes, length ? length - 1 : 0);
        bool value = false;
        for (char &c : text) {
            if (c) continue;
            c = value ? ' ' : '=';
            value = !value;
        }
        return text;
    }
};

const std::string kUnnamed = HEAPPROF_LABEL_UNNAMED; // has a blank: sets with it are made of pieces

TEST_F(LabelSets, ASetIsItsText) {
    Set(1, "endpoint=/cart tenant=b2b");
    EXPECT_EQ("endpoint=/cart tenant=b2b", Of(1));
    EXPECT_EQ("", Of(0));
    EXPECT_EQ("", Of(2));
}

TEST_F(LabelSets, ASetIsReadOnce) {
    Set(1, "endpoint=/cart");
    Of(1);
    uint64_t reads = memory_.reads;
    EXPECT_EQ("endpoint=/cart", Of(1));
    EXPECT_EQ(reads, memory_.reads);
}

TEST_F(LabelSets, ALeaseLeadsToASet) {
    Set(3, "job=Mailer");
    SetLease(16, 3);
    SetLease(17, Leased(16));
    EXPECT_EQ("job=Mailer", Of(Leased(17)));
    SetLease(16, 0); // its block has ended
    EXPECT_EQ("", Of(Leased(17)));
    SetLease(16 + kLeaseCount, 3); // another has its place
    EXPECT_EQ("", Of(Leased(16)));
}

TEST_F(LabelSets, LeasesInACircleAreLeft) {
    SetLease(16, Leased(17));
    SetLease(17, Leased(16));
    uint64_t reads = memory_.reads;
    EXPECT_EQ("", Of(Leased(16)));
    EXPECT_GT(200u, memory_.reads - reads);
}

class LateNames : public LabelSets {
  protected:
    void
    SetUp() override
    {
        LabelSets::SetUp();
        Set(1, "endpoint=" + Held() + " tenant=b2b");
        Set(2, "endpoint=/cart");
        Set(3, "job=Mailer");
        std::string &bytes = memory_.pieces[kTexts].bytes; // the blanks again
        for (size_t at; (at = bytes.find(Held())) != std::string::npos; )
            bytes.replace(at, kUnnamed.size(), kUnnamed);
    }

    static std::string
    Held()
    {
        std::string held = kUnnamed;
        std::replace(held.begin(), held.end(), ' ', '_');
        return held;
    }
};

TEST_F(LateNames, ANameThatCameLateStandsForTheOneThatWaits) {
    SetLate(0x101, 0, 2);
    EXPECT_EQ("endpoint=/cart tenant=b2b", Of(1, 0x101));
    EXPECT_EQ("job=Mailer", Of(3, 0x101));
}

TEST_F(LateNames, ANameOfABlockAroundCounts) {
    SetLate(0x102, 0x101, 0);
    SetLate(0x101, 0, 2);
    EXPECT_EQ("endpoint=/cart tenant=b2b", Of(1, 0x102));
}

TEST_F(LateNames, WithoutANameItWaits) {
    const std::string waits = "endpoint=" + kUnnamed + " tenant=b2b";
    SetLate(0x101, 0, 0);
    EXPECT_EQ(waits, Of(1, 0x101));
    EXPECT_EQ(waits, Of(1, 0x301)); // another has its place
    SetLate(0x102, 0, 3); // that is a name of another key
    EXPECT_EQ(waits, Of(1, 0x102));
    SetLate(0x103, 0, 60000); // there is no such set
    EXPECT_EQ(waits, Of(1, 0x103));
}

TEST_F(LateNames, BlocksInACircleAreLeft) {
    SetLate(0x101, 0x102, 0);
    SetLate(0x102, 0x101, 0);
    uint64_t reads = memory_.reads;
    Of(1, 0x101);
    EXPECT_GT(300u, memory_.reads - reads);
}

TEST_F(LabelSets, WhatIsNoTextOfLabelsIsNone) {
    const std::string key(HEAPPROF_LABEL_KEY_BYTES - 1, 'k');
    const std::string value(HEAPPROF_LABEL_VALUE_BYTES, 'v');
    Set(1, "key");               // without a value
    Set(2, "=value");            // without a key
    Set(3, "k" + key + "=v");    // too long
    Set(4, "k=v" + value);
    Set(5, key + "=" + value);   // as long as can be
    std::string many;
    for (int i = 0; i < 17; i++) many += "k" + std::to_string(10 + i) + "=v ";
    many.pop_back();
    Set(6, many);
    String(7, 16, 2);            // cut short
    String(8, 1 << 16, 1);       // behind the end
    String(9, 16, 0x7fffffff);
    String(10, 0xffffffff, 16);
    for (uint32_t set : {1, 2, 3, 4, 6, 7, 8, 9, 10}) EXPECT_EQ("", Of(set)) << set;
    EXPECT_EQ(key + "=" + value, Of(5));
    EXPECT_EQ("", Of(65536)); // more than there can be
    EXPECT_EQ("", Of(kSetCount + 1));
}

TEST_F(LabelSets, TablesThatAreNotThereAreNoLabels) {
    Set(1, "k=v");
    Tables(0, 0, kSetCount, 1 << 16);
    EXPECT_EQ("", Of(1));
    Tables(kTexts, UINT64_MAX - 8, kSetCount, 1 << 16);
    EXPECT_EQ("", Of(1));
    Tables(UINT64_MAX - 2, kStrings, kSetCount, UINT64_MAX);
    EXPECT_EQ("", Of(1));
    Write(kLeases + 8, UINT64_MAX - 8);
    EXPECT_EQ("", Of(Leased(16)));
    Tables(kTexts, kStrings, kSetCount, 1 << 16); // nothing of that was kept
    EXPECT_EQ("k=v", Of(1));
}

TEST_F(LabelSets, TablesThatMoveMeanwhileAreReadAgain) {
    Close();
    memory_.Put(0x500000, std::string(1 << 16, 'x'));
    Open();
    Set(1, "k=v");
    Tables(0x500000, kStrings, kSetCount, 1 << 16);
    uint64_t when = memory_.reads + 3;
    memory_.before_read = [&] {
        if (memory_.reads == when) Tables(kTexts, kStrings, kSetCount, 1 << 16);
    };
    EXPECT_EQ("k=v", Of(1));
}

TEST_F(LabelSets, ATargetThatSaysNothingOfThemHasNone) {
    for (const char *name : {"heapprof_late.named", "heapprof_label_sets.texts.all"}) {
        Close();
        left_out_ = name;
        Open();
        Set(1, "k=v");
        EXPECT_EQ("", Of(1));
    }
    left_out_ = "";
    contract_ = 2;
    Close();
    Open();
    EXPECT_EQ("", Of(1));
}

} // namespace
