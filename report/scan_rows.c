/* scan_rows.c - the row that a sample belongs to. A row that is new gets the sample as its example
 * (groups.c). */
#include "report/scan.h"

#include <math.h>
#include <string.h>

#include "report/own.h"

/* Returns the row of that digest, or 0 if there is no memory. as is what stands for the row if it
 * is new. */
static uint32_t
find_row_as(struct report_scan *scan, struct heapprof_digest digest, const struct report_row *as)
{
    struct report_groups *groups = scan->groups;
    uint32_t before = groups->digests.count;
    uint32_t row = rb_heapprof_digests_number(&groups->digests, digest);

    if (row == 0 || groups->digests.count == before) return row;
    if (!HEAPPROF_MEM_GROW(&groups->mem, groups->rows, groups->row_capacity, (size_t)row + 1) ||
        !HEAPPROF_MEM_GROW(&groups->mem, groups->figures, groups->figure_capacity,
                           ((size_t)row + 1) * groups->columns)) return 0;
    groups->rows[row] = *as;
    groups->rows[row].profile = scan->profile;
    return row;
}

static uint32_t
find_row(struct report_scan *scan, struct heapprof_digest digest, uint64_t example)
{
    return find_row_as(scan, digest, &(struct report_row){.example = example});
}

/* Returns the row of that name, which is a text of the profile or a constant. */
static uint32_t
find_named_row(struct report_scan *scan, const char *name, size_t length, bool vm)
{
    const struct report_row as = {
        .example = REPORT_NOTHING, .name = name, .name_length = length, .vm = vm
    };

    return find_row_as(scan, report_digest_text(name, length), &as);
}

/* Functions and blocks may share a line of the application. The row is named after the one with
 * the largest sample, not after the one that came first. */
static void
name_by_largest(const struct report_scan *scan, uint32_t row, uint64_t frame, double value)
{
    struct report_row *named = &scan->groups->rows[row];

    if (fabs(value) <= named->largest) return;
    named->largest = fabs(value);
    named->profile = scan->profile;
    named->example = frame;
}

/* Returns the row of a frame. It is looked up once for each line. */
static uint32_t
row_of_frame(struct report_scan *scan, uint64_t frame)
{
    if (frame & REPORT_NO_LINE) return find_row(scan, report_digest_in(scan, frame), frame);
    if (!scan->rows[frame])
        scan->rows[frame] = find_row(scan, report_digest_in(scan, frame), frame);
    return scan->rows[frame];
}

void
report_scan_add_once(const struct report_scan *scan, uint32_t row, double value)
{
    struct report_groups *groups = scan->groups;

    if (groups->rows[row].stamp == groups->stamp) return;
    groups->rows[row].stamp = groups->stamp;
    report_figures_of(groups, row, scan->column)->cumulative += value;
}

/* Adds a sample to the rows of all its frames, once to each row: of lines, to those of the
 * application. If no sample was of the row itself, the outermost frame on the line names it: that
 * is no C function. */
bool
report_scan_cumulative(struct report_scan *scan, const struct heapprof_samples *samples,
                       double value)
{
    bool lines = scan->groups->question.group == REPORT_APP, room = true;

    REPORT_EACH_FRAME(samples, frame, {
        bool left_out = lines && !(report_scan_marks(scan, frame) & REPORT_OWN);
        uint32_t row = left_out ? UINT32_MAX : row_of_frame(scan, frame);
        if (row == 0) room = false;
        else if (row != UINT32_MAX) {
            struct report_row *of = &scan->groups->rows[row];
            if (lines && of->largest == 0 && of->profile == scan->profile) of->example = frame;
            report_scan_add_once(scan, row, value);
        }
    });
    return room;
}

/* Returns whether both frames are on one line. A C function counts for the line that called it. */
static bool
same_line_p(const struct report_scan *scan, uint64_t one, uint64_t other)
{
    struct report_frame a = report_scan_frame(scan, one), b = report_scan_frame(scan, other);

    return a.line == b.line && !strcmp(a.file, b.file);
}

/* Returns the innermost line of the application. If several frames are on that line, returns the
 * outermost of them, which is not a C function. */
static uint64_t
own_frame(const struct report_scan *scan, const struct heapprof_samples *samples)
{
    uint64_t own = REPORT_NOTHING;

    REPORT_EACH_FRAME(samples, frame, {
        if (own != REPORT_NOTHING && !same_line_p(scan, own, frame)) return own;
        if (own != REPORT_NOTHING || report_scan_marks(scan, frame) & REPORT_OWN) own = frame;
    });
    return own;
}

static uint64_t
innermost_frame(const struct heapprof_samples *samples)
{
    REPORT_EACH_FRAME(samples, frame, return frame);
    return REPORT_NOTHING;
}

static uint32_t
row_of_own(struct report_scan *scan, const struct heapprof_samples *samples, double value)
{
    uint64_t frame = own_frame(scan, samples);
    uint32_t row;

    if (frame == REPORT_NOTHING) return find_row(scan, report_digest_unnamed(), REPORT_NOTHING);
    row = row_of_frame(scan, frame);
    if (row) name_by_largest(scan, row, frame, value);
    return row;
}

