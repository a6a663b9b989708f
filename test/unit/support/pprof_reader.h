// pprof_reader.h - reads an encoded pprof profile, for tests only.
//
// Written from the format's description, by hand: it shares nothing with upb or with
// pprof.proto, so a mistake there cannot hide here. Unknown fields are kept by number.

#ifndef HEAPPROF_PPROF_READER_H
#define HEAPPROF_PPROF_READER_H

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

// The fields of one message: numbers and byte strings by field number, in order.
struct Message {
    std::map<int, std::vector<uint64_t>> numbers;
    std::map<int, std::vector<std::string>> blocks;

    explicit Message(const std::string &bytes)
    {
        for (size_t at = 0; at < bytes.size();) {
            uint64_t tag = Varint(bytes, &at);
            int field = static_cast<int>(tag >> 3);
            if ((tag & 7) == 0) {
                numbers[field].push_back(Varint(bytes, &at));
            }
            else if ((tag & 7) == 2) {
                uint64_t length = Varint(bytes, &at);
                if (length > bytes.size() - at) throw std::runtime_error("field beyond the end");
                blocks[field].push_back(bytes.substr(at, length));
                at += length;
            }
            else {
                throw std::runtime_error("wire type that a profile does not have");
            }
        }
    }

    uint64_t
    Number(int field) const
    {
        auto found = numbers.find(field);
        return found == numbers.end() ? 0 : found->second.back();
    }

    // The elements of a packed repeated field.
    std::vector<uint64_t>
    Packed(int field) const
    {
        std::vector<uint64_t> values;
        for (const std::string &block : Blocks(field)) {
            for (size_t at = 0; at < block.size();) values.push_back(Varint(block, &at));
        }
        return values;
    }

    std::vector<std::string>
    Blocks(int field) const
    {
        auto found = blocks.find(field);
        return found == blocks.end() ? std::vector<std::string>() : found->second;
    }

    std::vector<Message>
    Messages(int field) const
    {
        std::vector<Message> messages;
        for (const std::string &block : Blocks(field)) messages.emplace_back(block);
        return messages;
    }

  private:
    static uint64_t
    Varint(const std::string &bytes, size_t *at)
    {
        uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (*at >= bytes.size()) throw std::runtime_error("number beyond the end");
            unsigned char byte = bytes[(*at)++];
            value |= static_cast<uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value;
        }
        throw std::runtime_error("number of more than ten bytes");
    }
};

// A profile with every reference followed. Throws when one leads nowhere.
struct Profile {
    struct Function {
        std::string name, system_name, path;
        uint64_t first_line;
    };
    struct Location {
        uint64_t mapping, function, line;
    };
    struct Sample {
        std::vector<uint64_t> locations; // innermost first
        std::vector<int64_t> values;
        std::map<std::string, std::string> labels; // a number as "8 gcs"
    };

    Message message;
    std::vector<std::string> strings;
    std::map<uint64_t, Function> functions;
    std::map<uint64_t, Location> locations;
    std::vector<Sample> samples;
    std::vector<std::string> comments;

    explicit Profile(const std::string &bytes) : message(bytes), strings(message.Blocks(6))
    {
        for (const Message &m : message.Messages(5)) AddFunction(m);
        for (const Message &m : message.Messages(4)) AddLocation(m);
        for (const Message &m : message.Messages(2)) AddSample(m);
        for (uint64_t id : message.Packed(13)) comments.push_back(String(id));
    }

    const std::string &
    String(uint64_t id) const
    {
        return strings.at(id);
    }

    // "type/unit" of a ValueType.
    std::string
    ValueType(const Message &m) const
    {
        return String(m.Number(1)) + "/" + String(m.Number(2));
    }

    // The stack of a sample as "name path:line", innermost first.
    std::vector<std::string>
    Frames(const Sample &sample) const
    {
        std::vector<std::string> frames;
        for (uint64_t id : sample.locations) {
            const Location &location = locations.at(id);
            const Function &function = functions.at(location.function);
            frames.push_back(function.name + " " + function.path + ":" +
                             std::to_string(location.line));
        }
        return frames;
    }

  private:
    template <typename Element>
    static void
    AddNumbered(std::map<uint64_t, Element> *elements, uint64_t id, const Element &element)
    {
        if (id == 0) throw std::runtime_error("id 0");
        if (!elements->emplace(id, element).second) throw std::runtime_error("id twice");
    }

    void
    AddFunction(const Message &m)
    {
        Function function = {String(m.Number(2)), String(m.Number(3)), String(m.Number(4)),
                             m.Number(5)};
        AddNumbered(&functions, m.Number(1), function);
    }

    void
    AddLocation(const Message &m)
    {
        Message line = m.Messages(4).at(0);
        Location location = {m.Number(2), line.Number(1), line.Number(2)};
        AddNumbered(&locations, m.Number(1), location);
    }

    void
    AddSample(const Message &m)
    {
        Sample sample;
        sample.locations = m.Packed(1);
        for (uint64_t value : m.Packed(2)) sample.values.push_back(static_cast<int64_t>(value));
        for (const Message &label : m.Messages(3)) {
            std::string number = std::to_string(label.Number(3)) + " " + String(label.Number(4));
            std::string text = label.Number(2) ? String(label.Number(2)) : number;
            if (!sample.labels.emplace(String(label.Number(1)), text).second) {
                throw std::runtime_error("label twice");
            }
        }
        samples.push_back(sample);
    }
};

#endif
