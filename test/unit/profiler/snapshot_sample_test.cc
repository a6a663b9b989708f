// snapshot_sample_test.cc - the profile of one sample, against what a whole snapshot says of it.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/support/snapshot_builder.h"

namespace {

std::string
Text(const Snapshot &snapshot, uint32_t string)
{
    return rb_heapprof_strings_get(&snapshot->strings, string, nullptr);
}

// The row's frames as "name path:line", innermost first.
std::vector<std::string>
Frames(const Snapshot &snapshot, const heapprof_row &row)
{
    std::vector<heapprof_frame> frames(
        rb_heapprof_snapshot_frames(snapshot.get(), row.stack, nullptr, 0));
    rb_heapprof_snapshot_frames(snapshot.get(), row.stack, frames.data(), frames.size());
    std::vector<std::string> texts;
    for (const heapprof_frame &frame : frames) {
        texts.push_back(Text(snapshot, frame.name) + " " + Text(snapshot, frame.path) + ":" +
                        std::to_string(frame.line));
    }
    return texts;
}

class SnapshotSampleTest : public testing::Test {
  protected:
    SnapshotBuilder builder_;

    // Exactly one live sample is in the tables: both profiles have one row, and it is the same.
    void
    ExpectSameRow(uint32_t entry)
    {
        Snapshot whole = builder_.Take(), one = builder_.TakeSample(entry);
        ASSERT_EQ(1u, whole->row_count);
        ASSERT_EQ(1u, one->row_count);
        const heapprof_row &a = whole->rows[0], &b = one->rows[0];
        EXPECT_EQ(Text(whole, a.subject), Text(one, b.subject));
        EXPECT_EQ(Frames(whole, a), Frames(one, b));
        EXPECT_EQ(a.gc_age, b.gc_age);
        EXPECT_EQ(a.alloc_objects, b.alloc_objects);
        EXPECT_EQ(a.alloc_slot_bytes, b.alloc_slot_bytes);
        EXPECT_EQ(a.inuse_objects, b.inuse_objects);
        EXPECT_EQ(a.inuse_slot_bytes, b.inuse_slot_bytes);
        EXPECT_EQ(a.alloc_malloc_bytes, b.alloc_malloc_bytes);
        EXPECT_EQ(a.inuse_malloc_bytes, b.inuse_malloc_bytes);
        EXPECT_EQ(HEAPPROF_ROW_OBJECTS, b.kind);
        EXPECT_EQ(1u, one->facts.live_samples);
        rb_heapprof_strings_check(&one->strings);
    }
};

TEST_F(SnapshotSampleTest, SaysWhatAWholeSnapshotSays)
{
    uint32_t main = builder_.Function("<main>"), map = builder_.CFunction("Array#map");
    uint32_t block = builder_.Function("block in <main>", "/app/other.rb");
    uint32_t stack = builder_.Stack({{main, 3}, {map, 0}, {block, 4}, {map, 0}, {block, 4}});
    ExpectSameRow(builder_.Live(stack, builder_.Class("Foo"), 3, 80, 9));
}

TEST_F(SnapshotSampleTest, StackAndClassMayBeMissing)
{
    ExpectSameRow(builder_.Live(0, 0, 1, 40));
}

TEST_F(SnapshotSampleTest, ClassMayHaveNoName)
{
    ExpectSameRow(builder_.Live(0, builder_.UnnamedClass(), 1, 40));
}

TEST_F(SnapshotSampleTest, DeepStacksAreWhole)
{
    uint32_t function = builder_.Function("Object#deep");
    std::vector<SnapshotBuilder::Frame> frames;
    for (uint32_t line = 1; line <= 65535; line++) frames.push_back({function, line});
    ExpectSameRow(builder_.Live(builder_.Stack(frames), builder_.Class("Foo"), 1, 40));
}

TEST_F(SnapshotSampleTest, OtherSamplesAreNotInIt)
{
    uint32_t a = builder_.Stack({{builder_.Function("a"), 1}});
    uint32_t b = builder_.Stack({{builder_.Function("b"), 2}});
    builder_.Live(a, builder_.Class("A"), 1, 40);
    uint32_t entry = builder_.Live(b, builder_.Class("B"), 1, 40);
    builder_.Live(a, builder_.Class("C"), 1, 40);
    builder_.Block(b, builder_.Caller("B"), 1, 1000);
    Snapshot one = builder_.TakeSample(entry);
    ASSERT_EQ(1u, one->row_count);
    EXPECT_EQ("B", Text(one, one->rows[0].subject));
    EXPECT_EQ(std::vector<std::string>{"b /app/main.rb:2"}, Frames(one, one->rows[0]));
}

} // namespace
