// graph_random.h - graphs for tests: given as lists of numbers, or drawn at random, and as the file of a dump.

#ifndef HEAPPROF_GRAPH_RANDOM_H
#define HEAPPROF_GRAPH_RANDOM_H

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "test/unit/graph/file.h"

extern "C" {
#include "graph/dominators.h"
}

// Objects are 1 to size - 1; references[0] are the roots. classes: which object is its class; 0: none.
struct Shape {
    std::vector<std::vector<uint32_t>> references;
    std::vector<uint32_t> classes;

    explicit Shape(size_t size) : references(size), classes(size) {}
    size_t size() const { return references.size(); }
};

inline uint64_t
AddressOf(uint32_t object)
{
    return 0x10000 + uint64_t{(object - 1) / 1600} * 0x10000 + uint64_t{(object - 1) % 1600} * 40;
}

// Arrays all of them, of 40 bytes and their number outside of the slot.
inline std::string
FileOf(const Shape &shape, int encoding = HEAPPROF_DUMP_RAW)
{
    graph_file::GraphFile file;
    std::vector<uint32_t> layouts(shape.size(), UINT32_MAX);

    for (uint32_t root : shape.references[0]) file.Root(HEAPPROF_DUMP_GLOBAL, "$" + std::to_string(root), "globals", AddressOf(root));
    for (uint32_t object = 1; object < shape.size(); object++) {
        uint32_t class_object = shape.classes[object], *layout = &layouts[class_object];
        if (*layout == UINT32_MAX) {
            *layout = file.Layout("T_ARRAY", class_object ? AddressOf(class_object) : 0, "C" + std::to_string(class_object), {}, HEAPPROF_DUMP_INDEXED);
        }
        if ((object - 1) % 1600 == 0) file.Page(AddressOf(object), 40);
        graph_file::Object record;
        record.layout = *layout;
        record.external = object;
        for (uint32_t to : shape.references[object]) record.tail.emplace_back(AddressOf(to));
        file.Add((object - 1) % 1600, record);
    }
    return file.Bytes(encoding);
}

// A few objects are classes of the others; some references are doubled, some objects are not reached.
inline Shape
RandomShape(std::mt19937 *random)
{
    auto below = [random](uint32_t most) { return std::uniform_int_distribution<uint32_t>(0, most - 1)(*random); };
    Shape shape(2 + below(30));
    uint32_t objects = static_cast<uint32_t>(shape.size()) - 1, references = below(3 * objects + 1), roots = 1 + below(3);

    for (uint32_t i = 0; i < roots; i++) shape.references[0].push_back(1 + below(objects));
    for (uint32_t i = 0; i < references; i++) shape.references[1 + below(objects)].push_back(1 + below(objects));
    if (below(2)) {
        uint32_t classes = 1 + below(3);
        for (uint32_t object = 1; object <= objects; object++) shape.classes[object] = std::min(objects, below(classes + 1));
    }
    return shape;
}

// A dump in memory, loaded.
class LoadedGraph {
public:
    explicit LoadedGraph(const std::string &bytes, size_t limit_bytes = SIZE_MAX) : bytes_(bytes)
    {
        char error[HEAPPROF_DUMP_ERROR_MAX];
        loaded = graph_load(&graph, More, this, limit_bytes, error);
        this->error = error;
    }
    ~LoadedGraph() { graph_free(&graph); }
    size_t MemoryBytes() const
    {
        return graph.space.mem.used_bytes + graph.space.file_bytes + graph.places.index_mem.used_bytes + graph.names.index_mem.used_bytes;
    }
    LoadedGraph(const LoadedGraph &) = delete;
    LoadedGraph &operator=(const LoadedGraph &) = delete;

    struct graph graph;
    bool loaded;
    std::string error;

private:
    static ptrdiff_t More(void *data, void *buffer, size_t size)
    {
        LoadedGraph *self = static_cast<LoadedGraph *>(data);
        size_t count = std::min(size, self->bytes_.size() - self->at_);
        memcpy(buffer, self->bytes_.data() + self->at_, count);
        self->at_ += count;
        return static_cast<ptrdiff_t>(count);
    }

    std::string bytes_;
    size_t at_ = 0;
};

#endif
