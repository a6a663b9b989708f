// valgrind_test.cc - Valgrind's XML and lists of blocks, joined with a process's file.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "test/unit/support/profile_bytes.h"

extern "C" {
#include "memcheck/valgrind/error_block.h"
#include "memcheck/join.h"
#include "memcheck/report.h"
}

namespace {

std::string
Tag(const std::string &name, const std::string &text)
{
    return "<" + name + ">" + text + "</" + name + ">\n";
}

std::string
Frame(const std::string &function, const std::string &library, int line = 0)
{
    return Tag("frame", Tag("ip", "0x1") + Tag("obj", "/usr/lib/" + library) +
                            (function.empty() ? "" : Tag("fn", function)) +
                            (line ? Tag("dir", "/src") + Tag("file", "a.c") +
                                        Tag("line", std::to_string(line))
                                  : ""));
}

const std::string kMalloc =
    Frame("malloc", "vgpreload_memcheck-amd64-linux.so") + Frame("rb_heapprof_all_malloc", "ruby");
const std::string kRun = Frame("vm_call_cfunc_with_frame_", "ruby") + Frame("main", "ruby");

std::string
Begin(const std::string &pid, const std::string &program = "/bin/ruby")
{
    return "<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n" + Tag("pid", pid) +
           Tag("args", Tag("vargv", Tag("exe", "valgrind")) +
                           Tag("argv", Tag("exe", program) + Tag("arg", "-e"))) +
           Tag("status", Tag("state", "RUNNING"));
}

const std::string kFinished = Tag("status", Tag("state", "FINISHED"));
const std::string kEnd = "</valgrindoutput>\n";

std::string
Error(const std::string &kind, const std::string &what, const std::string &frames,
      const std::string &more = "", int unique = 1)
{
    return Tag("error", Tag("unique", "0x" + std::to_string(unique)) + Tag("tid", "1") +
                            Tag("kind", kind) + Tag("what", what) + Tag("stack", frames) + more);
}

std::string
Message(const std::string &text, int thread = 1)
{
    return Tag("clientmsg",
               "  " + Tag("tid", std::to_string(thread)) + "  <text>" + text + "  </text>\n");
}

std::string
Leak(const std::string &kind, const std::string &text, int bytes, int blocks,
     const std::string &frames)
{
    return Tag("error",
               Tag("kind", "Leak_" + kind) +
                   Tag("xwhat", Tag("text", text) + Tag("leakedbytes", std::to_string(bytes)) +
                                    Tag("leakedblocks", std::to_string(blocks))) +
                   Tag("stack", frames));
}

FILE *
FileOf(const std::string &bytes)
{
    FILE *file = tmpfile();
    fwrite(bytes.data(), 1, bytes.size(), file);
    rewind(file);
    return file;
}

class Valgrind : public testing::Test {
  protected:
    memcheck_valgrind found_;
    memcheck_block_list list_ = {};
    memcheck_process process_ = {};
    char error_[MEMCHECK_VALGRIND_ERROR_MAX] = "";
    std::set<std::string> own_; // processes with a file of their own

    void SetUp() override {
        memcheck_valgrind_init(&found_);
        if (memcheck_valgrind_refusal()) GTEST_SKIP() << memcheck_valgrind_refusal();
    }

    void TearDown() override {
        memcheck_process_free(&process_);
        memcheck_block_list_free(&list_);
        memcheck_valgrind_free(&found_);
    }

    static bool OwnFile(const char *pid, void *own)
    {
        return static_cast<std::set<std::string> *>(own)->count(pid) > 0;
    }

    bool Read(const std::string &bytes) {
        FILE *file = FileOf(bytes);
        bool read = memcheck_valgrind_read(&found_, file, OwnFile, &own_, error_);
        fclose(file);
        memcheck_valgrind_attribute(&found_, "ruby");
        return read;
    }

    void ReadList(const std::string &log) {
        FILE *file = FileOf(log);
        EXPECT_TRUE(memcheck_block_list_read(&list_, file));
        fclose(file);
    }

    std::string String(uint32_t string) const { return memcheck_valgrind_string(&found_, string); }

    std::string Pid(const memcheck_error &error) const
    {
        return String(found_.documents[error.document].pid);
    }

