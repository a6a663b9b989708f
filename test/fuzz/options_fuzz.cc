// options_fuzz.cc - RUBY_HEAPPROF as any bytes, read twice: by options.c, and by a model that
// cuts and counts in another way. Then any template is expanded, likewise.

#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "fuzz.h"

extern "C" {
#include "profiler/options.h"
#include "profiler/out.h"
}

namespace {

// ---- the settings ----

// Nothing is left of its '%' when the known ones are taken away, from the left.
bool
Template(const std::string &text)
{
    static const std::regex known("%[petn%]");
    return std::regex_replace(text, known, "").find('%') == std::string::npos;
}

// Wide enough not to overflow: what is read is kept below 2^100.
using Number = unsigned __int128;

struct Range {
    Number least, most;
    bool suffix; // k, m or g may follow
};

const std::map<std::string, Range> kNumbers = {
    {"interval", {1, Number(1) << 40, true}},
    {"malloc_interval", {0, Number(1) << 40, true}},
    {"keep", {0, 100000, false}},
    {"depth", {1, 65535, false}},
    {"memory", {1 << 20, UINT64_MAX, true}},
    {"seed", {0, UINT64_MAX, false}},
    {"gc", {0, 1, false}},
    {"owners", {0, 1, false}},
    {"rss", {0, 1, false}},
    {"graph", {0, 1, false}},
    {"peak", {0, 1, false}},
    {"lifetimes", {0, 1, false}},
    {"memcheck", {0, 1, false}},
    {"labels", {0, 60000, false}},
    {"quarantine", {0, UINT64_MAX, true}},
    {"sizes", {0, 1, false}},
    {"gc_stress", {0, 1000000000, false}},
};

// What a number says, if it is one and in its range.
std::optional<uint64_t>
ReadNumber(std::string text, const Range &range)
{
    static const std::map<char, int> shifts = {{'k', 10}, {'m', 20}, {'g', 30},
                                              {'K', 10}, {'M', 20}, {'G', 30}};
    auto suffix = shifts.end();
    Number number = 0;

    if (range.suffix && !text.empty()) suffix = shifts.find(text.back());
    if (suffix != shifts.end()) text.pop_back();
    if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return {};
    for (char digit : text) {
        if (number < Number(1) << 100) number = number * 10 + static_cast<Number>(digit - '0');
    }
    if (suffix != shifts.end() && number < Number(1) << 64) number <<= suffix->second;
    if (number < range.least || number > range.most) return {};
    return static_cast<uint64_t>(number);
}

// Milliseconds: 0, or a tenth of a second to a week.
std::optional<uint64_t>
ReadSeconds(const std::string &text)
{
    static const std::regex decimal("([0-9]+)(\\.([0-9]{1,3}))?");
    std::smatch parts;
    if (!std::regex_match(text, parts, decimal)) return {};
    std::string digits = parts[1].str() + (parts[3].str() + "000").substr(0, 3);
    std::optional<uint64_t> ms = ReadNumber(digits, {0, 604800000, false});
    if (ms && *ms > 0 && *ms < 100) return {};
    return ms;
}

// Marks: each is 1 to 100 percent, or a megabyte and more. 0: none.
std::optional<std::vector<uint64_t>>
ReadMarks(const std::string &text)
{
    std::vector<uint64_t> marks;
    if (text == "0") return marks;
    for (size_t start = 0, end = 0; end != std::string::npos; start = end + 1) {
        end = text.find('/', start);
        std::string mark = text.substr(start, end == std::string::npos ? end : end - start);
        bool share = !mark.empty() && mark.back() == '%';
        if (share) mark.pop_back();
        std::optional<uint64_t> number = share ? ReadNumber(mark, {1, 100, false})
                                               : ReadNumber(mark, {1 << 20, UINT64_MAX, true});
        if (!number || marks.size() == HEAPPROF_MARKS) return {};
        marks.push_back(*number);
    }
    return marks;
}

const std::map<std::string, uint64_t> kSignals = {
    { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "HUP", SIGHUP },     { "QUIT", SIGQUIT },
    { "ALRM", SIGALRM }, { "PROF", SIGPROF }, { "WINCH", SIGWINCH }, { "URG", SIGURG },
    { "IO", SIGIO },     { "PWR", SIGPWR },   { "TTIN", SIGTTIN },   { "TTOU", SIGTTOU },
    { "none", 0 },
};

struct Model {
    std::map<std::string, uint64_t> numbers;
    std::string out = "heapprof-%p.pb.gz", malloc = "ruby";
    bool named = false; // out is given
    std::vector<uint64_t> marks;
    heapprof_options_result result = HEAPPROF_OPTIONS_ON;
    std::string bad; // the setting that is complained about

