// graph_random.h - graphs for tests: given as lists of numbers, or with labels, or drawn at random;
// and as the file of a dump.

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

// Objects are 1 to size - 1; references[0] are the roots. classes: which object is its class; 0:
// none.
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

    for (uint32_t root : shape.references[0])
        file.Root(HEAPPROF_DUMP_GLOBAL, "$" + std::to_string(root), "globals", AddressOf(root));
    for (uint32_t object = 1; object < shape.size(); object++) {
        uint32_t class_object = shape.classes[object], *layout = &layouts[class_object];
        if (*layout == UINT32_MAX) {
            *layout = file.Layout("T_ARRAY", class_object ? AddressOf(class_object) : 0,
                                  "C" + std::to_string(class_object), {}, HEAPPROF_DUMP_INDEXED);
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

// A few objects are classes of the others; some references are doubled, some objects are not
// reached.
inline Shape
RandomShape(std::mt19937 *random)
{
    auto below = [random](uint32_t most) {
        return std::uniform_int_distribution<uint32_t>(0, most - 1)(*random);
    };
    Shape shape(2 + below(30));
    uint32_t objects = static_cast<uint32_t>(shape.size()) - 1, references = below(3 * objects + 1),
             roots = 1 + below(3);

    for (uint32_t i = 0; i < roots; i++) shape.references[0].push_back(1 + below(objects));
    for (uint32_t i = 0; i < references; i++)
        shape.references[1 + below(objects)].push_back(1 + below(objects));
    if (below(2)) {
        uint32_t classes = 1 + below(3);
        for (uint32_t object = 1; object <= objects; object++)
            shape.classes[object] = std::min(objects, below(classes + 1));
    }
    return shape;
}

// ---- graphs with labels ----

struct Edge {
    uint32_t to;
    int label;
    std::string name;
};

struct DrawnObject {
    uint32_t slot = 0;        // of those in the whole file, ascending; see AddressOf
    std::string type = "T_ARRAY", class_name = "Array", text;
    uint32_t class_object = 0; // by number; 0: none
    uint64_t external = 0;    // bytes beside the 40 of the slot
    uint32_t bits = 0;
    bool stack = false;       // allocated at shop.rb:3
    std::vector<Edge> references;
    uint64_t Bytes() const { return 40 + external; }
};

// Objects are 1 to size - 1, in the order of their slots; those that objects[0] refers to are the
// roots.
struct Drawing {
    std::vector<DrawnObject> objects;
    std::vector<std::pair<uint32_t, uint32_t>> moves; // from slot to slot
    std::string set, dump, directory;

    explicit Drawing(size_t size) : objects(size)
    {
        for (uint32_t object = 1; object < size; object++) objects[object].slot = object - 1;
    }
    size_t size() const { return objects.size(); }
    void Root(uint32_t to, int label, const std::string &name)
    {
        objects[0].references.push_back({ to, label, name });
    }
    void
    Refer(uint32_t from, uint32_t to, int label = HEAPPROF_DUMP_INDEX, const std::string &name = "")
    {
        objects[from].references.push_back({to, label, name});
    }
    uint32_t
    Add(const std::string &type, const std::string &class_name, const std::string &text = "")
    {
        uint32_t slot = static_cast<uint32_t>(objects.size()) - 1;
        objects.emplace_back();
        objects.back().slot = slot;
        objects.back().type = type;
        objects.back().class_name = class_name;
        objects.back().text = text;
        return slot + 1;
    }
};

inline graph_file::Object
RecordOf(const Drawing &drawing, uint32_t number, uint32_t layout)
{
    const DrawnObject &object = drawing.objects[number];
    graph_file::Object record;

    record.layout = layout;
    record.bits = object.bits;
    record.external = object.external;
    record.text = object.text;
    record.stack = object.stack;
    for (const Edge &edge : object.references) {
        uint64_t to = AddressOf(drawing.objects[edge.to].slot + 1);
        if (edge.label == HEAPPROF_DUMP_INDEX) record.tail.emplace_back(to);
        else record.others.push_back({edge.label, edge.name, to});
    }
    return record;
}

inline std::string
FileOf(const Drawing &drawing)
{
    graph_file::GraphFile file;
    std::map<std::string, uint32_t> layouts;
    uint32_t page = UINT32_MAX;

    if (!drawing.set.empty()) file.Fact("set", drawing.set);
    if (!drawing.dump.empty()) file.Fact("dump", drawing.dump);
    if (!drawing.directory.empty()) file.Fact("directory", drawing.directory);
    file.Stack(0, "Shop#open", "shop.rb", 3);
    for (const Edge &root : drawing.objects[0].references) {
        file.Root(root.label, root.name, "", AddressOf(drawing.objects[root.to].slot + 1));
    }
    for (uint32_t number = 1; number < drawing.size(); number++) {
        const DrawnObject &object = drawing.objects[number];
        uint64_t of_class =
            object.class_object ? AddressOf(drawing.objects[object.class_object].slot + 1) : 0;
        std::string key = object.type + "|" + std::to_string(of_class) + "|" + object.class_name;
        auto known = layouts.find(key);
        if (known == layouts.end()) {
            uint32_t layout = file.Layout(object.type, of_class, object.class_name, {},
                                          HEAPPROF_DUMP_INDEXED, HEAPPROF_DUMP_OTHERS);
            known = layouts.emplace(key, layout).first;
        }
        if (object.slot / 1600 != page)
            file.Page(AddressOf((page = object.slot / 1600) * 1600 + 1), 40);
        file.Add(object.slot % 1600, RecordOf(drawing, number, known->second));
    }
    for (const auto &move : drawing.moves)
        file.Move(AddressOf(move.first + 1), AddressOf(move.second + 1));
    return file.Bytes();
}

// The same references without names, of what a test leaves of them.
template <typename Keep>
inline Shape
ShapeOf(const Drawing &drawing, Keep keep)
{
    Shape shape(drawing.size());

    for (uint32_t from = 0; from < drawing.size(); from++) {
        const DrawnObject &object = drawing.objects[from];
        for (const Edge &edge : object.references)
            if (keep(from, edge)) shape.references[from].push_back(edge.to);
        if (!from || !object.class_object) continue;
        if (keep(from, Edge { object.class_object, HEAPPROF_DUMP_CLASS, "" }))
            shape.classes[from] = object.class_object;
    }
    return shape;
}

// References of all strengths, some of them from threads; roots of all kinds.
inline Drawing
RandomDrawing(std::mt19937 *random)
{
    static const std::vector<std::pair<int, std::string>> labels = {
        { HEAPPROF_DUMP_INDEX, "" },
        { HEAPPROF_DUMP_INDEX, "" },
        { HEAPPROF_DUMP_IVAR, "@a" },
        { HEAPPROF_DUMP_IVAR, "@b" },
        { HEAPPROF_DUMP_CONSTANT, "LIST" },
        { HEAPPROF_DUMP_FIELD, "call cache" },
        { HEAPPROF_DUMP_FIELD, "constant cache" },
        { HEAPPROF_DUMP_FIELD, "shared" },
        { HEAPPROF_DUMP_FIELD, "method one" },
        { HEAPPROF_DUMP_STACK, "" },
        { HEAPPROF_DUMP_LOCAL, "x in main at f:1" },
        { HEAPPROF_DUMP_LOCAL, "x" },
    };
    static const std::vector<std::pair<int, std::string>> roots = {
        { HEAPPROF_DUMP_GLOBAL, "$a" },
        { HEAPPROF_DUMP_C_GLOBAL, "rb_cA" },
        { HEAPPROF_DUMP_ROOT, "vm" },
        { HEAPPROF_DUMP_STACK, "machine" },
    };
    auto below = [random](size_t most) {
        return std::uniform_int_distribution<uint32_t>(0, static_cast<uint32_t>(most) - 1)(*random);
    };
    Drawing drawing(2 + below(30));
    uint32_t objects = static_cast<uint32_t>(drawing.size()) - 1,
             references = below(3 * objects + 1), count = 1 + below(4);
    uint32_t classes = below(2) ? std::min(objects, 1 + below(3)) : 0;

    for (uint32_t i = 0; i < count; i++) {
        const auto &root = roots[below(roots.size())];
        drawing.Root(1 + below(objects), root.first, root.second);
    }
    for (uint32_t i = 0; i < references; i++) {
        const auto &label = labels[below(labels.size())];
        drawing.Refer(1 + below(objects), 1 + below(objects), label.first, label.second);
    }
    for (uint32_t number = 1; number <= objects; number++) {
        DrawnObject &object = drawing.objects[number];
        object.external = number;
        if (number <= classes)
            object.type = object.class_name = "T_CLASS",
            object.text = "Class" + std::to_string(number);
        else if (below(8) == 0)
            object.type = "T_DATA(VM/thread)", object.class_name = "Thread", object.text = "f:1";
        else if (below(3) == 0) object.type = "T_OBJECT", object.class_name = "Order";
        if (classes) object.class_object = below(classes + 1);
    }
    return drawing;
}

// A dump in memory, loaded.
class LoadedGraph {
public:
  explicit LoadedGraph(const std::string &bytes, size_t limit_bytes = SIZE_MAX, unsigned wanted = 0)
      : bytes_(bytes)
  {
      char error[HEAPPROF_DUMP_ERROR_MAX];
      loaded = graph_load_wanted(&graph, wanted, More, this, limit_bytes, error);
      this->error = error;
    }
    ~LoadedGraph() { graph_free(&graph); }
    size_t MemoryBytes() const
    {
        return graph.space.mem.used_bytes + graph.space.file_bytes +
               graph.places.index_mem.used_bytes + graph.names.index_mem.used_bytes;
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
