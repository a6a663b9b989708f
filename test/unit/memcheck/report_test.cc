// report_test.cc - from the file of a process to its report.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <vector>

#include "test/unit/support/profile_bytes.h"

extern "C" {
#include "base/version.h"
#include "memcheck/causes.h"
#include "memcheck/report.h"
}

namespace {

// A file with a frame, and samples that all have it.
class File {
  public:
    explicit File(const std::string &verdict = "decided", const std::string &path = "/app/parse.rb")
    {
        for (const char *type : { "blocks", "space", "indirect_blocks", "indirect_space" })
            bytes_.Type(type, "count");
        bytes_.Function(1, "Parser.parse", path);
        bytes_.Location(1, {{1, 7}});
        Comment("memcheck: " + verdict);
        Comment("pid: 12");
        Comment("program: app.rb");
    }

    File &Comment(const std::string &text) {
        bytes_.things += Number(13, bytes_.String(text));
        return *this;
    }

    File &Add(const std::string &leak, const std::string &of, const std::vector<int64_t> &values,
              const std::string &library = "parser.so", const std::string &function = "parse",
              const std::vector<std::string> &callers = {}) {
        std::string called_by;
        for (const std::string &caller : callers) called_by += bytes_.Label("called_by", caller);
        bytes_.Sample({ 1 }, values,
                      bytes_.Label("class", "[" + library + "]") +
                          bytes_.Label("caller", function + " (" + library + ")") +
                          bytes_.Label("leak", leak) + bytes_.Label("of", of) + called_by);
        return *this;
    }

    heapprof_model *Read() const {
        char error[HEAPPROF_READER_ERROR_MAX];
        std::string all = bytes_.All();
        return rb_heapprof_reader_read_bytes(all.data(), all.size(), error);
    }

    ProfileBytes bytes_;
};

class Process {
  public:
    memcheck_process process = {};

    explicit Process(const File &file)
    {
        EXPECT_EQ(MEMCHECK_IS_ONE, memcheck_process_read(&process, file.Read()));
    }
    ~Process() { memcheck_process_free(&process); }

