/* groups.c - makes rows of samples.
 *
 *     sample --key of the group--> digest --> row --> figures: a column for each profile, or for several
 *
 * A digest is of content: names, files, lines, labels. The digests of functions are made once for each profile. A stack's
 * digest is made of the digests of its frames. A row keeps no names. It keeps an example: a place in its profile that has
 * that digest. The place depends on the group:
 *
 *     SITE CLASS LABEL          the place of a sample in model->samples
 *     FUNCTION FILE GEM APP     the number of a line; or, with NO_LINE, of a location that has no line
 *
 * The example is NOTHING if the sample has no such frame or label.
 */
#include "report/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/estimate.h"
#include "report/own.h"
#include "report/text.h"

#define NO_LINE (UINT64_C(1) << 63)
#define NOTHING UINT64_MAX

enum {FOCUS = 1, IGNORE = 2, OWN = 4}; /* marks of a function */

/* Labels that say what the memory of a site is, in the order in which a title has them. */
static const char *const title_labels[] = {"class", "caller", "owner", "native_leak"};
#define TITLE_LABELS (sizeof(title_labels) / sizeof(title_labels[0]))

/* One profile that is being added. */
struct scan {
    struct report_groups *groups;
    const struct heapprof_model *model;
    uint32_t profile, column;
    const char *directory;
    struct heapprof_digest *functions; /* by place */
    struct heapprof_digest *lines;     /* by line, if the group is SITE; otherwise NULL */
    uint32_t *rows;                    /* by line, if figures are cumulative; 0: not known yet */
    unsigned char *marks;              /* by place */
    struct report_estimate estimate;
    double kept_age;                   /* GCs since the first profile of this process; INFINITY: not known */
};

/* ---- the question ---- */

bool
report_question_group(struct report_question *question, const char *name)
{
    static const char *const names[] = {
        [REPORT_SITE] = "site", [REPORT_FUNCTION] = "function", [REPORT_CLASS] = "class", [REPORT_FILE] = "file",
        [REPORT_GEM] = "gem", [REPORT_APP] = "app",
    };

    if (!strncmp(name, "label:", 6)) {
        question->group = REPORT_LABEL;
        question->label = name + 6;
        return true;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name)) continue;
        question->group = (enum report_group)i;
        return true;
    }
    return false;
}

/* ---- frames ---- */

static struct report_frame
frame_of(const struct heapprof_model *model, uint64_t line)
{
    struct report_frame frame = {.name = "", .file = ""};

    if (line & NO_LINE) {
        const struct heapprof_model_location *location = &model->locations[line & ~NO_LINE];
        frame.address = location->address;
        if (location->mapping != HEAPPROF_NO_PLACE) {
            frame.file = rb_heapprof_model_string(model, model->mappings[location->mapping].filename, NULL);
        }
        return frame;
    }
    frame.line = model->lines[line].line;
    if (model->lines[line].function != HEAPPROF_NO_PLACE) {
        const struct heapprof_model_function *function = &model->functions[model->lines[line].function];
        frame.name = rb_heapprof_model_string(model, function->name, NULL);
        frame.file = rb_heapprof_model_string(model, function->filename, NULL);
    }
    return frame;
}

/* Calls the statement for each frame of a sample, innermost first, with frame a line or NO_LINE. */
#define EACH_FRAME(samples, frame, statement) \
    for (uint32_t i_ = 0; i_ < (samples)->location_count; i_++) { \
        const struct heapprof_model_location *location_ = \
            &(samples)->model->locations[(samples)->locations[i_]]; \
        uint64_t frame = NO_LINE | (samples)->locations[i_]; \
        if (location_->first_line == location_[1].first_line) { statement; } \
        for (frame = location_->first_line; frame < location_[1].first_line; frame++) { statement; } \
    }

static unsigned
marks_of(const struct scan *scan, uint64_t frame)
{
    uint64_t function = frame & NO_LINE ? HEAPPROF_NO_PLACE : scan->model->lines[frame].function;

    return function == HEAPPROF_NO_PLACE ? 0 : scan->marks[function];
}

/* ---- digests ---- */