/* Returns the row of the innermost function, or of its file. */
static uint32_t
row_of_innermost(struct report_scan *scan, const struct heapprof_samples *samples)
{
    uint64_t frame = innermost_frame(samples);

    return frame == REPORT_NOTHING ? find_row(scan, report_digest_unnamed(), REPORT_NOTHING)
                                   : row_of_frame(scan, frame);
}

/* Returns the gem that a library belongs to, by the comments of the profile that say where
 * libraries are: "library: PATH". Returns NULL if it is no gem's, or if libraries of two gems
 * have that name. */
static const char *
gem_of_library(const struct report_scan *scan, const char *library, size_t length,
               size_t *gem_length)
{
    static const char start[] = "library: ";
    const struct heapprof_model *model = scan->model;
    const char *found = NULL;

    *gem_length = 0;
    for (uint32_t i = 0; i < model->comment_count; i++) {
        const char *path = rb_heapprof_model_string(model, model->comments[i], NULL);
        if (strncmp(path, start, sizeof(start) - 1)) continue;
        const char *name = strrchr(path, '/');
        if (!name || strlen(name + 1) != length || strncmp(name + 1, library, length)) continue;
        size_t other;
        const char *gem = report_gem(path + sizeof(start) - 1, scan->directory, &other);
        if (gem[0] == '(') continue;
        if (found && (other != *gem_length || strncmp(gem, found, other))) return NULL;
        found = gem;
        *gem_length = other;
    }
    return found;
}

/* Returns the row of the gem: what an extension asks of malloc is its gem's, whoever has called
 * it. */
static uint32_t
row_of_gem(struct report_scan *scan, const struct heapprof_samples *samples)
{
    const struct heapprof_model_label *caller = report_find_label(samples, "caller");
    const char *library = NULL, *gem = NULL;
    size_t length, gem_length;

    if (caller)
        library = report_caller_library(rb_heapprof_model_string(scan->model, caller->str, NULL),
                                        &length);
    if (library) gem = gem_of_library(scan, library, length, &gem_length);
    return gem ? find_named_row(scan, gem, gem_length, false) : row_of_innermost(scan, samples);
}

/* Returns the row of the library whose C function asked for the memory. Objects have no such
 * function. In profiles of other programs it is the file that the code is from. */
static uint32_t
row_of_library(struct report_scan *scan, const struct heapprof_samples *samples)
{
    const struct heapprof_model_label *caller = report_find_label(samples, "caller");
    const struct heapprof_model *model = scan->model;
    const char *library = NULL;
    size_t length = 0;

    if (caller)
        library =
            report_caller_library(rb_heapprof_model_string(model, caller->str, NULL), &length);
    else if (report_find_label(samples, "class")) length = strlen(library = "(Ruby objects)");
    else if (samples->location_count > 0 &&
             model->locations[samples->locations[0]].mapping != HEAPPROF_NO_PLACE) {
        uint64_t mapping = model->locations[samples->locations[0]].mapping;
        const char *file = rb_heapprof_model_string(model, model->mappings[mapping].filename, NULL);
        const char *slash = strrchr(file, '/');
        length = strlen(library = slash ? slash + 1 : file);
    }
    if (length == 0) length = strlen(library = "(not known)");
    return find_named_row(scan, library, length, false);
}

/* Returns whether the group is by a label that says what the memory is. Only then a table of the
 * VM has no row of its own. */
static bool
label_of_memory_p(const struct report_question *question)
{
    static const char *const keys[] = {
        "class", "owner", "caller", "gc_age", "death_age", "native_leak", "memsize",
        "owner_allocated_by"
    };

    if (question->group == REPORT_CLASS) return true;
    if (question->group != REPORT_LABEL) return false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!strcmp(question->label, keys[i])) return true;
    return false;
}

static uint32_t
row_of_label(struct report_scan *scan, const struct heapprof_samples *samples, uint64_t at)
{
    const struct report_question *question = &scan->groups->question;
    const char *key = question->group == REPORT_CLASS ? "class" : question->label;

    if (report_find_label(samples, key)) {
        scan->groups->any_label = true;
        if (!label_of_memory_p(question) && report_scan_loading_p(scan, samples))
            return find_named_row(scan, "(load)", strlen("(load)"), false);
    }
    return find_row(scan, report_digest_label(samples, key), at);
}

uint32_t
report_scan_row(struct report_scan *scan, const struct heapprof_samples *samples, uint64_t at,
                double value, const char *vm)
{
    const struct report_question *question = &scan->groups->question;

    if (vm && !label_of_memory_p(question)) return find_named_row(scan, vm, strlen(vm), true);
    switch (question->group) {
      case REPORT_SITE: return find_row(scan, report_digest_site(scan, samples), at);
      case REPORT_CLASS: case REPORT_LABEL: return row_of_label(scan, samples, at);
      case REPORT_APP: return row_of_own(scan, samples, value);
      case REPORT_GEM: return row_of_gem(scan, samples);
      case REPORT_LIBRARY: return row_of_library(scan, samples);
      default: return row_of_innermost(scan, samples);
    }
}