    std::string Report(memcheck_report *report, const memcheck_question &question) {
        char *text = nullptr;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        report(out, &question, &process, 1);
        fclose(out);
        std::string all(text, size);
        free(text);
        return all;
    }
};

memcheck_question
Question(bool core, const char *only, memcheck_kind most)
{
    memcheck_question question = {};
    question.core = core;
    question.only = only;
    question.most = most;
    return question;
}

const memcheck_question kLeaks = Question(false, nullptr, MEMCHECK_DEFINITE);

TEST(Memcheck, RecordsComeByKindAndOfEachTheLargestFirst) {
    Process one(File()
                    .Add("reachable", "extension", { 9, 9000, 0, 0 })
                    .Add("definite", "extension", { 1, 10, 0, 0 })
                    .Add("definite", "extension", { 1, 5, 2, 6 }, "other.so.3", "other_parse")
                    .Add("indirect", "core", { 2, 6, 0, 0 }));
    ASSERT_EQ(4u, one.process.record_count);
    const memcheck_record *records = one.process.records;
    EXPECT_EQ(11, records[0].bytes + records[0].indirect_bytes);
    EXPECT_EQ("other_parse", std::string(records[0].function, records[0].function_length));
    EXPECT_EQ("other.so.3", std::string(records[0].library, records[0].library_length));
    EXPECT_EQ(MEMCHECK_DEFINITE, records[1].kind);
    EXPECT_EQ(MEMCHECK_INDIRECT, records[2].kind);
    EXPECT_TRUE(records[2].core);
    EXPECT_EQ(MEMCHECK_REACHABLE, records[3].kind);
    memcheck_frame frame = memcheck_frame_at(&one.process, &records[0].stack, 0);
    EXPECT_STREQ("Parser.parse", frame.name);
    EXPECT_STREQ("/app/parse.rb", frame.file);
    EXPECT_EQ(7, frame.line);
}

TEST(Memcheck, WhatIsNoFileOfMemcheckIsNone) {
    memcheck_process process;
    ProfileBytes heap;
    heap.Type("inuse_space", "bytes");
    char error[HEAPPROF_READER_ERROR_MAX];
    std::string all = heap.All();
    EXPECT_EQ(MEMCHECK_IS_NONE,
              memcheck_process_read(&process,
                                    rb_heapprof_reader_read_bytes(all.data(), all.size(), error)));
    File without;
    without.bytes_ = ProfileBytes();
    for (const char *type : { "blocks", "space", "indirect_blocks", "indirect_space" })
        without.bytes_.Type(type, "count");
    EXPECT_EQ(MEMCHECK_IS_NONE, memcheck_process_read(&process, without.Read()));
}

TEST(Memcheck, EachRecordIsShownOrHasOneReasonWhyNot) {
    Process one(File()
                    .Add("definite", "extension", { 1, 10, 2, 20 })
                    .Add("definite", "core", { 1, 10, 0, 0 }, "ruby")
                    .Add("possible", "extension", { 1, 10, 0, 0 })
                    .Add("reachable", "extension", { 1, 10, 0, 0 }, "xml.so.2")
                    .Add("indirect", "extension", { 2, 20, 0, 0 }));
    auto tally = [&one](const memcheck_question &question) {
        memcheck_tally tally = memcheck_tally_of(&question, &one.process);
        size_t all = 0;
        for (size_t count : tally.counts) all += count;
        EXPECT_EQ(5u, all);
        return tally;
    };
    memcheck_tally leaks = tally(kLeaks);
    EXPECT_EQ(1u, leaks.leaks);
    EXPECT_EQ(3u, leaks.lost_blocks);
    EXPECT_EQ(30u, leaks.lost_bytes);
    EXPECT_EQ(1u, leaks.counts[MEMCHECK_CORE]);
    EXPECT_EQ(3u, leaks.counts[MEMCHECK_KIND]);
    EXPECT_EQ(2u, tally(Question(true, nullptr, MEMCHECK_DEFINITE)).leaks);
    EXPECT_EQ(2u, tally(Question(false, nullptr, MEMCHECK_POSSIBLE)).counts[MEMCHECK_SHOWN]);
    EXPECT_EQ(4u, tally(Question(false, nullptr, MEMCHECK_REACHABLE)).counts[MEMCHECK_SHOWN]);
    for (const char *name : {"xml", "xml.so.2"}) {
        memcheck_tally only = tally(Question(false, name, MEMCHECK_REACHABLE));
        EXPECT_EQ(1u, only.counts[MEMCHECK_SHOWN]);
        EXPECT_EQ(3u, only.counts[MEMCHECK_OTHERS]);
    }
    for (const char *name : {"xm", "xml.", "xml.so.23", ""}) {
        EXPECT_EQ(0u, tally(Question(false, name, MEMCHECK_REACHABLE)).counts[MEMCHECK_SHOWN])
            << name;
    }
}

// libxml2 for an extension, and for another one
File ForExtensions() {
    return File()
        .Add("definite", "extension", { 1, 10, 0, 0 }, "xml2.so.2", "xmlStrdup",
             { "xmlNewNode (xml2.so.2)", "new_node (libxml.so)" })
        .Add("definite", "extension", { 1, 20, 0, 0 }, "xml2.so.2", "?",
             { "? (xml2.so.2)", "? (other.so)", "parse(int) (other.so)" })
        .Add("definite", "extension", { 1, 40, 0, 0 }, "xml2.so.2", "?",
             { "broken", "", "(x)" });
}

TEST(Memcheck, ALibraryThatACallPassesThroughKeepsIt) {
    Process one(ForExtensions());
    auto shown = [&](const char *only) {
        memcheck_question question = Question(false, only, MEMCHECK_DEFINITE);
        return memcheck_tally_of(&question, &one.process).leaks;
    };
    EXPECT_EQ(3u, shown("xml2"));
    EXPECT_EQ(1u, shown("libxml"));
    EXPECT_EQ(1u, shown("other.so"));
    EXPECT_EQ(0u, shown("new_node"));
    EXPECT_TRUE(memcheck_loaded_p(&one.process, "other"));
}

TEST(Memcheck, ItIsSaidForWhomAFunctionAsked) {
    Process one(ForExtensions());
    std::string text = one.Report(memcheck_text, kLeaks);
    for (const char *line : { "    xmlStrdup (xml2.so.2) for new_node (libxml.so)\n",
                              "    ? (xml2.so.2) for parse(int) (other.so)\n",
                              "    ? (xml2.so.2) for broken\n" })
        EXPECT_NE(std::string::npos, text.find(line)) << text;
    EXPECT_NE(std::string::npos,
              one.Report(memcheck_json, kLeaks)
                  .find("\"for\":{\"function\":\"new_node\",\"library\":\"libxml.so\"},"
                        "\"callers\":[{\"function\":\"xmlNewNode\",\"library\":\"xml2.so.2\"},"
                        "{\"function\":\"new_node\",\"library\":\"libxml.so\"}]"));
}

// ---- dead objects ----

void AddUse(File &file, const std::string &role, const std::string &function, int64_t number) {
    file.bytes_.Sample({ 1 }, { role == "dead_object" ? 3 : 0, 0, 0, 0 },
                       file.bytes_.Label("class", "[user.so]") +
                           (function.empty() ? "" : file.bytes_.Label("caller", function)) +
                           file.bytes_.Label("leak", role) +
                           file.bytes_.Label("of", "extension") +
                           file.bytes_.Label("what",
                                             "Invalid read: String, freed by GC 7 (full)") +
                           file.bytes_.NumberLabel("pair", number, ""));
}

TEST(DeadObjects, AUseHasWhoAllocatedAndWhoCollected) {
    File file;
    AddUse(file, "dead_object", "user (user.so)", 1);
    AddUse(file, "allocated", "", 1);
    AddUse(file, "collected", "", 1);
    Process one(file);
    EXPECT_EQ("app.rb (12): no leaks; 1 error\n\n"
              "  use of a dead object: Invalid read: String, freed by GC 7 (full), 3 times\n"
              "    user (user.so)\n        /app/parse.rb:7:in 'Parser.parse'\n"
              "      the object was allocated by:\n        /app/parse.rb:7:in 'Parser.parse'\n"
              "      the GC that found it dead began in:\n"
              "        /app/parse.rb:7:in 'Parser.parse'\n\n",
              one.Report(memcheck_text, kLeaks));
    const std::string frames =
        "[{\"name\":\"Parser.parse\",\"file\":\"/app/parse.rb\",\"line\":7}]";
    EXPECT_NE(std::string::npos, one.Report(memcheck_json, kLeaks)
                                     .find("\"times\":3,\"asked\":" + frames +
                                           ",\"collected\":" + frames));
}

TEST(DeadObjects, PartsOfAnotherUseAreNoDanger) {
    File file;
    AddUse(file, "collected", "", 1);
    AddUse(file, "dead_object", "user (user.so)", 1);
    AddUse(file, "allocated", "", 2);
    AddUse(file, "collected", "", 3);
    Process one(file);
    ASSERT_EQ(1u, one.process.record_count);
    EXPECT_EQ(0u, one.process.records[0].asked.count + one.process.records[0].collected.count);
}

TEST(DeadObjects, WhatCouldNotBeSeenIsCounted) {
    Process one(File().Comment("dead objects: 9").Comment("dead objects among others: 3")
                    .Comment("dead objects without a mapping: 2")
                    .Comment("dead objects that cannot be covered: 4")
                    .Comment("uses of unknown objects: 1"));
    EXPECT_EQ("app.rb (12): no leaks\n"
              "  uses of 3 of 9 dead objects could not be seen: there was too little memory to "
              "give each object a page of its own\n"
              "  uses of 2 of 9 dead objects could not be seen: the kernel allows too few "
              "mappings; set vm.max_map_count higher\n"
              "  uses of 4 of 9 dead objects could not be seen: pages of memory are too large on "
              "this machine; use --engine=valgrind\n"
              "  1 more use of dead objects, of which nothing is known\n",
              one.Report(memcheck_text, kLeaks));
    EXPECT_NE(std::string::npos,
              one.Report(memcheck_json, kLeaks)
                  .find("\"dead_objects\":{\"held\":9,\"among_others\":3,"
                        "\"without_mapping\":2,\"uncoverable\":4,\"unknown_uses\":1}"));
    EXPECT_NE(std::string::npos,
              one.Report(memcheck_sarif, kLeaks).find("uses of some dead objects could not be"));
}

TEST(DeadObjects, AProcessThatCrashedSaysSo) {
    File file("crashed");
    AddUse(file, "dead_object", "user (user.so)", 1);
    Process one(file);
    EXPECT_EQ(0u, one.Report(memcheck_text, kLeaks).find("app.rb (12): not decided: it crashed, "));
}

// ---- the wrong allocator ----

// A pair: who freed, and who asked.
void AddPair(File &file, int64_t freed_number, int64_t asked_number, const std::string &freed_of) {
    const std::string what = file.bytes_.Label("what", "memory of malloc was given to xfree");
    file.bytes_.Sample({ 1 }, { 2, 100, 0, 0 },
                       file.bytes_.Label("class", "[freer.so]") +
                           file.bytes_.Label("caller", "freer (freer.so)") +
                           file.bytes_.Label("leak", "mismatched_free") +
                           file.bytes_.Label("of", freed_of) + what +
                           file.bytes_.NumberLabel("pair", freed_number, ""));
    file.bytes_.Sample({ 1 }, { 0, 0, 0, 0 },
                       file.bytes_.Label("class", "[asker.so]") +
                           file.bytes_.Label("caller", "asker (asker.so)") +
                           file.bytes_.Label("leak", "allocated") +
                           file.bytes_.Label("of", "extension") + what +
                           file.bytes_.NumberLabel("pair", asked_number, ""));
}

TEST(Mismatches, AnErrorHasBothEnds) {
    File file;
    AddPair(file, 1, 1, "extension");
    Process one(file);
    EXPECT_EQ("app.rb (12): no leaks; 1 error\n\n"
              "  mismatched free: memory of malloc was given to xfree, 2 times\n"
              "    freer (freer.so)\n        /app/parse.rb:7:in 'Parser.parse'\n"
              "      the block was asked for by asker (asker.so):\n"
              "        /app/parse.rb:7:in 'Parser.parse'\n\n",
              one.Report(memcheck_text, kLeaks));
    std::string json = one.Report(memcheck_json, kLeaks);
    EXPECT_NE(std::string::npos,
              json.find("\"what\":\"memory of malloc was given to xfree\",\"times\":2,\"asked_by\":"
                        "{\"function\":\"asker\",\"library\":\"asker.so\"},\"asked\":[{"))
        << json;
    EXPECT_NE(std::string::npos, one.Report(memcheck_sarif, kLeaks)
                                     .find("\"ruleId\":\"mismatched_free\",\"level\":\"error\""));
}

TEST(Mismatches, WhatRubyFreesIsTheErrorOfWhoAsked) {
    File file;
    AddPair(file, 1, 1, "core");
    Process one(file);
    ASSERT_EQ(1u, one.process.record_count);
    const memcheck_record &record = one.process.records[0];
    EXPECT_FALSE(record.core);
    EXPECT_EQ("asker", std::string(record.function, record.function_length));
}

TEST(Mismatches, OneWithoutTheOtherIsNoDanger) {
    File file;
    AddPair(file, 1, 2, "extension");
    file.Add("allocated", "extension", { 1, 2, 3, 4 });
    Process one(file), alone(File().Add("allocated", "extension", { 1, 2, 3, 4 }));
    ASSERT_EQ(1u, one.process.record_count);
    EXPECT_EQ(0u, one.process.records[0].asked.count);
    EXPECT_EQ(0u, alone.process.record_count);
}

// ---- causes ----

uint64_t CauseOf(const std::string &library, const std::string &function,
                 const std::vector<std::string> &callers = {},
                 const std::string &leak = "definite") {
    Process one(File().Add(leak, "extension", {1, 10, 0, 0}, library, function, callers));
    return one.process.records[0].cause;
}

TEST(Causes, TheSameFunctionIsTheSameCauseInEachRunAndVersion) {
    uint64_t cause = CauseOf("xml2.so.2", "parse");
    EXPECT_EQ(cause, CauseOf("xml2.so.2.9.14", "parse"));
    EXPECT_EQ(cause, CauseOf("xml2.so", "parse.part.0"));
    EXPECT_EQ(CauseOf("a.so", "f(int)"), CauseOf("a.so", "f(int) [clone .isra.0]"));
    EXPECT_EQ(CauseOf("b.so.1", "f", { "g (b.so.1)", "h (a.so)" }),
              CauseOf("b.so.2", "f", { "h (a.so)", "main (a.so)" }));
    std::set<uint64_t> others = { cause,
                                  CauseOf("xml2.so.2", "parse", { "new (a.so)" }),
                                  CauseOf("xml2.so.2", "parse", { "old (a.so)" }),
                                  CauseOf("xml2.so.2", "parse_all"),
                                  CauseOf("libxslt.so.2", "parse"),
                                  CauseOf("xml2.so.2", "?"),
                                  CauseOf("xml2.so.2", "parse", {}, "possible") };
    EXPECT_EQ(7u, others.size());
}

// As text, because a baseline has it from another version of heapprof.
TEST(Causes, TheNumberStays) {
    char text[MEMCHECK_CAUSE_TEXT];
    memcheck_cause_text(CauseOf("parser.so", "parse"), text);
    EXPECT_STREQ("656093533cb38aed", text);
}

// Two Ruby stacks, of which one has two C stacks; and another function.
File TwoCauses() {
    File file;
    file.bytes_.Function(2, "Parser.again", "/app/again.rb");
    file.bytes_.Location(2, {{2, 9}});
    for (const auto &[location, bytes, helper] :
         std::vector<std::tuple<uint64_t, int64_t, std::string>>{
             { 1, 10, "one" }, { 2, 200, "one" }, { 1, 100, "two" } }) {
        file.bytes_.Sample({ location }, { 1, bytes, 1, 1 },
                           file.bytes_.Label("class", "[parser.so]") +
                               file.bytes_.Label("caller", "parse (parser.so)") +
                               file.bytes_.Label("leak", "definite") +
                               file.bytes_.Label("of", "extension") +
                               file.bytes_.Label("called_by", helper + " (parser.so)"));
    }
    return file.Add("definite", "extension", { 1, 300, 0, 0 }, "parser.so", "other");
}

TEST(Causes, CallsOfOneFunctionStandTogether) {
    Process one(TwoCauses());
    memcheck_tally tally = memcheck_tally_of(&kLeaks, &one.process);
    EXPECT_EQ(3u, tally.leaks); // equal Ruby stacks are one
    EXPECT_EQ(2u, tally.causes);
    EXPECT_EQ("app.rb (12): 3 leaks with 2 causes, 613 bytes in 7 blocks\n\n"
              "  definitely lost: 310 bytes in 3 blocks, which alone lead to 3 bytes in 3 blocks\n"
              "    parse (parser.so), in 2 calls:\n"
              "      200 bytes in 1 block, which alone lead to 1 byte in 1 block:\n"
              "        /app/again.rb:9:in 'Parser.again'\n"
              "      110 bytes in 2 blocks, which alone lead to 2 bytes in 2 blocks:\n"
              "        /app/parse.rb:7:in 'Parser.parse'\n\n"
              "  definitely lost: 300 bytes in 1 block\n"
              "    other (parser.so)\n"
              "        /app/parse.rb:7:in 'Parser.parse'\n\n",
              one.Report(memcheck_text, kLeaks));
}

// ---- the baseline ----

class Baseline : public testing::Test {
  protected:
    memcheck_baseline all_ = {};
    char error_[MEMCHECK_BASELINE_ERROR_MAX] = "";
    std::string path_ = testing::TempDir() + "baseline-" + std::to_string(getpid());