    // A file of the process, with a sample for each of these blocks at that line.
    void ReadProcess(const std::vector<std::pair<uint64_t, uint64_t>> &lines) {
        ProfileBytes bytes;
        for (const char *type : { "blocks", "space", "indirect_blocks", "indirect_space" })
            bytes.Type(type, "count");
        for (const auto &[address, line] : lines) {
            bytes.Function(address, "Parser.parse", "/app/parse.rb");
            bytes.Location(address, {{address, line}});
            bytes.Sample({ address }, { 1, 16, 0, 0 },
                         bytes.Label("class", "[a.so]") + bytes.Label("caller", "f (a.so)") +
                             bytes.Label("leak", "reachable") +
                             bytes.NumberLabel("address", static_cast<int64_t>(address), ""));
        }
        for (const char *text : { "memcheck: decided", "pid: 7", "program: app.rb" })
            bytes.things += Number(13, bytes.String(text));
        char error[HEAPPROF_READER_ERROR_MAX];
        std::string all = bytes.All();
        ASSERT_EQ(MEMCHECK_IS_ONE,
                  memcheck_process_read(
                      &process_, rb_heapprof_reader_read_bytes(all.data(), all.size(), error)));
    }

    std::string Report(memcheck_report *report) {
        memcheck_question question = {};
        question.most = MEMCHECK_DEFINITE;
        question.valgrind = true;
        char *text = nullptr;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        report(out, &question, &process_, 1);
        fclose(out);
        std::string all(text, size);
        free(text);
        return all;
    }
};

// ---- the XML ----

TEST_F(Valgrind, EachErrorHasItsKind)
{
    const std::string block = Tag("auxwhat", "Address 0x1 is 0 bytes inside a block of size 9 "),
                      frames = Frame("f", "a.so");
    std::string freed = Tag("auxwhat", "Address 0x1 is 0 bytes inside a block of size 9 free'd") +
                        Tag("stack", frames);
    const std::vector<std::tuple<std::string, std::string, memcheck_kind>> errors = {
        { "InvalidRead", "", MEMCHECK_INVALID_READ },
        { "InvalidWrite", block, MEMCHECK_INVALID_WRITE },
        { "InvalidRead", freed, MEMCHECK_USE_AFTER_FREE },
        { "InvalidWrite", freed, MEMCHECK_USE_AFTER_FREE },
        { "InvalidFree", freed, MEMCHECK_DOUBLE_FREE },
        { "InvalidFree", block, MEMCHECK_INVALID_FREE },
        { "MismatchedFree", block, MEMCHECK_MISMATCHED_FREE },
        { "UninitValue", "", MEMCHECK_UNDEFINED },
        { "UninitCondition", "", MEMCHECK_UNDEFINED },
        { "Overlap", "", MEMCHECK_OTHER_ERROR },
    };
    std::string xml = Begin("7");
    for (const auto &[kind, more, expected] : errors) xml += Error(kind, "what", frames, more);
    xml +=
        Tag("fatal_signal", Tag("signo", "11") + Tag("signame", "SIGSEGV") + Tag("stack", frames));
    ASSERT_TRUE(Read(xml + kFinished + kEnd)) << error_;
    ASSERT_EQ(errors.size() + 1, found_.error_count);
    for (size_t i = 0; i < errors.size(); i++)
        EXPECT_EQ(std::get<2>(errors[i]), found_.errors[i].kind) << i;
    EXPECT_EQ(MEMCHECK_FATAL_SIGNAL, found_.errors[errors.size()].kind);
    EXPECT_EQ("SIGSEGV", String(found_.errors[errors.size()].what));
    EXPECT_EQ("7", Pid(found_.errors[0]));
    EXPECT_EQ("/bin/ruby", String(found_.documents[0].program));
}

TEST_F(Valgrind, AnErrorHasItsStacksAndHowOften)
{
    std::string more = Tag("auxwhat", "Address 0x1 is free'd") +
                       Tag("stack", Frame("g", "b.so", 3)) +
                       Tag("auxwhat", "Block was alloc'd at") + Tag("stack", Frame("h", "a.so")) +
                       Tag("auxwhat", "nowhere");
    std::string counts = Tag("errorcounts", Tag("pair", Tag("count", "5") + Tag("unique", "0x2")));
    ASSERT_TRUE(
        Read(Begin("7") + Error("InvalidRead", "x", Frame("f", "a.so", 12), "", 1) +
             Error("InvalidRead", "Invalid &lt;read&gt;", Frame("f", "a.so", 12) + kRun, more, 2) +
             kFinished + counts + kEnd))
        << error_;
    const memcheck_error &error = found_.errors[1];
    EXPECT_EQ("Invalid <read>", String(error.what));
    EXPECT_EQ(5, error.times);
    EXPECT_EQ(1, found_.errors[0].times);
    ASSERT_EQ(4u, error.stack_count);
    const memcheck_c_stack *stacks = found_.stacks + error.first_stack;
    EXPECT_EQ("", String(stacks[0].title));
    EXPECT_EQ(3u, stacks[0].frame_count);
    EXPECT_EQ("Block was alloc'd at", String(stacks[2].title));
    EXPECT_EQ(0u, stacks[3].frame_count);
    const memcheck_c_frame &frame = found_.frames[stacks[1].first_frame];
    EXPECT_EQ("g", String(frame.function));
    EXPECT_EQ("b.so", String(frame.library));
    EXPECT_EQ("/src/a.c", String(frame.file));
    EXPECT_EQ(3u, frame.line);
}

TEST_F(Valgrind, ALeakIsReadUntilTheProgramHasEnded)
{
    std::string leak = Leak("DefinitelyLost",
                            "1,336 (1,112 direct, 224 indirect) bytes in 2 blocks are definitely "
                            "lost in loss record 1,032 of 2,049",
                            1336, 2, kMalloc + Frame("f", "a.so"));
    ASSERT_TRUE(Read(Begin("7") + leak + kFinished + leak + kEnd)) << error_;
    ASSERT_EQ(1u, found_.error_count);
    const memcheck_error &error = found_.errors[0];
    EXPECT_EQ(MEMCHECK_DEFINITE, error.kind);
    EXPECT_EQ(2, error.blocks);
    EXPECT_EQ(1336, error.bytes);
    EXPECT_EQ(224, error.indirect_bytes);
    EXPECT_EQ(1032u, error.number);
    EXPECT_EQ(2049u, error.of);
}

TEST_F(Valgrind, AChildInTheSameFileHasItsOwnErrors)
{
    own_ = {"9"};
    auto error = [](const char *what) { return Error("InvalidRead", what, Frame("f", "a.so")); };
    ASSERT_TRUE(Read(Begin("7") + error("before") + Begin("8") + error("child") + kFinished + kEnd +
                     "\n" + error("between") + Begin("9", "/bin/sh") + error("behind") + kFinished +
                     kEnd))
        << error_;
    ASSERT_EQ(4u, found_.error_count);
    const std::vector<std::string> pids = {"7", "8", "7", "7"};
    for (size_t i = 0; i < pids.size(); i++)
        EXPECT_EQ(pids[i], Pid(found_.errors[i])) << String(found_.errors[i].what);
    EXPECT_TRUE(found_.documents[0].finished);
    EXPECT_TRUE(found_.documents[2].elsewhere);
}

TEST_F(Valgrind, AProcessThatWasKilledKeepsWhatItHas)
{
    ASSERT_TRUE(Read(Begin("7") + Error("InvalidRead", "x", Frame("f", "a.so")))) << error_;
    EXPECT_EQ(1u, found_.error_count);
}

TEST_F(Valgrind, WhatNoXmlMayHaveInArgumentsDoesNotMatter)
{
    ASSERT_TRUE(Read(Begin("7", "/bin/\x01\xff\xc3\xa9"))) << error_;
    EXPECT_EQ("/bin/?\\xFF\xc3\xa9", String(found_.documents[0].program));
}

TEST_F(Valgrind, WhatIsWrongIsSaidInALine)
{
    std::string deep;
    for (int i = 0; i < 9; i++) deep += "<a>\n";
    const std::vector<std::pair<std::string, std::string>> files = {
        { "no xml\n", "line 1: it is not XML of Valgrind" },
        { Begin("7") + "<error>\n<kind>InvalidRead</kind>\n",
          "it ends in the middle of an element" },
        { Begin("7") + "<error>\n" + Begin("8"),
          "a process begins in the middle of another one's element" },
        { Begin("7") + "<error>\n</kind>\n", "mismatched tag" },
        { Begin("7") + "&lol;\n", "undefined entity" },
        { "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY b \"c\">]>\n",
          "line 2: it has a document type, which Valgrind's has not" },
        { Begin("7") + deep, "elements are nested deeper than Valgrind's" },
    };
    for (const auto &[file, line] : files) {
        EXPECT_FALSE(Read(file)) << file;
        EXPECT_NE(std::string::npos, std::string(error_).find(line)) << error_;
        EXPECT_EQ(std::string::npos, std::string(error_).find('\n')) << error_;
    }
    EXPECT_EQ(0u, found_.error_count);
}

TEST_F(Valgrind, OfALongTextABoundedPartIsKept)
{
    ASSERT_TRUE(
        Read(Begin("7") + Error("InvalidRead", std::string(1 << 20, 'x'), Frame("f", "a.so"))))
        << error_;
    EXPECT_EQ(4096u, String(found_.errors[0].what).size());
}

TEST_F(Valgrind, MoreErrorsThanAnybodyReadsAreAnError)
{
    std::string xml = Begin("7");
    for (int i = 0; i < 65537; i++) xml += "<error></error>";
    EXPECT_FALSE(Read(xml));
    EXPECT_NE(std::string::npos, std::string(error_).find("there are more than 65536 errors"))
        << error_;
}

// ---- who it is by ----

TEST_F(Valgrind, AnErrorIsByTheInnermostExtension)
{
    const std::string in_c = Frame("strlen", "libc.so.6"), a = Frame("f", "a.so"),
                      st = Frame("st_insert", "ruby");
    const std::vector<std::tuple<std::string, std::string, std::string>> errors = {
        { in_c + st + a + kRun, "", "f" },
        { kMalloc + a + Frame("g", "b.so"), "", "f" },
        { st + kRun + a, "", "" },                     // Ruby code ran in between
        { Frame("gc_mark", "ruby") + st + a, "", "" }, // the collector reads what it finds
        { st + kRun, Tag("auxwhat", "x free'd") + Tag("stack", a), "f" },
    };
    std::string xml = Begin("7");
    for (const auto &[frames, more, function] : errors)
        xml += Error("InvalidRead", "x", frames, more);
    ASSERT_TRUE(Read(xml)) << error_;
    for (size_t i = 0; i < errors.size(); i++) {
        const std::string &function = std::get<2>(errors[i]);
        EXPECT_EQ(function.empty(), found_.errors[i].core) << i;
        if (!function.empty()) { EXPECT_EQ(function, String(found_.errors[i].function)) << i; }
    }
    EXPECT_EQ("st_insert", String(found_.errors[2].function));
}

// A mark function gives the collector a dead object, or a broken one. Who started it is innocent.
TEST_F(Valgrind, WhatIsMarkedWrongIsByTheMarkFunction)
{
    const std::string marked = Frame("rb_heapprof_uses_marked", "ruby") +
                               Frame("push_mark_stack", "ruby") + Frame("gc_grey.cold", "ruby"),
                      mark = Frame("mark", "a.so"),
                      gc = Frame("gc_mark_children", "ruby") + Frame("gc_start", "ruby") +
                           Frame("ruby_xmalloc", "ruby") + Frame("innocent", "b.so") + kRun;
    const auto dead = [](const std::string &frames) {
        return Error("InvalidRead", "x", frames,
                     Tag("auxwhat", "Address 0x4c8 is in a rw- anonymous segment")) +
               Message("heapprof dead object\n4c8\tString\tfreed by GC 1 (full)\n");
    };
    const auto fatal = [](const std::string &frames) {
        return Tag("fatal_signal", Tag("signame", "SIGABRT") + Tag("stack", frames));
    };
    ASSERT_TRUE(Read(Begin("7") + dead(marked + mark + gc) + dead(marked + gc) +
                     dead(Frame("gc_mark_children", "ruby") + gc) +
                     fatal(Frame("rb_bug", "ruby") + Frame("gc_grey", "ruby") + mark + gc) +
                     fatal(Frame("rb_bug", "ruby") + Frame("gc_grey", "ruby") + gc)))
        << error_;
    const std::vector<std::pair<std::string, bool>> by = {
        { "mark", false }, { "gc_mark_children", false }, // by an object of Ruby's, or a jump
        { "gc_mark_children", true },                     // the collector reads what it finds
        { "mark", false }, { "rb_bug", true },
    };
    ASSERT_EQ(by.size(), found_.error_count);
    for (size_t i = 0; i < by.size(); i++) {
        EXPECT_EQ(i < 3 ? MEMCHECK_DEAD_OBJECT : MEMCHECK_FATAL_SIGNAL, found_.errors[i].kind) << i;
        EXPECT_EQ(by[i].first, String(found_.errors[i].function)) << i;
        EXPECT_EQ(by[i].second, found_.errors[i].core) << i;
    }
}

// ---- what the process says ----

class Messages : public Valgrind {
  protected:
    const std::string in_method_ = Error("InvalidRead", "x", Frame("f", "a.so") + kRun);

