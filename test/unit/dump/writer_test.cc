// dump_writer_test.cc - the file of an object graph, taken apart block by block.

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <vector>
#include <zlib.h>

extern "C" {
#include "dump/writer.h"
}

namespace {

struct Block {
    int kind;
    std::string bytes;
};

uint64_t
Little(const std::string &bytes, size_t at, int width)
{
    uint64_t number = 0;
    for (int i = 0; i < width; i++)
        number |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[at + i])) << 8 * i;
    return number;
}

// Reads the numbers and texts of a block.
class Cursor {
  public:
    explicit Cursor(const std::string &bytes) : bytes_(bytes) {}

    bool End() const { return at_ == bytes_.size(); }

    uint64_t
    Number()
    {
        uint64_t number = 0;
        for (int shift = 0; ; shift += 7) {
            unsigned char byte = static_cast<unsigned char>(bytes_.at(at_++));
            number |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) return number;
        }
    }

    std::string
    Text()
    {
        size_t length = Number();
        at_ += length;
        return bytes_.substr(at_ - length, length);
    }

    uint64_t
    Fixed(int width)
    {
        at_ += width;
        return Little(bytes_, at_ - width, width);
    }

    std::vector<uint64_t>
    Numbers(size_t count)
    {
        std::vector<uint64_t> numbers;
        while (count-- > 0) numbers.push_back(Number());
        return numbers;
    }

  private:
    const std::string &bytes_;
    size_t at_ = 0;
};

using Numbers = std::vector<uint64_t>;

class DumpWriterTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_dump_writer writer_;
    std::string file_;
    size_t room_ = SIZE_MAX;

    static int
    Write(void *data, const char *bytes, size_t size)
    {
        auto *test = static_cast<DumpWriterTest *>(data);
        if (test->file_.size() + size > test->room_) return ENOSPC;
        test->file_.append(bytes, size);
        return 0;
    }

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_dump_start(&writer_, &mem_, Write, this);
    }

    void
    TearDown() override
    {
        rb_heapprof_dump_free(&writer_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    uint32_t
    String(const std::string &text)
    {
        return rb_heapprof_dump_string(&writer_, text.data(), text.size());
    }

    uint32_t Layout(heapprof_dump_tail tail, const std::vector<heapprof_dump_name> &labels = {},
                    uint32_t bits = 0)
    {
        heapprof_dump_layout layout = {};
        layout.type = String("T_OBJECT");
        layout.class_address = 0x8000;
        layout.class_name = String("Foo");
        layout.tail = tail;
        layout.bits = bits;
        layout.labels = labels.data();
        layout.label_count = labels.size();
        return rb_heapprof_dump_layout(&writer_, &layout);
    }

    void
    Object(uintptr_t address, uint32_t layout, uint32_t bits = 0)
    {
        heapprof_dump_object object = {};
        object.address = address;
        object.layout = layout;
        object.bits = bits;
        rb_heapprof_dump_object(&writer_, &object);
    }

    // The blocks of the file, each as it was before it was compressed.
    std::vector<Block>
    Blocks() const
    {
        std::vector<Block> blocks;
        EXPECT_EQ(std::string(HEAPPROF_DUMP_MAGIC, 8), file_.substr(0, 8));
        EXPECT_EQ(static_cast<uint64_t>(HEAPPROF_DUMP_VERSION), Little(file_, 8, 4));
        for (size_t at = 12; at < file_.size(); ) {
            size_t plain = Little(file_, at + 4, 4), packed = Little(file_, at + 8, 4);
            std::string bytes = file_.substr(at + HEAPPROF_DUMP_HEAD_BYTES, packed);
            EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()),
                      Little(file_, at + 12, 4));
            EXPECT_EQ(0u, Little(file_, at + 2, 2));
            EXPECT_LE(plain, static_cast<size_t>(HEAPPROF_DUMP_BLOCK_MOST));
            std::string out(plain, '\0');
            uLongf length = plain;
            if (file_[at + 1] == HEAPPROF_DUMP_RAW) out = bytes;
            else
                EXPECT_EQ(Z_OK,
                          uncompress(reinterpret_cast<Bytef *>(&out[0]), &length,
                                     reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
            EXPECT_EQ(plain, out.size());
            blocks.push_back({file_[at], out});
            at += HEAPPROF_DUMP_HEAD_BYTES + packed;
        }
        return blocks;
    }

    // All blocks of a kind, one behind the other: no record goes on in the next one.
    std::string
    All(int kind) const
    {
        std::string all;
        for (const Block &block : Blocks()) if (block.kind == kind) all += block.bytes;
        return all;
    }

    std::map<std::string, std::string>
    Pairs(int kind) const
    {
        std::map<std::string, std::string> pairs;
        std::string all = All(kind);
        Cursor cursor(all);
        while (!cursor.End()) {
            std::string key = cursor.Text();
            pairs[key] = cursor.Text();
        }
        return pairs;
    }
};

TEST_F(DumpWriterTest, EndsWithAFooterThatCounts)
{
    rb_heapprof_dump_pair(&writer_, HEAPPROF_DUMP_PROCESS, "program", "a\xff" "b");
    rb_heapprof_dump_pair_number(&writer_, HEAPPROF_DUMP_PROCESS, "pid", 42);
    rb_heapprof_dump_root(&writer_, { HEAPPROF_DUMP_GLOBAL, String("$stdout") }, String("global"),
                          0x8050);
    rb_heapprof_dump_page(&writer_, 0x10000, 40);
    Object(0x10028, Layout(HEAPPROF_DUMP_NO_TAIL, {{HEAPPROF_DUMP_IVAR, String("@a")}}));
    rb_heapprof_dump_reference(&writer_, 0x10000);
    rb_heapprof_dump_end_page(&writer_);
    EXPECT_EQ(0, rb_heapprof_dump_finish(&writer_));
    EXPECT_EQ(writer_.file_bytes, file_.size());

    EXPECT_EQ("42", Pairs(HEAPPROF_DUMP_PROCESS)["pid"]);
    EXPECT_EQ("a\\xFFb", Pairs(HEAPPROF_DUMP_PROCESS)["program"]);
    auto footer = Pairs(HEAPPROF_DUMP_FOOTER);
    EXPECT_EQ("1", footer["objects"]);
    EXPECT_EQ("1", footer["references"]);
    EXPECT_EQ("1", footer["roots"]);
    EXPECT_EQ("5", footer["strings"]);
    EXPECT_EQ("1", footer["layouts"]);
    EXPECT_EQ(HEAPPROF_DUMP_FOOTER, Blocks().back().kind);
}

TEST_F(DumpWriterTest, WritesEachShortTextOnce)
{
    std::string longer(1000, 'x');
    EXPECT_EQ(0u, String(""));
    EXPECT_EQ(1u, String("one"));
    EXPECT_EQ(2u, String(longer));
    EXPECT_EQ(3u, String("two"));
    EXPECT_EQ(1u, String("one"));
    rb_heapprof_dump_finish(&writer_);

    std::string all = All(HEAPPROF_DUMP_STRINGS);
    Cursor cursor(all);
    EXPECT_EQ("one", cursor.Text());
    EXPECT_EQ(longer, cursor.Text());
    EXPECT_EQ("two", cursor.Text());
    EXPECT_TRUE(cursor.End());
}

TEST_F(DumpWriterTest, CutsALongTextBetweenCharacters)
{
    std::string text;
    while (text.size() < HEAPPROF_DUMP_TEXT_MOST) text += "\xE2\x82\xAC";
    EXPECT_EQ(1u, String("x" + text));
    EXPECT_EQ(2u, String(std::string(HEAPPROF_DUMP_TEXT_MOST, '\xff')));
    rb_heapprof_dump_finish(&writer_);

    std::string all = All(HEAPPROF_DUMP_STRINGS);
    Cursor cursor(all);
    std::string cut = cursor.Text();
    EXPECT_LE(cut.size(), static_cast<size_t>(HEAPPROF_DUMP_TEXT_MOST));
    EXPECT_NE("\\x", cut.substr(0, 2));
    EXPECT_EQ(static_cast<size_t>(HEAPPROF_DUMP_TEXT_MOST), cursor.Text().size());
}

TEST_F(DumpWriterTest, DefinesBeforeItRefers)
{
    uint32_t method = String("Foo#bar"), file = String("foo.rb");
    uint32_t outer = rb_heapprof_dump_stack(&writer_, 0, method, file, 7);
    uint32_t inner = rb_heapprof_dump_stack(&writer_, outer, method, file, 9);
    EXPECT_EQ(1u, outer);
    uint32_t layout = Layout(HEAPPROF_DUMP_NO_TAIL);
    heapprof_dump_object object = {};
    object.address = 0x20000;
    object.layout = layout;
    object.bits = HEAPPROF_DUMP_SAMPLED | HEAPPROF_DUMP_EXTERNAL | HEAPPROF_DUMP_LENGTH |
                  HEAPPROF_DUMP_TEXT | HEAPPROF_DUMP_HASHED | 2;
    object.external_bytes = 300;
    object.length = 200;
    object.text = file;
    object.stack = inner;
    object.weight = 1500;
    object.hash = UINT64_C(0x0123456789abcdef);
    rb_heapprof_dump_page(&writer_, 0x20000, 160);
    rb_heapprof_dump_object(&writer_, &object);
    rb_heapprof_dump_end_page(&writer_);
    rb_heapprof_dump_move(&writer_, 0x30000, 0x20000);
    rb_heapprof_dump_finish(&writer_);

    std::vector<int> kinds;
    for (const Block &block : Blocks()) kinds.push_back(block.kind);
    EXPECT_EQ(
        (std::vector<int> { HEAPPROF_DUMP_STRINGS, HEAPPROF_DUMP_STACKS, HEAPPROF_DUMP_LAYOUTS,
                            HEAPPROF_DUMP_OBJECTS, HEAPPROF_DUMP_MOVES, HEAPPROF_DUMP_FOOTER }),
        kinds);
    std::string stacks = All(HEAPPROF_DUMP_STACKS), layouts = All(HEAPPROF_DUMP_LAYOUTS);
    EXPECT_EQ((Numbers{0, method, file, 7, outer, method, file, 9}), Cursor(stacks).Numbers(8));
    EXPECT_EQ((Numbers{3, 0x8000 / 8, 4, 0, 0, 0}), Cursor(layouts).Numbers(6));
    std::string objects = All(HEAPPROF_DUMP_OBJECTS);
    Cursor cursor(objects);
    EXPECT_EQ(
        (Numbers { 0x20000 / 8, 160, 1, 0, layout, object.bits, 300, 200, file, inner, 1500 }),
        cursor.Numbers(11));
    EXPECT_EQ(object.hash, cursor.Fixed(8));
    EXPECT_TRUE(cursor.End());
    std::string moves = All(HEAPPROF_DUMP_MOVES);
    EXPECT_EQ((Numbers{0x30000 / 8, 0x20000 / 8}), Cursor(moves).Numbers(2));
}

TEST_F(DumpWriterTest, WritesReferencesByDistance)
{
    uint32_t layout = Layout(HEAPPROF_DUMP_INDEXED, {}, HEAPPROF_DUMP_OTHERS);
    rb_heapprof_dump_page(&writer_, 0x10000, 40);
    Object(0x10050, layout);
    rb_heapprof_dump_count(&writer_, 3);
    rb_heapprof_dump_reference(&writer_, 0x10028);
    rb_heapprof_dump_reference(&writer_, 0x10078);
    rb_heapprof_dump_immediate(&writer_, HEAPPROF_DUMP_INTEGER, rb_heapprof_dump_zigzag(-3));
    rb_heapprof_dump_count(&writer_, 1);
    rb_heapprof_dump_other(&writer_, {HEAPPROF_DUMP_WEAK, 0});
    rb_heapprof_dump_immediate(&writer_, HEAPPROF_DUMP_SPECIAL, 2);
    rb_heapprof_dump_end_page(&writer_);
    rb_heapprof_dump_finish(&writer_);

    std::string objects = All(HEAPPROF_DUMP_OBJECTS);
    Cursor cursor(objects);
    EXPECT_EQ((Numbers{0x10000 / 8, 40, 1, 2, layout, 0}), cursor.Numbers(6));
    EXPECT_EQ((Numbers { 3, 9 << 1, 10 << 1, 5 << 4 | HEAPPROF_DUMP_INTEGER << 1 | 1 }),
              cursor.Numbers(4));
    EXPECT_EQ((Numbers{1, HEAPPROF_DUMP_WEAK, 0, 2 << 4 | 1}), cursor.Numbers(4));
    EXPECT_TRUE(cursor.End());
}

// Objects in order of their slots, however their page is divided.
TEST_F(DumpWriterTest, DividesAPageOfManyReferences)
{
    const int records = 12, most = HEAPPROF_DUMP_REFERENCES_MOST;
    uint32_t layout = Layout(HEAPPROF_DUMP_INDEXED);
    rb_heapprof_dump_page(&writer_, 0x10000, 40);
    for (uintptr_t slot : {3u, 5u}) {
        for (int record = 0; record < records; record++) {
            Object(0x10000 + slot * 40, layout, record ? HEAPPROF_DUMP_MORE : 0);
            rb_heapprof_dump_count(&writer_, most);
            for (int i = 0; i < most; i++)
                rb_heapprof_dump_reference(&writer_, UINT64_C(0x7fff00000000) + 8 * i);
        }
    }
    rb_heapprof_dump_end_page(&writer_);
    rb_heapprof_dump_finish(&writer_);
    EXPECT_EQ(2u, writer_.objects);

    std::string objects = All(HEAPPROF_DUMP_OBJECTS);
    Cursor cursor(objects);
    std::map<uint64_t, size_t> references;
    int pages = 0;
    for (uint64_t slot = 0; !cursor.End(); pages++) {
        EXPECT_EQ((Numbers{0x10000 / 8, 40}), cursor.Numbers(2));
        uint64_t count = cursor.Number(), next = 0;
        for (uint64_t i = 0; i < count; i++) {
            uint64_t passed = cursor.Number();
            EXPECT_EQ(layout, cursor.Number());
            bool more = cursor.Number() & HEAPPROF_DUMP_MORE;
            if (!more || next == 0) slot = next + passed;
            else EXPECT_EQ(0u, passed);
            next = slot + 1;
            EXPECT_EQ(more, references.count(slot) == 1);
            size_t here = cursor.Number();
            references[slot] += here;
            cursor.Numbers(here);
        }
    }
    EXPECT_LT(1, pages);
    EXPECT_EQ((std::map<uint64_t, size_t>{{3, records * most}, {5, records * most}}), references);
}

TEST_F(DumpWriterTest, SaysWhatWentWrongFirst)
{
    room_ = 100;
    for (int i = 0; i < 300000; i++) String(std::to_string(1000000 + i));
    EXPECT_EQ(ENOSPC, rb_heapprof_dump_finish(&writer_));
    EXPECT_GE(room_, file_.size());
}

TEST_F(DumpWriterTest, GivesUpWithinItsBudget)
{
    mem_.budget_bytes = mem_.used_bytes + (1 << 20);
    for (int i = 0; i < 300000; i++) String(std::to_string(1000000 + i));
    EXPECT_EQ(ENOMEM, rb_heapprof_dump_finish(&writer_));
}

} // namespace
