// graph_file.h - files of object graphs for tests and measurements, record by record as
// doc/graph-format.md has them. Shares nothing with what writes or reads them.

#ifndef HEAPPROF_GRAPH_FILE_H
#define HEAPPROF_GRAPH_FILE_H

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>
#include <zlib.h>

#include "dump/format.h"

namespace graph_file {

inline void
PutNumber(std::string *out, uint64_t number)
{
    for (; number >= 128; number >>= 7) out->push_back(static_cast<char>(number | 128));
    out->push_back(static_cast<char>(number));
}

inline uint64_t
Zigzag(int64_t number)
{
    return static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63);
}

inline void
PutText(std::string *out, const std::string &text)
{
    PutNumber(out, text.size());
    *out += text;
}

inline void
PutFixed(std::string *out, uint64_t number, int width)
{
    while (width-- > 0) {
        out->push_back(static_cast<char>(number));
        number >>= 8;
    }
}

// A block with its head.
inline std::string
Block(int kind, const std::string &bytes, int encoding = HEAPPROF_DUMP_RAW)
{
    std::string packed = bytes, head;

    if (encoding == HEAPPROF_DUMP_ZLIB) {
        uLongf size = compressBound(bytes.size());
        packed.resize(size);
        compress2(reinterpret_cast<Bytef *>(&packed[0]), &size,
                  reinterpret_cast<const Bytef *>(bytes.data()), bytes.size(), 1);
        packed.resize(size);
    }
    PutFixed(&head, static_cast<uint64_t>(kind), 1);
    PutFixed(&head, static_cast<uint64_t>(encoding), 3);
    PutFixed(&head, bytes.size(), 4);
    PutFixed(&head, packed.size(), 4);
    PutFixed(
        &head,
        crc32(0, reinterpret_cast<const Bytef *>(packed.data()), static_cast<uInt>(packed.size())),
        4);
    return head + packed;
}

inline std::string
Begin(uint32_t version = HEAPPROF_DUMP_VERSION)
{
    std::string begin(HEAPPROF_DUMP_MAGIC, HEAPPROF_DUMP_MAGIC_BYTES);

    PutFixed(&begin, version, 4);
    return begin;
}

// What a reference leads to: an object by its address, or something else.
struct To {
    uint64_t address = 0;
    int      immediate = HEAPPROF_DUMP_SPECIAL;
    uint64_t bits = 0;

    To(uint64_t object) : address(object) {}
    To(int kind, uint64_t number) : immediate(kind), bits(number) {}
    uint64_t Encoded(uint64_t own) const
    {
        if (!address) return (bits << 3 | static_cast<uint64_t>(immediate)) << 1 | 1;
        return Zigzag(static_cast<int64_t>(address / 8 - own / 8)) << 1;
    }
};

struct Other {
    int label;
    std::string name;
    To to;
};

struct Object {
    uint32_t layout = 0;
    uint32_t bits = 0;        // those of the fields that are set come by themselves
    uint64_t external = 0, length = 0;
    std::string text;
    uint32_t stack = 0;
    uint64_t weight = 0;
    uint64_t hash = 0;
    std::vector<To> labelled, tail; // tail: elements, or keys and values by turns
    std::vector<Other> others;
};

class GraphFile {
public:
    uint32_t String(const std::string &text)
    {
        if (text.empty()) return 0;
        auto found = strings_.emplace(text, strings_.size() + 1);
        if (found.second) PutText(Records(HEAPPROF_DUMP_STRINGS), text);
        return static_cast<uint32_t>(found.first->second);
    }

    uint32_t
    Stack(uint32_t caller, const std::string &method, const std::string &file, uint32_t line)
    {
        uint32_t method_string = String(method), file_string = String(file);
        std::string *out = Records(HEAPPROF_DUMP_STACKS);
        for (uint64_t number : {caller, method_string, file_string, line}) PutNumber(out, number);
        return ++stacks_;
    }

    uint32_t Layout(const std::string &type, uint64_t class_address, const std::string &class_name,
                    const std::vector<std::pair<int, std::string>> &labels = {},
                    int tail = HEAPPROF_DUMP_NO_TAIL, int bits = 0)
    {
        std::string out;
        PutNumber(&out, String(type));
        PutNumber(&out, class_address / 8);
        PutNumber(&out, String(class_name));
        PutNumber(&out, static_cast<uint64_t>(bits));
        PutNumber(&out, static_cast<uint64_t>(tail));
        PutNumber(&out, labels.size());
        for (const auto &label : labels) {
            PutNumber(&out, static_cast<uint64_t>(label.first));
            PutNumber(&out, String(label.second));
        }
        *Records(HEAPPROF_DUMP_LAYOUTS) += out;
        layouts_.push_back({tail, bits});
        return static_cast<uint32_t>(layouts_.size() - 1);
    }

    void Root(int label, const std::string &name, const std::string &category, uint64_t address)
    {
        uint32_t name_string = String(name), category_string = String(category);
        std::string *out = Records(HEAPPROF_DUMP_ROOTS);
        for (uint64_t number : { static_cast<uint64_t>(label), uint64_t { name_string },
                                 uint64_t { category_string }, address / 8 }) {
            PutNumber(out, number);
        }
    }