    void TearDown() override {
        memcheck_baseline_free(&all_);
        unlink(path_.c_str());
    }

    bool Read(const std::string &text) {
        FILE *file = fopen(path_.c_str(), "w");
        fwrite(text.data(), 1, text.size(), file);
        fclose(file);
        memcheck_baseline_free(&all_);
        return memcheck_baseline_read(&all_, path_.c_str(), error_);
    }

    std::string Written(Process &one) {
        std::vector<memcheck_baseline_line> lines;
        for (size_t i = 0; i < one.process.record_count; i++)
            lines.push_back({&one.process, &one.process.records[i]});
        char *text = nullptr;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        memcheck_baseline_put(out, lines.data(), lines.size());
        fclose(out);
        std::string all(text, size);
        free(text);
        return all;
    }
};

TEST_F(Baseline, WhatIsWrittenIsKnownAfterwardsAndNothingElse) {
    Process one(TwoCauses());
    Process other(TwoCauses().Add("definite", "extension", {1, 1, 0, 0}, "new.so"));
    std::string text = Written(one);
    // a comment, and each cause once
    EXPECT_EQ(3, std::count(text.begin(), text.end(), '\n')) << text;
    EXPECT_NE(std::string::npos, text.find(" definite parse (parser.so)\n")) << text;
    ASSERT_TRUE(Read(text)) << error_;
    memcheck_question question = kLeaks;
    question.baseline = &all_;
    EXPECT_EQ("app.rb (12): no leaks; not shown: 3 records known from the baseline\n",
              one.Report(memcheck_text, question));
    memcheck_tally tally = memcheck_tally_of(&question, &other.process);
    EXPECT_EQ(1u, tally.leaks);
    EXPECT_EQ(3u, tally.counts[MEMCHECK_KNOWN]);
    std::string sarif = other.Report(memcheck_sarif, question);
    auto count = [&](const std::string &state) {
        size_t found = 0;
        const std::string member = "\"baselineState\":\"" + state;
        for (size_t at = 0; (at = sarif.find(member, at)) != std::string::npos; at++) found++;
        return found;
    };
    EXPECT_EQ(3u, count("unchanged"));
    EXPECT_EQ(1u, count("new"));
}

TEST_F(Baseline, WhatIsWrongIsSaidWithItsLine) {
    EXPECT_TRUE(Read("# nothing\n\n  \n0123456789abcdef\n"));
    EXPECT_TRUE(memcheck_baseline_has_p(&all_, UINT64_C(0x0123456789abcdef)));
    EXPECT_FALSE(memcheck_baseline_has_p(&all_, 0));
    for (const char *text : { "0123456789abcdef f\n0123 f\n", "#\nlibxml2.so f\n",
                              "\n0123456789abcdef0 f\n", "\n0123456789ABCDEF f\n" }) {
        EXPECT_FALSE(Read(text)) << text;
        EXPECT_STREQ("line 2: it does not begin with a number of 16 digits, as --write-baseline "
                     "writes them", error_);
    }
    EXPECT_FALSE(Read("#" + std::string(5000, 'x')));
    EXPECT_STREQ("line 1: a line is too long", error_);
    EXPECT_FALSE(memcheck_baseline_read(&all_, "/nothing", error_));
    EXPECT_STREQ("No such file or directory", error_);
}

TEST(Memcheck, TheReportForPeople) {
    Process one(File()
                    .Add("definite", "extension", { 1, 10, 2, 20 })
                    .Add("reachable", "core", { 1, 10, 0, 0 }, "ruby"));
    EXPECT_EQ("app.rb (12): 1 leak, 30 bytes in 3 blocks; not shown: 1 record Ruby's own\n\n"
              "  definitely lost: 10 bytes in 1 block, which alone lead to 20 bytes in 2 blocks\n"
              "    parse (parser.so)\n        /app/parse.rb:7:in 'Parser.parse'\n\n",
              one.Report(memcheck_text, kLeaks));
    Process none((File()));
    EXPECT_EQ("app.rb (12): no leaks\n", none.Report(memcheck_text, kLeaks));
    Process undecided(File("not decided"));
    EXPECT_EQ(0u, undecided.Report(memcheck_text, kLeaks).find("app.rb (12): not decided: "));
    Process unknown(File().Comment("dropped samples: 3"));
    EXPECT_EQ("app.rb (12): no leaks\n  nothing is known of 3 blocks, which may be leaks, too\n",
              unknown.Report(memcheck_text, kLeaks));
}

TEST(Memcheck, TheReportForPrograms) {
    Process one(File().Add("definite", "extension", {1, 10, 2, 20}));
    EXPECT_EQ(
        "{\"engine\":\"vm\",\"processes\":[\n{\"pid\":\"12\",\"program\":\"app.rb\",\"decided\":"
        "true,\"unknown_blocks\":0,"
        "\"leaks\":1,\"causes\":1,\"errors\":0,\"lost_blocks\":3,\"lost_bytes\":30,"
        "\"not_shown\":{\"core\":0,"
        "\"others\":0,\"kind\":0,\"suppressed\":0,\"baseline\":0},\"suppressed\":[],\"records\":[\n"
        "{\"cause\":\"656093533cb38aed\",\"kind\":\"definite\",\"blocks\":1,\"bytes\":10,"
        "\"indirect_blocks\":2,\"indirect_bytes\":20,\"function\":\"parse\","
        "\"library\":\"parser.so\",\"core\":false,\"callers\":[],"
        "\"frames\":[{\"name\":\"Parser.parse\",\"file\":"
        "\"/app/parse.rb\",\"line\":7}]}]}]}\n",
        one.Report(memcheck_json, kLeaks));
}

TEST(Memcheck, TheReportForCIServers) {
    Process one(File().Add("definite", "extension", {1, 10, 0, 0}, "a&b.so", "operator<"));
    EXPECT_EQ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"heapprof memcheck\" "
              "tests=\"1\" failures=\"1\" errors=\"0\">\n"
              "  <testcase classname=\"memcheck\" name=\"process 1\">"
              "<failure message=\"1 leak, 0 errors\" type=\"definite\">"
              "app.rb (12): 1 leak, 10 bytes in 1 block\n\n"
              "  definitely lost: 10 bytes in 1 block\n    operator&lt; (a&amp;b.so)\n        "
              "/app/parse.rb:7:in 'Parser.parse'\n\n"
              "</failure></testcase>\n</testsuite>\n",
              one.Report(memcheck_junit, kLeaks));
    Process none((File()));
    EXPECT_NE(std::string::npos, none.Report(memcheck_junit, kLeaks).find("failures=\"0\""));
    EXPECT_NE(std::string::npos, none.Report(memcheck_junit, kLeaks)
                                     .find("<system-out>app.rb (12): no leaks\n</system-out>"));
    Process undecided(File("not decided"));
    EXPECT_NE(std::string::npos,
              undecided.Report(memcheck_junit, kLeaks)
                  .find("<failure message=\"not decided\" type=\"not_decided\">"
                        "app.rb (12): not decided: "));
}

