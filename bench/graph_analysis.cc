// graph_analysis.cc - how long `heapprof graph` takes for a heap of so many objects, and how much
// memory.
//
//   graph_analysis HEAPPROF OBJECTS [--memory=SIZE]
//   graph_analysis HEAPPROF hostile
//
// hostile: files that take as much memory as possible for each byte, zlib undone. Real dumps have
// 10 to 11 bytes an object.
//
// Half of the objects are leaves with one referrer, as in a Ruby heap; three of ten have 3
// references, two of ten have 5. References lead nearby as a rule, and anywhere one time in ten.
// With that to its class each object has about 3.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "test/unit/graph/file.h"

namespace {

using namespace graph_file;

constexpr uint64_t kPage = 0x7f0000000000, kSlotsOfPage = 1600;

uint64_t
AddressOf(uint64_t object)
{
    return kPage + object / kSlotsOfPage * 0x10000 + object % kSlotsOfPage * 40;
}

class Generator {
public:
    Generator(FILE *out, uint64_t objects) : out_(out), objects_(objects) {}

    uint64_t Write()
    {
        std::string strings, layouts, roots;
        const char *const names[] = {
            "T_CLASS", "Class", "T_STRING", "String", "T_OBJECT", "Order",
            "T_ARRAY", "Array", "@a",       "@b",     "@c",       "$root"
        };
        for (const char *name : names) PutText(&strings, name);
        PutLayout(&layouts, {1, 0, 2, 0, 0, 0});
        PutLayout(&layouts, {3, kPage / 8, 4, 0, 0, 0});
        PutLayout(&layouts, {5, AddressOf(1) / 8, 6, 0, 0, 3, 1, 9, 1, 10, 1, 11});
        PutLayout(&layouts, {7, AddressOf(2) / 8, 8, 0, HEAPPROF_DUMP_INDEXED, 0});
        for (uint64_t object : { 0, 1, 2, 3 })
            PutLayout(&roots, { HEAPPROF_DUMP_GLOBAL, 12, 0, AddressOf(object) / 8 });
        Put(Begin());
        Put(Block(HEAPPROF_DUMP_STRINGS, strings));
        Put(Block(HEAPPROF_DUMP_LAYOUTS, layouts));
        Put(Block(HEAPPROF_DUMP_ROOTS, roots));
        for (uint64_t first = 0; first < objects_; first += kSlotsOfPage)
            PutPage(first, std::min(first + kSlotsOfPage, objects_));
        PutBlock();
        Put(Block(HEAPPROF_DUMP_FOOTER, ""));
        return references_;
    }

private:
    void Put(const std::string &bytes)
    {
        if (fwrite(bytes.data(), 1, bytes.size(), out_) != bytes.size()) exit((perror("write"), 1));
    }

    static void PutLayout(std::string *out, const std::vector<uint64_t> &numbers)
    {
        for (uint64_t number : numbers) PutNumber(out, number);
    }

    void PutBlock()
    {
        Put(Block(HEAPPROF_DUMP_OBJECTS, block_, HEAPPROF_DUMP_ZLIB));
        block_.clear();
    }

    void PutPage(uint64_t first, uint64_t end)
    {
        if (block_.size() > 900000) PutBlock();
        for (uint64_t number : { AddressOf(first) / 8, uint64_t { 40 }, end - first })
            PutNumber(&block_, number);
        for (uint64_t object = first; object < end; object++) PutObject(object);
    }

    static bool Leaf(uint64_t object) { return object >= 4 && object % 2; }

    // The next object is a leaf of its own; one that is larger and no leaf; anyone.
    uint64_t Target(uint64_t object, int which)
    {
        if (which == 0) return object + 1 < objects_ ? object + 1 : object;
        uint64_t distance = random_() % 10 ? 2 + random_() % 50 : random_() % objects_;
        return (object + 2 * distance) % objects_ & ~UINT64_C(1);
    }

    void PutObject(uint64_t object)
    {
        unsigned layout = object < 3 ? 0 : Leaf(object) ? 1 : object % 10 < 6 ? 2 : 3;
        unsigned count = layout == 2 ? 3 : layout == 3 ? 5 : 0;
        for (uint64_t number : { uint64_t { 0 }, uint64_t { layout }, random_() % 4 })
            PutNumber(&block_, number);
        if (layout == 3) PutNumber(&block_, count);
        for (unsigned which = 0; which < count; which++)
            PutNumber(
                &block_,
                To(AddressOf(Target(object, static_cast<int>(which)))).Encoded(AddressOf(object)));
        references_ += count;
    }