    void Page(uint64_t address, uint32_t slot_bytes)
    {
        EndPage();
        page_ = address;
        slot_bytes_ = slot_bytes;
        next_slot_ = 0;
    }

    // The object at a slot of the page, behind those there are. Returns its address.
    uint64_t Add(uint32_t slot, const Object &object)
    {
        uint64_t address = page_ + uint64_t{slot} * slot_bytes_;
        std::string *out = &page_objects_;
        uint32_t bits = object.bits | (object.external ? HEAPPROF_DUMP_EXTERNAL : 0) |
                        (object.length ? HEAPPROF_DUMP_LENGTH : 0) |
                        (object.text.empty() ? 0 : HEAPPROF_DUMP_TEXT) |
                        (object.stack ? HEAPPROF_DUMP_SAMPLED : 0) |
                        (object.hash ? HEAPPROF_DUMP_HASHED : 0);
        PutNumber(out, slot - next_slot_);
        PutNumber(out, object.layout);
        PutNumber(out, bits);
        if (object.external) PutNumber(out, object.external);
        if (object.length) PutNumber(out, object.length);
        if (!object.text.empty()) PutNumber(out, String(object.text));
        if (object.stack) {
            PutNumber(out, object.stack);
            PutNumber(out, object.weight);
        }
        if (object.hash) PutFixed(out, object.hash, 8);
        for (const To &to : object.labelled) PutNumber(out, to.Encoded(address));
        PutTail(address, object.layout, object.tail, object.others);
        next_slot_ = slot + 1;
        return address;
    }

    // More references of the object before.
    void More(uint32_t layout, const std::vector<To> &tail)
    {
        PutNumber(&page_objects_, 0);
        PutNumber(&page_objects_, layout);
        PutNumber(&page_objects_, HEAPPROF_DUMP_MORE);
        PutTail(page_ + uint64_t{next_slot_ - 1} * slot_bytes_, layout, tail, {});
    }

    void Move(uint64_t from, uint64_t to)
    {
        PutNumber(Records(HEAPPROF_DUMP_MOVES), from / 8);
        PutNumber(Records(HEAPPROF_DUMP_MOVES), to / 8);
    }

    void Fact(const std::string &key, const std::string &value, bool footer = false)
    {
        std::string *out = Records(footer ? HEAPPROF_DUMP_FOOTER : HEAPPROF_DUMP_PROCESS);
        PutText(out, key);
        PutText(out, value);
    }

    // The file. A block ends with the first record that makes it a megabyte.
    std::string Bytes(int encoding = HEAPPROF_DUMP_RAW)
    {
        EndPage();
        std::string bytes = Begin();
        for (int kind = HEAPPROF_DUMP_PROCESS; kind < HEAPPROF_DUMP_FOOTER; kind++) {
            for (const std::string &block : blocks_[kind]) {
                if (!block.empty()) bytes += Block(kind, block, encoding);
            }
        }
        return bytes + Block(HEAPPROF_DUMP_FOOTER, *Records(HEAPPROF_DUMP_FOOTER), encoding);
    }

private:
    struct LayoutShape {
        int tail, bits;
    };

    std::string *Records(int kind)
    {
        auto &blocks = blocks_[kind];
        if (blocks.empty() || blocks.back().size() >= (1 << 20)) blocks.emplace_back();
        return &blocks.back();
    }

    void PutTail(uint64_t address, uint32_t layout, const std::vector<To> &tail,
                 const std::vector<Other> &others)
    {
        if (layouts_[layout].tail != HEAPPROF_DUMP_NO_TAIL) {
            PutNumber(&page_objects_, layouts_[layout].tail == HEAPPROF_DUMP_PAIRED
                                          ? tail.size() / 2
                                          : tail.size());
            for (const To &to : tail) PutNumber(&page_objects_, to.Encoded(address));
        }
        if (layouts_[layout].bits & HEAPPROF_DUMP_OTHERS) {
            PutNumber(&page_objects_, others.size());
            for (const Other &other : others) {
                PutNumber(&page_objects_, static_cast<uint64_t>(other.label));
                PutNumber(&page_objects_, String(other.name));
                PutNumber(&page_objects_, other.to.Encoded(address));
            }
        }
        page_records_++;
    }

    void EndPage()
    {
        if (page_records_ == 0) return;
        std::string *out = Records(HEAPPROF_DUMP_OBJECTS);
        PutNumber(out, page_ / 8);
        PutNumber(out, slot_bytes_);
        PutNumber(out, page_records_);
        *out += page_objects_;
        page_objects_.clear();
        page_records_ = 0;
    }

    std::map<std::string, size_t> strings_;
    std::vector<std::string> blocks_[HEAPPROF_DUMP_BLOCK_KINDS];
    std::vector<LayoutShape> layouts_;
    uint32_t stacks_ = 0;
    uint64_t page_ = 0;
    uint32_t slot_bytes_ = 0, next_slot_ = 0;
    uint64_t page_records_ = 0;
    std::string page_objects_;
};

} // namespace graph_file

#endif
