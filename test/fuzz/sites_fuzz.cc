// sites_fuzz.cc - stacks are pushed, held, let go and trimmed, sites counted and folded, memory
// refused at any moment. The model knows no nodes: a stack is a list of frames, and a trim leaves
// the beginnings of the stacks that somebody holds.

#include <map>
#include <utility>
#include <vector>

#include "fuzz.h"

extern "C" {
#include "profiler/sites.h"
}

namespace {

using Frames = std::vector<std::pair<uint32_t, uint32_t>>; // function, line; outermost first

struct Node {
    uint32_t stack;     // its number
    uint32_t holds = 0; // not those of its children
};

struct Site {
    uint32_t number;
    uint32_t live = 0;
    uint64_t objects = 0; // since start; whole numbers, so that sums are exact
    uint64_t bytes = 0;
};

class Profile {
  public:
    explicit Profile(FuzzedDataProvider *input) : input_(*input)
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_stacks_init(&stacks_, &mem_);
        rb_heapprof_sites_init(&sites_, &mem_, &stacks_);
        sites_.past = sites_.lifetimes = sites_.object_sums.kept = input_.ConsumeBool();
    }

    ~Profile()
    {
        rb_heapprof_sites_free(&sites_);
        rb_heapprof_stacks_free(&stacks_);
        REQUIRE(mem_.used_bytes == 0);
    }

    void
    Step()
    {
        switch (Below(&input_, 8)) {
          case 0: Push(1); break;
          case 1: Push(Below(&input_, 30)); break;
          case 2: Hold(); break;
          case 3: Unhold(); break;
          case 4: Trim(); break;
          case 5: Allocate(); break;
          case 6: Free(); break;
          case 7: input_.ConsumeBool() ? Fold() : Limit(); break;
        }
        RequireSame();
    }

  private:
    using Key = std::pair<Frames, uint32_t>; // of a site: where, and the class or the caller

    struct Folded {
        uint64_t objects = 0, bytes = 0;
    };

    FuzzedDataProvider &input_;
    heapprof_mem mem_;
    heapprof_stacks stacks_;
    heapprof_sites sites_;
    std::map<Frames, Node> nodes_;
    std::map<Key, Site> model_;
    uint64_t folded_count_ = 0;
    Folded folded_[2]; // of objects, of blocks

    template <typename Map>
    typename Map::iterator
    Some(Map *map)
    {
        return map->empty() ? map->end()
                            : std::next(map->begin(), Below(&input_, map->size()));
    }

    // Some stack, to push on; the empty one too.
    Frames
    SomeFrames()
    {
        auto node = Some(&nodes_);
        return node == nodes_.end() || input_.ConsumeBool() ? Frames() : node->first;
    }

    void
    Push(uint32_t count)
    {
        Frames frames = SomeFrames();
        uint32_t line = Below(&input_, 8), function = 1 + Below(&input_, 4);
        for (; count > 0; count--, line++) {
            uint32_t parent = frames.empty() ? 0 : nodes_.at(frames).stack;
            uint64_t refused = mem_.refused;
            uint32_t stack = rb_heapprof_stacks_push(&stacks_, parent, function, line);
            frames.push_back({function, line});
            auto known = nodes_.find(frames);
            if (stack == HEAPPROF_NO_STACK) {
                REQUIRE(known == nodes_.end() && mem_.refused > refused);
                return;
            }
            REQUIRE(known == nodes_.end() || known->second.stack == stack);
            nodes_[frames].stack = stack;
        }
    }

    void
    Hold()
    {
        auto node = Some(&nodes_);
        if (node == nodes_.end()) return;
        rb_heapprof_stacks_hold(&stacks_, node->second.stack);
        node->second.holds++;
    }

    // Not below what sites hold: those are let go by a fold alone.
    void
    Unhold()
    {
        auto node = Some(&nodes_);
        if (node == nodes_.end()) return;
        uint32_t of_sites = 0;
        for (const auto &each : model_) of_sites += each.first.first == node->first;
        if (node->second.holds == of_sites) return;
        rb_heapprof_stacks_unhold(&stacks_, node->second.stack);
        node->second.holds--;
    }

    void
    Trim()
    {
        std::map<Frames, Node> left;
        rb_heapprof_stacks_trim(&stacks_);
        for (const auto &node : nodes_) {
            if (!node.second.holds) continue;
            for (Frames frames = node.first; !frames.empty(); frames.pop_back()) {
                if (!left.emplace(frames, nodes_.at(frames)).second) break;
            }
        }
        nodes_ = left;
    }

