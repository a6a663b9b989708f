// pprof_fuzz.cc - bytes become a program's allocations, those become tables, a snapshot, a
// gzip'd profile; that is unpacked, read by a reader that shares nothing with the writer, and
// compared, sample by sample, with what the program did.
//
// The model adds up by what a reader of the profile sees. Weights are multiples of 1/8, so all
// sums are exact and no order of adding matters. When they are whole numbers the profile has to
// say just that; else it rounds: a row may be off by one, the sum of all by a half for the living
// and a half for the dead, of objects and of blocks.

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <zlib.h>

#include "test/unit/support/pprof_reader.h"
#include "program.h"

extern "C" {
#include "base/version.h"
#include "pprof/gzip.h"
#include "profiler/pprof.h"
}

namespace {

constexpr char BUILD[] = "c0ffee";

std::string
Gunzip(const char *data, size_t size)
{
    std::string bytes;
    z_stream stream = {};
    char piece[4096];
    int status;

    REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data));
    stream.avail_in = static_cast<uInt>(size);
    do {
        stream.next_out = reinterpret_cast<Bytef *>(piece);
        stream.avail_out = sizeof(piece);
        status = inflate(&stream, Z_NO_FLUSH);
        bytes.append(piece, sizeof(piece) - stream.avail_out);
    } while (status == Z_OK);
    REQUIRE(status == Z_STREAM_END && stream.avail_in == 0);
    inflateEnd(&stream);
    return bytes;
}

// The snapshot encoded, packed, and unpacked again.
std::string
Written(const heapprof_snapshot *snapshot, const std::string &binary)
{
    size_t size, gzip_size;
    char *message = rb_heapprof_pprof_encode(snapshot, binary.c_str(), BUILD, &size);
    REQUIRE(message);
    char *file = rb_heapprof_gzip(message, size, &gzip_size);
    REQUIRE(file);
    std::string bytes = Gunzip(file, gzip_size);
    REQUIRE(bytes == std::string(message, size));
    free(message);
    free(file);
    return bytes;
}

// What a viewer shows of a sample: frames, class or caller, age. Bytes that are spelled out may
// look like others, so there may be several samples to a look.
using Look = std::vector<std::string>;

struct Seen {
    int samples = 0;
    Sums sums;
};

Look
LookOf(std::vector<std::string> frames, const std::string &class_name, const std::string &caller,
       const std::string &age)
{
    frames.push_back("class " + class_name);
    frames.push_back("caller " + caller);
    frames.push_back("age " + age);
    return frames;
}

// Of an object without a class, or folded: a class may be named so, too.
std::string
ClassSeen(const std::string &name)
{
    return name == "[unknown]" || name == "[folded]" ? "" : name;
}

std::map<Look, Seen>
Expected(const std::map<Row, Sums> &rows)
{
    std::map<Look, Seen> looks;
    for (const auto &each : rows) {
        const Row &row = each.first;
        std::vector<std::string> frames;
        for (const Frame &frame : row.frames) {
            frames.push_back(Spelled(frame.name) + " " + Spelled(frame.path) + ":" +
                             std::to_string(frame.line));
        }
        std::string name = Spelled(row.class_name);
        Seen &seen = looks[LookOf(frames, row.blocks ? "" : ClassSeen(name), row.blocks ? name : "",
                                  row.age)];
        seen.samples++;
        seen.sums.Add(each.second);
    }
    return looks;
}

std::map<Look, Seen>
Actual(const Profile &profile)
{
    std::map<Look, Seen> looks;
    for (const Profile::Sample &sample : profile.samples) {
        std::map<std::string, std::string> labels = sample.labels;
        std::string &klass = labels["class"];
        REQUIRE(!klass.empty());
        klass = labels.count("caller") ? "" : ClassSeen(klass);
        Seen &seen = looks[LookOf(profile.Frames(sample), labels["class"], labels["caller"],
                                  labels["gc_age"])];
        REQUIRE(labels.size() == 3);
        REQUIRE(sample.values.size() == HEAPPROF_PPROF_ALWAYS);
        seen.samples++;
        for (int v = 0; v < HEAPPROF_PPROF_ALWAYS - 1; v++)
            seen.sums.eighths[v] += 8 * sample.values[v];
        seen.sums.variance += static_cast<double>(sample.values[HEAPPROF_PPROF_ALWAYS - 1]);
    }
    return looks;
}

