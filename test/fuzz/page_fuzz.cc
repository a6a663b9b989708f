// page_fuzz.cc - any profile that can be read as the page of heapprof view gets it: whatever is in
// it, no value is lost, less itself it is nothing, and its JSON has nothing that means something in
// HTML, and nothing that is not seen.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "fuzz.h"

extern "C" {
#include "base/unseen.h"
#include "base/utf8.h"
#include "pprof/reader.h"
#include "report/page.h"
}

namespace {

using Model = std::unique_ptr<heapprof_model, decltype(&rb_heapprof_model_free)>;
using Sums = std::vector<uint64_t>; // by type, as numbers that wrap around

void
Add(report_page_tables *tables, const Model &model, int sign)
{
    std::vector<uint32_t> types;
    for (uint32_t t = 0; t < model->type_count; t++) types.push_back(t);
    REQUIRE(report_page_tables_add(tables, model.get(), types.data(), sign));
}

Sums
SumsOf(const report_page_tables &tables)
{
    Sums sums(tables.type_count);
    for (uint32_t row = 0; row < tables.rows.count; row++) {
        for (size_t t = 0; t < sums.size(); t++)
            sums[t] += static_cast<uint64_t>(tables.values[row * sums.size() + t]);
    }
    return sums;
}

Sums
SumsOf(const Model &model)
{
    Sums sums(model->type_count);
    heapprof_samples samples;
    REQUIRE(rb_heapprof_samples_begin(&samples, model.get()));
    while (rb_heapprof_samples_next(&samples)) {
        for (size_t t = 0; t < sums.size(); t++)
            sums[t] += static_cast<uint64_t>(samples.values[t]);
    }
    rb_heapprof_samples_end(&samples);
    return sums;
}

void
PutNoSources(report_json *json, void *)
{
    report_json_begin(json, '[');
    report_json_end(json, ']');
}

void
CheckJson(const Model &model, const report_page_tables &tables)
{
    char *text = nullptr;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    report_page page = {"<", nullptr, model.get(), &tables, PutNoSources, nullptr};

    report_page_write(out, &page);
    REQUIRE(fclose(out) == 0);
    REQUIRE(size > 2 && text[0] == '{' && text[size - 1] == '}');
    REQUIRE(strcspn(text, "<>&") == size);
    for (size_t at = 0, length; at < size; at += length) {
        uint32_t code = rb_heapprof_utf8_character(text + at, &length);
        REQUIRE(length > 0 && at + length <= size);
        REQUIRE(code == '\n' || !rb_heapprof_unseen_p(code));
    }
    free(text);
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[HEAPPROF_READER_ERROR_MAX];
    Model model(rb_heapprof_reader_read_bytes(data, size, error), rb_heapprof_model_free);
    report_page_tables tables;

    if (!model) return 0;
    report_page_tables_init(&tables, model->type_count, nullptr);
    Add(&tables, model, 1);
    REQUIRE(SumsOf(tables) == SumsOf(model));
    REQUIRE(report_page_tables_fold(&tables, size % 8, size % 5));
    REQUIRE(SumsOf(tables) == SumsOf(model));
    CheckJson(model, tables);
    Add(&tables, model, -1);
    REQUIRE(SumsOf(tables) == Sums(model->type_count));
    report_page_tables_free(&tables);
    return 0;
}
