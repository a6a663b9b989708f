// pprof_go_test.cc - what `go tool pprof` makes of our profiles, from its text reports.
//
// Needs Go (Debian: golang-go) and fails without it: that these reports come out right is
// a promise of the README, not an extra.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "pprof/gzip.h"
#include "profiler/pprof.h"
}

namespace {

using Names = std::multiset<std::string>;

class PprofGo : public testing::Test {
  protected:
    void
    SetUp() override
    {
        std::string pattern = testing::TempDir() + "heapprof-XXXXXX";
        ASSERT_NE(nullptr, mkdtemp(&pattern[0]));
        directory_ = pattern;
    }

    void
    TearDown() override
    {
        for (const std::string &file : files_) unlink(file.c_str());
        rmdir(directory_.c_str());
    }

    std::string
    Path(const std::string &name)
    {
        files_.insert(directory_ + "/" + name);
        return directory_ + "/" + name;
    }

    std::string
    WriteFile(const std::string &name, const std::string &content)
    {
        std::ofstream(Path(name), std::ios::binary) << content;
        return Path(name);
    }

    std::string
    WriteProfile(const std::string &name, SnapshotBuilder &builder)
    {
        size_t size = 0, gzip_size = 0;
        Snapshot snapshot = builder.Take();
        char *bytes = rb_heapprof_pprof_encode(snapshot.get(), "/opt/bin/ruby", "c0ffee", &size);
        char *gzip = rb_heapprof_gzip(bytes, size, &gzip_size);
        std::string path = WriteFile(name, std::string(gzip, gzip_size));
        free(bytes);
        free(gzip);
        return path;
    }

    // What pprof prints, warnings included. It has to succeed.
    std::string
    Pprof(const std::string &arguments)
    {
        std::string command = "HOME=" + directory_ + " go tool pprof " + arguments + " 2>&1";
        std::string output;
        FILE *pipe = popen(command.c_str(), "r");
        char buffer[4096];
        for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, n);
        EXPECT_EQ(0, pclose(pipe)) << command << "\n" << output;
        return output;
    }

    // The names in a -top report: what follows the five columns of numbers.
    static Names
    TopNames(const std::string &report)
    {
        Names names;
        std::istringstream lines(report.substr(report.find("cum%\n") + 5));
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string number, name;
            for (int column = 0; column < 5; column++) words >> number;
            std::getline(words >> std::ws, name);
            names.insert(name);
        }
        return names;
    }

    // A report's first line that contains the text; "" when there is none.
    static std::string
    LineWith(const std::string &report, const std::string &text)
    {
        std::istringstream lines(report);
        for (std::string line; std::getline(lines, line);) {
            if (line.find(text) != std::string::npos) return line;
        }
        return "";
    }

  private:
    std::string directory_;
    std::set<std::string> files_;
};

TEST_F(PprofGo, RubyNamesComeOutAsTheyWentIn)
{
    const Names names = {
        "<main>", "<top (required)>", "block in <main>", "block (2 levels) in <main>",
        "<class:Foo>", "<module:Foo::Bar>", "<internal:kernel>", "singleton class", "eval",
        "(eval at a.rb:1)", "Foo#bar", "Foo.bar", "Foo::Bar#baz", "block in Foo::Bar#baz",
        "rescue in Foo#bar", "Foo#<=>", "Foo#<<", "Foo#>>", "Foo#<", "Foo#[]", "Foo#[]=",
        "Foo#()", "Foo#bar?", "Foo#bar=", "Foo#-@", "#<Class:0x0000000000000001>#x",
        "block in #<Class:0x0000000000000001>#x", "Integer#times",
        "Foo#\xE3\x83\xA1\xE3\x82\xBD\xE3\x83\x83\xE3\x83\x89",
    };
    SnapshotBuilder builder;
    for (const std::string &name : names) {
        builder.Live(builder.Stack({{builder.Function(name), 1}}), builder.Class("A"), 100, 40);
    }
    std::string file = WriteProfile("names.pb.gz", builder);
    EXPECT_EQ(names, TopNames(Pprof("-top -nodecount=1000 " + file)));
}

TEST_F(PprofGo, SyntheticFramesKeepTheirBrackets)
{
    SnapshotBuilder builder;
    builder.Dead(builder.Stack({{builder.Function("f"), 1}}), builder.Class("A"), 100, 40);
    builder.Fold();
    builder.Live(0, builder.Class("A"), 100, 40);
    std::string file = WriteProfile("synthetic.pb.gz", builder);
    EXPECT_EQ((Names{"[folded]", "[no frame]"}),
              TopNames(Pprof("-top -nodecount=1000 -sample_index=alloc_space " + file)));
}

