// memory.h - a target that is made up: memory by its addresses; and descriptors to put there.

#ifndef HEAPPROF_ATTACH_MEMORY_H
#define HEAPPROF_ATTACH_MEMORY_H

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

extern "C" {
#include "attach/target.h"
#include "base/descriptor.h"
}

// What is at which addresses. Reads are counted, so that bounds on them can be tested.
class Memory {
  public:
    struct Piece {
        std::string bytes;
        bool writable;
        std::string path;
    };

    std::map<uint64_t, Piece> pieces;
    bool runs = true;
    uint64_t reads = 0, bytes_read = 0;
    std::function<void()> before_read; // what the target does meanwhile

    Memory() = default;
    Memory(const Memory &) = delete;
    ~Memory() { attach_target_close(target_); }

    void Put(uint64_t address, const std::string &bytes, bool writable = true,
             const std::string &path = "")
    {
        pieces[address] = {bytes, writable, path};
        attach_target_close(target_);
        target_ = nullptr;
    }

    attach_target *
    target()
    {
        char error[ATTACH_TARGET_ERROR_MAX];
        if (target_) return target_;
        target_ = attach_target_new(&kKind, this);
        target_->runs = runs;
        snprintf(target_->name, sizeof(target_->name), "it");
        attach_target_refresh(target_, error);
        return target_;
    }

  private:
    attach_target *target_ = nullptr;

    bool
    Read(const attach_range &range)
    {
        if (before_read) before_read();
        auto behind = pieces.upper_bound(range.address);
        reads++;
        if (behind == pieces.begin()) return false;
        const auto &piece = *std::prev(behind);
        uint64_t at = range.address - piece.first;
        if (at > piece.second.bytes.size() || range.bytes > piece.second.bytes.size() - at)
            return false;
        memcpy(range.to, piece.second.bytes.data() + at, range.bytes);
        bytes_read += range.bytes;
        return true;
    }

    static Memory *Of(attach_target *target) { return static_cast<Memory *>(target->data); }

    static bool
    ReadAll(attach_target *target, const attach_range *ranges, size_t count)
    {
        for (size_t i = 0; i < count; i++) {
            if (!Of(target)->Read(ranges[i])) return false;
        }
        return true;
    }

    static bool
    Refresh(attach_target *target, char *)
    {
        for (const auto &piece : Of(target)->pieces) {
            attach_mapping mapping = {};
            mapping.start = piece.first;
            mapping.end = piece.first + piece.second.bytes.size();
            mapping.readable = true;
            mapping.writable = piece.second.writable;
            attach_target_add_mapping(target, mapping, piece.second.path.c_str());
        }
        return true;
    }

    static bool ListThreads(attach_target *) { return true; }
    static enum attach_target_state State(attach_target *) { return ATTACH_TARGET_SAME; }
    static void Close(attach_target *) {}

    static constexpr attach_target_kind kKind = {ReadAll, Refresh, ListThreads,
                                                 State,   Close,   nullptr,
                                                 nullptr, nullptr};
};

// A descriptor, entry by entry.
struct Descriptor {
    heapprof_descriptor header = {};
    std::vector<heapprof_descriptor_entry> entries;

    Descriptor()
    {
        memcpy(header.magic, HEAPPROF_DESCRIPTOR_MAGIC, sizeof(header.magic));
        header.format = HEAPPROF_DESCRIPTOR_FORMAT;
        header.pointer_size = 8;
        header.header_size = sizeof(header);
        header.entry_size = sizeof(heapprof_descriptor_entry);
    }

    Descriptor &
    Add(const std::string &name, int kind, int form, uint32_t size, int64_t number)
    {
        heapprof_descriptor_entry entry = {};
        strncpy(entry.name, name.c_str(), sizeof(entry.name));
        entry.kind = static_cast<uint16_t>(kind);
        entry.form = static_cast<uint16_t>(form);
        entry.size = size;
        entry.as.number = number;
        entries.push_back(entry);
        header.entry_count = static_cast<uint32_t>(entries.size());
        return *this;
    }

    Descriptor &
    Type(const std::string &name, uint32_t size)
    {
        return Add(name, HEAPPROF_DESCRIPTOR_TYPE, HEAPPROF_DESCRIPTOR_NONE, size, 0);
    }

    Descriptor &
    Field(const std::string &name, int form, uint32_t size, int64_t offset)
    {
        return Add(name, HEAPPROF_DESCRIPTOR_FIELD, form, size, offset);
    }

    Descriptor &
    Global(const std::string &name, int form, uint32_t size, uint64_t address)
    {
        return Add(name, HEAPPROF_DESCRIPTOR_GLOBAL, form, size, static_cast<int64_t>(address));
    }

    Descriptor &
    Part(const std::string &name, uint64_t address)
    {
        return Add(name, HEAPPROF_DESCRIPTOR_PART, HEAPPROF_DESCRIPTOR_NONE, 0,
                   static_cast<int64_t>(address));
    }

    std::string
    Bytes() const
    {
        std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
        bytes.resize(std::clamp<size_t>(header.header_size, sizeof(header), 8192));
        for (const auto &entry : entries) {
            std::string one(reinterpret_cast<const char *>(&entry), sizeof(entry));
            one.resize(std::clamp<size_t>(header.entry_size, sizeof(entry), 512));
            bytes += one;
        }
        return bytes;
    }
};

#endif