static void
digest_string(struct heapprof_digest *digest, const struct heapprof_model *model, uint32_t string)
{
    size_t length;
    const char *text = rb_heapprof_model_string(model, string, &length);

    rb_heapprof_digest_bytes(digest, text, length);
}

static struct heapprof_digest
digest_text(const char *text, size_t length)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();

    rb_heapprof_digest_bytes(&digest, text, length);
    return digest;
}

/* Makes the digest of a frame's function, or of its address if it has no function. */
static struct heapprof_digest
digest_frame(const struct scan *scan, uint64_t frame)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();
    struct report_frame what;

    if (!(frame & NO_LINE) && scan->model->lines[frame].function != HEAPPROF_NO_PLACE) {
        return scan->functions[scan->model->lines[frame].function];
    }
    what = frame_of(scan->model, frame);
    rb_heapprof_digest_number(&digest, what.address);
    rb_heapprof_digest_bytes(&digest, what.file, strlen(what.file));
    return digest;
}

static void
digest_line(struct heapprof_digest *digest, const struct scan *scan, uint64_t frame)
{
    rb_heapprof_digest_add(digest, digest_frame(scan, frame));
    if (!(frame & NO_LINE)) rb_heapprof_digest_number(digest, (uint64_t)scan->model->lines[frame].line);
}

static const struct heapprof_model_label *
find_label(const struct heapprof_samples *samples, const char *key)
{
    for (uint32_t i = 0; i < samples->label_count; i++) {
        if (!strcmp(rb_heapprof_model_string(samples->model, samples->labels[i].key, NULL), key)) {
            return &samples->labels[i];
        }
    }
    return NULL;
}

static void
digest_label(struct heapprof_digest *digest, const struct heapprof_samples *samples, const char *key)
{
    const struct heapprof_model_label *label = find_label(samples, key);

    rb_heapprof_digest_number(digest, label != NULL);
    if (!label) return;
    digest_string(digest, samples->model, label->str);
    if (label->str) return;
    rb_heapprof_digest_number(digest, (uint64_t)label->num);
    digest_string(digest, samples->model, label->unit);
}

static struct heapprof_digest
digest_site(const struct scan *scan, const struct heapprof_samples *samples)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();

    for (size_t i = 0; i < TITLE_LABELS; i++) digest_label(&digest, samples, title_labels[i]);
    EACH_FRAME(samples, frame, {
        if (frame & NO_LINE) digest_line(&digest, scan, frame);
        else rb_heapprof_digest_add(&digest, scan->lines[frame]);
    });
    return digest;
}

/* Makes the digest of a frame by that group. */
static struct heapprof_digest
digest_in(const struct scan *scan, uint64_t frame)
{
    struct heapprof_digest digest;
    struct report_frame what;
    const char *gem;
    size_t length;

    switch (scan->groups->question.group) {
      case REPORT_FUNCTION: return digest_frame(scan, frame);
      case REPORT_APP:
        what = frame_of(scan->model, frame);
        digest = digest_text(what.file, strlen(what.file));
        rb_heapprof_digest_number(&digest, (uint64_t)what.line);
        return digest;
      case REPORT_GEM:
        what = frame_of(scan->model, frame);
        gem = report_gem(what.file, scan->directory, &length);
        return digest_text(gem, length);
      default:
        what = frame_of(scan->model, frame);
        return digest_text(what.file, strlen(what.file));
    }
}

/* ---- rows ---- */

/* Returns the row of that digest, or 0 if there is no memory. */
static uint32_t
find_row(struct scan *scan, struct heapprof_digest digest, uint64_t example)
{
    struct report_groups *groups = scan->groups;
    uint32_t before = groups->digests.count;
    uint32_t row = rb_heapprof_digests_number(&groups->digests, digest);

    if (row == 0 || groups->digests.count == before) return row;
    if (!HEAPPROF_MEM_GROW(&groups->mem, groups->rows, groups->row_capacity, (size_t)row + 1) ||
        !HEAPPROF_MEM_GROW(&groups->mem, groups->figures, groups->figure_capacity,
                           ((size_t)row + 1) * groups->columns)) return 0;
    groups->rows[row] = (struct report_row){.profile = scan->profile, .example = example};
    return row;
}