    explicit Model(const std::string &whole)
    {
        static const std::regex lock(",locked(?=,)");
        std::string text = std::regex_replace("," + whole + ",", lock, "");
        text = text.size() > 1 ? text.substr(1, text.size() - 2) : "";
        if (text.empty() || text == "0") result = HEAPPROF_OPTIONS_OFF;
        if (result == HEAPPROF_OPTIONS_OFF || text == "1") return;
        for (size_t start = text.compare(0, 2, "1,") == 0 ? 2 : 0, end = 0;
             end != std::string::npos; start = end + 1) {
            end = text.find(',', start);
            bad = text.substr(start, end == std::string::npos ? end : end - start);
            if (!Read(bad)) {
                result = HEAPPROF_OPTIONS_BAD;
                return;
            }
        }
    }

    bool
    Read(const std::string &setting)
    {
        size_t equals = setting.find('=');
        if (equals == std::string::npos) return false;
        std::string key = setting.substr(0, equals), value = setting.substr(equals + 1);
        if (key == "out") {
            out = value;
            named = true;
            return value.size() < HEAPPROF_OUT_MAX && Template(value);
        }
        if (key == "malloc") {
            malloc = value;
            return value == "ruby" || value == "all";
        }
        if (key == "at") {
            std::optional<std::vector<uint64_t>> read = ReadMarks(value);
            if (read) marks = *read;
            return read.has_value();
        }
        if (key == "every") {
            std::optional<uint64_t> ms = ReadSeconds(value);
            if (ms) numbers[key] = *ms;
            return ms.has_value();
        }
        if (key == "signal") {
            auto number = kSignals.find(
                value.size() > 3 && value.compare(0, 3, "SIG") == 0 ? value.substr(3) : value);
            if (number != kSignals.end()) numbers[key] = number->second;
            return number != kSignals.end() && value != "SIGnone";
        }
        if (key == "interval" && value == "auto") {
            numbers[key] = HEAPPROF_AUTO_INTERVAL;
            return true;
        }
        auto known = kNumbers.find(key);
        if (known == kNumbers.end()) return false;
        std::optional<uint64_t> number = ReadNumber(value, known->second);
        if (number) numbers[key] = *number;
        return number.has_value();
    }