    void
    Allocate()
    {
        Key key(SomeFrames(), Below(&input_, 3));
        if (input_.ConsumeBool()) key.second |= HEAPPROF_SITE_OF_BLOCKS;
        uint32_t stack = key.first.empty() ? 0 : nodes_.at(key.first).stack;
        uint32_t number = rb_heapprof_sites_intern(&sites_, stack, key.second, 0);
        auto known = model_.find(key);
        REQUIRE(known == model_.end() || known->second.number == number);
        if (number == 0) return;
        if (known == model_.end()) {
            known = model_.emplace(key, Site{number}).first;
            if (stack) nodes_.at(key.first).holds++;
        }
        uint32_t weight = 1 + Below(&input_, 1000), size = 1 + Below(&input_, 640);
        rb_heapprof_sites_count_alloc(&sites_, number, weight, size);
        known->second.live++;
        known->second.objects += weight;
        known->second.bytes += uint64_t{weight} * size;
    }

    void
    Free()
    {
        auto site = Some(&model_);
        if (site == model_.end() || site->second.live == 0) return;
        rb_heapprof_sites_count_free(&sites_, site->second.number);
        site->second.live--;
    }

    void
    Fold()
    {
        uint32_t folded = 0;
        for (auto site = model_.begin(); site != model_.end();) {
            if (site->second.live) {
                ++site;
                continue;
            }
            Folded &folds = folded_[site->first.second >> 31];
            folds.objects += site->second.objects;
            folds.bytes += site->second.bytes;
            if (!site->first.first.empty()) nodes_.at(site->first.first).holds--;
            site = model_.erase(site);
            folded++;
        }
        folded_count_ += folded;
        REQUIRE(rb_heapprof_sites_fold(&sites_) == folded);
    }

    // Some pages more than there are, or no limit.
    void
    Limit()
    {
        uint32_t pages = Below(&input_, 4);
        mem_.budget_bytes = pages ? mem_.used_bytes + (pages - 1) * 4096 : SIZE_MAX;
    }

    Frames
    FramesOf(uint32_t stack) const
    {
        Frames frames;
        for (; stack; stack = rb_heapprof_stacks_node(&stacks_, stack)->parent) {
            const heapprof_stack_node *node = rb_heapprof_stacks_node(&stacks_, stack);
            frames.insert(frames.begin(), {node->function, node->line});
        }
        return frames;
    }

    void
    RequireSame() const
    {
        rb_heapprof_stacks_check(&stacks_);
        rb_heapprof_sites_check(&sites_);
        REQUIRE(stacks_.numbers.count == nodes_.size());
        REQUIRE(sites_.numbers.count == model_.size());
        REQUIRE(sites_.folded_count == folded_count_);
        RequireSameFolded(sites_.folded, folded_[0]);
        RequireSameFolded(sites_.folded_blocks, folded_[1]);
        RequireSameHolds();
        for (const auto &each : model_) {
            const Site &expected = each.second;
            const heapprof_site *site = rb_heapprof_sites_get(&sites_, expected.number);
            REQUIRE(FramesOf(site->stack) == each.first.first);
            REQUIRE(site->class_id == each.first.second);
            REQUIRE(site->live_samples == expected.live);
            REQUIRE(site->alloc_objects == static_cast<double>(expected.objects));
            REQUIRE(site->alloc_bytes == static_cast<double>(expected.bytes));
        }
    }

    static void
    RequireSameFolded(const heapprof_site &site, const Folded &expected)
    {
        REQUIRE(site.alloc_objects == static_cast<double>(expected.objects));
        REQUIRE(site.alloc_bytes == static_cast<double>(expected.bytes));
    }

    // What a node holds itself by, and its children.
    void
    RequireSameHolds() const
    {
        std::map<uint32_t, uint32_t> children;
        for (const auto &each : nodes_) {
            children[rb_heapprof_stacks_node(&stacks_, each.second.stack)->parent]++;
        }
        for (const auto &each : nodes_) {
            uint32_t stack = each.second.stack;
            const heapprof_stack_node *node = rb_heapprof_stacks_node(&stacks_, stack);
            Frames outer(each.first.begin(), each.first.end() - 1);
            REQUIRE(node->parent == (outer.empty() ? 0 : nodes_.at(outer).stack));
            REQUIRE(std::make_pair(node->function, node->line) == each.first.back());
            REQUIRE(node->depth == each.first.size());
            REQUIRE(node->holds == each.second.holds + children[stack]);
        }
    }
};

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzedDataProvider input(data, size);
    Profile profile(&input);
    for (int steps = 0; input.remaining_bytes() > 0 && steps < 50; steps++) profile.Step();
    return 0;
}