const char kSarifRules[] =
    "{\"$schema\":\"https://json.schemastore.org/"
    "sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":\"heapprof "
    "memcheck\",\"version\":\"" HEAPPROF_VERSION "\",\"informationUri\":\"" HEAPPROF_URI
    "\",\"rules\":["
    "{\"id\":\"dead_object\",\"shortDescription\":{\"text\":\"use of a dead object\"}},"
    "{\"id\":\"use_after_free\",\"shortDescription\":{\"text\":\"use after free\"}},"
    "{\"id\":\"invalid_write\",\"shortDescription\":{\"text\":\"invalid write\"}},"
    "{\"id\":\"invalid_read\",\"shortDescription\":{\"text\":\"invalid read\"}},"
    "{\"id\":\"double_free\",\"shortDescription\":{\"text\":\"double free\"}},"
    "{\"id\":\"invalid_free\",\"shortDescription\":{\"text\":\"invalid free\"}},"
    "{\"id\":\"mismatched_free\",\"shortDescription\":{\"text\":\"mismatched free\"}},"
    "{\"id\":\"fatal_signal\",\"shortDescription\":{\"text\":\"fatal signal\"}},"
    "{\"id\":\"undefined\",\"shortDescription\":{\"text\":\"undefined value\"}},"
    "{\"id\":\"other_error\",\"shortDescription\":{\"text\":\"error\"}},"
    "{\"id\":\"wrong_size\",\"shortDescription\":{\"text\":\"wrong dsize\"}},"
    "{\"id\":\"definite\",\"shortDescription\":{\"text\":\"definitely lost\"}},"
    "{\"id\":\"indirect\",\"shortDescription\":{\"text\":\"indirectly lost\"}},"
    "{\"id\":\"possible\",\"shortDescription\":{\"text\":\"possibly lost\"}},"
    "{\"id\":\"reachable\",\"shortDescription\":{\"text\":\"still "
    "reachable\"}}]}},\"invocations\":[\n";

