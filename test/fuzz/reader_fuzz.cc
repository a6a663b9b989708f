// reader_fuzz.cc - any bytes as a profile, as they are and gzip'd: pprof/reader is to read them or to say
// in one line why not. Of what it has read every reference leads somewhere, and both ways give the same.

#include <cstring>
#include <memory>
#include <string>

#include "fuzz.h"

extern "C" {
#include "pprof/gzip.h"
#include "pprof/reader.h"
}

namespace {

using Model = std::unique_ptr<heapprof_model, decltype(&rb_heapprof_model_free)>;

Model
Read(const std::string &bytes)
{
    char error[HEAPPROF_READER_ERROR_MAX] = "";
    Model model(rb_heapprof_reader_read_bytes(bytes.data(), bytes.size(), error), rb_heapprof_model_free);

    REQUIRE(model || error[0]);
    REQUIRE(!strchr(error, '\n'));
    return model;
}

void
CheckString(const Model &model, uint32_t string)
{
    size_t length;
    const char *text = rb_heapprof_model_string(model.get(), string, &length);
    REQUIRE(text[length] == 0);
    REQUIRE(string < model->string_count || length == 0);
}

void
CheckLocation(const Model &model, uint32_t place)
{
    REQUIRE(place < rb_heapprof_model_locations(model.get()));
    const heapprof_model_location *location = &model->locations[place];
    REQUIRE(location->mapping == HEAPPROF_NO_PLACE || location->mapping < rb_heapprof_model_mappings(model.get()));
    REQUIRE(location[1].first_line <= model->line_count);
    for (uint32_t l = location->first_line; l < location[1].first_line; l++) {
        uint64_t function = model->lines[l].function;
        REQUIRE(function == HEAPPROF_NO_PLACE || function < rb_heapprof_model_functions(model.get()));
        if (function == HEAPPROF_NO_PLACE) continue;
        CheckString(model, model->functions[function].name);
        CheckString(model, model->functions[function].filename);
    }
}

uint64_t
Walk(const Model &model)
{
    heapprof_samples samples;
    REQUIRE(rb_heapprof_samples_begin(&samples, model.get()));
    while (rb_heapprof_samples_next(&samples)) {
        for (uint32_t i = 0; i < samples.location_count; i++) CheckLocation(model, samples.locations[i]);
        for (uint32_t i = 0; i < samples.label_count; i++) {
            CheckString(model, samples.labels[i].key);
            CheckString(model, samples.labels[i].str);
        }
    }
    REQUIRE(samples.number == model->sample_count);
    rb_heapprof_samples_end(&samples);
    return samples.number;
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string bytes(reinterpret_cast<const char *>(data), size);
    Model model = Read(bytes);
    size_t gzip_size = 0;
    char *gzip = rb_heapprof_gzip(bytes.data(), bytes.size(), &gzip_size);
    Model unpacked = Read(std::string(gzip, gzip_size));

    free(gzip);
    if (model) REQUIRE(unpacked || (data[0] == 0x1f && data[1] == 0x8b));
    if (model) Walk(model);
    if (unpacked) Walk(unpacked);
    return 0;
}
