// reader_fuzz.cc - any bytes as a profile, as they are and gzip'd: pprof/reader is to read them or
// to say in one line why not. Of what it has read every reference leads somewhere. Written and read
// again it is the same; twice itself minus itself adds up to itself; and it can be shown in every
// way there is. A heap profile can be loaded, and what has been loaded and written once stays as it
// is.

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fuzz.h"
#include "test/unit/support/saved.h"

extern "C" {
#include "pprof/combine.h"
#include "pprof/gzip.h"
#include "pprof/reader.h"
#include "pprof/root.h"
#include "profiler/load.h"
#include "profiler/pprof.h"
#include "report/export.h"
#include "report/groups.h"
#include "report/findings.h"
#include "report/overview.h"
#include "report/table.h"
}

namespace {

using Model = std::unique_ptr<heapprof_model, decltype(&rb_heapprof_model_free)>;

Model
Read(const std::string &bytes)
{
    char error[HEAPPROF_READER_ERROR_MAX] = "";
    Model model(rb_heapprof_reader_read_bytes(bytes.data(), bytes.size(), error),
                rb_heapprof_model_free);

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
    REQUIRE(location->mapping == HEAPPROF_NO_PLACE ||
            location->mapping < rb_heapprof_model_mappings(model.get()));
    REQUIRE(location[1].first_line <= model->line_count);
    for (uint32_t l = location->first_line; l < location[1].first_line; l++) {
        uint64_t function = model->lines[l].function;
        REQUIRE(function == HEAPPROF_NO_PLACE ||
                function < rb_heapprof_model_functions(model.get()));
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
        for (uint32_t i = 0; i < samples.location_count; i++)
            CheckLocation(model, samples.locations[i]);
        for (uint32_t i = 0; i < samples.label_count; i++) {
            CheckString(model, samples.labels[i].key);
            CheckString(model, samples.labels[i].str);
        }
    }
    REQUIRE(samples.number == model->sample_count);
    rb_heapprof_samples_end(&samples);
    return samples.number;
}

std::string
Saved(const heapprof_model *model)
{
    std::string bytes;
    REQUIRE(rb_heapprof_save(model, TakeSaved, &bytes) == HEAPPROF_SAVED);
    return bytes;
}

Model
Sum(const std::vector<const heapprof_model *> &models, const std::vector<int> &signs)
{
    const char *names[] = {"a", "b", "c"};
    char error[HEAPPROF_COMBINE_ERROR_MAX] = "";
    Model sum(rb_heapprof_combine(models.data(), signs.data(), names, models.size(), error),
              rb_heapprof_model_free);
    REQUIRE(sum);
    return sum;
}

// Whether a sum of two may stop at the end of the range.
bool
LargeP(const Model &model)
{
    heapprof_samples samples;
    double most = 0;
    REQUIRE(rb_heapprof_samples_begin(&samples, model.get()));
    while (rb_heapprof_samples_next(&samples)) {
        for (uint32_t i = 0; i < model->type_count; i++)
            most += std::fabs(static_cast<double>(samples.values[i]));
    }
    rb_heapprof_samples_end(&samples);
    return most > 1e18;
}

bool
VarianceP(const Model &model)
{
    for (uint32_t i = 0; i < model->type_count; i++) {
        if (strstr(rb_heapprof_model_string(model.get(), model->types[i].type, NULL), "_variance"))
            return true;
    }
    return false;
}

void
CheckSums(const Model &model)
{
    Model one = Sum({model.get()}, {1});
    Model again = Sum({model.get(), model.get(), model.get()}, {1, 1, -1});
    if (!LargeP(model) && !VarianceP(model)) {
        again->duration_ns = one->duration_ns;
        REQUIRE(Saved(one.get()) == Saved(again.get()));
    }
}

void
Show(const Model &model, FILE *out)
{
    const heapprof_model *models[] = { model.get(), model.get(), model.get(),
                                       model.get(), model.get(), model.get() };
    const uint32_t types[] = {0, 0, 0, 0, 0, 0};
    const char *names[] = {"one", "two", "three", "four", "five", "six"};
    report_look look = {};
    look.width = 80;
    look.names = names;
    for (int group = REPORT_SITE; group <= REPORT_LABEL; group++) { // one, two and three columns
        report_question question = {};
        report_groups groups;
        question.group = static_cast<report_group>(group);
        question.label = "k";
        question.frames = 3;
        question.sort = static_cast<report_sort>(group % 3);
        REQUIRE(report_groups_make(&groups, &question, models, types, 1 + group % 3));
        REQUIRE(report_table_text(out, &groups, &look));
        REQUIRE(report_table_json(out, &groups, &look));
        REQUIRE(report_table_markdown(out, &groups, &look));
        REQUIRE(report_findings_sarif(out, &groups, &look));
        REQUIRE(report_findings_github(out, &groups, &look));
        report_groups_free(&groups);
    }
    for (uint32_t together = 0; together <= 3; together++) {
        report_question question = {};
        question.frames = 3;
        question.together = together;
        look.files = together ? 6 : 0;
        look.sum = "three processes";
        REQUIRE(report_overview(out, &question, models, types, 6, &look, report_table_text));
        REQUIRE(report_overview(out, &question, models, types, 6, &look, report_table_markdown));
        REQUIRE(report_overview_json(out, &question, models, types, 6, &look));
    }
    for (report_export_i *each : { report_export_json, report_export_csv, report_export_collapsed,
                                   report_export_speedscope, report_export_perfetto,
                                   report_export_svg, report_export_callgrind,
                                   report_export_firefox }) {
        REQUIRE(each(out, model.get(), 0));
    }
}

// Loaded and written; empty when it is no heap profile.
std::string
Loaded(const Model &model)
{
    char error[HEAPPROF_LOAD_ERROR_MAX];
    heapprof_snapshot *snapshot = rb_heapprof_load(model.get(), error);
    size_t size = 0;

    REQUIRE(!strchr(error, '\n'));
    REQUIRE(snapshot ? !error[0] : error[0]);
    if (!snapshot) return "";
    char *bytes = rb_heapprof_pprof_encode(snapshot, "ruby", "", &size);
    REQUIRE(bytes);
    std::string encoded(bytes, size);
    free(bytes);
    rb_heapprof_snapshot_free(snapshot);
    return encoded;
}

void
CheckLoad(const Model &model)
{
    std::string once = Loaded(model);
    if (once.empty()) return;
    std::string twice = Loaded(Read(once));
    if (twice.empty()) return; // rows that look alike added up beyond the range
    REQUIRE(Loaded(Read(twice)) == twice);
}

// Each sample has a frame more, and nothing else changes.
void
CheckRoot(const std::string &bytes, const Model &model)
{
    Model rooted = Read(bytes);
    REQUIRE(rb_heapprof_model_root(rooted.get(), "k"));
    Walk(rooted);
    Model again = Read(Saved(rooted.get()));
    REQUIRE(again && again->sample_count == model->sample_count);
    REQUIRE(model->sample_count == 0 || rooted->most_locations > 0);
}

void
CheckUse(const Model &model)
{
    static FILE *nowhere = fopen("/dev/null", "w");
    std::string saved = Saved(model.get());
    Model again = Read(saved);

    REQUIRE(again);
    REQUIRE(Saved(again.get()) == saved);
    CheckSums(model);
    CheckLoad(model);
    CheckRoot(saved, model);
    Show(model, nowhere);
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
    if (model) {
        Walk(model);
        CheckUse(model);
    }
    if (unpacked) Walk(unpacked);
    return 0;
}