    uint64_t
    Number(const char *key, uint64_t otherwise) const
    {
        auto found = numbers.find(key);
        return found == numbers.end() ? otherwise : found->second;
    }
};

void
RequireSame(const Model &model, const heapprof_options &options)
{
    const char *accepted;

    REQUIRE(options.interval_bytes == model.Number("interval", 65536));
    REQUIRE(options.malloc_interval_bytes == model.Number("malloc_interval", HEAPPROF_AS_INTERVAL));
    REQUIRE(rb_heapprof_options_malloc_interval(&options) ==
            model.Number("malloc_interval", options.interval_bytes));
    REQUIRE(options.depth == model.Number("depth", 512));
    REQUIRE(options.memory_bytes == model.Number("memory", 67108864));
    REQUIRE(options.seeded == model.numbers.count("seed"));
    REQUIRE(options.seed == model.Number("seed", 0));
    REQUIRE(options.gc == (model.Number("gc", 1) == 1));
    REQUIRE(options.owners == (model.Number("owners", 1) == 1));
    REQUIRE(options.rss == (model.Number("rss", 1) == 1));
    REQUIRE(options.graph == (model.Number("graph", 1) == 1));
    REQUIRE(options.peak == (model.Number("peak", 0) == 1));
    REQUIRE(options.lifetimes == (model.Number("lifetimes", 0) == 1));
    REQUIRE(options.memcheck == (model.Number("memcheck", 0) == 1));
    REQUIRE(options.malloc_all == (model.malloc == "all"));
    for (size_t i = 0; i < HEAPPROF_MARKS; i++)
        REQUIRE(options.at[i] == (i < model.marks.size() ? model.marks[i] : 0));
    REQUIRE(options.every_ms == model.Number("every", 0));
    REQUIRE(options.signal == model.Number("signal", 0));
    REQUIRE(options.keep == model.Number("keep", 10));
    REQUIRE(options.labels == model.Number("labels", 1000));
    REQUIRE(options.quarantine_bytes == model.Number("quarantine", 0));
    REQUIRE(options.sizes == (model.Number("sizes", 0) == 1));
    REQUIRE(options.gc_stress == model.Number("gc_stress", 0));
    bool several = options.every_ms > 0 || options.signal > 0;
    REQUIRE(options.out == (several && !model.named ? HEAPPROF_OUT_NUMBERED : model.out));
    REQUIRE(!rb_heapprof_options_out_of_range(&options, &accepted));
}

// ---- what is said of a wrong one ----

// The setting as a message begins with it.
std::string
Quoted(const std::string &setting)
{
    std::string quoted = setting.substr(0, 64);
    for (char &c : quoted) {
        if ((c >= 0 && c < ' ') || c == 127) c = '?';
    }
    if (setting.size() > 64) quoted += "...";
    return setting.empty() ? "(nothing)" : quoted;
}

// Blocks of just the size they may have: what lies behind them is AddressSanitizer's.
std::string
Parse(const std::string &text, size_t message_size, heapprof_options *options,
      heapprof_options_result *result)
{
    std::vector<char> exact(text.c_str(), text.c_str() + text.size() + 1);
    std::vector<char> message(message_size, '!');

    *result = rb_heapprof_options_parse(exact.data(), options, message.data(), message_size);
    if (*result != HEAPPROF_OPTIONS_BAD || message_size == 0) return "";
    REQUIRE(memchr(message.data(), '\0', message_size));
    return message.data();
}

void
TestParse(const std::string &text, size_t message_size)
{
    static heapprof_options options;
    heapprof_options_result result;
    Model model(text);

    memset(&options, 0xa5, sizeof(options));
    std::string message = Parse(text, 512, &options, &result);
    REQUIRE(result == model.result);
    if (result == HEAPPROF_OPTIONS_ON) RequireSame(model, options);
    if (result != HEAPPROF_OPTIONS_BAD) return;

    std::string quoted = Quoted(model.bad);
    REQUIRE(message.compare(0, quoted.size() + 2, quoted + ": ") == 0);
    REQUIRE(message.size() > quoted.size() + 2);
    std::string cut = message_size ? message.substr(0, message_size - 1) : "";
    REQUIRE(cut == Parse(text, message_size, &options, &result));
}

// The model has each key: a new one fails here, not when the fuzzer spells it by chance.
void
TestEveryKey()
{
#define KEY(key, kind, field, otherwise, least, most, accepted) {#key, otherwise},
    static const std::map<std::string, std::string> defaults = {HEAPPROF_SETTINGS(KEY)};
#undef KEY
    for (const auto &[key, otherwise] : defaults) {
        TestParse(key + "=" + otherwise, 512);
        TestParse(key + "=1", 512);
    }
}

// ---- templates ----

std::string
Expanded(const std::string &text, const heapprof_out_values &values)
{
    std::string program = values.program;
    const std::map<char, std::string> letters = {
        {'%', "%"}, {'e', program.substr(program.find_last_of('/') + 1)},
        {'p', std::to_string(values.pid)}, {'t', std::to_string(values.time)},
        {'n', std::to_string(values.number)},
    };
    std::string path;

    for (size_t i = 0; i < text.size(); i++) {
        auto letter = letters.end();
        if (text[i] == '%' && i + 1 < text.size()) letter = letters.find(text[i + 1]);
        if (letter == letters.end()) {
            path += text[i];
        }
        else {
            path += letter->second;
            i++;
        }
    }
    return path;
}

void
TestExpand(const std::string &text, const heapprof_out_values &values, size_t size)
{
    std::vector<char> path(size, '!');
    std::string expected = Expanded(text, values);
    bool fits = rb_heapprof_out_expand(text.c_str(), &values, path.data(), size);

    REQUIRE(fits == expected.size() < size);
    if (fits) REQUIRE(expected == path.data());
}

} // namespace

extern "C" int
LLVMFuzzerInitialize(int *, char ***)
{
    TestEveryKey();
    return 0;
}

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzedDataProvider input(data, size);
    size_t message_size = Below(&input, 200), path_size = 1 + Below(&input, 100);
    heapprof_out_values values = {};

    values.pid = input.ConsumeIntegral<long>();
    values.time = input.ConsumeIntegral<int64_t>();
    values.number = input.ConsumeIntegral<unsigned>();
    std::string program = input.ConsumeBytesAsString(Below(&input, 16));
    program = program.c_str(); // ends at a NUL, as all text from outside does
    values.program = program.c_str();
    std::string text = input.ConsumeRemainingBytesAsString();
    text = text.c_str();
    TestParse(text, message_size);
    TestExpand(text, values, path_size);
    return 0;
}
