// program.h - a program that bytes decide on, for pprof_fuzz.cc: what it allocates fills the
// profiler's tables, and what a profile has to say of it is added up by what a reader sees of it.

#ifndef HEAPPROF_PROGRAM_H
#define HEAPPROF_PROGRAM_H

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fuzz.h"
#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "profiler/pprof_tables.h"
}

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
    bool blocks = false;         // class_name is that of the caller

    bool
    operator<(const Row &other) const
    {
        return std::tie(frames, class_name, age, blocks) <
               std::tie(other.frames, other.class_name, other.age, other.blocks);
    }
};

// Estimates in eighths, as the profile's columns: alloc objects, bytes of slots, of the allocator,
// of both; then the same in use.
struct Sums {
    int64_t eighths[HEAPPROF_PPROF_ALWAYS - 1] = {};
    double variance = 0; // of the bytes in use, the last column

    // Objects in slots of this size, which are of another size now; 0: dead.
    void
    Add(int64_t objects, int64_t birth_size, int64_t size)
    {
        eighths[0] += objects;
        if (size) eighths[4] += objects;
        AddBytes(1, objects * birth_size, objects * size);
        AddVariance(objects, static_cast<double>(size));
    }

    // So many times a request for so many bytes, of which so many are left.
    void
    AddBlock(int64_t requests, size_t asked, size_t held)
    {
        AddBytes(2, requests * static_cast<int64_t>(asked), requests * static_cast<int64_t>(held));
        AddVariance(requests, static_cast<double>(held));
    }

    void
    Add(const Sums &other)
    {
        for (int v = 0; v < HEAPPROF_PPROF_ALWAYS - 1; v++) eighths[v] += other.eighths[v];
        variance += other.variance;
    }

    bool
    NothingP() const
    {
        return eighths[3] == 0;
    }

  private:
    void
    AddVariance(int64_t weight, double bytes)
    {
        variance += weight / 8.0 * (weight / 8.0 - 1) * bytes * bytes;
    }

    void
    AddBytes(int column, int64_t alloc, int64_t inuse)
    {
        eighths[column] += alloc;
        eighths[3] += alloc;
        eighths[column + 4] += inuse;
        eighths[7] += inuse;
    }
};

// Text as the profile holds it: what is not UTF-8 as \xHH. Decodes code points, where utf8.c
// looks at pairs of bytes.
inline std::string
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

inline std::string
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
    bool live = false; // has objects: they never die here
};

// What was asked for at once, for a block.
struct Piece {
    std::pair<uint32_t, uint32_t> site;
    Row row;
    uint32_t eighths;
    size_t begin, asked, held;
};

class Program {
  public:
    explicit Program(FuzzedDataProvider *input)
        : input_(*input), unit_(input->ConsumeBool() ? 8 : 1)
    {
        heapprof_facts *facts = &builder_.facts;
        facts->interval_bytes = input_.ConsumeIntegral<uint64_t>();
        facts->malloc_interval_bytes = input_.ConsumeIntegral<uint64_t>();
        facts->gc_count = input_.ConsumeIntegral<uint64_t>();
        facts->total_samples = input_.ConsumeIntegral<uint64_t>();
        facts->time_ns = input_.ConsumeIntegral<int64_t>() / 2;
        facts->start_ns = input_.ConsumeIntegral<int64_t>() / 2;
    }

