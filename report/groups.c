/* groups.c - makes rows of samples.
 *
 *     sample --key of the group--> digest --> row --> figures: a column for each profile, or for several
 *
 * A digest is of what a reader sees of a row (scan_digests.c). The digests of functions are made
 * once for each profile. A row keeps no names of its own. It has an example, a place in
 * its profile that has that digest, or a part of a text of its profile:
 *
 *     SITE CLASS LABEL     the place of a sample in model->samples
 *     FUNCTION FILE APP    the number of a line; or, with REPORT_NO_LINE, of a location that has
 *                          no line
 *     GEM LIBRARY          its name; and of any group, if the row is a table of the VM
 *
 * The example is REPORT_NOTHING if the sample has no such frame or label.
 */
#include "report/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/own.h"
#include "report/scan.h"

/* ---- a sample ---- */

/* Adds a sample to its row. */
static struct report_figures
figures_of(const struct report_scan *scan, const struct heapprof_samples *samples)
{
    const struct report_estimate *estimate = &scan->estimate;
    const struct heapprof_model_label *age = report_find_label(samples, "gc_age");
    struct report_figures figures = {.value = (double)samples->values[estimate->value]};

    if (estimate->objects < scan->model->type_count)
        figures.objects = (double)samples->values[estimate->objects];
    figures.variance = report_estimate_variance(estimate, samples->values);
    figures.survived = figures.value;
    if (scan->kept_age == 0) figures.kept = figures.variance;
    if (age && !age->str) {
        if (age->num == 0) figures.survived = 0;
        figures.aged = figures.value;
        figures.age = figures.value * (double)age->num;
        if ((double)age->num >= scan->kept_age) figures.kept = figures.variance;
    }
    return figures;
}

static void
add_figures(struct report_figures *sum, const struct report_figures *figures)
{
    sum->value += figures->value;
    sum->objects += figures->objects;
    sum->variance += figures->variance;
    sum->kept += figures->kept;
    sum->aged += figures->aged;
    sum->age += figures->age;
    sum->survived += figures->survived;
}

static void
note_what_there_is(struct report_groups *groups, const struct report_figures *figures)
{
    groups->has_objects = groups->has_objects || figures->objects != 0;
    groups->has_ages = groups->has_ages || figures->aged != 0;
    groups->has_errors = groups->has_errors || figures->variance != 0;
}

static bool
add_sample(struct report_scan *scan, const struct heapprof_samples *samples, uint64_t at)
{
    struct report_groups *groups = scan->groups;
    const char *vm = report_vm_table(samples);
    struct report_figures figures;
    uint32_t row;

    if (!report_scan_wanted_p(scan, samples, vm)) return true;
    groups->any_wanted = true;
    groups->any_caller = groups->any_caller || report_find_label(samples, "caller");
    groups->any_owner = groups->any_owner || report_find_label(samples, "owner");
    figures = figures_of(scan, samples);
    if (figures.value == 0 && figures.objects == 0) return true;
    row = report_scan_row(scan, samples, at, figures.value, vm);
    if (row == 0) return false;
    note_what_there_is(groups, &figures);
    add_figures(report_figures_of(groups, 0, scan->column), &figures);
    add_figures(report_figures_of(groups, row, scan->column), &figures);
    if (!groups->cumulative) return true;
    groups->stamp++;
    report_scan_add_once(scan, row, figures.value);
    return vm || report_scan_cumulative(scan, samples, figures.value);
}

/* ---- a profile ---- */

/* Computes once what is needed for a line many times. */
static bool
look_at_lines(struct report_scan *scan)
{
    size_t count = (size_t)scan->model->line_count + 1;

    if (scan->groups->question.group != REPORT_SITE)
        return (scan->rows = calloc(count, sizeof(*scan->rows))) != NULL;
    scan->lines = malloc(count * sizeof(*scan->lines));
    for (uint32_t line = 0; scan->lines && line < scan->model->line_count; line++) {
        scan->lines[line] = report_digest_frame(scan, line);
    }
    return scan->lines != NULL;
}

static double
gc_of(const struct heapprof_model *model)
{
    const char *text = rb_heapprof_model_comment(model, "as of GC: ");

    return text ? strtod(text, NULL) : NAN;
}

/* Returns how many GCs have passed since that profile; 0 if both are of one moment; or INFINITY if
 * it is the later one, or of another run. A sample that is as old was in that profile, too, with
 * the same weight. So it adds nothing to the error of a difference. */