    // Of the errors by place: "name:line file" of each Ruby frame.
    std::vector<std::string> Stacks() const {
        std::vector<std::string> stacks;
        for (uint32_t i = 0; i < found_.error_count; i++) {
            std::string stack;
            for (uint32_t f = 0; f < found_.errors[i].ruby_frame_count; f++) {
                const memcheck_ruby_frame &frame =
                    found_.ruby_frames[found_.errors[i].first_ruby_frame + f];
                stack += String(frame.name) + ":" + std::to_string(frame.line) + " " +
                         String(frame.file) + ";";
            }
            stacks.push_back(stack);
        }
        return stacks;
    }
};

TEST_F(Messages, AnErrorHasTheRubyStackThatIsSaidNext)
{
    ASSERT_TRUE(Read(Begin("7") + in_method_ + in_method_ +
                     Message("heapprof stack\nA#b\t3\t/a &amp; b.rb\n&lt;main&gt;\t9\t/c.rb\n") +
                     in_method_ + Message("heapprof stack\nD.e\t4\t/d.rb\n") +
                     Message("heapprof stack\nlater\t5\t/d.rb\n") + in_method_))
        << error_;
    const std::string first = "A#b:3 /a & b.rb;<main>:9 /c.rb;";
    EXPECT_EQ((std::vector<std::string>{first, first, "D.e:4 /d.rb;", ""}), Stacks());
}

TEST_F(Messages, AStackIsOfTheSameThreadAndProcess)
{
    const std::string stack = "heapprof stack\nA#b\t3\t/a.rb\n";
    ASSERT_TRUE(Read(Begin("7") + in_method_ + Message(stack, 2) + Begin("8") + in_method_ +
                     Message(stack) + kEnd + Message(stack, 3)))
        << error_;
    EXPECT_EQ((std::vector<std::string>{"", "A#b:3 /a.rb;"}), Stacks());
}

TEST_F(Messages, WhatRunsInNoMethodHasNoRubyStack)
{
    const std::string stack = Message("heapprof stack\nA#b\t3\t/a.rb\n");
    const std::vector<std::pair<std::string, bool>> errors = {
        { Frame("f", "a.so") + kRun, true },
        { Frame("f", "a.so") + Frame("vm_call0_cfunc_with_frame", "ruby") + kRun, true },
        { Frame("f", "a.so") + Frame("gc_sweep", "ruby") + Frame("vm_exec_core", "ruby") + kRun,
          false }, // an instruction of Ruby's
        { Frame("f", "a.so") + Frame("start_thread", "libc.so.6"), false },
        { Frame("f", "a.so") + Frame("vm_call_cfunc", "b.so"), false },
    };
    std::string xml = Begin("7");
    for (const auto &[frames, expected] : errors) xml += Error("InvalidRead", "x", frames) + stack;
    ASSERT_TRUE(Read(xml)) << error_;
    for (size_t i = 0; i < errors.size(); i++)
        EXPECT_EQ(errors[i].second, !Stacks()[i].empty()) << i;
}

TEST_F(Messages, WhatOthersSayAndLinesThatAreNotWholeDoNotMatter)
{
    ASSERT_TRUE(Read(Begin("7") + in_method_ + Message("heapprof\n") +
                     Message("hello\t1\t/a.rb\n") + Message("heapprof stack") +
                     Message("heapprof methods\na.so\tf\n") +
                     Message("heapprof stack\nA#b\t3\t/a.rb\nno line\nC\t1\t/c.rb\n")))
        << error_;
    EXPECT_EQ((std::vector<std::string>{"A#b:3 /a.rb;"}), Stacks());
    EXPECT_EQ(0u, found_.method_count);
}

TEST_F(Messages, AFunctionOfAnExtensionIsTheMethodsThatAreSaidOfItsLibrary)
{
    std::string methods = "heapprof "
                          "methods\na.so\tf\tA#b\nb.so\tf\tB#b\na.so\tf\tA.c\na.so\tf\tA#b\na."
                          "so\tg\tA#g\nruby\tvm_call_cfunc_with_frame_\tX\n";
    ASSERT_TRUE(Read(Begin("7") +
                     Error("InvalidRead", "x", Frame("f", "a.so") + Frame("h", "a.so") + kRun) +
                     Message(methods) + Message(methods)))
        << error_;
    const memcheck_c_frame *frames =
        found_.frames + found_.stacks[found_.errors[0].first_stack].first_frame;
    EXPECT_EQ("A#b, A.c", String(frames[0].methods));
    EXPECT_EQ("", String(frames[1].methods));
    EXPECT_EQ("", String(frames[2].methods));
}

// ---- the blocks ----

TEST_F(Valgrind, ABlockHasWhatItLeadsTo)
{
    ReadList(
        "==7== 336 (112 direct, 224 indirect) bytes in 1 blocks are definitely lost in loss record "
        "1,002 of 1,003\n"
        "==7==    at 0x48417B4: malloc (x.c:1)\n==7== 0x207228A0[112]\n==7==   0x20722950[100] "
        "indirect loss record 1\n"
        "==7==     0x20722A00[24] indirect loss record 1\n==7== \nother\n==7== 0x1 is no block\n"
        "==7== 5 bytes in 1 blocks are still reachable in loss record 1,003 of 1,003\n==7== "
        "0x5[5]\n");
    EXPECT_EQ(1003u, list_.of);
    size_t count;
    const memcheck_block *blocks = memcheck_block_list_get(&list_, 1002, &count);
    ASSERT_EQ(1u, count);
    EXPECT_EQ(0x207228A0u, blocks[0].address);
    EXPECT_EQ(112, blocks[0].bytes);
    EXPECT_EQ(2, blocks[0].indirect_blocks);
    EXPECT_EQ(124, blocks[0].indirect_bytes);
    memcheck_block_list_get(&list_, 1001, &count);
    EXPECT_EQ(0u, count);
}

// ---- both ----

class Join : public Valgrind {
  protected:
    const std::string leak_ =
        Leak("DefinitelyLost", "30 bytes in 3 blocks are definitely lost in loss record 2 of 2", 30,
             3, kMalloc + Frame("f", "a.so", 5) + kRun);

