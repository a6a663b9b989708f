// dump_reader_test.cc - what the reader tells of files of object graphs, whole, cut, damaged and
// wrong ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdarg>
#include <random>
#include <string>
#include <vector>

#include "test/unit/graph/file.h"
#include "test/unit/graph/told.h"

using namespace graph_file;
using graph_told::Read;
using graph_told::Told;
using Lines = std::vector<std::string>;

namespace {

const uint64_t kPage = 0x10000, kClass = 0x20000;

// A page with an object of every kind of layout, a root, a move.
GraphFile
Small()
{
    GraphFile file;
    file.Fact("pid", "42");
    uint32_t cart =
        file.Layout("T_OBJECT", kClass, "Cart",
                    { { HEAPPROF_DUMP_IVAR, "@items" }, { HEAPPROF_DUMP_IVAR, "@id" } });
    uint32_t array = file.Layout("T_ARRAY", kClass + 40, "Array", {}, HEAPPROF_DUMP_INDEXED);
    uint32_t hash = file.Layout("T_HASH", 0, "", {}, HEAPPROF_DUMP_PAIRED, HEAPPROF_DUMP_OTHERS);
    uint32_t stack = file.Stack(file.Stack(0, "<main>", "app.rb", 3), "Cart#add", "cart.rb", 12);
    file.Root(HEAPPROF_DUMP_GLOBAL, "$cart", "globals", kPage);
    file.Page(kPage, 40);
    Object object;
    object.layout = cart;
    object.bits = 3 | HEAPPROF_DUMP_FROZEN;
    object.stack = stack;
    object.weight = 2500;
    object.labelled = {To(kPage + 80), To(HEAPPROF_DUMP_INTEGER, 14)};
    file.Add(0, object);
    object = Object();
    object.layout = array;
    object.external = 800;
    object.tail = {To(kPage), To(HEAPPROF_DUMP_SPECIAL, 0)};
    file.Add(2, object);
    file.More(array, {To(kPage + 120)});
    object = Object();
    object.layout = hash;
    object.hash = 0x1122334455667788;
    object.text = "text";
    object.length = 99;
    object.tail = {To(HEAPPROF_DUMP_SYMBOL, 1), To(kPage)};
    object.others = {{HEAPPROF_DUMP_FIELD, "default", To(kPage + 80)}};
    file.Add(3, object);
    file.Move(0x30000, kPage);
    file.Fact("objects", "3", true);
    return file;
}

const Lines small_lines = {
    "process pid=42",
    "string 1 T_OBJECT",
    "string 2 Cart",
    "string 3 @items",
    "string 4 @id",
    "string 5 T_ARRAY",
    "string 6 Array",
    "string 7 T_HASH",
    "string 8 <main>",
    "string 9 app.rb",
    "string 10 Cart#add",
    "string 11 cart.rb",
    "string 12 $cart",
    "string 13 globals",
    "string 14 text",
    "string 15 default",
    "stack 1 on 0: 8 9:3",
    "stack 2 on 1: 10 11:12",
    "layout 0 type 1 class 0x20000 2 bits 0 tail 0 1:3 1:4",
    "layout 1 type 5 class 0x20028 6 bits 0 tail 1",
    "layout 2 type 7 class 0 0 bits 1 tail 2",
    "root 14 12 13 0x10000",
    "page 0x10000 40 4",
    "object 0x10000 layout 0 bits 0xa3 external 0 length 0 text 0 stack 2 weight 2500 hash 0",
    "  1:3[0] 0x10050",
    "  1:4[0] 14/1",
    "object 0x10050 layout 1 bits 0x4 external 800 length 0 text 0 stack 0 weight 0 hash 0",
    "  8:0[0] 0x10000",
    "  8:0[1] 0/0",
    "  8:0[2] 0x10078",
    "object 0x10078 layout 2 bits 0x418 external 0 length 99 text 14 stack 0 weight 0 hash "
    "1122334455667788",
    "  9:0[0] 1/2",
    "  10:0[0] 0x10000 of 1/2",
    "  6:15[0] 0x10050",
    "move 0x30000 0x10000",
    "footer objects=3",
};

TEST(DumpReader, TellsWhatAFileSays)
{
    for (int encoding : {HEAPPROF_DUMP_RAW, HEAPPROF_DUMP_ZLIB}) {
        Told told = Read(Small().Bytes(encoding), 7);
        EXPECT_EQ("", told.error);
        EXPECT_EQ(HEAPPROF_DUMP_COMPLETE, told.result);
        EXPECT_EQ(small_lines, told.lines);
    }
}

TEST(DumpReader, EveryTruncationIsIncompleteAndTellsABeginning)
{
    std::string bytes = Small().Bytes();
    Lines whole = Read(bytes).lines;

    for (size_t size = 12; size < bytes.size(); size++) {
        Told told = Read(bytes.substr(0, size));
        ASSERT_EQ(HEAPPROF_DUMP_INCOMPLETE, told.result) << size;
        ASSERT_EQ(0u, told.error.find("is incomplete: the block at byte ")) << told.error;
        ASSERT_LT(told.lines.size(), whole.size());
        ASSERT_TRUE(std::equal(told.lines.begin(), told.lines.end(), whole.begin())) << size;
    }
}

TEST(DumpReader, EveryFlippedBitIsFoundButInBytesThatMeanNothing)
{
    std::string bytes = Small().Bytes();
    Lines whole = Read(bytes).lines;

    for (size_t i = 12; i < bytes.size(); i++) {
        std::string flipped = bytes;
        flipped[i] ^= 1 << i % 8;
        Told told = Read(flipped);
        if (told.result == HEAPPROF_DUMP_COMPLETE)
            continue; // a kind that is not known, a byte that is always 0
        ASSERT_NE("", told.error);
        ASSERT_EQ(std::string::npos, told.error.find('\n'));
    }
}

TEST(DumpReader, WhatIsNoGraphIsRefusedInALine)
{
    EXPECT_EQ("is empty", Read("").error);
    EXPECT_EQ("is not an object graph", Read("\x1f\x8b" "0123456789abcdef").error);
    EXPECT_EQ("is not an object graph", Read(Begin().substr(0, 11)).error);
    EXPECT_EQ("is of version 2, and this heapprof reads version 1", Read(Begin(2)).error);
    EXPECT_EQ("is incomplete: the block at byte 12 is missing", Read(Begin()).error);
}

// The error of a file with these blocks before the footer.
std::string
ErrorOf(const std::vector<std::pair<int, std::string>> &blocks)
{
    std::string bytes = Begin();
    for (const auto &block : blocks) bytes += Block(block.first, block.second);
    Told told = Read(bytes + Block(HEAPPROF_DUMP_FOOTER, ""));
    EXPECT_EQ(told.error.empty() ? HEAPPROF_DUMP_COMPLETE : HEAPPROF_DUMP_WRONG, told.result);
    return told.error.substr(0, 17) == "block at byte 12:" ? told.error.substr(18) : told.error;
}

std::string
Numbers(const std::vector<uint64_t> &numbers)
{
    std::string bytes;
    for (uint64_t number : numbers) PutNumber(&bytes, number);
    return bytes;
}

// The same with an object of that bytes, in a file with a string, a stack, and a layout of each
// tail with OTHERS.
std::string
ErrorOfObject(const std::vector<uint64_t> &numbers)
{
    std::string layouts;
    for (uint64_t tail : {0, 1, 2}) layouts += Numbers({1, 0, 0, 1, tail, 0});
    std::string error =
        ErrorOf({ { HEAPPROF_DUMP_STRINGS, "\1x" },
                  { HEAPPROF_DUMP_STACKS, Numbers({ 0, 1, 1, 5 }) },
                  { HEAPPROF_DUMP_LAYOUTS, layouts },
                  { HEAPPROF_DUMP_OBJECTS, Numbers({ 0x2000, 40, 1 }) + Numbers(numbers) } });
    size_t colon = error.find(": ");
    return colon == std::string::npos ? error : error.substr(colon + 2);
}

TEST(DumpReader, WhatCannotBeIsRefusedInALine)
{
    EXPECT_EQ("string 1 is not defined", ErrorOf({{HEAPPROF_DUMP_STACKS, Numbers({0, 1, 0, 1})}}));
    EXPECT_EQ("stack 1 is not defined", ErrorOf({{HEAPPROF_DUMP_STACKS, Numbers({1, 0, 0, 1})}}));
    EXPECT_EQ("a text ends behind the block", ErrorOf({{HEAPPROF_DUMP_STRINGS, "\5abc"}}));
    EXPECT_EQ("a text ends behind the block", ErrorOf({{HEAPPROF_DUMP_PROCESS, "\1a"}}));
    EXPECT_EQ("a stack ends behind the block",
              ErrorOf({ { HEAPPROF_DUMP_STACKS, std::string(12, '\xff') } }));
    EXPECT_EQ("tail 3 is not defined",
              ErrorOf({ { HEAPPROF_DUMP_LAYOUTS, Numbers({ 0, 0, 0, 0, 3, 0 }) } }));
    EXPECT_EQ("99999999 labels",
              ErrorOf({ { HEAPPROF_DUMP_LAYOUTS, Numbers({ 0, 0, 0, 0, 0, 99999999 }) } }));
    EXPECT_EQ("label 17 is not defined", ErrorOf({{HEAPPROF_DUMP_ROOTS, Numbers({17, 0, 0, 1})}}));
    EXPECT_EQ("a root ends behind the block", ErrorOf({{HEAPPROF_DUMP_ROOTS, Numbers({1, 0})}}));
    EXPECT_EQ("1152921504606846976 is not an address",
              ErrorOf({ { HEAPPROF_DUMP_ROOTS, Numbers({ 1, 0, 0, UINT64_C(1) << 60 }) } }));
    EXPECT_EQ("page 0x10000 of slots of 41 bytes",
              ErrorOf({ { HEAPPROF_DUMP_OBJECTS, Numbers({ 0x2000, 41, 0 }) } }));
    EXPECT_EQ("layout 1 is not defined",
              ErrorOf({ { HEAPPROF_DUMP_OBJECTS, Numbers({ 0x2000, 40, 1, 0, 1, 0 }) } }));
    EXPECT_EQ("slot 0, bits 0 are no object's",
              ErrorOf({ { HEAPPROF_DUMP_OBJECTS, Numbers({ 0x2000, 40, 1, 0, 0, 0 }) } }));
    EXPECT_EQ("cannot be unpacked to 3 bytes", ([] {
                  std::string block = Block(HEAPPROF_DUMP_STRINGS, "abc");
                  block[1] = HEAPPROF_DUMP_ZLIB;
                  return Read(Begin() + block).error.substr(18);
              })());
}

TEST(DumpReader, AnObjectThatCannotBeIsRefusedInALine)
{
    EXPECT_EQ("", ErrorOfObject({0, 0, 0, 0}));
    EXPECT_EQ("slot 1048576, bits 0 are no object's", ErrorOfObject({1 << 20, 0, 0}));
    EXPECT_EQ("slot 0, bits 0x2000 are no object's", ErrorOfObject({0, 0, 1 << 13}));
    EXPECT_EQ("an object ends behind the block", ErrorOfObject({0, 0}));
    EXPECT_EQ("an object ends behind the block", ErrorOfObject({0, 1, 0, UINT64_C(1) << 40, 0}));
    EXPECT_EQ("an object ends behind the block", ErrorOfObject({0, 2, 0, 5, 1, 1}));
    EXPECT_EQ("an object ends behind the block", ErrorOfObject({0, 0, HEAPPROF_DUMP_HASHED, 1}));
    EXPECT_EQ("an object of 281474976710657 bytes",
              ErrorOfObject({ 0, 0, HEAPPROF_DUMP_EXTERNAL, (UINT64_C(1) << 48) + 1 }));
    EXPECT_EQ("string 2 is not defined", ErrorOfObject({0, 0, HEAPPROF_DUMP_TEXT, 2, 0}));
    EXPECT_EQ("stack 2 is not defined", ErrorOfObject({0, 0, HEAPPROF_DUMP_SAMPLED, 2, 1, 0}));
    EXPECT_EQ("what goes on at 0x10000 has not begun",
              ErrorOfObject({ 0, 1, HEAPPROF_DUMP_MORE, 0, 0 }));
    EXPECT_EQ("5 is not a special value", ErrorOfObject({0, 1, 0, 1, 5 << 4 | 1, 0}));
    EXPECT_EQ("string 2 is not defined",
              ErrorOfObject({ 0, 1, 0, 1, 2 << 4 | HEAPPROF_DUMP_SYMBOL << 1 | 1, 0 }));
    EXPECT_EQ("3 is not a hidden value",
              ErrorOfObject({ 0, 1, 0, 1, 3 << 4 | HEAPPROF_DUMP_HIDDEN << 1 | 1, 0 }));
    EXPECT_EQ("7 is not a kind of reference", ErrorOfObject({0, 1, 0, 1, 7 << 1 | 1, 0}));
    EXPECT_EQ("32766 is not a reference", ErrorOfObject({0, 1, 0, 1, Zigzag(-0x2000) << 1, 0}));
    EXPECT_EQ("label 99 is not defined", ErrorOfObject({0, 0, 0, 1, 99, 0, 1}));
}

TEST(DumpReader, UnknownBlocksArePassedOver)
{
    std::string footer = Block(HEAPPROF_DUMP_FOOTER, "");
    EXPECT_EQ(HEAPPROF_DUMP_COMPLETE,
              Read(Begin() + Block(0, "abc") + Block(77, "abc") + footer).result);
    EXPECT_EQ(HEAPPROF_DUMP_INCOMPLETE, Read(Begin() + Block(77, "abc")).result);
}

TEST(DumpReader, AnObjectGoesOnInTheNextPageRecord)
{
    std::string first = Numbers({ 0x2000, 40, 1, 3, 0, 0, 1, 1 }),
                rest = Numbers({ 0x2000, 40, 1, 3, 0, HEAPPROF_DUMP_MORE, 2, 1, 1 });
    Told told = Read(Begin() + Block(HEAPPROF_DUMP_LAYOUTS, Numbers({ 0, 0, 0, 0, 1, 0 })) +
                     Block(HEAPPROF_DUMP_OBJECTS, first) + Block(HEAPPROF_DUMP_OBJECTS, rest) +
                     Block(HEAPPROF_DUMP_FOOTER, ""));
    EXPECT_EQ("", told.error);
    EXPECT_EQ((Lines { "  8:0[0] 0/0", "page 0x10000 40 1", "  8:0[1] 0/0", "  8:0[2] 0/0" }),
              Lines(told.lines.end() - 4, told.lines.end()));
}

TEST(DumpReader, AVisitorMayStopItAndAReadThatFailsIsSaid)
{
    std::string bytes = Small().Bytes();
    char error[HEAPPROF_DUMP_ERROR_MAX];
    graph_told::Input input = {&bytes, 0, SIZE_MAX};
    heapprof_dump_visitor visitor = {};

    visitor.object = [](void *, const heapprof_dump_read_object *) { return false; };
    EXPECT_EQ(HEAPPROF_DUMP_STOPPED,
              rb_heapprof_dump_read(graph_told::Input::More, &input, &visitor, error));
    EXPECT_STREQ("no memory", error);
    auto fail = [](void *, void *, size_t) { errno = EIO; return static_cast<ptrdiff_t>(-1); };
    EXPECT_EQ(HEAPPROF_DUMP_WRONG, rb_heapprof_dump_read(fail, nullptr, &visitor, error));
    EXPECT_STREQ("cannot be read: Input/output error", error);
}

} // namespace