/* Functions and blocks may share a line of the application. The row is named after the one with the largest sample, not
 * after the one that came first. */
static void
name_by_largest(const struct scan *scan, uint32_t row, uint64_t frame, double value)
{
    struct report_row *named = &scan->groups->rows[row];

    if (fabs(value) <= named->largest) return;
    named->largest = fabs(value);
    named->profile = scan->profile;
    named->example = frame;
}

/* Adds a sample to its row. */
static struct report_figures
figures_of(const struct scan *scan, const struct heapprof_samples *samples)
{
    const struct report_estimate *estimate = &scan->estimate;
    const struct heapprof_model_label *age = find_label(samples, "gc_age");
    struct report_figures figures = {.value = (double)samples->values[estimate->value]};

    if (estimate->objects < scan->model->type_count) figures.objects = (double)samples->values[estimate->objects];
    figures.variance = report_estimate_variance(estimate, samples->values);
    figures.survived = figures.value;
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

/* Returns the row of a frame. It is looked up once for each line. */
static uint32_t
row_of_frame(struct scan *scan, uint64_t frame)
{
    if (frame & NO_LINE) return find_row(scan, digest_in(scan, frame), frame);
    if (!scan->rows[frame]) scan->rows[frame] = find_row(scan, digest_in(scan, frame), frame);
    return scan->rows[frame];
}

/* Adds a sample to the rows of all its frames, once to each row. */
static bool
add_cumulative(struct scan *scan, const struct heapprof_samples *samples, double value)
{
    struct report_groups *groups = scan->groups;
    bool room = true;

    groups->stamp++;
    EACH_FRAME(samples, frame, {
        uint32_t row = row_of_frame(scan, frame);
        if (row == 0) room = false;
        else if (groups->rows[row].stamp != groups->stamp) {
            groups->rows[row].stamp = groups->stamp;
            report_figures_of(groups, row, scan->column)->cumulative += value;
        }
    });
    return room;
}

/* Returns whether both frames are on one line. A C function counts for the line that called it. */
static bool
same_line_p(const struct heapprof_model *model, uint64_t one, uint64_t other)
{
    struct report_frame a = frame_of(model, one), b = frame_of(model, other);

    return a.line == b.line && !strcmp(a.file, b.file);
}

/* Returns the innermost line of the application. If several frames are on that line, returns the outermost of them,
 * which is not a C function. */
static uint64_t
own_frame(const struct scan *scan, const struct heapprof_samples *samples)
{
    uint64_t own = NOTHING;

    EACH_FRAME(samples, frame, {
        if (own != NOTHING && !same_line_p(scan->model, own, frame)) return own;
        if (own != NOTHING || marks_of(scan, frame) & OWN) own = frame;
    });
    return own;
}

static uint64_t
innermost_frame(const struct heapprof_samples *samples)
{
    EACH_FRAME(samples, frame, return frame);
    return NOTHING;
}

static uint32_t
row_of_own(struct scan *scan, const struct heapprof_samples *samples, double value)
{
    uint64_t frame = own_frame(scan, samples);
    uint32_t row;

    if (frame == NOTHING) return find_row(scan, rb_heapprof_digest_begin(), NOTHING);
    row = find_row(scan, digest_in(scan, frame), frame);
    if (row) name_by_largest(scan, row, frame, value);
    return row;
}

/* Returns the row of the sample at that place, which has that value. */
static uint32_t
row_of(struct scan *scan, const struct heapprof_samples *samples, uint64_t at, double value)
{
    const struct report_question *question = &scan->groups->question;
    struct heapprof_digest digest;
    uint64_t frame;

    switch (question->group) {
      case REPORT_SITE: return find_row(scan, digest_site(scan, samples), at);
      case REPORT_CLASS: case REPORT_LABEL:
        digest = rb_heapprof_digest_begin();
        digest_label(&digest, samples, question->group == REPORT_CLASS ? "class" : question->label);
        return find_row(scan, digest, at);
      case REPORT_APP:
        return row_of_own(scan, samples, value);
      default:
        frame = innermost_frame(samples);
        return frame == NOTHING ? find_row(scan, rb_heapprof_digest_begin(), NOTHING) : row_of_frame(scan, frame);
    }
}

static bool
wanted_p(const struct scan *scan, const struct heapprof_samples *samples)
{
    const struct report_question *question = &scan->groups->question;
    unsigned marks = 0;

    if (!question->focus && !question->ignore) return true;
    EACH_FRAME(samples, frame, marks |= marks_of(scan, frame));
    return (!question->focus || marks & FOCUS) && !(marks & IGNORE);
}

static bool
add_sample(struct scan *scan, const struct heapprof_samples *samples, uint64_t at)
{
    struct report_groups *groups = scan->groups;
    struct report_figures figures;
    uint32_t row;

    if (!wanted_p(scan, samples)) return true;
    figures = figures_of(scan, samples);
    if (figures.value == 0 && figures.objects == 0) return true;
    row = row_of(scan, samples, at, figures.value);
    if (row == 0) return false;
    note_what_there_is(groups, &figures);
    add_figures(report_figures_of(groups, 0, scan->column), &figures);
    add_figures(report_figures_of(groups, row, scan->column), &figures);
    return !report_cumulative_p(groups->question.group) || add_cumulative(scan, samples, figures.value);
}

/* ---- a profile ---- */

static unsigned
marks_for(const struct scan *scan, const struct heapprof_model_function *function)
{
    const struct report_question *question = &scan->groups->question;
    const char *name = rb_heapprof_model_string(scan->model, function->name, NULL);
    const char *file = rb_heapprof_model_string(scan->model, function->filename, NULL);
    unsigned marks = 0;

    if (question->focus && (!regexec(question->focus, name, 0, NULL, 0) ||
                            !regexec(question->focus, file, 0, NULL, 0))) marks |= FOCUS;
    if (question->ignore && (!regexec(question->ignore, name, 0, NULL, 0) ||
                             !regexec(question->ignore, file, 0, NULL, 0))) marks |= IGNORE;
    return report_own_p(file, scan->directory) ? marks | OWN : marks;
}

static bool
look_at_functions(struct scan *scan)
{
    uint32_t count = rb_heapprof_model_functions(scan->model);

    scan->functions = malloc(((size_t)count + 1) * sizeof(*scan->functions));
    scan->marks = malloc((size_t)count + 1);
    if (!scan->functions || !scan->marks) return false;
    for (uint32_t place = 0; place < count; place++) {
        const struct heapprof_model_function *function = &scan->model->functions[place];
        struct heapprof_digest *digest = &scan->functions[place];
        *digest = rb_heapprof_digest_begin();
        digest_string(digest, scan->model, function->name);
        digest_string(digest, scan->model, function->filename);
        scan->marks[place] = (unsigned char)marks_for(scan, function);
    }
    return true;
}

/* Computes once what is needed for a line many times. */
static bool
look_at_lines(struct scan *scan)
{
    enum report_group group = scan->groups->question.group;
    size_t count = (size_t)scan->model->line_count + 1;

    if (report_cumulative_p(group)) return (scan->rows = calloc(count, sizeof(*scan->rows))) != NULL;
    if (group != REPORT_SITE) return true;
    scan->lines = malloc(count * sizeof(*scan->lines));
    for (uint32_t line = 0; scan->lines && line < scan->model->line_count; line++) {
        scan->lines[line] = rb_heapprof_digest_begin();
        digest_line(&scan->lines[line], scan, line);
    }
    return scan->lines != NULL;
}

static double
gc_of(const struct heapprof_model *model)
{
    const char *text = rb_heapprof_model_comment(model, "as of GC: ");

    return text ? strtod(text, NULL) : NAN;
}

/* Returns how many GCs have passed since that profile, or INFINITY if the profiles are of different runs. A sample that
 * is as old was in that profile, too, with the same weight. So it adds nothing to the error of a difference. */
static double
gcs_since(const struct heapprof_model *before, const struct heapprof_model *model)
{
    double gcs = gc_of(model) - gc_of(before);

    if (model->duration_ns == 0 || isnan(gcs) || model->time_ns < before->time_ns ||
        before->time_ns - before->duration_ns != model->time_ns - model->duration_ns) return INFINITY;
    return gcs < 1 ? 1 : gcs;
}

static bool
add_profile(struct report_groups *groups, uint32_t profile)
{
    const struct heapprof_model *model = groups->models[profile];
    uint32_t together = groups->question.together;
    struct scan scan = {.groups = groups, .model = model, .profile = profile, .column = profile / together,
                        .kept_age = INFINITY};
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);
    uint32_t allocated = rb_heapprof_model_type(model, "alloc_space");
    uint64_t at = 0;

    scan.directory = groups->question.directory;
    if (!scan.directory) scan.directory = rb_heapprof_model_comment(model, "directory: ");
    groups->directories[profile] = scan.directory;
    if (scan.column > 0) scan.kept_age = gcs_since(groups->models[profile % together], model);
    report_estimate_init(&scan.estimate, model, groups->types[profile]);
    room = look_at_functions(&scan) && look_at_lines(&scan) && room;
    while (room && rb_heapprof_samples_next(&samples)) {
        room = add_sample(&scan, &samples, at);
        if (allocated < model->type_count) groups->work[scan.column] += (double)samples.values[allocated];
        at = samples.at;
    }
    rb_heapprof_samples_end(&samples);
    free(scan.functions);
    free(scan.lines);
    free(scan.rows);
    free(scan.marks);
    return room;
}

