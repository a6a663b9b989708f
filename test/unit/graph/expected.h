// graph_expected.h - dominators and retained bytes by their definition, for graphs that are small.

#ifndef HEAPPROF_GRAPH_EXPECTED_H
#define HEAPPROF_GRAPH_EXPECTED_H

#include "test/unit/graph/random.h"

// What the roots reach when one object is not there; 0: all are.
inline std::vector<bool>
ReachedWithout(const Shape &shape, uint32_t removed)
{
    std::vector<bool> reached(shape.size());
    std::vector<uint32_t> left = {0};

    while (!left.empty()) {
        uint32_t object = left.back();
        left.pop_back();
        std::vector<uint32_t> to = shape.references[object];
        if (object && shape.classes[object]) to.push_back(shape.classes[object]);
        for (uint32_t next : to) {
            if (next == removed || reached[next]) continue;
            reached[next] = true;
            left.push_back(next);
        }
    }
    return reached;
}

// By definition: A dominates B when without A no root leads to B; the dominator is the one that all
// others dominate.
struct Expected {
    std::vector<uint32_t> dominators;
    std::vector<uint64_t> retained;
    uint32_t reached = 0;

    explicit Expected(const Shape &shape)
        : dominators(shape.size(), GRAPH_UNREACHED), retained(shape.size())
    {
        std::vector<bool> all = ReachedWithout(shape, 0);
        std::vector<size_t> depths(shape.size()), depth_of_dominator(shape.size());
        std::vector<std::vector<bool>> without = {all};
        for (uint32_t object = 1; object < shape.size(); object++) {
            without.push_back(ReachedWithout(shape, object));
            for (uint32_t other = 1; all[object] && other < shape.size(); other++) {
                if (all[other] && !without[object][other]) retained[object] += 40 + other;
                if (all[other] && !without[object][other]) depths[other]++;
            }
            if (!all[object]) continue;
            dominators[object] = 0;
            retained[0] += 40 + object;
            reached++;
        }
        for (uint32_t object = 1; object < shape.size(); object++) {
            for (uint32_t other = 1; all[object] && other < shape.size(); other++) {
                if (other == object || !all[other] || without[object][other] ||
                    depths[object] <= depth_of_dominator[other])
                    continue;
                dominators[other] = object;
                depth_of_dominator[other] = depths[object];
            }
        }
    }
};

#endif
