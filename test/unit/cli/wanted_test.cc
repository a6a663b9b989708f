// wanted_test.cc - what requests ask heapprof serve for.

#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "cli/serve/wanted.h"
}

namespace {

struct Wanted {
    cli_wanted wanted = {};
    int status;
    std::string line;

    explicit Wanted(const std::string &target, int longest = 60, const std::string &method = "GET")
    {
        static cli_request request;
        std::string bytes = method + " " + target + " HTTP/1.1\r\n\r\n";
        const char *wrong = "";
        char text[CLI_WANTED_LINE_MAX] = "";
        EXPECT_EQ(0, cli_request_read(&request, bytes.data(), bytes.size(), &wrong)) << target;
        status = cli_wanted_read(&request, longest, &wanted, text);
        line = text;
    }
};

TEST(Wanted, IsWhatPathAndQuerySay)
{
    for (const char *path : { "/", "/debug/pprof/", "/debug/pprof", "/?token=x" })
        EXPECT_EQ(CLI_WANTED_INDEX, Wanted(path).wanted.kind) << path;
    for (const char *path : { "/12/debug/pprof/", "/12/debug/pprof", "/debug/pprof/?pid=12" }) {
        EXPECT_EQ(CLI_WANTED_PAGE, Wanted(path).wanted.kind) << path;
        EXPECT_EQ(12, Wanted(path).wanted.pid) << path;
    }
    EXPECT_EQ(CLI_WANTED_TARGETS, Wanted("/targets").wanted.kind);
    EXPECT_EQ(CLI_WANTED_HEAP, Wanted("/12/debug/pprof/heap").wanted.kind);
    EXPECT_EQ(CLI_WANTED_ALLOCS, Wanted("/debug/pprof/allocs?pid=12", 60, "HEAD").wanted.kind);
    EXPECT_EQ(CLI_WANTED_THREADS, Wanted("/debug/pprof/threads?pid=%312").wanted.kind);
    EXPECT_EQ(12, Wanted("/debug/pprof/threads?pid=%312").wanted.pid);
    EXPECT_EQ(CLI_WANTED_PROFILE, Wanted("/12/debug/pprof/profile").wanted.kind);
    EXPECT_EQ(10, Wanted("/12/debug/pprof/profile").wanted.seconds);
    EXPECT_EQ(0.25, Wanted("/12/debug/pprof/profile?seconds=0.25").wanted.seconds);
    EXPECT_EQ(600, Wanted("/12/debug/pprof/profile?seconds=600", 600).wanted.seconds);
}

TEST(Wanted, OfAHeapIsAWholeUnlessSecondsAreGiven)
{
    EXPECT_EQ(0, Wanted("/12/debug/pprof/heap").wanted.seconds);
    EXPECT_EQ(5, Wanted("/12/debug/pprof/heap?seconds=5").wanted.seconds);
    EXPECT_FALSE(Wanted("/12/debug/pprof/heap?debug=0").wanted.text);
    EXPECT_TRUE(Wanted("/12/debug/pprof/allocs?debug=1&gc=0&seconds=5").wanted.text);
    EXPECT_TRUE(Wanted("/12/debug/pprof/heap?debug=2").wanted.text);
}

TEST(Wanted, IsRefusedOtherwise)
{
    for (const char *path :
         { "/x", "/12", "/12/", "/targets/", "//", "/debug/pprofs", "/12/targets",
           "/1234567890/debug/pprof/heap", "/+1/debug/pprof/heap" }) {
        EXPECT_EQ(404, Wanted(path).status) << path;
    }
    EXPECT_EQ(404, Wanted("/1/debug/pprof/goroutine").status);
    for (const char *query :
         { "", "?pid=", "?pid=0", "?pid=-1", "?pid=1x", "?pid=%", "?pid=1234567890" }) {
        EXPECT_EQ("which process? Give pid=N, or /N/debug/pprof/",
                  Wanted(std::string("/debug/pprof/heap") + query).line)
            << query;
    }
    for (const char *method : { "POST", "get", "G", "OPTIONS" })
        EXPECT_EQ(405, Wanted("/", 60, method).status) << method;
}

TEST(Wanted, HasOnlyTheParametersOfItsPath)
{
    struct {
        const char *target, *line;
    } cases[] = {
        { "/?pid=1", "this path has no parameter \"pid\": expected token" },
        { "/targets?debug=1", "this path has no parameter \"debug\": expected token" },
        { "/1/debug/pprof/?gc=1", "this path has no parameter \"gc\": expected token" },
        { "/1/debug/pprof/threads?seconds=1",
          "this path has no parameter \"seconds\": expected token" },
        { "/debug/pprof/threads?pid=1&debug=1",
          "this path has no parameter \"debug\": expected pid, token" },
        { "/1/debug/pprof/profile?gc=1",
          "this path has no parameter \"gc\": expected seconds, token" },
        { "/1/debug/pprof/heap?pid=1",
          "this path has no parameter \"pid\": expected seconds, debug, gc, token" },
        { "/debug/pprof/heap?pid=1&Seconds=1",
          "this path has no parameter \"Seconds\": expected pid, seconds, debug, gc, token" },
        { "/1/debug/pprof/heap?sec%6fnds=1",
          "an unknown parameter: expected seconds, debug, gc, token" },
        { "/1/debug/pprof/heap?=1",
          "this path has no parameter \"\": expected seconds, debug, gc, token" },
        { "/1/debug/pprof/heap?seconds=1&&seconds=2", "seconds is given twice" },
        { "/?token&token=", "token is given twice" },
    };
    for (const auto &each : cases) {
        EXPECT_EQ(400, Wanted(each.target).status) << each.target;
        EXPECT_EQ(each.line, Wanted(each.target).line) << each.target;
    }
    EXPECT_EQ(400, Wanted("/?" + std::string(10000, 'x')).status);
}

TEST(Wanted, SaysTheRangeOfAValue)
{
    for (const char *path : { "/1/debug/pprof/profile?seconds=", "/1/debug/pprof/heap?seconds=" }) {
        for (const char *seconds : { "", "0", "0.0", "60.1", "61", "-1", "1e1", "nan", "inf", "0x1",
                                     ".5", "5.", "1.0000000000", "1234567890", "%", "1+" }) {
            Wanted wanted(std::string(path) + seconds);
            EXPECT_EQ(400, wanted.status) << seconds;
            EXPECT_EQ("seconds: expected a number as 10 or 0.5, more than 0, and at most 60; "
                      "with HEAPPROF_TOKEN at most 600", wanted.line) << seconds;
        }
    }
    EXPECT_EQ("seconds: expected a number as 10 or 0.5, more than 0, and at most 600",
              Wanted("/1/debug/pprof/profile?seconds=601", 600).line);
    for (const char *debug : { "", "3", "x", "-1", "%" }) {
        EXPECT_EQ("debug: expected 0 for a profile, 1 or 2 for text",
                  Wanted(std::string("/1/debug/pprof/heap?debug=") + debug).line) << debug;
    }
    for (const char *gc : { "", "1", "x", "%" }) {
        EXPECT_EQ(0u, Wanted(std::string("/1/debug/pprof/heap?gc=") + gc).line.find(
                          "gc: expected 0: ")) << gc;
    }
}

} // namespace
