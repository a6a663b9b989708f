/* groups.c - makes rows of samples.
 *
 *     sample --key of the group--> digest --> row --> figures: a column for each profile, or for several
 *
 * A digest is of what a reader sees of a row: names, short paths, lines, labels. So no two rows
 * look alike. The digests of functions are made once for each profile. A stack's digest is made
 * of the digests of its frames. A row keeps no names of its own. It has an example, a place in
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

#include "report/estimate.h"
#include "report/own.h"

/* Seed of the digests of what has no name. No name is so long. */
#define UNNAMED (UINT64_C(1) << 62)

enum {FOCUS = 1, IGNORE = 2, OWN = 4, SEEN = 8}; /* marks of a function, or of a label's text */

/* One profile that is being added. */
struct scan {
    struct report_groups *groups;
    const struct heapprof_model *model;
    uint32_t profile, column;
    const char *directory;
    bool defined;                      /* the profile says where functions are defined */
    struct heapprof_digest *lines;     /* by line, if the group is SITE; otherwise NULL */
    uint32_t *rows;                    /* by line, if figures are cumulative; 0: not known yet */
    unsigned char *marks;              /* by place */
    unsigned char *text_marks;         /* by string, of labels; NULL: no pattern was given */
    struct report_estimate estimate;
    double kept_age; /* GCs since the first profile of this process; INFINITY: not known */
};

/* ---- the question ---- */

bool
report_question_group(struct report_question *question, const char *name)
{
    static const char *const names[] = {
        [REPORT_SITE] = "site", [REPORT_FUNCTION] = "function", [REPORT_CLASS] = "class",
        [REPORT_FILE] = "file", [REPORT_GEM] = "gem",           [REPORT_LIBRARY] = "library",
        [REPORT_APP] = "app",
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

bool
report_question_sort(struct report_question *question, const char *name)
{
    static const char *const names[] = {
        [REPORT_SORT_SELF] = "self",
        [REPORT_SORT_CUMULATIVE] = "cum",
        [REPORT_SORT_OBJECTS] = "objects",
    };

    question->sort = REPORT_SORT_SELF;
    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name)) continue;
        question->sort = (enum report_sort)i;
        return true;
    }
    return !name;
}

bool
report_sort_p(const struct report_question *question, bool grouped)
{
    return question->sort != REPORT_SORT_CUMULATIVE || !grouped ||
           report_cumulative_p(question->group);
}

/* ---- frames ---- */

static struct report_frame
frame_of(const struct scan *scan, uint64_t frame)
{
    return report_frame_of(scan->model, frame, scan->defined, scan->directory);
}

static unsigned
marks_of(const struct scan *scan, uint64_t frame)
{
    uint64_t function =
        frame & REPORT_NO_LINE ? HEAPPROF_NO_PLACE : scan->model->lines[frame].function;

    return function == HEAPPROF_NO_PLACE ? 0 : scan->marks[function];
}

/* ---- digests ---- */

static void
digest_text(struct heapprof_digest *digest, const char *text)
{
    rb_heapprof_digest_bytes(digest, text, strlen(text));
}

static struct heapprof_digest
digest_of(const char *text, size_t length)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();

    rb_heapprof_digest_bytes(&digest, text, length);
    return digest;
}

static struct heapprof_digest
digest_of_unnamed(void)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();

    rb_heapprof_digest_number(&digest, UNNAMED);
    return digest;
}

/* Makes the digest of a function, by its name and the file that defines it. A C function has no
 * such file. A frame without a function has an address. */
static struct heapprof_digest
digest_function(const struct scan *scan, const struct report_frame *frame)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();

    digest_text(&digest, frame->name);
    if (!frame->name[0]) rb_heapprof_digest_number(&digest, frame->address);
    if (!frame->native) digest_text(&digest, report_short_path(frame->file, scan->directory));
    return digest;
}

static struct heapprof_digest
digest_line(const struct scan *scan, const struct report_frame *frame)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();

    digest_text(&digest, report_short_path(frame->file, scan->directory));
    rb_heapprof_digest_number(&digest, (uint64_t)frame->line);
    return digest;
}

static struct heapprof_digest
digest_frame_and_line(const struct scan *scan, uint64_t line)
{
    struct report_frame frame = frame_of(scan, line);
    struct heapprof_digest digest = digest_line(scan, &frame);

    digest_text(&digest, frame.name);
    if (!frame.name[0]) rb_heapprof_digest_number(&digest, frame.address);
    return digest;
}

/* Makes the digest of a label's text, as a reader sees it. */
static struct heapprof_digest
digest_label(const struct heapprof_samples *samples, const char *key)
{
    const struct heapprof_model_label *label = report_find_label(samples, key);
    char buffer[REPORT_LABEL_MAX];

    if (!label) return digest_of_unnamed();
    const char *text = report_label_text(samples->model, label, buffer);
    return digest_of(text, strlen(text));
}