    FILE *out_;
    uint64_t objects_, references_ = 0;
    std::string block_;
    std::mt19937_64 random_{1};
};

// A chain of objects of one reference each: 4 bytes an object. With one layout it is a list; with
// one more than a period may have, each object is a pattern.
GraphFile
Chain(uint64_t objects, uint32_t steps)
{
    GraphFile file;
    for (uint32_t step = 0; step < steps; step++) {
        file.Layout("T_OBJECT", 0, "C" + std::to_string(step), {{HEAPPROF_DUMP_IVAR, "@next"}});
    }
    for (uint64_t object = 0; object < objects; object++) {
        Object record;
        record.layout = static_cast<uint32_t>(object % steps);
        record.labelled = {To(AddressOf((object + 1) % objects))};
        if (object % kSlotsOfPage == 0) file.Page(AddressOf(object), 40);
        file.Add(static_cast<uint32_t>(object % kSlotsOfPage), record);
    }
    file.Root(HEAPPROF_DUMP_GLOBAL, "$chain", "", AddressOf(0));
    return file;
}

// Objects without references, far enough apart that each has a word of its own in graph/places:
// 3 bytes an object.
GraphFile
Apart(uint64_t objects)
{
    constexpr uint32_t kSlot = 640, kSlots = 65536 / kSlot;
    GraphFile file;
    Object record;
    record.layout = file.Layout("T_STRING", 0, "String");
    for (uint64_t object = 0; object < objects; object++) {
        if (object % kSlots == 0) file.Page(kPage + object / kSlots * 0x10000, kSlot);
        file.Add(static_cast<uint32_t>(object % kSlots), record);
    }
    file.Root(HEAPPROF_DUMP_GLOBAL, "$one", "", kPage);
    return file;
}

// Runs the command. If the size of the file is given, says how many times as much memory it took.
void
Measure(const std::vector<std::string> &command, size_t file_bytes = 0)
{
    std::vector<char *> words;
    for (const std::string &word : command) words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout)) _exit(127);
        execv(words[0], words.data());
        _exit(127);
    }
    struct rusage usage;
    int status;
    wait4(pid, &status, 0, &usage);
    double seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    double bytes = static_cast<double>(usage.ru_maxrss) * 1024;
    printf("%-14s %7.2f s CPU  %6.0f MB%s", command[2].c_str(), seconds, bytes / 1048576,
           status ? "  FAILED" : "");
    if (file_bytes) printf("  %.0f times the file", bytes / static_cast<double>(file_bytes));
    putchar('\n');
}

void
MeasureHostile(const char *heapprof, const char *path, const char *name, GraphFile file)
{
    std::string bytes = file.Bytes(), packed = file.Bytes(HEAPPROF_DUMP_ZLIB);
    FILE *out = fopen(path, "w");
    if (!out || fwrite(packed.data(), 1, packed.size(), out) != packed.size() || fclose(out) != 0) {
        exit((perror(path), 1));
    }
    printf("%s: %zu kB, zlib makes %zu kB of it\n", name, bytes.size() >> 10, packed.size() >> 10);
    for (const char *what : {"info", "top", "report"}) {
        Measure({heapprof, "graph", what, path}, bytes.size());
    }
    Measure({heapprof, "graph", "diff", path, path}, 2 * bytes.size());
}

} // namespace

int
main(int argc, char **argv)
{
    if (argc < 3)
        return fprintf(stderr, "usage: graph_analysis HEAPPROF OBJECTS [--memory=SIZE]\n"), 2;
    char path[] = "/var/tmp/graph_analysis-XXXXXX";
    FILE *out = fdopen(mkstemp(path), "w");
    if (!strcmp(argv[2], "hostile")) {
        fclose(out);
        MeasureHostile(argv[1], path, "a list", Chain(2000000, 1));
        MeasureHostile(argv[1], path, "a chain of patterns", Chain(2000000, 9));
        MeasureHostile(argv[1], path, "objects apart", Apart(2000000));
        unlink(path);
        return 0;
    }
    uint64_t objects = strtoull(argv[2], nullptr, 10);
    uint64_t references = Generator(out, objects).Write();
    printf("%llu objects, %llu references with those to classes, %.0f MB of file\n",
           static_cast<unsigned long long>(objects),
           static_cast<unsigned long long>(references + objects),
           static_cast<double>(ftell(out)) / 1048576);
    fclose(out);
    for (const char *what : {"info", "top", "report", "tree", "why", "diff", "view"}) {
        std::vector<std::string> command = {argv[1], "graph", what, path};
        if (command[2] == "view") command.insert(command.end(), {"-o", "-"});
        if (command[2] == "why") command.push_back("Order");
        if (command[2] == "diff") command.push_back(path);
        for (int i = 3; i < argc; i++) command.push_back(argv[i]);
        Measure(command);
    }
    unlink(path);
    return 0;
}