bool
report_cumulative_p(enum report_group group)
{
    return group == REPORT_FUNCTION || group == REPORT_FILE || group == REPORT_GEM;
}

bool
report_any_own_p(const struct report_groups *groups)
{
    for (uint32_t row = 1; row <= groups->digests.count; row++) {
        if (groups->rows[row].example != NOTHING) return true;
    }
    return false;
}

bool
report_groups_make(struct report_groups *groups, const struct report_question *question,
                   const struct heapprof_model *const *models, const uint32_t *types, uint32_t profiles)
{
    *groups = (struct report_groups){.question = *question, .models = models, .profiles = profiles};
    if (groups->question.together == 0) groups->question.together = 1;
    groups->columns = profiles / groups->question.together;
    rb_heapprof_mem_init(&groups->mem, SIZE_MAX);
    groups->digests.mem = &groups->mem;
    groups->types = malloc(profiles * sizeof(*types));
    groups->directories = calloc(profiles, sizeof(*groups->directories));
    groups->work = calloc((size_t)groups->columns + 1, sizeof(*groups->work));
    if (!groups->types || !groups->directories || !groups->work ||
        !HEAPPROF_MEM_GROW(&groups->mem, groups->figures, groups->figure_capacity, groups->columns)) return false;
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
    free(groups->work);
}