TEST(Memcheck, TheReportForCodeScanning) {
    Process one(File().Add("definite", "extension", {1, 10, 2, 20}));
    const std::string location =
        "{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"file:///app/"
        "parse.rb\"},\"region\":{\"startLine\":7}},"
        "\"logicalLocations\":[{\"fullyQualifiedName\":\"Parser.parse\"}]}";
    EXPECT_EQ(std::string(kSarifRules) +
                  "{\"executionSuccessful\":true,\"commandLine\":\"app.rb\",\"processId\":12,"
                  "\"properties\":{\"not_shown\":{\"core\":0,\"others\":0,\"kind\":0,"
                  "\"suppressed\":0,\"baseline\":0}}}],\"results\":[\n"
                  "{\"ruleId\":\"definite\",\"level\":\"error\",\"ruleIndex\":11,\"message\":{"
                  "\"text\":\"definitely lost: 10 bytes in 1 block, "
                  "which alone lead to 20 bytes in 2 blocks, asked for by parse "
                  "(parser.so)\"},\"locations\":[" +
                  location + "],\"stacks\":[{\"frames\":[{\"location\":" + location +
                  "}]},{\"message\":{\"text\":\"in C\"},\"frames\":[{\"location\":{"
                  "\"logicalLocations\":[{\"fullyQualifiedName\":\"parse (parser.so)\"}]}}]}],"
                  "\"partialFingerprints\":{\"cause/v1\":\"656093533cb38aed\"},"
                  "\"provenance\":{\"invocationIndex\":0}}]}]}\n",
              one.Report(memcheck_sarif, kLeaks));
    Process hidden(File().Add("reachable", "extension", {1, 10, 0, 0}));
    EXPECT_NE(std::string::npos, hidden.Report(memcheck_sarif, kLeaks).find("\"results\":[]"));
}

