// options_test.cc - RUBY_HEAPPROF, word for word.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include "os/signals.h"
#include "profiler/options.h"
}

namespace {

// What a text is read as.
struct Parsed {
    heapprof_options options;
    heapprof_options_result result;
    std::string message;

    explicit Parsed(const char *text)
    {
        char line[256] = "";
        memset(&options, 0xa5, sizeof(options));
        result = rb_heapprof_options_parse(text, &options, line, sizeof(line));
        message = line;
    }

    explicit Parsed(const std::string &text) : Parsed(text.c_str()) {}
};

const char kKnown[] =
    "known keys are interval, malloc_interval, malloc, out, every, signal, at, graph, keep, "
    "depth, labels, memory, seed, gc, owners, rss, peak, lifetimes, memcheck, quarantine, sizes, "
    "gc_stress";

heapprof_options
On(const std::string &text)
{
    Parsed parsed(text);
    EXPECT_EQ(HEAPPROF_OPTIONS_ON, parsed.result) << text << ": " << parsed.message;
    return parsed.options;
}

std::string
Bad(const std::string &text)
{
    Parsed parsed(text);
    EXPECT_EQ(HEAPPROF_OPTIONS_BAD, parsed.result) << text;
    return parsed.message;
}

void
ExpectDefaults(const heapprof_options &options)
{
    EXPECT_EQ(65536u, options.interval_bytes);
    EXPECT_EQ(HEAPPROF_AS_INTERVAL, options.malloc_interval_bytes);
    EXPECT_EQ(512u, options.depth);
    EXPECT_EQ(67108864u, options.memory_bytes);
    EXPECT_FALSE(options.malloc_all);
    EXPECT_FALSE(options.seeded);
    EXPECT_TRUE(options.gc);
    EXPECT_TRUE(options.owners);
    EXPECT_TRUE(options.rss);
    EXPECT_TRUE(options.graph);
    EXPECT_EQ(0u, options.every_ms);
    EXPECT_EQ(0u, options.signal);
    EXPECT_EQ(10u, options.keep);
    EXPECT_STREQ("heapprof-%p.pb.gz", options.out);
}

// ---- on and off ----

TEST(Options, UnsetEmptyAndZeroAreOff)
{
    for (const char *text : {static_cast<const char *>(nullptr), "", "0"}) {
        EXPECT_EQ(HEAPPROF_OPTIONS_OFF, Parsed(text).result);
    }
}

TEST(Options, LockedMayStandAnywhereAndHasNoValue)
{
    for (const char *text : {"locked", "locked,0", "0,locked", "locked,", "locked,locked"}) {
        EXPECT_EQ(HEAPPROF_OPTIONS_OFF, Parsed(text).result) << text;
        EXPECT_TRUE(rb_heapprof_options_locked_p(text)) << text;
    }
    for (const char *text : {"locked,1,depth=42", "locked,depth=42", "1,locked,depth=42",
                             "1,depth=42,locked", "depth=42,locked"}) {
        EXPECT_EQ(42u, On(text).depth) << text;
        EXPECT_TRUE(rb_heapprof_options_locked_p(text)) << text;
    }
    On("1,locked");
    for (const char *text : {static_cast<const char *>(nullptr), "", "1", "out=locked"}) {
        EXPECT_FALSE(rb_heapprof_options_locked_p(text));
    }
    for (const char *text : {"lockedx", "LOCKED", "1,lokced"}) {
        EXPECT_NE(std::string::npos, Bad(text).find("expected 1, 0, locked or key=value")) << text;
        EXPECT_FALSE(rb_heapprof_options_locked_p(text)) << text;
    }
}

TEST(Options, LockedWithAMistakeLocksAsWell)
{
    for (const char *text : {"locked=1", "locked=0", "locked="}) {
        EXPECT_EQ(text + std::string(": expected locked, without a value"), Bad(text));
        EXPECT_TRUE(rb_heapprof_options_locked_p(text));
    }
    for (const char *text : {"locked,nothing=1", "depth=none,locked"}) {
        Bad(text);
        EXPECT_TRUE(rb_heapprof_options_locked_p(text));
    }
}

TEST(Options, OneIsOnWithDefaults)
{
    ExpectDefaults(On("1"));
    heapprof_options options;
    rb_heapprof_options_default(&options);
    ExpectDefaults(options);
}

TEST(Options, OneMayComeFirst)
{
    EXPECT_EQ(65536u, On("1,interval=64k").interval_bytes);
    EXPECT_FALSE(On("1,gc=0,rss=0").gc);
    EXPECT_EQ(std::string("(nothing): expected 1, 0, locked or key=value; ") + kKnown, Bad("1,"));
    for (const char *text : {"1,1", "gc=1,1"}) {
        EXPECT_EQ(std::string("1: expected 1, 0, locked or key=value; ") + kKnown, Bad(text));
    }
    EXPECT_EQ(std::string("0: expected 1, 0, locked or key=value; ") + kKnown, Bad("0,gc=1"));
}

TEST(Options, ASettingChangesOnlyItsKey)
{
    heapprof_options options = On("gc=0");
    EXPECT_FALSE(options.gc);
    options.gc = true;
    ExpectDefaults(options);
}

TEST(Options, AllKeysTogetherInAnyOrder)
{
    heapprof_options options =
        On("seed=7,malloc_interval=8k,rss=0,out=p.pb.gz,gc=0,memory=2m,depth=20,"
           "malloc=all,owners=0,interval=4k");
    EXPECT_EQ(4096u, options.interval_bytes);
    EXPECT_EQ(8192u, options.malloc_interval_bytes);
    EXPECT_EQ(20u, options.depth);
    EXPECT_EQ(2097152u, options.memory_bytes);
    EXPECT_TRUE(options.seeded);
    EXPECT_EQ(7u, options.seed);
    EXPECT_FALSE(options.gc);
    EXPECT_FALSE(options.owners);
    EXPECT_FALSE(options.rss);
    EXPECT_TRUE(options.malloc_all);
    EXPECT_STREQ("p.pb.gz", options.out);
}

TEST(Options, OfAKeyGivenTwiceTheLastCounts)
{
    EXPECT_EQ(1024u, On("interval=4k,depth=3,interval=1k").interval_bytes);
    EXPECT_STREQ("b", On("out=aaaa,out=b").out);
}

// ---- values ----

TEST(Options, IntervalTakesBytesWithSuffixes)
{
    EXPECT_EQ(1u, On("interval=1").interval_bytes);
    EXPECT_EQ(HEAPPROF_AUTO_INTERVAL, On("interval=auto").interval_bytes);
    EXPECT_EQ(4096u, On("interval=4096").interval_bytes);
    EXPECT_EQ(524288u, On("interval=512k").interval_bytes);
    EXPECT_EQ(1048576u, On("interval=1m").interval_bytes);
    EXPECT_EQ(UINT64_C(1) << 40, On("interval=1024g").interval_bytes);
    EXPECT_EQ(UINT64_C(1) << 40, On("interval=1099511627776").interval_bytes);
    EXPECT_EQ(8u, On("interval=0008").interval_bytes);
    EXPECT_EQ(524288u, On("interval=512K").interval_bytes);
    EXPECT_EQ(1048576u, On("interval=1M").interval_bytes);
    EXPECT_EQ(UINT64_C(1) << 40, On("interval=1024G").interval_bytes);
}

TEST(Options, MalformedIntervalNamesKeyValueAndWhatIsAccepted)
{
    for (const char *value : {"banana", "", "k", "K", "4kk", "4Kk", "4 k", " 4", "-4", "+4", "4.5k",
                              "0x10"}) {
        EXPECT_EQ("interval=" + std::string(value) +
                      ": expected bytes between samples, such as 4096, 512k or 1m; or auto",
                  Bad("interval=" + std::string(value)));
    }
}

TEST(Options, IntervalOutOfRangeNamesTheRange)
{
    for (const char *value : {"0", "0k", "1025g", "1099511627777", "99999999999g",
                              "18446744073709551615", "18446744073709551616",
                              "18014398509481988k", "99999999999999999999999999"}) {
        EXPECT_EQ("interval=" + std::string(value) + ": expected 1 to 1099511627776 bytes",
                  Bad("interval=" + std::string(value)));
    }
}

TEST(Options, MallocIntervalIsTheIntervalUnlessGiven)
{
    for (const char *text : {"interval=4k", "interval=1m,interval=4k", "seed=1,interval=4k"}) {
        heapprof_options options = On(text);
        EXPECT_EQ(4096u, rb_heapprof_options_malloc_interval(&options));
    }
    heapprof_options options = On("malloc_interval=1,interval=4k");
    EXPECT_EQ(1u, rb_heapprof_options_malloc_interval(&options));
    options = On("1");
    EXPECT_EQ(65536u, rb_heapprof_options_malloc_interval(&options));
    options = On("malloc_interval=0");
    EXPECT_EQ(0u, rb_heapprof_options_malloc_interval(&options));
    EXPECT_EQ(65536u, options.interval_bytes);
}

TEST(Options, MallocIntervalTakesBytesWithSuffixesAndZero)
{
    EXPECT_EQ(0u, On("malloc_interval=0").malloc_interval_bytes);
    EXPECT_EQ(0u, On("malloc_interval=0k").malloc_interval_bytes);
    EXPECT_EQ(1u, On("malloc_interval=1").malloc_interval_bytes);
    EXPECT_EQ(524288u, On("malloc_interval=512k").malloc_interval_bytes);
    EXPECT_EQ(UINT64_C(1) << 40, On("malloc_interval=1024g").malloc_interval_bytes);
}

TEST(Options, MalformedMallocIntervalNamesKeyValueAndWhatIsAccepted)
{
    for (const char *value : {"banana", "", "k", "4kk", "4t", "-1", "+4", "4.5k", "off"}) {
        EXPECT_EQ("malloc_interval=" + std::string(value) +
                      ": expected bytes of malloc between samples, such as 4096, 512k or 0",
                  Bad("malloc_interval=" + std::string(value)));
    }
}

TEST(Options, MallocIntervalOutOfRangeNamesTheRange)
{
    for (const char *value : {"1025g", "1099511627777", "99999999999g", "18446744073709551615",
                              "18446744073709551616", "18014398509481988k",
                              "99999999999999999999999999"}) {
        EXPECT_EQ("malloc_interval=" + std::string(value) + ": expected 0 to 1099511627776 bytes",
                  Bad("malloc_interval=" + std::string(value)));
    }
}

TEST(Options, MallocIsRubyOrAll)
{
    EXPECT_FALSE(On("malloc=ruby").malloc_all);
    EXPECT_TRUE(On("malloc=all").malloc_all);
    EXPECT_FALSE(On("malloc=all,malloc=ruby").malloc_all);
    for (const char *value : {"", "1", "0", "4k", "All", "al", "alll", "rub", "rubyall"}) {
        EXPECT_EQ("malloc=" + std::string(value) +
                      ": expected ruby (what asks MRI's allocator) or all "
                      "(extensions and libraries, too)",
                  Bad("malloc=" + std::string(value)));
    }
}

TEST(Options, DepthIsOneToSixteenBits)
{
    EXPECT_EQ(1u, On("depth=1").depth);
    EXPECT_EQ(65535u, On("depth=65535").depth);
    for (const char *value : {"0", "65536", "4294967297", "99999999999999999999"}) {
        EXPECT_EQ("depth=" + std::string(value) + ": expected 1 to 65535 frames",
                  Bad("depth=" + std::string(value)));
    }
    for (const char *value : {"", "deep", "1k", "-1"}) {
        EXPECT_EQ("depth=" + std::string(value) + ": expected frames per stack, such as 512",
                  Bad("depth=" + std::string(value)));
    }
}

TEST(Options, MemoryIsAtLeastOneMebibyte)
{
    EXPECT_EQ(1048576u, On("memory=1m").memory_bytes);
    EXPECT_EQ(UINT64_C(1) << 33, On("memory=8g").memory_bytes);
    for (const char *value : {"0", "1048575", "1023k", "17179869184g"}) {
        EXPECT_EQ("memory=" + std::string(value) +
                      ": expected 1048576 to 18446744073709551615 bytes",
                  Bad("memory=" + std::string(value)));
    }
    EXPECT_EQ("memory=lots: expected bytes for the profiler's own tables, such as 64m",
              Bad("memory=lots"));
}

TEST(Options, SeedIsAnyNumberOfSixtyFourBits)
{
    EXPECT_EQ(0u, On("seed=0").seed);
    EXPECT_TRUE(On("seed=0").seeded);
    EXPECT_EQ(UINT64_MAX, On("seed=18446744073709551615").seed);
    EXPECT_EQ("seed=18446744073709551616: expected 0 to 18446744073709551615",
              Bad("seed=18446744073709551616"));
    for (const char *value : {"", "4k", "random"}) {
        EXPECT_EQ("seed=" + std::string(value) +
                      ": expected a number, such as 42: equal seeds sample equally",
                  Bad("seed=" + std::string(value)));
    }
}

TEST(Options, EveryIsSecondsWithUpToThreeDigitsBehindThePoint)
{
    const std::pair<const char *, uint64_t> kValues[] = {
        { "0", 0 },      { "0.0", 0 },      { "0.1", 100 },
        { "1", 1000 },   { "60", 60000 },   { "0.25", 250 },
        { "1.5", 1500 }, { "2.005", 2005 }, { "604800", 604800000 },
        { "007", 7000 }
    };
    for (const auto &[value, ms] : kValues)
        EXPECT_EQ(ms, On("every=" + std::string(value)).every_ms) << value;
    for (const char *value : {"0.099", "0.001", "604800.001", "604801", "18446744073709551615",
                              "99999999999999999999999"}) {
        EXPECT_EQ("every=" + std::string(value) + ": expected 0, or 0.1 to 604800 seconds",
                  Bad("every=" + std::string(value)));
    }
    for (const char *value :
         { "", ".", ".5", "1.", "1.0000", "1.2.3", "1m", "-1", "+1", "1e3", "1 ", "never" }) {
        EXPECT_EQ("every=" + std::string(value) +
                      ": expected seconds between two files while the program runs, "
                      "such as 60 or 0.5; or 0: none are written",
                  Bad("every=" + std::string(value)));
    }
}

TEST(Options, SignalIsOneThatNobodyElseNeeds)
{
    EXPECT_EQ(static_cast<uint32_t>(SIGUSR2), On("signal=USR2").signal);
    EXPECT_EQ(static_cast<uint32_t>(SIGHUP), On("signal=SIGHUP").signal);
    EXPECT_EQ(0u, On("signal=USR1,signal=none").signal);
    for (const char *value :
         { "", "INT", "TERM", "KILL", "STOP", "SEGV", "BUS", "ILL", "FPE", "VTALRM", "CHLD", "PIPE",
           "EXIT", "usr1", "SIG", "SIGSIGUSR1", "10", "USR", "USR12" }) {
        EXPECT_EQ(
            "signal=" + std::string(value) +
                ": expected a signal that has a file written: "
                "USR1, USR2, HUP, QUIT, ALRM, PROF, WINCH, URG, IO, PWR, TTIN or TTOU; or none",
            Bad("signal=" + std::string(value)));
    }
}

TEST(Options, EverySignalThatIsNamedHasItsName)
{
    std::string names(HEAPPROF_SIGNALS);
    for (size_t start = 0, end; start < names.size(); start = end) {
        end = names.find_first_of(", ", start);
        if (end == std::string::npos) end = names.size();
        std::string name = names.substr(start, end - start);
        end = names.find_first_not_of(", ", end);
        if (end == std::string::npos) end = names.size();
        if (name == "or") continue;
        EXPECT_EQ(name, rb_heapprof_signal_name(static_cast<int>(On("signal=" + name).signal)));
    }
    for (int number : { 0, SIGINT, SIGKILL, -1, 1000 })
        EXPECT_STREQ("", rb_heapprof_signal_name(number));
}

std::vector<uint64_t>
Marks(const std::string &text)
{
    heapprof_options options = On(text);
    return std::vector<uint64_t>(options.at, options.at + HEAPPROF_MARKS);
}

TEST(Options, MarksAreSharesOfALimitOrSizes)
{
    using Values = std::vector<uint64_t>;
    EXPECT_EQ(Values({0, 0, 0, 0}), Marks("1"));
    EXPECT_EQ(Values({0, 0, 0, 0}), Marks("at=85%,at=0"));
    EXPECT_EQ(Values({85, 0, 0, 0}), Marks("at=85%"));
    EXPECT_EQ(Values({70, 90, 0, 0}), Marks("at=70%/90%"));
    EXPECT_EQ(Values({1, 1048576, 100, UINT64_C(2) << 30}), Marks("at=1%/1m/100%/2G"));
    EXPECT_STREQ("heapprof-%p.pb.gz", On("at=85%").out) << "it has names of its own";
    for (const char *value : { "0%", "101%", "0/85%", "1048575", "85", "1%/2%/3%/4%/5%",
                               "99999999999999999999999%", "99999999999999999999g" }) {
        EXPECT_EQ("at=" + std::string(value) +
                      ": expected 1 to 4 marks, each of 1% to 100%, or of 1048576 bytes and more",
                  Bad("at=" + std::string(value)));
    }
    for (const char *value : { "", "%", "85%/", "/85%", "85 %", "8.5%", "85%%", "x", "85%m", "-1%",
                               "1%/2%/3%/4%/x" }) {
        EXPECT_EQ("at=" + std::string(value) +
                      ": expected marks of memory at which a file is written, such as 85%, "
                      "70%/90% or 512m; or 0: none",
                  Bad("at=" + std::string(value)));
    }
}

TEST(Options, KeepIsANumberOfFiles)
{
    EXPECT_EQ(0u, On("keep=0").keep);
    EXPECT_EQ(100000u, On("keep=100000").keep);
    EXPECT_EQ("keep=100001: expected 0 to 100000", Bad("keep=100001"));
    EXPECT_EQ("keep=all: expected how many of these files are kept, such as 10; or 0: all",
              Bad("keep=all"));
}

TEST(Options, SeveralFilesHaveNumbersUnlessTheyAreNamed)
{
    for (const char *text : {"every=60", "signal=USR1", "keep=3,every=1,every=60"}) {
        EXPECT_STREQ("heapprof-%p-%n.pb.gz", On(text).out) << text;
    }
    for (const char *text : {"1", "keep=3", "every=60,every=0", "every=60,out=heapprof-%p.pb.gz"}) {
        EXPECT_STREQ("heapprof-%p.pb.gz", On(text).out) << text;
    }
    EXPECT_STREQ("a", On("every=60,out=a").out);
}

TEST(Options, OwnersIsOneOrZero)
{
    EXPECT_TRUE(On("owners=1").owners);
    EXPECT_FALSE(On("owners=0").owners);
    EXPECT_EQ("owners=2: expected 1 or 0", Bad("owners=2"));
    for (const char *value : {"", "yes", "true"}) {
        EXPECT_EQ(
            "owners=" + std::string(value) +
                ": expected 1 (find who holds malloc'ed memory before a file is written) or 0",
            Bad("owners=" + std::string(value)));
    }
}

TEST(Options, GcIsOneOrZero)
{
    EXPECT_TRUE(On("gc=1").gc);
    EXPECT_FALSE(On("gc=0").gc);
    EXPECT_EQ("gc=2: expected 1 or 0", Bad("gc=2"));
    for (const char *value : {"", "yes", "true"}) {
        EXPECT_EQ("gc=" + std::string(value) +
                      ": expected 1 (a full GC before a file is written) or 0",
                  Bad("gc=" + std::string(value)));
    }
}

TEST(Options, GraphIsOneOrZero)
{
    EXPECT_TRUE(On("1,at=80m").graph);
    EXPECT_FALSE(On("graph=0").graph);
    EXPECT_EQ("graph=2: expected 1 or 0", Bad("graph=2"));
}

TEST(Options, RssIsOneOrZero)
{
    EXPECT_TRUE(On("1").rss);
    EXPECT_TRUE(On("rss=1").rss);
    EXPECT_FALSE(On("rss=0").rss);
    EXPECT_EQ("rss=2: expected 1 or 0", Bad("rss=2"));
    EXPECT_EQ("rss=yes: expected 1 (a file has the rest of the resident memory, too) or 0",
              Bad("rss=yes"));
}

TEST(Options, PeakAndLifetimes)
{
    EXPECT_FALSE(On("1").peak || On("1").lifetimes);
    EXPECT_TRUE(On("peak=1").peak && !On("peak=1").lifetimes);
    EXPECT_TRUE(On("peak=1,lifetimes=1").lifetimes);
    EXPECT_EQ("peak=2: expected 1 or 0", Bad("peak=2"));
    EXPECT_EQ("lifetimes=yes: expected 1 (a file also has how many GCs the dead have survived) "
              "or 0",
              Bad("lifetimes=yes"));
}

TEST(Options, Memcheck)
{
    EXPECT_FALSE(On("1").memcheck);
    EXPECT_TRUE(On("memcheck=1").memcheck);
    EXPECT_FALSE(On("memcheck=0").memcheck);
    EXPECT_EQ("memcheck=2: expected 1 or 0", Bad("memcheck=2"));
    EXPECT_EQ("memcheck=yes: expected 1 (all that is Ruby's is freed at the end, and the file has "
              "the blocks that are "
              "left) or 0",
              Bad("memcheck=yes"));
}

const char kFileName[] = "expected a file name, such as heapprof-%p.pb.gz "
                         "(%p pid, %e program, %t time, %n number, %%), or nothing: no file";

TEST(Options, OutHasNoLetterThatIsNotKnown)
{
    EXPECT_STREQ("%p%e%t%n%%", On("out=%p%e%t%n%%").out);
    for (const char *value : {"%q", "a%", "%", "%P", "%%%", "%p%q", "% p"}) {
        EXPECT_EQ("out=" + std::string(value) + ": " + kFileName, Bad("out=" + std::string(value)));
    }
}

TEST(Options, OutMayHoldAnythingButAComma)
{
    EXPECT_STREQ("a=b=c", On("out=a=b=c").out);
    EXPECT_STREQ("/var/%e %p\xc3\xa9.gz", On("out=/var/%e %p\xc3\xa9.gz").out);
    EXPECT_STREQ("", On("out=").out);
}

TEST(Options, OutIsTakenUpToItsLastPossibleCharacter)
{
    std::string longest(HEAPPROF_OUT_MAX - 1, 'x');
    EXPECT_EQ(longest, On("out=" + longest).out);
    EXPECT_EQ("out=" + std::string(60, 'x') + "...: expected 0 to 4095 characters",
              Bad("out=x" + longest));
}

// ---- what is no setting ----

TEST(Options, UnknownKeysAreNamedWithTheKnownOnes)
{
    for (const char *setting :
         { "nonsense=1", "=1", "Interval=4k", "inter=4k", "intervals=4k", "Every=10",
           "signals=USR1", " interval=4k", "interval =4k", "mallocs=all", "malloc_intervals=4k" }) {
        EXPECT_EQ(std::string(setting) + ": no such key; " + kKnown, Bad(setting));
    }
}

TEST(Options, WhatIsNoSettingIsNamedWithWhatIsAccepted)
{
    for (const char *setting : {"2", "banana", "on", "interval", "01", "1 "}) {
        EXPECT_EQ(std::string(setting) + ": expected 1, 0, locked or key=value; " + kKnown,
                  Bad(setting));
    }
}

TEST(Options, NothingBetweenCommasIsNoSetting)
{
    for (const char *text : {"interval=4k,", ",interval=4k", "interval=4k,,gc=0", ","}) {
        EXPECT_EQ(std::string("(nothing): expected 1, 0, locked or key=value; ") + kKnown,
                  Bad(text));
    }
}

TEST(Options, TheFirstBadSettingIsNamed)
{
    EXPECT_EQ("gc=2: expected 1 or 0", Bad("interval=4k,gc=2,depth=0"));
    EXPECT_EQ("1: expected 1, 0, locked or key=value; " + std::string(kKnown), Bad("gc=1,1"));
}

// ---- messages ----

TEST(Options, MessagesAreOneLineWhateverTheValue)
{
    EXPECT_EQ("gc=a?b?c?: expected 1 (a full GC before a file is written) or 0",
              Bad("gc=a\nb\rc\x7f"));
}

TEST(Options, OfALongValueTheBeginningIsQuoted)
{
    std::string nines = "gc=" + std::string(61, '9');
    EXPECT_EQ(nines + ": expected 1 or 0", Bad(nines));
    EXPECT_EQ(nines + "...: expected 1 or 0", Bad(nines + "9"));
}

TEST(Options, MessageKeepsWithinItsSize)
{
    char line[] = "################";
    heapprof_options options;
    EXPECT_EQ(HEAPPROF_OPTIONS_BAD, rb_heapprof_options_parse("gc=2", &options, line, 8));
    EXPECT_STREQ("gc=2: e", line);
    EXPECT_EQ('#', line[8]);
    EXPECT_EQ(HEAPPROF_OPTIONS_BAD, rb_heapprof_options_parse("gc=2", &options, nullptr, 0));
}

// ---- the table ----

#define KEY(key, kind, field, otherwise, ...) {#key, otherwise},
const std::vector<std::pair<std::string, std::string>> kRows = {HEAPPROF_SETTINGS(KEY)};
#undef KEY

// The cells of the table of doc/settings.md under RUBY_HEAPPROF: key and default.
std::vector<std::pair<std::string, std::string>>
DocumentedRows()
{
    std::string test(__FILE__), line;
    std::ifstream settings(
        test.substr(0, test.size() - strlen("test/unit/profiler/options_test.cc")) +
        "doc/settings.md");
    std::vector<std::pair<std::string, std::string>> rows;

    while (std::getline(settings, line) && line != "## RUBY_HEAPPROF") {}
    while (std::getline(settings, line) && line.compare(0, 2, "##") != 0) {
        if (line.compare(0, 3, "| `") != 0) continue;
        size_t end = line.rfind(" |"), start = line.rfind("| ", end - 1) + 2;
        rows.emplace_back(line.substr(3, line.find('`', 3) - 3), line.substr(start, end - start));
    }
    return rows;
}

TEST(Options, TheManualHasEveryKeyWithItsDefaultAndNoOther)
{
    auto rows = kRows, documented = DocumentedRows();
    std::sort(rows.begin(), rows.end());
    std::sort(documented.begin(), documented.end());
    EXPECT_EQ(rows, documented);
}

TEST(Options, EveryKeyIsKnownAndItsDefaultIsWhatItIsWithoutIt)
{
    std::string known = "known keys are ";
    for (const auto &[key, otherwise] : kRows) {
        known += (key == kRows[0].first ? "" : ", ") + key;
        if (key != "malloc_interval" && key != "seed") ExpectDefaults(On(key + "=" + otherwise));
    }
    EXPECT_EQ(kKnown, known);
}

TEST(Options, DefaultNumbersAreToBeHadByKey)
{
    EXPECT_EQ(65536u, rb_heapprof_options_default_number("interval"));
    EXPECT_EQ(512u, rb_heapprof_options_default_number("depth"));
    EXPECT_EQ(67108864u, rb_heapprof_options_default_number("memory"));
}

// ---- ranges of options that were not read from text ----

TEST(Options, OutOfRangeNamesTheKeyAndTheRange)
{
    heapprof_options options;
    const char *expected = nullptr;
    rb_heapprof_options_default(&options);
    EXPECT_EQ(nullptr, rb_heapprof_options_out_of_range(&options, &expected));

    options.interval_bytes = 0;
    EXPECT_STREQ("interval", rb_heapprof_options_out_of_range(&options, &expected));
    EXPECT_STREQ("1 to 1099511627776 bytes", expected);
    options.interval_bytes = (UINT64_C(1) << 40) + 1;
    EXPECT_STREQ("interval", rb_heapprof_options_out_of_range(&options, &expected));

    rb_heapprof_options_default(&options);
    options.malloc_interval_bytes = 0;
    EXPECT_EQ(nullptr, rb_heapprof_options_out_of_range(&options, &expected));
    options.malloc_interval_bytes = (UINT64_C(1) << 40) + 1;
    EXPECT_STREQ("malloc_interval", rb_heapprof_options_out_of_range(&options, &expected));
    EXPECT_STREQ("0 to 1099511627776 bytes", expected);

    rb_heapprof_options_default(&options);
    options.depth = 65536;
    EXPECT_STREQ("depth", rb_heapprof_options_out_of_range(&options, &expected));
    EXPECT_STREQ("1 to 65535 frames", expected);

    rb_heapprof_options_default(&options);
    options.memory_bytes = 1048575;
    EXPECT_STREQ("memory", rb_heapprof_options_out_of_range(&options, &expected));
    EXPECT_STREQ("1048576 to 18446744073709551615 bytes", expected);
}

} // namespace
