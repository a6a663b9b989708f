// profile_bytes.h - encoded profiles for tests, written field by field from the format's
// description. Knows nothing of what reads them.

#ifndef HEAPPROF_PROFILE_BYTES_H
#define HEAPPROF_PROFILE_BYTES_H

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" {
#include "pprof/gzip.h"
#include "pprof/reader.h"
}

inline std::string
Varint(uint64_t value)
{
    std::string bytes;
    for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
    return bytes + static_cast<char>(value);
}

inline std::string
Number(int field, uint64_t value)
{
    return Varint(static_cast<uint64_t>(field) << 3) + Varint(value);
}

inline std::string
Bytes(int field, const std::string &bytes)
{
    return Varint(static_cast<uint64_t>(field) << 3 | 2) + Varint(bytes.size()) + bytes;
}

inline std::string
Packed(int field, const std::vector<uint64_t> &values)
{
    std::string bytes;
    for (uint64_t value : values) bytes += Varint(value);
    return Bytes(field, bytes);
}

inline std::string
GzipOf(const std::string &data)
{
    size_t size = 0;
    char *bytes = rb_heapprof_gzip(data.data(), data.size(), &size);
    std::string gzip(bytes, size);
    free(bytes);
    return gzip;
}

// Things of a profile, by the numbers of their strings.
class ProfileBytes {
  public:
    std::string things, strings = Bytes(6, "");

    uint64_t
    String(const std::string &text)
    {
        for (size_t i = 0; i < texts_.size(); i++) {
            if (texts_[i] == text) return i;
        }
        texts_.push_back(text);
        strings += Bytes(6, text);
        return texts_.size() - 1;
    }

    void
    Type(const std::string &type, const std::string &unit)
    {
        things += Bytes(1, Number(1, String(type)) + Number(2, String(unit)));
    }

    void Function(uint64_t id, const std::string &name, const std::string &file = "app.rb",
                  uint64_t start = 1)
    {
        things += Bytes(5, Number(1, id) + Number(2, String(name)) + Number(4, String(file)) +
                               Number(5, start));
    }

    // Lines: function and line of each, the innermost first.
    void Location(uint64_t id, const std::vector<std::pair<uint64_t, uint64_t>> &lines,
                  uint64_t mapping = 0)
    {
        std::string bytes = Number(1, id) + Number(2, mapping);
        for (const auto &line : lines)
            bytes += Bytes(4, Number(1, line.first) + Number(2, line.second));
        things += Bytes(4, bytes);
    }

    std::string
    Label(const std::string &key, const std::string &value)
    {
        return Bytes(3, Number(1, String(key)) + Number(2, String(value)));
    }

    std::string
    NumberLabel(const std::string &key, int64_t number, const std::string &unit)
    {
        return Bytes(3, Number(1, String(key)) + Number(3, static_cast<uint64_t>(number)) +
                            Number(4, String(unit)));
    }

    void
    Sample(const std::vector<uint64_t> &locations, const std::vector<int64_t> &values,
           const std::string &labels = "")
    {
        things +=
            Bytes(2, Packed(1, locations) +
                         Packed(2, std::vector<uint64_t>(values.begin(), values.end())) + labels);
    }

    std::string
    All() const
    {
        return things + strings;
    }

  private:
    std::vector<std::string> texts_ = {""};
};

// A model that is freed; null with an error.
class Model {
  public:
    explicit Model(const std::string &bytes)
        : model_(rb_heapprof_reader_read_bytes(bytes.data(), bytes.size(), error_))
    {}
    explicit Model(heapprof_model *model) : model_(model) {}
    ~Model() { rb_heapprof_model_free(model_); }
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;

    std::string Error() const { return model_ ? "" : error_; }
    heapprof_model *get() const { return model_; }
    heapprof_model *operator->() const { return model_; }

    std::string
    Text(uint32_t string) const
    {
        size_t length;
        const char *text = rb_heapprof_model_string(model_, string, &length);
        return std::string(text, length);
    }

    // Each sample in a line: "inner:3 outer:7 | 10 -20 | class=String bytes=40kb".
    std::vector<std::string>
    Lines() const
    {
        std::vector<std::string> lines;
        heapprof_samples samples;
        EXPECT_TRUE(rb_heapprof_samples_begin(&samples, model_));
        while (rb_heapprof_samples_next(&samples)) lines.push_back(Line(samples));
        rb_heapprof_samples_end(&samples);
        return lines;
    }

  private:
    char error_[HEAPPROF_READER_ERROR_MAX] = "";
    heapprof_model *model_;

    std::string
    Line(const heapprof_samples &samples) const
    {
        std::string line;
        for (uint32_t i = 0; i < samples.location_count; i++) line += Frames(samples.locations[i]);
        line += "|";
        for (uint32_t i = 0; i < model_->type_count; i++)
            line += " " + std::to_string(samples.values[i]);
        line += " |";
        for (uint32_t i = 0; i < samples.label_count; i++) {
            const heapprof_model_label &label = samples.labels[i];
            line += " " + Text(label.key) + "=" +
                    (label.str ? Text(label.str) : std::to_string(label.num) + Text(label.unit));
        }
        return line;
    }

    std::string
    Frames(uint32_t place) const
    {
        const heapprof_model_location *location = &model_->locations[place];
        std::string text;
        for (uint32_t l = location->first_line; l < location[1].first_line; l++) {
            const heapprof_model_line &line = model_->lines[l];
            text += line.function == HEAPPROF_NO_PLACE
                        ? "?"
                        : Text(model_->functions[line.function].name);
            text += ":" + std::to_string(line.line) + " ";
        }
        return text.empty() ? "0x" + std::to_string(location->address) + " " : text;
    }
};

#endif