TEST_F(PprofGo, InuseSpaceIsWhatIsShownUnlessAsked)
{
    SnapshotBuilder builder;
    builder.Live(builder.Stack({{builder.Function("f"), 1}}), builder.Class("A"), 1024, 40);
    builder.Dead(builder.Stack({{builder.Function("f"), 1}}), builder.Class("A"), 1024, 40);
    std::string file = WriteProfile("types.pb.gz", builder);
    std::string report = Pprof("-top " + file);
    EXPECT_NE("", LineWith(report, "Type: inuse_space"));
    EXPECT_NE("", LineWith(report, "of 40kB total"));
    EXPECT_NE("", LineWith(Pprof("-top -sample_index=alloc_space " + file), "of 80kB total"));
    EXPECT_NE("", LineWith(Pprof("-top -sample_index=alloc_objects " + file), "of 2048 total"));
    EXPECT_NE("", LineWith(Pprof("-top -sample_index=inuse_objects " + file), "of 1024 total"));
}

TEST_F(PprofGo, SpaceIsThatOfSlotsAndOfTheAllocator)
{
    SnapshotBuilder builder;
    uint32_t stack = builder.Stack({{builder.Function("f"), 1}}), g = builder.Caller("g (libg.so)");
    builder.Live(stack, builder.Class("A"), 1024, 40);
    builder.Block(stack, g, 8, 1024);
    builder.DeadBlock(stack, g, 4, 1024);
    std::string file = WriteProfile("spaces.pb.gz", builder);
    auto total = [&](const std::string &type) {
        return LineWith(Pprof("-top -sample_index=" + type + " " + file), " total");
    };
    for (const auto &[type, expected] : std::map<std::string, std::string>{
             {"inuse_space", "of 48kB total"}, {"inuse_slot_space", "of 40kB total"},
             {"inuse_malloc_space", "of 8kB total"}, {"alloc_space", "of 52kB total"},
             {"alloc_slot_space", "of 40kB total"}, {"alloc_malloc_space", "of 12kB total"}}) {
        EXPECT_NE(std::string::npos, total(type).find(expected)) << type << ": " << total(type);
    }
    std::string tags = Pprof("-tags " + file);
    EXPECT_NE("", LineWith(tags, "caller: Total 8.0kB"));
    EXPECT_NE("", LineWith(tags, "g (libg.so)"));
    EXPECT_EQ((Names{"f", "g (libg.so)"}),
              TopNames(Pprof("-top -tagroot=caller -tagfocus=caller=. " + file)));
}

TEST_F(PprofGo, NoReportWarnsAboutTheBinary)
{
    SnapshotBuilder builder;
    builder.Live(builder.Stack({{builder.Function("f"), 1}}), builder.Class("A"), 1024, 40);
    std::string report = Pprof("-top " + WriteProfile("binary.pb.gz", builder));
    EXPECT_EQ("File: ruby", LineWith(report, "File:"));
    EXPECT_EQ("", LineWith(report, "not available"));
    EXPECT_EQ("", LineWith(report, "ymboliz"));
}

TEST_F(PprofGo, CommentsOpenEveryReport)
{
    SnapshotBuilder builder;
    builder.facts.dropped = 12;
    builder.Live(builder.Stack({{builder.Function("f"), 1}}), builder.Class("A"), 1024, 40);
    std::string file = WriteProfile("comments.pb.gz", builder);
    EXPECT_NE("", LineWith(Pprof("-top " + file), "interval: 524288 bytes"));
    EXPECT_NE("", LineWith(Pprof("-comments " + file), "dropped samples: 12"));
}

TEST_F(PprofGo, TagsBreakSpaceDownByClassAndAge)
{
    SnapshotBuilder builder;
    uint32_t stack = builder.Stack({{builder.Function("f"), 1}});
    builder.Live(stack, builder.Class("Foo::Bar"), 3072, 1, 0);
    builder.Live(stack, builder.Class("#<Class:Foo>"), 1024, 1, 8);
    std::string report = Pprof("-tags " + WriteProfile("tags.pb.gz", builder));
    EXPECT_NE("", LineWith(report, "class: Total 4.0kB"));
    EXPECT_NE("", LineWith(report, "3.0kB (75.00%): Foo::Bar"));
    EXPECT_NE("", LineWith(report, "1.0kB (25.00%): #<Class:Foo>"));
    EXPECT_NE("", LineWith(report, "gc_age: Total 4.0kB"));
    EXPECT_NE("", LineWith(report, "3.0kB (75.00%): 0"));
    EXPECT_NE("", LineWith(report, "1.0kB (25.00%): 8"));
}

