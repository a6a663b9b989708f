// pprof_fuzz.cc - bytes become a program's allocations, those become tables, a snapshot, a
// gzip'd profile; that is unpacked, read by a reader that shares nothing with the writer, and
// compared, sample by sample, with what the program did.
//
// The model adds up by what a reader of the profile sees. Weights are multiples of 1/8, so all
// sums are exact and no order of adding matters. When they are whole numbers the profile has to
// say just that; else it rounds: a row may be off by one, the sum of all by a half for the living
// and a half for the dead.

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <zlib.h>

#include "fuzz.h"
#include "pprof_reader.h"
#include "snapshot_builder.h"

extern "C" {
#include "gzip.h"
#include "pprof.h"
}

namespace {

// ---- what the profile is to say ----

// A frame as it is shown, names still in the program's own bytes.
struct Frame {
    std::string name, path;
    uint32_t line;
    bool synthetic; // stands for no code, so it is not that of a function of the same name

    std::tuple<std::string, std::string, bool>
    Function() const
    {
        return {name, path, synthetic};
    }

    bool
    operator<(const Frame &other) const
    {
        return std::tuple(Function(), line) < std::tuple(other.Function(), other.line);
    }
};

using Frames = std::vector<Frame>; // innermost first

// All that tells one sample of the profile from another.
struct Row {
    Frames frames;
    std::string class_name, age; // "" when there is no such label

    bool
    operator<(const Row &other) const
    {
        return std::tie(frames, class_name, age) <
               std::tie(other.frames, other.class_name, other.age);
    }
};

// Estimates in eighths, as the profile's columns: alloc objects, bytes, inuse objects, bytes.
struct Sums {
    int64_t eighths[4] = {};

    // Objects in slots of this size, which are of another size now; 0: dead.
    void
    Add(int64_t objects, int64_t birth_size, int64_t size)
    {
        eighths[0] += objects;
        eighths[1] += objects * birth_size;
        if (size) eighths[2] += objects;
        eighths[3] += objects * size;
    }

    void
    Add(const Sums &other)
    {
        for (int v = 0; v < 4; v++) eighths[v] += other.eighths[v];
    }
};

// Text as the profile holds it: what is not UTF-8 as \xHH. Decodes code points, where utf8.c
// looks at pairs of bytes.
std::string
Spelled(const std::string &text)
{
    std::string spelled;
    for (size_t i = 0; i < text.size();) {
        auto byte = [&](size_t at) { return static_cast<unsigned char>(text[i + at]); };
        size_t length = byte(0) < 0x80 ? 1 : byte(0) >> 5 == 6 ? 2 : byte(0) >> 4 == 14 ? 3
                      : byte(0) >> 3 == 30 ? 4 : 0;
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        uint32_t code = length > 1 ? byte(0) & (0x7f >> length) : byte(0);
        bool good = length > 0 && i + length <= text.size();
        for (size_t at = 1; good && at < length; at++) {
            good = byte(at) >> 6 == 2;
            code = code << 6 | (byte(at) & 0x3f);
        }
        good = good && code >= least[length] && code <= 0x10ffff && code >> 11 != 0x1b;
        char hex[5];
        snprintf(hex, sizeof(hex), "\\x%02X", byte(0));
        spelled += good ? text.substr(i, length) : hex;
        i += good ? length : 1;
    }
    return spelled;
}

std::string
Age(uint32_t gcs)
{
    uint32_t power = 1;
    if (gcs == 0 || gcs > INT32_MAX) return "0 gcs";
    while (gcs >>= 1) power <<= 1;
    return std::to_string(power) + " gcs";
}

// ---- the program ----

struct Function {
    std::string name, path;
    bool cfunc;
};

struct Site {
    Frames frames;
    std::string class_name;
    Sums dead;
    bool live = false;
};

class Program {
  public:
    explicit Program(FuzzedDataProvider *input)
        : input_(*input), unit_(input->ConsumeBool() ? 8 : 1)
    {
        heapprof_facts *facts = &builder_.facts;
        facts->interval_bytes = input_.ConsumeIntegral<uint64_t>();
        facts->gc_count = input_.ConsumeIntegral<uint64_t>();
        facts->total_samples = input_.ConsumeIntegral<uint64_t>();
        facts->time_ns = input_.ConsumeIntegral<int64_t>() / 2;
        facts->start_ns = input_.ConsumeIntegral<int64_t>() / 2;
    }

