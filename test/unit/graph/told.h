// graph_told.h - what the reader of object graphs tells, as lines of text.

#ifndef HEAPPROF_GRAPH_TOLD_H
#define HEAPPROF_GRAPH_TOLD_H

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "dump/reader.h"
}

namespace graph_told {

// Bytes that come a few at a time.
struct Input {
    const std::string *bytes;
    size_t at, step;

    static ptrdiff_t More(void *data, void *buffer, size_t size)
    {
        Input *input = static_cast<Input *>(data);
        size_t left = input->bytes->size() - input->at, count = std::min({size, left, input->step});
        memcpy(buffer, input->bytes->data() + input->at, count);
        input->at += count;
        return static_cast<ptrdiff_t>(count);
    }
};

struct Told {
    std::vector<std::string> lines;
    heapprof_dump_result result = HEAPPROF_DUMP_WRONG;
    std::string error;
    bool keep = true;
    uint64_t things = 0;

    __attribute__((format(printf, 2, 3))) bool Add(const char *format, ...)
    {
        things++;
        if (!keep) return true;
        char line[500];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(line, sizeof(line), format, arguments);
        va_end(arguments);
        lines.push_back(line);
        return true;
    }
};

inline std::string
Text(heapprof_dump_text text)
{
    return std::string(text.bytes, text.length);
}

inline std::string
Value(const heapprof_dump_value &value)
{
    char text[60];
    snprintf(text, sizeof(text), value.object ? "%#" PRIx64 : "%" PRIu64 "/%d", value.bits,
             value.object ? 0 : value.immediate);
    return text;
}

inline heapprof_dump_visitor
Visitor(Told *told)
{
    heapprof_dump_visitor visitor = {};
    visitor.data = told;
    visitor.fact = [](void *data, bool footer, heapprof_dump_text key, heapprof_dump_text value) {
        return static_cast<Told *>(data)->Add("%s %s=%s", footer ? "footer" : "process",
                                              Text(key).c_str(), Text(value).c_str());
    };
    visitor.string = [](void *data, uint32_t number, heapprof_dump_text text) {
        return static_cast<Told *>(data)->Add("string %u %s", number, Text(text).c_str());
    };
    visitor.stack = [](void *data, uint32_t number, const heapprof_dump_stack *stack) {
        return static_cast<Told *>(data)->Add("stack %u on %u: %u %u:%u", number, stack->caller,
                                              stack->method, stack->file, stack->line);
    };
    visitor.layout = [](void *data, uint32_t number, const heapprof_dump_read_layout *layout) {
        std::string labels;
        for (uint32_t i = 0; i < layout->label_count; i++) {
            labels += " " + std::to_string(layout->labels[i].label) + ":" +
                      std::to_string(layout->labels[i].name);
        }
        return static_cast<Told *>(data)->Add(
            "layout %u type %u class %#" PRIx64 " %u bits %d tail %d%s", number, layout->type,
            layout->class_address, layout->class_name, layout->bits, layout->tail, labels.c_str());
    };
    visitor.root = [](void *data, const heapprof_dump_root *root) {
        return static_cast<Told *>(data)->Add("root %u %u %u %#" PRIx64, root->label, root->name,
                                              root->category, root->address);
    };
    visitor.page = [](void *data, uint64_t address, uint32_t slot_bytes, uint64_t count) {
        return static_cast<Told *>(data)->Add("page %#" PRIx64 " %u %" PRIu64, address, slot_bytes,
                                              count);
    };
    visitor.object = [](void *data, const heapprof_dump_read_object *object) {
        return static_cast<Told *>(data)->Add(
            "object %#" PRIx64 " layout %u bits %#x external %" PRIu64 " length %" PRIu64
            " text %u stack %u weight %" PRIu64 " hash %" PRIx64,
            object->address, object->layout, object->bits, object->external, object->length,
            object->text, object->stack, object->weight, object->hash);
    };
    visitor.reference = [](void *data, const heapprof_dump_reference *reference) {
        return static_cast<Told *>(data)->Add(
            "  %u:%u[%" PRIu64 "] %s%s%s", reference->label, reference->name, reference->index,
            Value(reference->to).c_str(), reference->label == HEAPPROF_DUMP_VALUE ? " of " : "",
            reference->label == HEAPPROF_DUMP_VALUE ? Value(reference->key).c_str() : "");
    };
    visitor.move = [](void *data, uint64_t from, uint64_t to) {
        return static_cast<Told *>(data)->Add("move %#" PRIx64 " %#" PRIx64, from, to);
    };
    return visitor;
}

// Reads the bytes, so many of them at a time.
inline Told
Read(const std::string &bytes, size_t step = SIZE_MAX, bool keep = true)
{
    Told told;
    Input input = {&bytes, 0, step};
    char error[HEAPPROF_DUMP_ERROR_MAX];
    told.keep = keep;
    heapprof_dump_visitor visitor = Visitor(&told);
    told.result = rb_heapprof_dump_read(Input::More, &input, &visitor, error);
    told.error = error;
    return told;
}

} // namespace graph_told

#endif
