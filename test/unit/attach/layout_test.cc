// layout_test.cc - descriptors that are right, those that are wrong in one thing, and what is
// looked up in them.

#include <gtest/gtest.h>

#include <functional>

#include "test/unit/attach/memory.h"

extern "C" {
#include "attach/layout.h"
}

namespace {

const uint64_t kAddress = 0x10000, kData = 0x800000, kPart = 0x20000;

class Layout : public testing::Test {
  protected:
    Memory memory_;
    char error_[ATTACH_TARGET_ERROR_MAX] = "";
    attach_layout *layout_ = nullptr;

    void TearDown() override { attach_layout_free(layout_); }

    static Descriptor
    Usual()
    {
        Descriptor usual;
        usual.Type("thing", 40);
        usual.Field("thing.pointer", HEAPPROF_DESCRIPTOR_POINTER, 8, 32);
        usual.Field("thing.number", HEAPPROF_DESCRIPTOR_UNSIGNED, 4, 4);
        usual.Field("thing.inner.signed", HEAPPROF_DESCRIPTOR_SIGNED, 2, 8);
        usual.Field("thing.bits", HEAPPROF_DESCRIPTOR_BITS, 9, 16 * 8 + 3);
        usual.Field("thing.array", HEAPPROF_DESCRIPTOR_BYTES, 8, 20);
        usual.Field("thing.rest", HEAPPROF_DESCRIPTOR_BYTES, 0, 40);
        usual.Global("the_thing", HEAPPROF_DESCRIPTOR_POINTER, 8, kData + 8);
        usual.Add("CONSTANT", HEAPPROF_DESCRIPTOR_CONSTANT, HEAPPROF_DESCRIPTOR_NONE, 0, -42);
        usual.Add("stack", HEAPPROF_DESCRIPTOR_CONTRACT, HEAPPROF_DESCRIPTOR_NONE, 0, 1);
        return usual;
    }

    bool
    Read(const Descriptor &descriptor)
    {
        memory_.Put(kAddress, descriptor.Bytes());
        memory_.Put(kData, std::string(64, '\1'));
        attach_layout_free(layout_);
        layout_ = attach_layout_read(memory_.target(), kAddress, error_);
        return layout_;
    }

    // What is said of the usual one with a change.
    std::string
    Wrong(const std::function<void(Descriptor *)> &change)
    {
        Descriptor descriptor = Usual();
        change(&descriptor);
        EXPECT_FALSE(Read(descriptor));
        return error_;
    }

    // The same with one more entry.
    std::string
    WrongEntry(const std::string &name, int kind, int form, uint32_t size, int64_t number)
    {
        return Wrong(
            [&](Descriptor *descriptor) { descriptor->Add(name, kind, form, size, number); });
    }

    std::string
    WrongField(int form, uint32_t size, int64_t offset)
    {
        return WrongEntry("thing.f", HEAPPROF_DESCRIPTOR_FIELD, form, size, offset);
    }