    void
    Step()
    {
        switch (Below(&input_, 6)) {
          case 0: AddFunction(); break;
          case 1: AddStack(); break;
          case 2: AddClass(); break;
          case 3: case 4: Allocate(); break;
          case 5: input_.ConsumeBool() ? Fold() : Trim(); break;
        }
    }

    Snapshot
    Take()
    {
        return builder_.Take();
    }

    const heapprof_facts &
    Facts() const
    {
        return builder_.facts;
    }

    uint64_t
    LiveSamples() const
    {
        return live_samples_;
    }

    // From how many rows rounding may add up in one sample: those of as many sites. 0: there
    // is nothing to round.
    size_t
    RoundedRows() const
    {
        return unit_ == 8 ? 0 : sites_.size() + 1;
    }

    std::map<Row, Sums>
    Rows() const
    {
        std::map<Row, Sums> rows = live_;
        for (const auto &each : sites_) {
            const Site &site = each.second;
            if (site.dead.eighths[0]) rows[{site.frames, site.class_name, ""}].Add(site.dead);
        }
        if (folded_.eighths[0]) rows[{{{"[folded]", "", 0, true}}, "", ""}].Add(folded_);
        return rows;
    }

  private:
    FuzzedDataProvider &input_;
    const uint32_t unit_; // what weights are a multiple of, in eighths
    SnapshotBuilder builder_;
    std::map<uint32_t, Function> functions_; // by number
    std::map<uint32_t, std::vector<SnapshotBuilder::Frame>> stacks_ = {{0, {}}};
    std::map<uint32_t, std::string> classes_ = {{0, ""}};
    std::map<std::pair<uint32_t, uint32_t>, Site> sites_; // by stack and class
    std::map<Row, Sums> live_;
    Sums folded_;
    uint64_t live_samples_ = 0;

    template <typename Map>
    const typename Map::value_type &
    Some(const Map &map)
    {
        return *std::next(map.begin(), Below(&input_, map.size()));
    }

    std::string
    Text()
    {
        static const char *const known[] = {"", "f", "<main>", "(anonymous)", "[folded]", "\xff"};
        uint32_t which = Below(&input_, 8);
        return which < 6 ? known[which] : input_.ConsumeRandomLengthString(20);
    }

    void
    AddFunction()
    {
        Function function = {Text(), "", input_.ConsumeBool()};
        if (function.cfunc) {
            functions_[builder_.CFunction(function.name)] = function;
        }
        else {
            function.path = Text();
            uint32_t first_line = Below(&input_, 100);
            functions_[builder_.Function(function.name, function.path, first_line)] = function;
        }
    }

    // A stack with some frames more than another.
    void
    AddStack()
    {
        if (functions_.empty()) return;
        std::vector<SnapshotBuilder::Frame> frames = Some(stacks_).second;
        for (uint32_t count = 1 + Below(&input_, 4); count > 0; count--) {
            uint32_t function = Some(functions_).first;
            frames.push_back({function, input_.ConsumeIntegral<uint8_t>()});
        }
        stacks_[builder_.Stack(frames)] = frames;
    }

    void
    AddClass()
    {
        if (input_.ConsumeBool()) {
            std::string name = Text();
            classes_[builder_.Class(name)] = name;
        }
        else {
            classes_[builder_.UnnamedClass()] = "(anonymous)";
        }
    }

    // A C function is where it was called: at the next Ruby function outwards.
    Frames
    Shown(const std::vector<SnapshotBuilder::Frame> &outermost_first) const
    {
        Frames frames;
        std::string path;
        uint32_t line = 0;
        for (const SnapshotBuilder::Frame &each : outermost_first) {
            const Function &function = functions_.at(each.function);
            if (!function.cfunc) {
                path = function.path;
                line = each.line;
            }
            frames.insert(frames.begin(), {function.name, path, line, false});
        }
        if (frames.empty()) frames.push_back({"[no frame]", "", 0, true});
        return frames;
    }