    void
    Step()
    {
        switch (Below(&input_, 10)) {
          case 0: AddFunction(); break;
          case 1: AddStack(); break;
          case 2: AddClass(); break;
          case 3: case 4: Allocate(); break;
          case 6: AddCaller(); break;
          case 7: case 8: AllocateBlock(); break;
          case 9: CutBlock(); break;
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
        uint64_t pieces = 0;
        for (const auto &block : blocks_) pieces += block.second.size();
        return live_samples_ + pieces;
    }

    // From how many rows rounding may add up in one sample: those of as many sites. 0: there
    // is nothing to round.
    size_t
    RoundedRows() const
    {
        return unit_ == 8 ? 0 : sites_.size() + 2;
    }

    std::map<Row, Sums>
    Rows() const
    {
        std::map<Row, Sums> rows = live_;
        for (const auto &each : sites_) {
            const Site &site = each.second;
            bool blocks = BlocksP(each.first);
            if (!site.dead.NothingP())
                rows[{ site.frames, site.class_name, "", blocks }].Add(site.dead);
        }
        for (const auto &block : blocks_) {
            for (const Piece &piece : block.second) {
                rows[piece.row].AddBlock(piece.eighths, piece.asked, piece.held);
            }
        }
        for (bool blocks : {false, true}) {
            if (folded_[blocks].NothingP()) continue;
            rows[{{{"[folded]", "", 0, true}}, "", "", blocks}].Add(folded_[blocks]);
        }
        return rows;
    }

  private:
    FuzzedDataProvider &input_;
    const uint32_t unit_; // what weights are a multiple of, in eighths
    SnapshotBuilder builder_;
    std::map<uint32_t, Function> functions_; // by number
    std::map<uint32_t, std::vector<SnapshotBuilder::Frame>> stacks_ = {{0, {}}};
    std::map<uint32_t, std::string> classes_ = {{0, ""}};
    std::map<uint32_t, std::string> callers_ = {{0, ""}};
    std::map<std::pair<uint32_t, uint32_t>, Site> sites_; // by stack and class or caller
    std::map<Row, Sums> live_;
    std::map<uintptr_t, std::vector<Piece>> blocks_; // by address
    Sums folded_[2]; // of objects, of blocks
    uint64_t live_samples_ = 0;

    template <typename Map>
    const typename Map::value_type &
    Some(const Map &map)
    {
        return *std::next(map.begin(), Below(&input_, map.size()));
    }

    static bool
    BlocksP(const std::pair<uint32_t, uint32_t> &site)
    {
        return site.second & HEAPPROF_SITE_OF_BLOCKS;
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

    void
    AddCaller()
    {
        if (input_.ConsumeBool()) {
            std::string name = Text();
            callers_[builder_.Caller(name)] = name;
        }
        else {
            callers_[builder_.UnnamedCaller()] = "(anonymous)";
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

    // A new block, more of one, or one that is freed at once.
    void
    AllocateBlock()
    {
        const auto &stack = Some(stacks_);
        const auto &caller = Some(callers_);
        uint32_t eighths = 8 + unit_ * Below(&input_, 1 << 17);
        size_t bytes = 1 + Below(&input_, 1 << 20);
        uint32_t age = input_.ConsumeIntegral<uint32_t>() >> Below(&input_, 32);
        std::pair<uint32_t, uint32_t> key(stack.first, caller.first | HEAPPROF_SITE_OF_BLOCKS);
        Site &site = sites_[key];
        site.frames = Shown(stack.second);
        site.class_name = caller.second;
        if (input_.ConsumeBool()) {
            builder_.DeadBlock(stack.first, caller.first, eighths / 8.0, bytes);
            site.dead.AddBlock(eighths, bytes, 0);
            return;
        }
        Row row = {site.frames, site.class_name, Age(age), true};
        if (blocks_.empty() || input_.ConsumeBool()) {
            uintptr_t address =
                builder_.Block(stack.first, caller.first, eighths / 8.0, bytes, age);
            blocks_[address] = {{key, row, eighths, 0, bytes, bytes}};
        }
        else {
            uintptr_t address = Some(blocks_).first;
            const Piece &last = blocks_[address].back();
            size_t begin = last.begin + last.held + Below(&input_, 100);
            builder_.Grow(address, begin, stack.first, caller.first, eighths / 8.0, bytes, age);
            blocks_[address].push_back({key, row, eighths, begin, bytes, bytes});
        }
    }

    // A block has so many bytes left, or none. Its sites may not know yet.
    void
    CutBlock()
    {
        if (blocks_.empty()) return;
        uintptr_t address = Some(blocks_).first;
        size_t bytes = input_.ConsumeBool() ? 0 : Below(&input_, 1 << 20);
        std::vector<Piece> &pieces = blocks_[address];
        builder_.Cut(address, bytes);
        for (; !pieces.empty() && pieces.back().begin >= bytes; pieces.pop_back()) {
            const Piece &piece = pieces.back();
            sites_.at(piece.site).dead.AddBlock(piece.eighths, piece.asked, 0);
        }
        if (pieces.empty()) {
            blocks_.erase(address);
        }
        else {
            pieces.back().held = std::min(pieces.back().held, bytes - pieces.back().begin);
        }
        if (input_.ConsumeBool()) builder_.Settle();
    }

    bool
    LiveP(const std::pair<uint32_t, uint32_t> &key) const
    {
        for (const auto &block : blocks_) {
            for (const Piece &piece : block.second) {
                if (piece.site == key) return true;
            }
        }
        return sites_.at(key).live;
    }

    void
    Fold()
    {
        builder_.Settle();
        builder_.Fold();
        for (auto site = sites_.begin(); site != sites_.end();) {
            if (LiveP(site->first)) {
                ++site;
                continue;
            }
            folded_[BlocksP(site->first)].Add(site->second.dead);
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

#endif