static double
gcs_since(const struct heapprof_model *before, const struct heapprof_model *model)
{
    double gcs = gc_of(model) - gc_of(before);

    if (model->time_ns < before->time_ns ||
        before->time_ns - before->duration_ns != model->time_ns - model->duration_ns)
        return INFINITY;
    if (model->time_ns != 0 && model->time_ns == before->time_ns) return 0;
    if (model->duration_ns == 0 || isnan(gcs)) return INFINITY;
    return gcs < 1 ? 1 : gcs;
}

/* Two profiles are compared by the ages in the later one: these say what both have. The first
 * profile of a process is compared with the last one, each other one with the first. */
static double
kept_age_of(const struct report_groups *groups, uint32_t profile)
{
    uint32_t together = groups->question.together, column = profile / together;
    uint32_t other = profile % together + (column > 0 ? 0 : (groups->columns - 1) * together);

    return other == profile ? INFINITY
                            : gcs_since(groups->models[other], groups->models[profile]);
}

double
report_growth_variance(const struct report_groups *groups, uint32_t row)
{
    const struct report_figures *now = report_figures_of(groups, row, groups->columns - 1),
                                *before = report_figures_of(groups, row, 0);

    if (groups->columns == 1) return now->variance;
    double kept = fmax(fmin(now->kept, before->variance), fmin(before->kept, now->variance));
    return now->variance + before->variance - 2 * kept;
}

static bool
add_profile(struct report_groups *groups, uint32_t profile)
{
    const struct heapprof_model *model = groups->models[profile];
    struct report_scan scan = { .groups = groups,
                         .model = model,
                         .profile = profile,
                         .column = profile / groups->question.together,
                         .kept_age = kept_age_of(groups, profile) };
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);
    uint32_t allocated = rb_heapprof_model_type(model, "alloc_space");
    uint64_t at = 0;

    scan.directory = groups->question.directory;
    if (!scan.directory) scan.directory = report_directories(model);
    groups->directories[profile] = scan.directory;
    groups->defined[profile] = report_definitions_p(model);
    report_estimate_init(&scan.estimate, model, groups->types[profile]);
    room = report_scan_functions(&scan) && look_at_lines(&scan) && room;
    while (room && rb_heapprof_samples_next(&samples)) {
        room = add_sample(&scan, &samples, at);
        if (allocated < model->type_count)
            groups->work[scan.column] += (double)samples.values[allocated];
        at = samples.at;
    }
    rb_heapprof_samples_end(&samples);
    free(scan.lines);
    free(scan.rows);
    free(scan.marks);
    free(scan.text_marks);
    return room;
}

bool
report_any_own_p(const struct report_groups *groups)
{
    for (uint32_t row = 1; row <= groups->digests.count; row++) {
        if (groups->rows[row].example != REPORT_NOTHING) return true;
    }
    return false;
}

bool
report_groups_make(struct report_groups *groups, const struct report_question *question,
                   const struct heapprof_model *const *models, const uint32_t *types,
                   uint32_t profiles)
{
    *groups = (struct report_groups){.question = *question, .models = models, .profiles = profiles};
    if (groups->question.together == 0) groups->question.together = 1;
    groups->columns = profiles / groups->question.together;
    groups->cumulative =
        report_cumulative_p(question->group) &&
        (question->group != REPORT_APP || question->sort == REPORT_SORT_CUMULATIVE);
    rb_heapprof_mem_init(&groups->mem, SIZE_MAX);
    groups->digests.mem = &groups->mem;
    groups->types = malloc(profiles * sizeof(*types));
    groups->directories = calloc(profiles, sizeof(*groups->directories));
    groups->defined = calloc(profiles, sizeof(*groups->defined));
    groups->work = calloc((size_t)groups->columns + 1, sizeof(*groups->work));
    if (!groups->types || !groups->directories || !groups->defined || !groups->work ||
        !HEAPPROF_MEM_GROW(&groups->mem, groups->figures, groups->figure_capacity, groups->columns))
        return false;
    memcpy(groups->types, types, profiles * sizeof(*types));
    for (uint32_t profile = 0; profile < profiles; profile++) {
        if (!add_profile(groups, profile)) return false;
    }
    return true;
}

void
report_groups_free(struct report_groups *groups)
{
    rb_heapprof_digests_free(&groups->digests);
    HEAPPROF_MEM_RELEASE(&groups->mem, groups->rows, groups->row_capacity);
    HEAPPROF_MEM_RELEASE(&groups->mem, groups->figures, groups->figure_capacity);
    free(groups->types);
    free(groups->directories);
    free(groups->defined);
    free(groups->work);
}