/* ---- what a row stands for ---- */

bool
report_row_of_others_p(const struct report_groups *groups, uint32_t row)
{
    return groups->question.group == REPORT_APP && groups->rows[row].example == NOTHING;
}

static char *
text_of(const char *text, size_t length)
{
    char *copy = malloc(length + 1);

    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* Joins several texts into one, in a block from malloc. */
static char *
join(const char *first, const char *between, const char *second, const char *end)
{
    size_t size = strlen(first) + strlen(between) + strlen(second) + strlen(end) + 1;
    char *text = malloc(size);

    if (text) snprintf(text, size, "%s%s%s%s", first, between, second, end);
    return text;
}

static char *
label_text(const struct heapprof_samples *samples, const struct heapprof_model_label *label)
{
    char number[REPORT_AMOUNT_MAX];

    if (!label) return text_of("(none)", 6);
    if (label->str) {
        const char *text = rb_heapprof_model_string(samples->model, label->str, NULL);
        return text_of(text, strlen(text));
    }
    report_amount(number, (double)label->num, rb_heapprof_model_string(samples->model, label->unit, NULL));
    return text_of(number, strlen(number));
}

/* Returns the innermost function's name, or "" if there is no function. */
static const char *
innermost(const struct heapprof_samples *samples)
{
    EACH_FRAME(samples, frame, return frame_of(samples->model, frame).name);
    return "";
}

/* Returns a site's title: "String", or "str_enc_new (ruby) for Cart native_leak". If the profile has no classes, returns
 * the name of the function. */
static char *
site_title(const struct heapprof_samples *samples)
{
    const struct heapprof_model_label *caller = find_label(samples, "caller");
    const struct heapprof_model_label *owner = find_label(samples, "owner");
    const struct heapprof_model_label *class = find_label(samples, "class");
    const char *leak = find_label(samples, "native_leak") ? " native_leak" : "";

    if (!caller) return class ? label_text(samples, class) : join(innermost(samples), "", "", "");
    return join(rb_heapprof_model_string(samples->model, caller->str, NULL), owner ? " for " : "",
                owner ? rb_heapprof_model_string(samples->model, owner->str, NULL) : "", leak);
}

static char *
title_of_sample(const struct report_groups *groups, const struct report_row *row)
{
    const struct report_question *question = &groups->question;
    struct heapprof_samples samples;
    char *title = NULL;

    if (rb_heapprof_samples_begin(&samples, groups->models[row->profile])) {
        samples.at = row->example;
        rb_heapprof_samples_next(&samples);
        if (question->group == REPORT_SITE) title = site_title(&samples);
        else {
            const char *key = question->group == REPORT_CLASS ? "class" : question->label;
            title = label_text(&samples, find_label(&samples, key));
        }
    }
    rb_heapprof_samples_end(&samples);
    return title;
}

static char *
frame_title(const struct report_frame *frame)
{
    char address[32];

    if (frame->name[0]) return join(frame->name, frame->file[0] ? "  " : "", frame->file, "");
    snprintf(address, sizeof(address), "0x%llx", (unsigned long long)frame->address);
    return join(address, frame->file[0] ? "  " : "", frame->file, "");
}

static char *
line_title(const struct report_frame *frame, const char *directory)
{
    char line[32];

    snprintf(line, sizeof(line), ":%lld:in '", (long long)frame->line);
    return join(report_short_path(frame->file, directory), line, frame->name, "'");
}

char *
report_row_title(const struct report_groups *groups, uint32_t number)
{
    const struct report_row *row = &groups->rows[number];
    const struct heapprof_model *model = groups->models[row->profile];
    const char *text;
    struct report_frame frame;
    size_t length;

    switch (groups->question.group) {
      case REPORT_SITE: case REPORT_CLASS: case REPORT_LABEL: return title_of_sample(groups, row);
      default: break;
    }
    if (row->example == NOTHING) {
        const char *none = report_row_of_others_p(groups, number) ? "(no line of the application)" : "(none)";
        return text_of(none, strlen(none));
    }
    frame = frame_of(model, row->example);
    switch (groups->question.group) {
      case REPORT_FUNCTION: return frame_title(&frame);
      case REPORT_APP: return line_title(&frame, groups->directories[row->profile]);
      case REPORT_GEM:
        text = report_gem(frame.file, groups->directories[row->profile], &length);
        return text_of(text, length);
      default: return frame.file[0] ? text_of(frame.file, strlen(frame.file)) : text_of("(no file)", 9);
    }
}

const char *
report_row_directory(const struct report_groups *groups, uint32_t row)
{
    return groups->directories[groups->rows[row].profile];
}

bool
report_row_frames(const struct report_groups *groups, uint32_t number, report_frame_i *each, void *data)
{
    const struct report_row *row = &groups->rows[number];
    const struct heapprof_model *model = groups->models[row->profile];
    const char *directory = groups->directories[row->profile];
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    if (room && groups->question.group == REPORT_SITE) {
        samples.at = row->example;
        rb_heapprof_samples_next(&samples);
        EACH_FRAME(&samples, line, {
            struct report_frame frame = frame_of(model, line);
            each(data, &frame, report_own_p(frame.file, directory));
        });
    }
    rb_heapprof_samples_end(&samples);
    return room;
}