    void
    Allocate()
    {
        const auto &stack = Some(stacks_);
        const auto &klass = Some(classes_);
        uint32_t eighths = 8 + unit_ * Below(&input_, 1 << 17);
        uint16_t birth_size = 1 + Below(&input_, UINT16_MAX);
        uint16_t size = input_.ConsumeBool() ? birth_size : 1 + Below(&input_, UINT16_MAX);
        bool inuse = input_.ConsumeBool();
        uint32_t age = input_.ConsumeIntegral<uint32_t>() >> Below(&input_, 32);
        Site &site = sites_[{stack.first, klass.first}];
        site.frames = Shown(stack.second);
        site.class_name = klass.second;
        for (uint32_t times = 1 + Below(&input_, 3); times > 0; times--) {
            if (inuse) {
                uint32_t entry =
                    builder_.Live(stack.first, klass.first, eighths / 8.0, birth_size, age);
                builder_.Resize(entry, size);
                live_[{site.frames, site.class_name, Age(age)}].Add(eighths, birth_size, size);
                site.live = true;
                live_samples_++;
            }
            else {
                builder_.Dead(stack.first, klass.first, eighths / 8.0, birth_size);
                site.dead.Add(eighths, birth_size, 0);
            }
        }
    }

    void
    Fold()
    {
        builder_.Fold();
        for (auto site = sites_.begin(); site != sites_.end();) {
            if (site->second.live) {
                ++site;
                continue;
            }
            folded_.Add(site->second.dead);
            builder_.facts.folded++;
            site = sites_.erase(site);
        }
    }

    // What no site has is gone, and its numbers are given to others: so all is made again.
    void
    Trim()
    {
        builder_.Trim();
        functions_.clear();
        stacks_ = {{0, {}}};
    }
};

// ---- the profile ----

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
    char *message = rb_heapprof_pprof_encode(snapshot, binary.c_str(), "c0ffee", &size);
    REQUIRE(message);
    char *file = rb_heapprof_gzip(message, size, &gzip_size);
    REQUIRE(file);
    std::string bytes = Gunzip(file, gzip_size);
    REQUIRE(bytes == std::string(message, size));
    free(message);
    free(file);
    return bytes;
}

// What a viewer shows of a sample: frames, class, age. Bytes that are spelled out may look like
// others, so there may be several samples to a look.
using Look = std::vector<std::string>;

struct Seen {
    int samples = 0;
    Sums sums;
};

Look
LookOf(std::vector<std::string> frames, const std::string &class_name, const std::string &age)
{
    frames.push_back("class " + class_name);
    frames.push_back("age " + age);
    return frames;
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
        Seen &seen = looks[LookOf(frames, Spelled(row.class_name), row.age)];
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
        Seen &seen = looks[LookOf(profile.Frames(sample), labels["class"], labels["gc_age"])];
        REQUIRE(labels.size() == 2);
        REQUIRE(sample.values.size() == 4);
        seen.samples++;
        for (int v = 0; v < 4; v++) seen.sums.eighths[v] += 8 * sample.values[v];
    }
    return looks;
}

void
RequireNear(const Sums &actual, const Sums &expected, int64_t slack)
{
    for (int v = 0; v < 4; v++) {
        int64_t error = actual.eighths[v] - expected.eighths[v];
        REQUIRE(-slack <= error && error <= slack);
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
        RequireNear(found->second.sums, each.second.sums, 8 * static_cast<int64_t>(rows));
        all_actual.Add(found->second.sums);
        all_expected.Add(each.second.sums);
    }
    RequireNear(all_actual, all_expected, rows ? 8 : 0);
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
    REQUIRE(profile.comments.at(0) == "interval: " + text(facts.interval_bytes) + " bytes");
    REQUIRE(profile.comments.at(1) == "as of GC: " + text(facts.gc_count));
    REQUIRE(profile.comments.at(2) == "samples: " + text(program.LiveSamples()) + " live of " +
                                          text(facts.total_samples) + " taken");
    REQUIRE(profile.comments.at(4) == "folded sites: " + text(facts.folded));
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