/* Makes the digest of a site's title (rows.c). */
static struct heapprof_digest
digest_title(const struct heapprof_samples *samples)
{
    struct heapprof_digest digest;

    if (!report_find_label(samples, "caller")) return digest_label(samples, "class");
    digest = digest_label(samples, "caller");
    rb_heapprof_digest_add(&digest, digest_label(samples, "owner"));
    rb_heapprof_digest_number(&digest, report_find_label(samples, "native_leak") != NULL);
    return digest;
}

/* Makes the digest of the frames that are shown: the innermost ones, and the first of the
 * application further out. */
static struct heapprof_digest
digest_site(const struct scan *scan, const struct heapprof_samples *samples)
{
    struct heapprof_digest digest = digest_title(samples);
    size_t most = scan->groups->question.frames, count = 0;
    bool own_seen = false;

    if (most == 0)
        most = !report_find_label(samples, "class"); /* the innermost function is the title */
    REPORT_EACH_FRAME(samples, frame, {
        bool own = marks_of(scan, frame) & OWN;
        bool near = count++ < most;
        if (!near && own_seen) return digest;
        if (near || own) {
            rb_heapprof_digest_add(&digest, frame & REPORT_NO_LINE
                                                ? digest_frame_and_line(scan, frame)
                                                : scan->lines[frame]);
        }
        own_seen = own_seen || own;
    });
    return digest;
}

/* Makes the digest of a frame by that group. */
static struct heapprof_digest
digest_in(const struct scan *scan, uint64_t frame)
{
    struct report_frame what = frame_of(scan, frame);
    const char *text = NULL;
    size_t length;

    switch (scan->groups->question.group) {
      case REPORT_FUNCTION: return digest_function(scan, &what);
      case REPORT_APP: return digest_line(scan, &what);
      case REPORT_GEM: text = report_gem(what.file, scan->directory, &length); break;
      default:
        text = report_short_path(what.file, scan->directory);
        length = strlen(text);
    }
    return digest_of(text, length);
}

/* ---- rows ---- */

/* Returns the row of that digest, or 0 if there is no memory. as is what stands for the row if it
 * is new. */
static uint32_t
find_row_as(struct scan *scan, struct heapprof_digest digest, const struct report_row *as)
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
find_row(struct scan *scan, struct heapprof_digest digest, uint64_t example)
{
    return find_row_as(scan, digest, &(struct report_row){.example = example});
}

/* Returns the row of that name, which is a text of the profile or a constant. */
static uint32_t
find_named_row(struct scan *scan, const char *name, size_t length, bool vm)
{
    const struct report_row as = {
        .example = REPORT_NOTHING, .name = name, .name_length = length, .vm = vm
    };

    return find_row_as(scan, digest_of(name, length), &as);
}

/* Functions and blocks may share a line of the application. The row is named after the one with
 * the largest sample, not after the one that came first. */
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
    const struct heapprof_model_label *age = report_find_label(samples, "gc_age");
    struct report_figures figures = {.value = (double)samples->values[estimate->value]};

    if (estimate->objects < scan->model->type_count)
        figures.objects = (double)samples->values[estimate->objects];
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
    if (frame & REPORT_NO_LINE) return find_row(scan, digest_in(scan, frame), frame);
    if (!scan->rows[frame]) scan->rows[frame] = find_row(scan, digest_in(scan, frame), frame);
    return scan->rows[frame];
}

/* Adds a value to the row, if the sample has not been added to it. */
static void
add_once(const struct scan *scan, uint32_t row, double value)
{
    struct report_groups *groups = scan->groups;

    if (groups->rows[row].stamp == groups->stamp) return;
    groups->rows[row].stamp = groups->stamp;
    report_figures_of(groups, row, scan->column)->cumulative += value;
}

/* Adds a sample to the rows of all its frames, once to each row: of lines, to those of the
 * application. If no sample was of the row itself, the outermost frame on the line names it: that
 * is no C function. */
static bool
add_cumulative(struct scan *scan, const struct heapprof_samples *samples, double value)
{
    bool lines = scan->groups->question.group == REPORT_APP, room = true;

    REPORT_EACH_FRAME(samples, frame, {
        uint32_t row =
            lines && !(marks_of(scan, frame) & OWN) ? UINT32_MAX : row_of_frame(scan, frame);
        if (row == 0) room = false;
        else if (row != UINT32_MAX) {
            struct report_row *of = &scan->groups->rows[row];
            if (lines && of->largest == 0 && of->profile == scan->profile) of->example = frame;
            add_once(scan, row, value);
        }
    });
    return room;
}