TEST(Memcheck, CodeScanningIsToldWhatIsNotKnown) {
    Process undecided(File("not decided"));
    EXPECT_NE(std::string::npos,
              undecided.Report(memcheck_sarif, kLeaks).find("\"executionSuccessful\":false"));
    EXPECT_NE(std::string::npos,
              undecided.Report(memcheck_sarif, kLeaks).find("{\"text\":\"not decided: "));
    Process unknown(File().Comment("dropped samples: 3"));
    EXPECT_NE(std::string::npos,
              unknown.Report(memcheck_sarif, kLeaks).find("\"executionSuccessful\":false"));
}

std::string LocationsOf(const std::string &path) {
    Process one(File("decided", path).Add("definite", "extension", {1, 10, 0, 0}));
    std::string all = one.Report(memcheck_sarif, kLeaks);
    size_t from = all.find("\"locations\":[");
    return all.substr(from, all.find("],\"stacks\"") - from);
}

TEST(Memcheck, CodeScanningFindsTheFile) {
    EXPECT_NE(std::string::npos,
              LocationsOf("lib/a b%\xc3\xa9.rb").find("{\"uri\":\"lib/a%20b%25%C3%A9.rb\"}"));
    for (const char *path : {"-e", "(eval at /app/parse.rb:7)", "<internal:kernel>", ""}) {
        EXPECT_EQ("\"locations\":[", LocationsOf(path)) << path;
    }
}