    void Run(const std::string &xml, const std::string &log) {
        ASSERT_TRUE(Read(Begin("7") + xml + kFinished + kEnd)) << error_;
        ReadList(log);
        memcheck_join_place(&found_, &list_);
        ASSERT_TRUE(memcheck_join(&process_, &found_, 0, &list_));
    }
};

TEST_F(Join, ALeakIsARecordForEachRubyLine)
{
    ReadProcess({{0x10, 4}, {0x20, 9}, {0x50, 1}});
    Run(leak_, "==7== x in loss record 2 of 2\n==7== 0x10[10]\n==7== 0x20[11]\n==7== 0x30[9]\n");
    ASSERT_EQ(3u, process_.record_count);
    EXPECT_EQ("app.rb (7): 3 leaks with 1 cause, 30 bytes in 3 blocks\n\n"
              "  definitely lost: 30 bytes in 3 blocks\n    f (a.so), in 3 calls:\n"
              "      11 bytes in 1 block:\n        /app/parse.rb:9:in 'Parser.parse'\n"
              "      in C (*: an extension):\n      * f (a.so, a.c:5)\n"
              "      10 bytes in 1 block:\n        /app/parse.rb:4:in 'Parser.parse'\n"
              "      in C (*: an extension):\n      * f (a.so, a.c:5)\n"
              "      9 bytes in 1 block:\n"
              "      in C (*: an extension):\n      * f (a.so, a.c:5)\n\n",
              Report(memcheck_text));
    EXPECT_NE(std::string::npos,
              Report(memcheck_json)
                  .find("{\"name\":\"f\",\"library\":\"a.so\",\"file\":\"/src/"
                        "a.c\",\"line\":5,\"extension\":true,\"methods\":\"\"}"));
}

TEST_F(Join, AFunctionWithoutANameIsCalledAsInEngineVm)
{
    ReadProcess({});
    Run(Leak("DefinitelyLost", "7 bytes in 1 blocks are definitely lost in loss record 1 of 1", 7,
             1, kMalloc + Frame("", "x.so.2") + Frame("f", "a.so") + kRun),
        "==7== x in loss record 1 of 1\n==7== 0x90[7]\n");
    EXPECT_NE(std::string::npos,
              Report(memcheck_text).find("\n    ? (x.so.2) for f (a.so)\n"))
        << Report(memcheck_text);
}

TEST_F(Join, WhatDiffersBehindTheInterpreterAloneIsOne)
{
    std::string other = Leak(
        "DefinitelyLost", "7 bytes in 1 blocks are definitely lost in loss record 1 of 2", 7, 1,
        kMalloc + Frame("f", "a.so", 5) + Frame("vm_exec_core", "ruby") + Frame("other", "ruby"));
    ReadProcess({});
    Run(leak_ + other + Error("InvalidRead", "x", Frame("g", "a.so") + kRun) +
            Error("InvalidRead", "x", Frame("g", "a.so")) +
            Error("InvalidRead", "y", Frame("g", "a.so")),
        "==7== x in loss record 1 of 2\n==7== 0x90[7]\n==7== x in loss record 2 of 2\n==7== "
        "0x10[10]\n==7== 0x20[10]\n==7== 0x30[10]\n");
    ASSERT_EQ(3u, process_.record_count);
    EXPECT_EQ(2, process_.records[0].times);
    EXPECT_EQ(1, process_.records[1].times);
    EXPECT_EQ(4, process_.records[2].blocks);
    EXPECT_EQ(37, process_.records[2].bytes);
}

TEST_F(Join, AnErrorIsARecordForEachRubyStack)
{
    auto at = [](const char *line) {
        return Error("InvalidRead", "x", Frame("g", "a.so") + kRun) +
               Message(std::string("heapprof stack\nA#g\t") + line + "\t/a.rb\n");
    };
    ReadProcess({});
    Run(at("3") + at("4") + at("3") + Message("heapprof methods\na.so\tg\tA#g\n"),
        "==7== x in loss record 1 of 1\n");
    ASSERT_EQ(2u, process_.record_count);
    EXPECT_EQ(2, process_.records[0].times);
    EXPECT_EQ("app.rb (7): no leaks; 2 errors\n\n"
              "  invalid read: x, 2 times\n    g (a.so)\n        /a.rb:3:in 'A#g'\n      in C (*: "
              "an extension):\n      * g (a.so) is A#g\n\n"
              "  invalid read: x\n    g (a.so)\n        /a.rb:4:in 'A#g'\n      in C (*: an "
              "extension):\n      * g (a.so) is A#g\n\n",
              Report(memcheck_text));
    EXPECT_NE(
        std::string::npos,
        Report(memcheck_sarif).find("{\"uri\":\"file:///a.rb\"},\"region\":{\"startLine\":4}"));
}

TEST_F(Join, AnErrorHasTheRubyStackThatAskedForItsBlock)
{
    auto at = [](const char *what, const std::string &address, const char *bytes,
                 const char *function = "f") {
        return Error(
            "InvalidWrite", what, Frame("g", "a.so") + kRun,
            Tag("auxwhat", "Address " + address + " a block of size " + bytes + " alloc'd") +
                Tag("stack", kMalloc + Frame(function, "a.so") + Frame("h", "a.so")));
    };
    ReadProcess({{0x100, 4}, {0x200, 9}});
    Run(at("known", "0x113 is 3 bytes after", "16") +
            at("other size", "0x113 is 2 bytes after", "17") +
            at("other function", "0x100 is 0 bytes inside", "16", "x") +
            at("gone", "0x300 is 0 bytes inside", "16") +
            at("also", "0x1f8 is 8 bytes before", "16"),
        "");
    ASSERT_EQ(5u, process_.record_count);
    std::map<std::string, int64_t> lines;
    for (size_t i = 0; i < process_.record_count; i++) {
        const memcheck_record &record = process_.records[i];
        lines[String(record.error->what)] =
            record.asked.count ? memcheck_frame_at(&process_, &record.asked, 0).line : 0;
    }
    EXPECT_EQ((std::map<std::string, int64_t> { { "known", 4 },
                                                { "other size", 0 },
                                                { "other function", 0 },
                                                { "gone", 0 },
                                                { "also", 9 } }),
              lines);
    EXPECT_NE(std::string::npos, Report(memcheck_text)
                                     .find("      * h (a.so)\n      in Ruby, the block was asked "
                                           "for by:\n        /app/parse.rb:4:in 'Parser.parse'\n"))
        << Report(memcheck_text);
    EXPECT_NE(
        std::string::npos,
        Report(memcheck_json)
            .find("\"asked\":[{\"name\":\"Parser.parse\",\"file\":\"/app/parse.rb\",\"line\":4}]"));
    EXPECT_NE(std::string::npos,
              Report(memcheck_sarif)
                  .find("{\"uri\":\"file:///app/parse.rb\"},\"region\":{\"startLine\":4}"));
}

TEST_F(Join, ErrorsWithBlocksOfTwoRubyStacksAreTwo)
{
    auto at = [](const char *address) {
        return Error("InvalidWrite", "x", Frame("g", "a.so") + kRun,
                     Tag("auxwhat", std::string("Address 0x") + address +
                                        " is 0 bytes after a block of size 16 alloc'd") +
                         Tag("stack", kMalloc + Frame("f", "a.so")));
    };
    ReadProcess({{0x100, 4}, {0x200, 9}});
    Run(at("110") + at("210") + at("110"), "");
    ASSERT_EQ(2u, process_.record_count);
    EXPECT_EQ(2, process_.records[0].times);
    EXPECT_EQ(1, process_.records[1].times);
}

TEST(ErrorBlock, WhereItBeginsAndHowLongItIs)
{
    const std::vector<std::tuple<const char *, uint64_t, int64_t>> texts = {
        { "Address 0x522d055 is 0 bytes after a block of size 21 alloc'd", 0x522d040, 21 },
        { "Address 0x522d055 is 1,021 bytes inside a block of size 2,097,152 alloc'd",
          0x522d055 - 1021, 2097152 },
        { "Address 0x522d038 is 8 bytes before a block of size 0 alloc'd", 0x522d040, 0 },
    };
    for (const auto &[text, address, bytes] : texts) {
        memcheck_error_block block = {};
        EXPECT_TRUE(memcheck_error_block_read(text, &block)) << text;
        EXPECT_EQ(address, block.address) << text;
        EXPECT_EQ(bytes, block.bytes) << text;
    }
}

TEST(ErrorBlock, OfOthersNothingIsKnown)
{
    memcheck_error_block block;
    for (const char *text :
         { "", "Address 0x522d055 is 0 bytes inside a block of size 21 free'd",
           "Address 0x8 is not stack'd, malloc'd or (recently) free'd",
           "Address 0x522d055 is 16 bytes inside an unallocated block of size 4,000 in arena "
           "\"client\"",
           "Address 0x522d055 is 0 bytes inside a recently re-allocated block of size 21 alloc'd",
           "Block was alloc'd at", "Address 0x522d055 is 0 bytes beside a block of size 21 alloc'd",
           "Address 0x522d055 is 0 bytes after a block of size 21",
           "Address 0x522d055 is bytes after a block of size 21 alloc'd",
           "Address 0x522d055 is 0 bytes after a block of size  alloc'd",
           "Address 0x522d055 is 99999999999999999999 bytes after a block of size 21 alloc'd" }) {
        EXPECT_FALSE(memcheck_error_block_read(text, &block)) << text;
    }
}

TEST_F(Join, WithoutItsBlocksALeakHasNoRubyLine)
{
    ReadProcess({{0x10, 4}});
    Run(leak_, "==7== x in loss record 2 of 3\n==7== 0x10[10]\n==7== 0x20[10]\n==7== 0x30[10]\n");
    ASSERT_EQ(1u, process_.record_count);
    EXPECT_EQ(0u, process_.records[0].stack.count);
    EXPECT_EQ(3, process_.records[0].blocks);
    EXPECT_EQ(30, process_.records[0].bytes);
}

TEST_F(Join, WithoutAListNothingIsDecided)
{
    ReadProcess({});
    Run(Error("InvalidWrite", "Invalid write of size 1", Frame("f", "a.so", 5) + kRun), "");
    EXPECT_FALSE(process_.decided);
    EXPECT_EQ(0u, Report(memcheck_text).find("app.rb (7): not decided: Valgrind did not search"));
    EXPECT_NE(std::string::npos,
              Report(memcheck_sarif).find("invalid write: Invalid write of size 1, by f (a.so)"));
    EXPECT_NE(
        std::string::npos,
        Report(memcheck_sarif).find("{\"uri\":\"file:///src/a.c\"},\"region\":{\"startLine\":5}"));
    EXPECT_NE(std::string::npos, Report(memcheck_junit).find("failures=\"1\""));
}

TEST_F(Join, ALeakOfTheParentIsFoundByItsBlocks)
{
    ASSERT_TRUE(Read(Begin("7") + Begin("8") + leak_)) << error_;
    EXPECT_EQ("8", Pid(found_.errors[0]));
    ReadList("==7== x in loss record 2 of 2\n==7== 0x10[10]\n==7== 0x20[11]\n==7== 0x30[9]\n");
    memcheck_block_list lists[] = {list_, {}};
    memcheck_join_place(&found_, lists);
    EXPECT_EQ("7", Pid(found_.errors[0]));
}

} // namespace