/* Returns whether both frames are on one line. A C function counts for the line that called it. */
static bool
same_line_p(const struct scan *scan, uint64_t one, uint64_t other)
{
    struct report_frame a = frame_of(scan, one), b = frame_of(scan, other);

    return a.line == b.line && !strcmp(a.file, b.file);
}

/* Returns the innermost line of the application. If several frames are on that line, returns the
 * outermost of them, which is not a C function. */
static uint64_t
own_frame(const struct scan *scan, const struct heapprof_samples *samples)
{
    uint64_t own = REPORT_NOTHING;

    REPORT_EACH_FRAME(samples, frame, {
        if (own != REPORT_NOTHING && !same_line_p(scan, own, frame)) return own;
        if (own != REPORT_NOTHING || marks_of(scan, frame) & OWN) own = frame;
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
row_of_own(struct scan *scan, const struct heapprof_samples *samples, double value)
{
    uint64_t frame = own_frame(scan, samples);
    uint32_t row;

    if (frame == REPORT_NOTHING) return find_row(scan, digest_of_unnamed(), REPORT_NOTHING);
    row = row_of_frame(scan, frame);
    if (row) name_by_largest(scan, row, frame, value);
    return row;
}

/* Returns the row of the innermost function, or of its file. */
static uint32_t
row_of_innermost(struct scan *scan, const struct heapprof_samples *samples)
{
    uint64_t frame = innermost_frame(samples);

    return frame == REPORT_NOTHING ? find_row(scan, digest_of_unnamed(), REPORT_NOTHING)
                                   : row_of_frame(scan, frame);
}

/* Returns the gem that a library belongs to, by the comments of the profile that say where
 * libraries are: "library: PATH". Returns NULL if it is no gem's, or if libraries of two gems
 * have that name. */
static const char *
gem_of_library(const struct scan *scan, const char *library, size_t length, size_t *gem_length)
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
row_of_gem(struct scan *scan, const struct heapprof_samples *samples)
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
row_of_library(struct scan *scan, const struct heapprof_samples *samples)
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

static uint32_t
row_of_label(struct scan *scan, const struct heapprof_samples *samples, uint64_t at)
{
    const struct report_question *question = &scan->groups->question;
    const char *key = question->group == REPORT_CLASS ? "class" : question->label;

    if (report_find_label(samples, key)) scan->groups->any_label = true;
    return find_row(scan, digest_label(samples, key), at);
}

/* Returns whether the group is by a label that says what the memory is. Only then a table of the
 * VM has no row of its own. */
static bool
label_of_memory_p(const struct report_question *question)
{
    static const char *const keys[] = {
        "class", "owner", "caller", "gc_age", "native_leak", "memsize", "owner_allocated_by"
    };

    if (question->group == REPORT_CLASS) return true;
    if (question->group != REPORT_LABEL) return false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!strcmp(question->label, keys[i])) return true;
    return false;
}

/* Returns the row of the sample at that place, which has that value. vm is the table of the VM
 * that it is of, or NULL. */
static uint32_t
row_of(struct scan *scan, const struct heapprof_samples *samples, uint64_t at, double value,
       const char *vm)
{
    if (vm) return find_named_row(scan, vm, strlen(vm), true);
    switch (scan->groups->question.group) {
      case REPORT_SITE: return find_row(scan, digest_site(scan, samples), at);
      case REPORT_CLASS: case REPORT_LABEL: return row_of_label(scan, samples, at);
      case REPORT_APP: return row_of_own(scan, samples, value);
      case REPORT_GEM: return row_of_gem(scan, samples);
      case REPORT_LIBRARY: return row_of_library(scan, samples);
      default: return row_of_innermost(scan, samples);
    }
}

/* ---- which samples ---- */

static unsigned
marks_for(const struct report_question *question, const char *text)
{
    unsigned marks = 0;

    if (question->focus && !regexec(question->focus, text, 0, NULL, 0)) marks |= FOCUS;
    if (question->ignore && !regexec(question->ignore, text, 0, NULL, 0)) marks |= IGNORE;
    return marks;
}

/* Returns the marks of a label's text: of the C function and library that asked for memory, or of
 * a table of the VM. */
static unsigned
marks_of_label(const struct scan *scan, const struct heapprof_model_label *label)
{
    char buffer[REPORT_LABEL_MAX];

    if (!label || !label->str) return 0;
    if (!scan->text_marks[label->str]) {
        const char *text = report_label_text(scan->model, label, buffer);
        scan->text_marks[label->str] =
            (unsigned char)(SEEN | marks_for(&scan->groups->question, text));
    }
    return scan->text_marks[label->str];
}

static bool
wanted_p(const struct scan *scan, const struct heapprof_samples *samples, const char *vm)
{
    const struct report_question *question = &scan->groups->question;
    unsigned marks;

    if (!question->focus && !question->ignore) return true;
    marks = marks_of_label(scan, report_find_label(samples, "caller"));
    if (vm) marks |= marks_of_label(scan, report_find_label(samples, "owner"));
    REPORT_EACH_FRAME(samples, frame, marks |= marks_of(scan, frame));
    return (!question->focus || marks & FOCUS) && !(marks & IGNORE);
}

static bool
add_sample(struct scan *scan, const struct heapprof_samples *samples, uint64_t at)
{
    struct report_groups *groups = scan->groups;
    const char *vm = report_vm_table(samples);
    struct report_figures figures;
    uint32_t row;

    if (!wanted_p(scan, samples, vm)) return true;
    groups->any_wanted = true;
    groups->any_caller = groups->any_caller || report_find_label(samples, "caller");
    groups->any_owner = groups->any_owner || report_find_label(samples, "owner");
    figures = figures_of(scan, samples);
    if (figures.value == 0 && figures.objects == 0) return true;
    row =
        row_of(scan, samples, at, figures.value, label_of_memory_p(&groups->question) ? NULL : vm);
    if (row == 0) return false;
    note_what_there_is(groups, &figures);
    add_figures(report_figures_of(groups, 0, scan->column), &figures);
    add_figures(report_figures_of(groups, row, scan->column), &figures);
    if (!groups->cumulative) return true;
    groups->stamp++;
    add_once(scan, row, figures.value);
    return vm || add_cumulative(scan, samples, figures.value);
}

/* ---- a profile ---- */

static bool
look_at_functions(struct scan *scan)
{
    const struct heapprof_model *model = scan->model;
    const struct report_question *question = &scan->groups->question;
    uint32_t count = rb_heapprof_model_functions(model);

    scan->defined = report_definitions_p(model);
    scan->marks = malloc((size_t)count + 1);
    if (question->focus || question->ignore)
        scan->text_marks = calloc((size_t)model->string_count + 1, 1);
    if (!scan->marks || (!scan->text_marks && (question->focus || question->ignore))) return false;
    for (uint32_t place = 0; place < count; place++) {
        const struct heapprof_model_function *function = &model->functions[place];
        const char *file = rb_heapprof_model_string(model, function->filename, NULL);
        unsigned marks =
            marks_for(question, rb_heapprof_model_string(model, function->name, NULL)) |
            marks_for(question, file);
        if (report_own_p(file, scan->directory)) marks |= OWN;
        scan->marks[place] = (unsigned char)marks;
    }
    return true;
}

/* Computes once what is needed for a line many times. */
static bool
look_at_lines(struct scan *scan)
{
    size_t count = (size_t)scan->model->line_count + 1;

    if (scan->groups->question.group != REPORT_SITE)
        return (scan->rows = calloc(count, sizeof(*scan->rows))) != NULL;
    scan->lines = malloc(count * sizeof(*scan->lines));
    for (uint32_t line = 0; scan->lines && line < scan->model->line_count; line++) {
        scan->lines[line] = digest_frame_and_line(scan, line);
    }
    return scan->lines != NULL;
}

static double
gc_of(const struct heapprof_model *model)
{
    const char *text = rb_heapprof_model_comment(model, "as of GC: ");

    return text ? strtod(text, NULL) : NAN;
}

/* Returns how many GCs have passed since that profile, or INFINITY if the profiles are of
 * different runs. A sample that is as old was in that profile, too, with the same weight. So it
 * adds nothing to the error of a difference. */
static double
gcs_since(const struct heapprof_model *before, const struct heapprof_model *model)
{
    double gcs = gc_of(model) - gc_of(before);

    if (model->duration_ns == 0 || isnan(gcs) || model->time_ns < before->time_ns ||
        before->time_ns - before->duration_ns != model->time_ns - model->duration_ns)
        return INFINITY;
    return gcs < 1 ? 1 : gcs;
}

static bool
add_profile(struct report_groups *groups, uint32_t profile)
{
    const struct heapprof_model *model = groups->models[profile];
    uint32_t together = groups->question.together;
    struct scan scan = { .groups = groups,
                         .model = model,
                         .profile = profile,
                         .column = profile / together,
                         .kept_age = INFINITY };
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);
    uint32_t allocated = rb_heapprof_model_type(model, "alloc_space");
    uint64_t at = 0;

    scan.directory = groups->question.directory;
    if (!scan.directory) scan.directory = rb_heapprof_model_comment(model, "directory: ");
    groups->directories[profile] = scan.directory;
    groups->defined[profile] = report_definitions_p(model);
    if (scan.column > 0) scan.kept_age = gcs_since(groups->models[profile % together], model);
    report_estimate_init(&scan.estimate, model, groups->types[profile]);
    room = look_at_functions(&scan) && look_at_lines(&scan) && room;
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
report_cumulative_p(enum report_group group)
{
    return group == REPORT_FUNCTION || group == REPORT_FILE || group == REPORT_GEM ||
           group == REPORT_APP;
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