    std::string
    WrongGlobal(int form, uint32_t size, uint64_t address)
    {
        return WrongEntry("g", HEAPPROF_DESCRIPTOR_GLOBAL, form, size,
                          static_cast<int64_t>(address));
    }
};

const std::string kUnusable = "it: its descriptor cannot be used: ";

// ---- looking up ----

TEST_F(Layout, FindsEachKindByItsName)
{
    ASSERT_TRUE(Read(Usual())) << error_;
    uint32_t bytes = 0;
    attach_field field = {};
    attach_global global = {};
    int64_t number = 0;
    EXPECT_TRUE(attach_layout_type(layout_, "thing", &bytes));
    EXPECT_EQ(40u, bytes);
    EXPECT_TRUE(attach_layout_field(layout_, "thing.number", &field));
    EXPECT_EQ(4u, field.offset);
    EXPECT_EQ(4u, field.size);
    EXPECT_EQ(40u, field.type_size);
    EXPECT_EQ(HEAPPROF_DESCRIPTOR_UNSIGNED, static_cast<int>(field.form));
    EXPECT_TRUE(attach_layout_global(layout_, "the_thing", &global));
    EXPECT_EQ(kData + 8, global.address);
    EXPECT_TRUE(attach_layout_constant(layout_, "CONSTANT", &number));
    EXPECT_EQ(-42, number);
    EXPECT_TRUE(attach_layout_contract(layout_, "stack", &number));
    EXPECT_EQ(1, number);
}

TEST_F(Layout, ANameIsOfOneKind)
{
    ASSERT_TRUE(Read(Usual())) << error_;
    attach_field field;
    int64_t number;
    for (const char *name :
         { "thing", "the_thing", "CONSTANT", "thing.numbe", "thing.number2", "" }) {
        EXPECT_FALSE(attach_layout_field(layout_, name, &field)) << name;
    }
    EXPECT_FALSE(attach_layout_constant(layout_, "stack", &number));
    EXPECT_FALSE(attach_layout_field(layout_, std::string(100, 'x').c_str(), &field));
}

TEST_F(Layout, AnEmptyOneHasNothing)
{
    ASSERT_TRUE(Read(Descriptor())) << error_;
    uint32_t bytes;
    EXPECT_FALSE(attach_layout_type(layout_, "thing", &bytes));
}

TEST_F(Layout, ReadsTheNumbersOfEachForm)
{
    ASSERT_TRUE(Read(Usual())) << error_;
    unsigned char copy[40] = {};
    uint64_t pointer = 0x7fff12345678;
    uint32_t unsigned_number = 0xfffffffe;
    int16_t signed_number = -3;
    uint16_t bits = 0x1a5 << 3 | 0xf007;
    memcpy(copy + 32, &pointer, 8);
    memcpy(copy + 4, &unsigned_number, 4);
    memcpy(copy + 8, &signed_number, 2);
    memcpy(copy + 16, &bits, 2);
    auto get = [&](const char *name) {
        attach_field field;
        EXPECT_TRUE(attach_layout_field(layout_, name, &field));
        memory_.Put(0x100, std::string(reinterpret_cast<char *>(copy), sizeof(copy)));
        uint64_t read = 0, got = attach_field_get(&field, copy);
        if (field.form != HEAPPROF_DESCRIPTOR_BYTES) {
            EXPECT_TRUE(attach_field_read(memory_.target(), &field, 0x100, &read));
            EXPECT_EQ(got, read) << name;
        }
        return got;
    };
    EXPECT_EQ(pointer, get("thing.pointer"));
    EXPECT_EQ(0xfffffffeu, get("thing.number"));
    EXPECT_EQ(-3, static_cast<int64_t>(get("thing.inner.signed")));
    EXPECT_EQ(0x1a5u, get("thing.bits"));
    EXPECT_EQ(0u, get("thing.array"));
}

TEST_F(Layout, BitsMayBeAll64)
{
    attach_field all = { 0, 64, 8, HEAPPROF_DESCRIPTOR_BITS },
                 most = { 1, 63, 8, HEAPPROF_DESCRIPTOR_BITS };
    attach_field last = {63, 1, 8, HEAPPROF_DESCRIPTOR_BITS};
    uint64_t value = UINT64_C(0x8123456789abcdef);
    EXPECT_EQ(value, attach_field_get(&all, &value));
    EXPECT_EQ(value >> 1, attach_field_get(&most, &value));
    EXPECT_EQ(1u, attach_field_get(&last, &value));
}

TEST_F(Layout, ReadsGlobals)
{
    ASSERT_TRUE(Read(Usual())) << error_;
    attach_global global;
    uint64_t value = 0;
    ASSERT_TRUE(attach_layout_global(layout_, "the_thing", &global));
    EXPECT_TRUE(attach_global_read(memory_.target(), &global, &value));
    EXPECT_EQ(UINT64_C(0x0101010101010101), value);
}

TEST_F(Layout, NamesAnEnumerationByNumber)
{
    auto constant = [](Descriptor *d, const char *name, int64_t number) {
        d->Add(name, HEAPPROF_DESCRIPTOR_CONSTANT, HEAPPROF_DESCRIPTOR_NONE, 0, number);
    };
    Descriptor descriptor = Usual();
    constant(&descriptor, "T_NONE", 0);
    constant(&descriptor, "T_TWO", 2);
    constant(&descriptor, "T_MASK", 2);
    constant(&descriptor, "TWO", 1);
    descriptor.Type("T_TYPE", 8);
    const char *names[3];
    ASSERT_TRUE(Read(descriptor)) << error_;
    ASSERT_TRUE(attach_layout_names(layout_, "T_", "T_MASK", names, 3, error_)) << error_;
    EXPECT_STREQ("T_NONE", names[0]);
    EXPECT_EQ(nullptr, names[1]);
    EXPECT_STREQ("T_TWO", names[2]);
    EXPECT_FALSE(attach_layout_names(layout_, "T_", nullptr, names, 3, error_));
    EXPECT_EQ(kUnusable + "T_TWO has the number of another name", error_);
    for (int64_t number : {INT64_C(3), INT64_C(-1), INT64_MIN, INT64_MAX}) {
        Descriptor wrong = descriptor;
        constant(&wrong, "T_X", number);
        ASSERT_TRUE(Read(wrong)) << error_;
        EXPECT_FALSE(attach_layout_names(layout_, "T_", "T_MASK", names, 3, error_));
        EXPECT_EQ(kUnusable + "T_X has a number that is too large", error_);
    }
}

// ---- many at once ----

struct Places {
    uint32_t thing;
    attach_field number, array;
    attach_global the_thing;
    int64_t constant, stack;
};

TEST_F(Layout, FillsAStructureIn)
{
    const attach_want wants[] = {
        ATTACH_WANT_TYPE(Places, thing, "thing"),
        ATTACH_WANT_NUMBER(Places, number, "thing.number"),
        ATTACH_WANT_BYTES(Places, array, "thing.array", 8),
        ATTACH_WANT_GLOBAL(Places, the_thing, "the_thing", 8),
        ATTACH_WANT_CONSTANT(Places, constant, "CONSTANT"),
        ATTACH_WANT_CONTRACT(Places, stack, "stack", 1),
    };
    Places places = {};
    ASSERT_TRUE(Read(Usual())) << error_;
    ASSERT_TRUE(attach_layout_fill(layout_, wants, 6, &places, error_)) << error_;
    EXPECT_EQ(40u, places.thing);
    EXPECT_EQ(4u, places.number.offset);
    EXPECT_EQ(20u, places.array.offset);
    EXPECT_EQ(kData + 8, places.the_thing.address);
    EXPECT_EQ(-42, places.constant);
    EXPECT_EQ(1, places.stack);
}

TEST_F(Layout, NamesTheFirstThatIsMissingOrAnother)
{
    ASSERT_TRUE(Read(Usual())) << error_;
    auto wrong = [&](const attach_want &want) {
        Places places;
        EXPECT_FALSE(attach_layout_fill(layout_, &want, 1, &places, error_));
        return std::string(error_);
    };
    EXPECT_EQ(kUnusable + "thing.other is not in it",
              wrong(ATTACH_WANT_NUMBER(Places, number, "thing.other")));
    EXPECT_EQ(kUnusable + "other is not in it", wrong(ATTACH_WANT_TYPE(Places, thing, "other")));
    EXPECT_EQ(kUnusable + "other is not in it",
              wrong(ATTACH_WANT_CONSTANT(Places, constant, "other")));
    EXPECT_EQ(kUnusable + "other is not in it",
              wrong(ATTACH_WANT_CONTRACT(Places, stack, "other", 1)));
    EXPECT_EQ(kUnusable + "thing.array is not a number",
              wrong(ATTACH_WANT_NUMBER(Places, number, "thing.array")));
    EXPECT_EQ(kUnusable + "thing.number is a number",
              wrong(ATTACH_WANT_BYTES(Places, array, "thing.number", 1)));
    EXPECT_EQ(kUnusable + "thing.array is too small",
              wrong(ATTACH_WANT_BYTES(Places, array, "thing.array", 9)));
    EXPECT_EQ(kUnusable + "the_thing is too small",
              wrong(ATTACH_WANT_GLOBAL(Places, the_thing, "the_thing", 9)));
    EXPECT_EQ(kUnusable + "stack is a contract of a number that this heapprof does not know",
              wrong(ATTACH_WANT_CONTRACT(Places, stack, "stack", 2)));
}

// ---- parts ----

TEST_F(Layout, ReadsPartsOfParts)
{
    Descriptor first = Usual(), part, inner;
    first.Part("part.c", kPart);
    part.Part("inner.c", kPart + 0x1000);
    part.Field("thing.of_the_part", HEAPPROF_DESCRIPTOR_UNSIGNED, 1, 0);
    inner.Add("INNER", HEAPPROF_DESCRIPTOR_CONSTANT, HEAPPROF_DESCRIPTOR_NONE, 0, 7);
    inner.Part("part.c", kPart).Part("all", kAddress);
    memory_.Put(kPart, part.Bytes());
    memory_.Put(kPart + 0x1000, inner.Bytes());
    ASSERT_TRUE(Read(first)) << error_;
    attach_field field;
    int64_t number;
    EXPECT_TRUE(attach_layout_field(layout_, "thing.of_the_part", &field));
    EXPECT_EQ(40u, field.type_size);
    EXPECT_TRUE(attach_layout_constant(layout_, "INNER", &number));
}

TEST_F(Layout, PartsMaySayTheSame)
{
    Descriptor first = Usual(), part;
    first.Part("part.c", kPart);
    part.Type("thing", 40);
    memory_.Put(kPart, part.Bytes());
    EXPECT_TRUE(Read(first)) << error_;
    part.entries[0].size = 48;
    memory_.Put(kPart, part.Bytes());
    EXPECT_FALSE(Read(first));
    EXPECT_EQ(kUnusable + "thing is there twice", error_);
}

TEST_F(Layout, PartsAreBounded)
{
    Descriptor first = Usual();
    for (uint64_t i = 0; i < ATTACH_LAYOUT_PARTS_MOST; i++) {
        first.Part("part", kPart + i * 0x1000);
        memory_.Put(kPart + i * 0x1000, Descriptor().Bytes());
    }
    EXPECT_FALSE(Read(first));
    EXPECT_EQ(kUnusable + "it has too many parts", error_);
    first.entries.pop_back();
    first.header.entry_count--;
    EXPECT_TRUE(Read(first)) << error_;
}

TEST_F(Layout, APartThatIsNoneFails)
{
    EXPECT_EQ(kUnusable + "it cannot be read",
              Wrong([](Descriptor *d) { d->Part("part.c", 0x5a5a5a5a5a5a5a5a); }));
    EXPECT_EQ(kUnusable + "it has gone", Wrong([](Descriptor *d) { d->Part("part.c", kData); }));
}

// ---- what is wrong ----

TEST_F(Layout, WrongHeadersAreRefused)
{
    EXPECT_EQ(kUnusable + "it has gone", Wrong([](Descriptor *d) { d->header.magic[15] = 'x'; }));
    EXPECT_EQ(kUnusable + "it is of a format that this heapprof does not know",
              Wrong([](Descriptor *d) { d->header.format = 2; }));
    EXPECT_EQ(kUnusable + "its pointers do not have 64 bits",
              Wrong([](Descriptor *d) { d->header.pointer_size = 4; }));
    for (uint32_t size : {0u, 31u, 4097u, UINT32_MAX}) {
        EXPECT_EQ(kUnusable + "its header has a strange size", Wrong([&](Descriptor *d) {
            d->header.header_size = size;
        })) << size;
    }
    for (uint32_t size : {0u, 63u, 257u, UINT32_MAX}) {
        EXPECT_EQ(kUnusable + "its entries have a strange size", Wrong([&](Descriptor *d) {
            d->header.entry_size = size;
        })) << size;
    }
    EXPECT_EQ(kUnusable + "it has too many entries",
              Wrong([](Descriptor *d) { d->header.entry_count = 4097; }));
    EXPECT_EQ(kUnusable + "it cannot be read",
              Wrong([](Descriptor *d) { d->header.entry_count++; }));
}

TEST_F(Layout, LargerHeadersAndEntriesAreOfLaterRubies)
{
    Descriptor descriptor = Usual();
    descriptor.header.header_size += 16;
    descriptor.header.entry_size += 24;
    ASSERT_TRUE(Read(descriptor)) << error_;
    int64_t number = 0;
    EXPECT_TRUE(attach_layout_constant(layout_, "CONSTANT", &number));
    EXPECT_EQ(-42, number);
}

TEST_F(Layout, WrongNamesAreRefused)
{
    EXPECT_EQ(kUnusable + "an entry has no name",
              WrongEntry("", HEAPPROF_DESCRIPTOR_TYPE, 0, 8, 0));
    EXPECT_EQ(kUnusable + "an entry has a name that is not text",
              WrongEntry("a\nb", HEAPPROF_DESCRIPTOR_TYPE, 0, 8, 0));
    EXPECT_EQ(kUnusable + "an entry has a name that is not text",
              WrongEntry("\x9b", HEAPPROF_DESCRIPTOR_TYPE, 0, 8, 0));
    EXPECT_EQ(kUnusable + "an entry has a name that is not text",
              WrongEntry(std::string(48, 'x'), HEAPPROF_DESCRIPTOR_TYPE, 0, 8, 0));
    EXPECT_EQ(kUnusable + "CONSTANT is there twice",
              WrongEntry("CONSTANT", HEAPPROF_DESCRIPTOR_CONSTANT, 0, 0, 1));
}

TEST_F(Layout, WrongTypesAreRefused)
{
    EXPECT_EQ(kUnusable + "t has a strange size",
              WrongEntry("t", HEAPPROF_DESCRIPTOR_TYPE, 0, 0, 0));
    EXPECT_EQ(kUnusable + "t has a strange size",
              WrongEntry("t", HEAPPROF_DESCRIPTOR_TYPE, 0, 65537, 0));
}

TEST_F(Layout, AFieldIsInsideItsType)
{
    EXPECT_EQ(kUnusable + "other.f is a field of an unknown type",
              WrongEntry("other.f", HEAPPROF_DESCRIPTOR_FIELD, HEAPPROF_DESCRIPTOR_UNSIGNED, 4, 0));
    EXPECT_EQ(kUnusable + "f is a field of an unknown type",
              WrongEntry("f", HEAPPROF_DESCRIPTOR_FIELD, HEAPPROF_DESCRIPTOR_UNSIGNED, 4, 0));
    const std::string outside = kUnusable + "thing.f is not inside its type";
    EXPECT_EQ(outside, WrongField(HEAPPROF_DESCRIPTOR_UNSIGNED, 4, 40));
    EXPECT_EQ(outside, WrongField(HEAPPROF_DESCRIPTOR_UNSIGNED, 8, 36));
    EXPECT_EQ(outside, WrongField(HEAPPROF_DESCRIPTOR_UNSIGNED, 4, -4));
    EXPECT_EQ(outside, WrongField(HEAPPROF_DESCRIPTOR_UNSIGNED, 4, INT64_MAX));
    EXPECT_EQ(outside, WrongField(HEAPPROF_DESCRIPTOR_BYTES, 41, 0));
    EXPECT_EQ(outside, WrongField(HEAPPROF_DESCRIPTOR_BYTES, 1, 40));
    EXPECT_EQ(outside, WrongField(HEAPPROF_DESCRIPTOR_BITS, 1, 320));
}

TEST_F(Layout, WrongFormsAreRefused)
{
    EXPECT_EQ(kUnusable + "thing.f is a number of a strange size",
              WrongField(HEAPPROF_DESCRIPTOR_UNSIGNED, 3, 0));
    EXPECT_EQ(kUnusable + "thing.f is a number of a strange size",
              WrongField(HEAPPROF_DESCRIPTOR_SIGNED, 16, 0));
    EXPECT_EQ(kUnusable + "thing.f is a number of a strange size",
              WrongField(HEAPPROF_DESCRIPTOR_SIGNED, 0, 0));
    EXPECT_EQ(kUnusable + "thing.f is not aligned", WrongField(HEAPPROF_DESCRIPTOR_UNSIGNED, 4, 2));
    EXPECT_EQ(kUnusable + "thing.f is a pointer of a strange size",
              WrongField(HEAPPROF_DESCRIPTOR_POINTER, 4, 0));
    EXPECT_EQ(kUnusable + "thing.f is not aligned", WrongField(HEAPPROF_DESCRIPTOR_POINTER, 8, 4));
    EXPECT_EQ(kUnusable + "thing.f has a strange number of bits",
              WrongField(HEAPPROF_DESCRIPTOR_BITS, 0, 0));
    EXPECT_EQ(kUnusable + "thing.f has a strange number of bits",
              WrongField(HEAPPROF_DESCRIPTOR_BITS, 65, 0));
    EXPECT_EQ(kUnusable + "thing.f has a strange number of bits",
              WrongField(HEAPPROF_DESCRIPTOR_BITS, 64, 1));
    EXPECT_EQ(kUnusable + "thing.f is of a form that is not known",
              WrongField(HEAPPROF_DESCRIPTOR_NONE, 4, 0));
    EXPECT_EQ(kUnusable + "thing.f is of a form that is not known", WrongField(6, 4, 0));
}

TEST_F(Layout, AGlobalIsInMemory)
{
    EXPECT_EQ(kUnusable + "g is not in memory",
              WrongGlobal(HEAPPROF_DESCRIPTOR_POINTER, 8, kData + 60));
    EXPECT_EQ(kUnusable + "g is not in memory", WrongGlobal(HEAPPROF_DESCRIPTOR_POINTER, 8, 0));
    EXPECT_EQ(kUnusable + "g is not in memory", WrongGlobal(HEAPPROF_DESCRIPTOR_BYTES, 0, kData));
    EXPECT_EQ(kUnusable + "g is not in memory", WrongGlobal(HEAPPROF_DESCRIPTOR_BYTES, 65, kData));
    EXPECT_EQ(kUnusable + "g is too large",
              WrongGlobal(HEAPPROF_DESCRIPTOR_BYTES, UINT32_MAX, kData));
    EXPECT_EQ(kUnusable + "g is not aligned",
              WrongGlobal(HEAPPROF_DESCRIPTOR_POINTER, 8, kData + 4));
    EXPECT_EQ(kUnusable + "g is of a form that is not known",
              WrongGlobal(HEAPPROF_DESCRIPTOR_BITS, 8, kData));
}

// A kind that a later ruby may have is of no use to this reader, and does no harm.
TEST_F(Layout, KindsThatAreNotKnownArePassedOver)
{
    Descriptor descriptor = Usual();
    descriptor.Add("news", 77, 99, 12345, -1);
    EXPECT_TRUE(Read(descriptor)) << error_;
}

} // namespace