TEST(Memcheck, WhetherALibraryWasLoadedIsKnownByTheList) {
    Process one(File()
                    .Comment("libraries: libc.so.6/parser.so/")
                    .Add("definite", "extension", { 1, 10, 0, 0 }, "gone.so", "f")),
        other(File().Comment("x"));
    for (const char *name : { "libc", "libc.so.6", "libc.so", "parser", "parser.so", "gone" })
        EXPECT_TRUE(memcheck_loaded_p(&one.process, name)) << name;
    for (const char *name : { "pars", "parser.s", "lib", "", "parser.so/", "other" })
        EXPECT_FALSE(memcheck_loaded_p(&one.process, name)) << name;
    EXPECT_TRUE(memcheck_loaded_p(&other.process, "parser")); // it has no list
}

class Suppressions : public testing::Test {
  protected:
    memcheck_suppressions all_ = {};
    char error_[MEMCHECK_SUPPRESSIONS_ERROR_MAX] = "";
    std::string path_ = testing::TempDir() + "suppressions-" + std::to_string(getpid());

    void TearDown() override {
        memcheck_suppressions_free(&all_);
        unlink(path_.c_str());
    }

    bool Read(const std::string &text) {
        FILE *file = fopen(path_.c_str(), "w");
        fwrite(text.data(), 1, text.size(), file);
        fclose(file);
        memcheck_suppressions_free(&all_);
        return memcheck_suppressions_read(&all_, path_.c_str(), "3.4.9", error_);
    }

    size_t Suppressed(const std::string &text, Process &one) {
        EXPECT_TRUE(Read(text)) << error_;
        memcheck_question question = kLeaks;
        question.suppressions = &all_;
        return memcheck_tally_of(&question, &one.process).counts[MEMCHECK_SUPPRESSED];
    }
};

TEST_F(Suppressions, ByLibraryFunctionAndFrame) {
    Process one(File()
                    .Add("definite", "extension", { 1, 10, 0, 0 })
                    .Add("reachable", "extension", { 1, 10, 0, 0 }));
    for (const char *line : { "parser.so parse", "  parser.so\tparse  # known\r\n", "*.so p*",
                              "# a comment\n\nparser.so parse\n", "other.so parse\nparser.so parse",
                              "parser.so parse Parser.parse", "p[a]rser.so par?e Parser?*" }) {
        EXPECT_EQ(1u, Suppressed(line, one)) << line;
    }
    for (const char *line :
         { "", "# parser.so parse", "parser.so pars", "parser parse", "other.so parse",
           "parser.so parse Other*", "parser.so [p", "\\*.so parse" }) {
        EXPECT_EQ(0u, Suppressed(line, one)) << line;
    }
}

TEST_F(Suppressions, EveryReportHasWhatIsSuppressedAndByWhichLine) {
    Process one(File()
                    .Add("definite", "extension", { 1, 10, 0, 0 })
                    .Add("definite", "extension", { 1, 10, 0, 0 }, "other.so", "f"));
    ASSERT_TRUE(Read("none.so f\nother.so f\nparser.so parse\nparser.so parse\n"));
    memcheck_question question = kLeaks;
    question.suppressions = &all_;
    std::string file = path_.substr(path_.rfind('/') + 1);
    EXPECT_EQ("app.rb (12): no leaks; not shown: 2 records suppressed\n  1 record suppressed by " +
                  file + ":2\n  1 record suppressed by " + file + ":3\n",
              one.Report(memcheck_text, question));
    EXPECT_NE(std::string::npos, one.Report(memcheck_json, question)
                                     .find("\"suppressed\":[{\"file\":\"" + file +
                                           "\",\"line\":2,\"records\":1},{\"file\":\"" + file +
                                           "\",\"line\":3,\"records\":1}],\"records\":[]"));
    EXPECT_NE(
        std::string::npos,
        one.Report(memcheck_junit, question)
            .find(
                "<system-out>app.rb (12): no leaks; not shown: 2 records suppressed\n  1 record"));
    std::string sarif = one.Report(memcheck_sarif, question);
    EXPECT_NE(std::string::npos,
              sarif.find("\"not_shown\":{\"core\":0,\"others\":0,\"kind\":0,\"suppressed\":2,"
                        "\"baseline\":0}"));
    for (const char *line : {":2", ":3"}) {
        EXPECT_NE(std::string::npos,
                  sarif.find("\"suppressions\":[{\"kind\":\"external\",\"justification\":\"" +
                             file + line + "\"}]"))
            << sarif;
    }
}

class SuppressionFiles : public Suppressions {
  protected:
    std::string directory_ = testing::TempDir() + "suppressions-of-" + std::to_string(getpid());
    std::vector<std::string> files_;

    void SetUp() override { ASSERT_EQ(0, mkdir(directory_.c_str(), 0700)); }

    void TearDown() override {
        for (const std::string &file : files_) unlink(file.c_str());
        rmdir(directory_.c_str());
        Suppressions::TearDown();
    }

    void Write(const std::string &name, const std::string &text) {
        files_.push_back(directory_ + "/" + name);
        FILE *file = fopen(files_.back().c_str(), "w");
        fputs(text.c_str(), file);
        fclose(file);
    }