TEST_F(PprofGo, TagfocusTakesARangeOfAges)
{
    SnapshotBuilder builder;
    uint32_t a = builder.Class("A");
    builder.Live(builder.Stack({{builder.Function("young"), 1}}), a, 1024, 40, 1);
    builder.Live(builder.Stack({{builder.Function("old"), 1}}), a, 1024, 40, 16);
    std::string file = WriteProfile("ages.pb.gz", builder);
    EXPECT_EQ((Names{"old"}), TopNames(Pprof("-top -tagfocus=gc_age=8gcs: " + file)));
}

TEST_F(PprofGo, TagrootMakesTheClassTheRoot)
{
    SnapshotBuilder builder;
    builder.Live(builder.Stack({{builder.Function("f"), 1}}), builder.Class("Foo::Bar"), 1024, 40);
    std::string file = WriteProfile("tagroot.pb.gz", builder);
    EXPECT_EQ((Names{"f", "Foo::Bar"}), TopNames(Pprof("-top -tagroot=class " + file)));
}

TEST_F(PprofGo, ListShowsTheRubySourceWithBytesBesideTheLine)
{
    std::string source = WriteFile("leak.rb", "def leak\n  CACHE << String.new\nend\n");
    SnapshotBuilder builder;
    uint32_t leak = builder.Function("Object#leak", source, 1);
    builder.Live(builder.Stack({{leak, 2}, {builder.CFunction("String.new"), 0}}),
                 builder.Class("String"), 1024, 40);
    std::string file = WriteProfile("list.pb.gz", builder);
    std::string line = LineWith(Pprof("-list=leak " + file), "CACHE << String.new");
    EXPECT_NE(std::string::npos, line.find("40kB")) << line;
    EXPECT_NE(std::string::npos, line.find(" 2:")) << line;
}

TEST_F(PprofGo, TracesRunFromTheInnermostFrameOutwards)
{
    SnapshotBuilder builder;
    builder.Live(builder.Stack({{builder.Function("<main>"), 9}, {builder.Function("App#run"), 3}}),
                 builder.Class("A"), 1024, 40);
    std::string report = Pprof("-traces " + WriteProfile("traces.pb.gz", builder));
    size_t inner = report.find("40kB   App#run"), outer = report.find("<main>");
    ASSERT_NE(std::string::npos, inner) << report;
    EXPECT_LT(inner, outer);
}

TEST_F(PprofGo, DiffBaseLeavesWhatGrew)
{
    SnapshotBuilder before, after;
    for (SnapshotBuilder *builder : {&before, &after}) {
        uint32_t a = builder->Class("A");
        builder->Live(builder->Stack({{builder->Function("steady"), 1}}), a, 4096, 40);
        builder->Live(builder->Stack({{builder->Function("leak"), 1}}), a,
                      builder == &after ? 3072 : 1024, 40);
    }
    std::string base = WriteProfile("before.pb.gz", before);
    std::string file = WriteProfile("after.pb.gz", after);
    std::string report = Pprof("-top -diff_base=" + base + " " + file);
    EXPECT_EQ((Names{"leak"}), TopNames(report));
    EXPECT_NE(std::string::npos, LineWith(report, "leak").find("80kB")) << report;
}

TEST_F(PprofGo, RawAndGzippedProfilesReadAlike)
{
    SnapshotBuilder builder;
    builder.Live(builder.Stack({{builder.Function("f"), 1}}), builder.Class("A"), 1024, 40);
    size_t size = 0;
    Snapshot snapshot = builder.Take();
    char *bytes = rb_heapprof_pprof_encode(snapshot.get(), "/opt/bin/ruby", "c0ffee", &size);
    std::string raw = WriteFile("f.pb", std::string(bytes, size));
    free(bytes);
    EXPECT_EQ(Pprof("-raw " + WriteProfile("f.pb.gz", builder)), Pprof("-raw " + raw));
}

} // namespace