void
RequireNear(const Sums &actual, const Sums &expected, int64_t slack, int64_t slack_of_both)
{
    // Each sample's is rounded, and none is more than an int64_t.
    double variance_error = std::fabs(actual.variance - expected.variance);
    REQUIRE(variance_error <= 1e-6 * expected.variance + static_cast<double>(slack) ||
            expected.variance > 9e18);
    for (int v = 0; v < HEAPPROF_PPROF_ALWAYS - 1; v++) {
        int64_t error = actual.eighths[v] - expected.eighths[v];
        int64_t allowed = v % 4 == 3 ? slack_of_both : slack;
        REQUIRE(-allowed <= error && error <= allowed);
    }
}

// rows: how many of the snapshot may be in one sample; 0 when nothing was to be rounded.
void
RequireSame(const std::map<Look, Seen> &actual, const std::map<Look, Seen> &expected, size_t rows)
{
    Sums all_actual, all_expected;

    REQUIRE(actual.size() == expected.size());
    for (const auto &each : expected) {
        auto found = actual.find(each.first);
        REQUIRE(found != actual.end());
        REQUIRE(found->second.samples == each.second.samples);
        int64_t slack = 8 * static_cast<int64_t>(rows);
        RequireNear(found->second.sums, each.second.sums, slack, slack);
        all_actual.Add(found->second.sums);
        all_expected.Add(each.second.sums);
    }
    RequireNear(all_actual, all_expected, rows ? 8 : 0, rows ? 16 : 0);
}

// Everything has one number, and nothing is there that nobody refers to.
void
RequireNothingTwice(const Profile &profile, const std::map<Row, Sums> &rows)
{
    std::set<std::tuple<std::string, std::string, bool>> functions;
    std::set<Frame> locations;
    for (const auto &each : rows) {
        for (const Frame &frame : each.first.frames) {
            functions.insert(frame.Function());
            locations.insert(frame);
        }
    }
    REQUIRE(profile.functions.size() == functions.size());
    REQUIRE(profile.locations.size() == locations.size());
}

void
RequireStrings(const Profile &profile)
{
    REQUIRE(profile.strings.at(0).empty());
    for (const std::string &string : profile.strings) REQUIRE(string == Spelled(string));
}

void
RequireFacts(const Profile &profile, const Program &program, const std::string &binary)
{
    const heapprof_facts &facts = program.Facts();
    int64_t duration_ns = facts.time_ns - facts.start_ns;

    REQUIRE(profile.message.Number(9) == static_cast<uint64_t>(facts.time_ns));
    REQUIRE(profile.message.Number(10) == static_cast<uint64_t>(duration_ns));
    REQUIRE(profile.message.Number(12) == facts.interval_bytes);
    REQUIRE(profile.String(profile.message.Messages(3).at(0).Number(5)) == Spelled(binary));
    auto text = [](uint64_t number) { return std::to_string(number); };
    REQUIRE(profile.comments.at(0) == "heapprof: " HEAPPROF_VERSION);
    REQUIRE(profile.comments.at(1) == "build: " + std::string(BUILD));
    REQUIRE(profile.comments.at(2) == "interval: " + text(facts.interval_bytes) + " bytes");
    REQUIRE(profile.comments.at(3) ==
            "malloc interval: " + text(facts.malloc_interval_bytes) + " bytes");
    REQUIRE(profile.comments.at(4) == "as of GC: " + text(facts.gc_count));
    REQUIRE(profile.comments.at(5) == "samples: " + text(program.LiveSamples()) + " live of " +
                                          text(facts.total_samples) + " taken");
    REQUIRE(profile.comments.at(7) == "folded sites: " + text(facts.folded));
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzedDataProvider input(data, size);
    std::string binary = input.ConsumeRandomLengthString(20);
    binary = binary.c_str();
    Program program(&input);
    for (int steps = 0; input.remaining_bytes() > 0 && steps < 200; steps++) program.Step();

    Snapshot snapshot = program.Take();
    Profile profile(Written(snapshot.get(), binary));
    std::map<Row, Sums> rows = program.Rows();
    RequireSame(Actual(profile), Expected(rows), program.RoundedRows());
    RequireNothingTwice(profile, rows);
    RequireStrings(profile);
    RequireFacts(profile, program, binary);
    return 0;
}