    bool ReadOf(const char *version) {
        memcheck_suppressions_free(&all_);
        return memcheck_suppressions_read(&all_, directory_.c_str(), version, error_);
    }

    std::set<std::string> Files() const {
        std::set<std::string> names;
        for (size_t i = 0; i < all_.count; i++) names.insert(all_.all[i].file);
        return names;
    }
};

TEST_F(SuppressionFiles, ThoseOfTheVersionAreRead) {
    for (const char *name :
         { "ruby.supp", "ruby-3.supp", "ruby-3.4.supp", "ruby-3.4.9.supp", "ruby-3.4.90.supp",
           "ruby-3.4.9.1.supp", "ruby-3..supp", "ruby-.supp", "ruby-4.supp", "parser_ruby-3.4.supp",
           "parser_ruby.supp", "my_parser_ruby-3.3.supp", "parserruby.supp", "jruby-3.4.supp",
           "ruby-3.4", "README" })
        Write(name, "a.so f\n");
    ASSERT_TRUE(ReadOf("3.4.9")) << error_;
    EXPECT_EQ(
        (std::set<std::string> { "ruby.supp", "ruby-3.supp", "ruby-3.4.supp", "ruby-3.4.9.supp",
                                 "parser_ruby-3.4.supp", "parser_ruby.supp" }),
        Files());
    ASSERT_TRUE(ReadOf("3.3.9")) << error_;
    EXPECT_EQ((std::set<std::string> { "ruby.supp", "ruby-3.supp", "my_parser_ruby-3.3.supp",
                                       "parser_ruby.supp" }),
              Files());
}

TEST_F(SuppressionFiles, WhatIsWrongIsSaidWithItsFile) {
    Write("ruby.supp", "a.so f\n");
    Write("ruby-3.supp", "a.so\n");
    EXPECT_FALSE(ReadOf("3.4.9"));
    EXPECT_STREQ("ruby-3.supp: line 1: expected LIBRARY FUNCTION [FRAME]", error_);
}

TEST_F(SuppressionFiles, OfOtherVersionsThereIsNone) {
    Write("ruby-3.3.supp", "a.so\n");
    EXPECT_TRUE(ReadOf("3.4.9"));
    EXPECT_EQ(0u, all_.count);
}

TEST_F(Suppressions, WhatIsWrongIsSaidWithItsLine) {
    EXPECT_FALSE(Read("parser.so parse\n\nparser.so\n"));
    EXPECT_STREQ("line 3: expected LIBRARY FUNCTION [FRAME]", error_);
    EXPECT_FALSE(Read("a b c d\n"));
    EXPECT_STREQ("line 1: expected LIBRARY FUNCTION [FRAME]", error_);
    EXPECT_FALSE(Read("a " + std::string(5000, 'b')));
    EXPECT_STREQ("line 1: a line is too long, or has a NUL in it", error_);
    memcheck_suppressions_free(&all_);
    EXPECT_FALSE(memcheck_suppressions_read(&all_, "/no/such/file", "3.4.9", error_));
    EXPECT_STREQ("No such file or directory", error_);
    EXPECT_TRUE(Read(std::string("a b\0c\nd e\n", 10)));
}

TEST_F(Suppressions, TheLineThatIsGeneratedSuppressesIt) {
    for (const char *function :
         { "parse", "?", "a*b[c]\\", "std::string f(int, char#)", "\xff\x1b" }) {
        Process one(File().Add("definite", "extension", {1, 10, 0, 0}, "a library.so.1", function));
        memcheck_question question = kLeaks;
        question.generate = true;
        std::string text = one.Report(memcheck_text, question), start = "    suppressed by: ";
        size_t at = text.find(start);
        ASSERT_NE(std::string::npos, at);
        std::string line = text.substr(at + start.size());
        EXPECT_EQ(1u, Suppressed(line, one)) << line;
        EXPECT_EQ(0u, Suppressed("x" + line, one)) << line;
    }
}

TEST(Memcheck, AFileOfAnybodysIsNoDanger) {
    File file;
    file.Add("definite", "extension", { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX })
        .Add("definite", "extension", { -1, INT64_MIN, -1, -1 });
    file.Add("no kind", "", { 1, 1, 1, 1 }, "", "")
        .Add("definite", "extension", { 1, 1, 0, 0 }, "\x1b[31m.so", std::string(1000, '\xff'));
    file.bytes_.Sample({}, {1, 2, 3, 4});
    file.bytes_.Location(2, {});
    file.bytes_.Sample({ 2 }, { 1, 2, 3, 4 },
                       file.bytes_.NumberLabel("leak", 3, "") +
                           file.bytes_.Label("class", "[unknown]"));
    Process one(file);
    ASSERT_EQ(5u, one.process.record_count); // two were equal
    EXPECT_EQ(INT64_MAX / 4, one.process.records[0].bytes);
    memcheck_question all = Question(true, nullptr, MEMCHECK_REACHABLE);
    std::string text = one.Report(memcheck_text, all);
    EXPECT_EQ(std::string::npos, text.find('\x1b'));
    EXPECT_EQ(std::string::npos, text.find('\xff'));
    EXPECT_EQ(std::string::npos, one.Report(memcheck_json, all).find('\xff'));
    EXPECT_NE(std::string::npos, text.find("    ?\n")); // the one without labels
}

} // namespace
