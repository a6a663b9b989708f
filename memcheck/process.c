/* process.c - reads the records of a process from its file. The file may come from anybody, so
 * nothing in it is trusted. */
#include "memcheck/process.h"

#include <stdlib.h>
#include <string.h>

const char *const memcheck_kind_names[MEMCHECK_KINDS] = {
    "use_after_free",  "invalid_write", "invalid_read", "double_free", "invalid_free",
    "mismatched_free", "fatal_signal",  "undefined",    "other_error", "definite",
    "indirect",        "possible",      "reachable"
};
const char *const memcheck_kind_titles[MEMCHECK_KINDS] = {
    "use after free",  "invalid write", "invalid read",    "double free", "invalid free",
    "mismatched free", "fatal signal",  "undefined value", "error",       "definitely lost",
    "indirectly lost", "possibly lost", "still reachable"
};

/* The types of values that a file must have first, in this order. */
static const char *const types[] = {"blocks", "space", "indirect_blocks", "indirect_space"};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

static const char *
text(const struct heapprof_model *model, uint32_t string)
{
    return rb_heapprof_model_string(model, string, NULL);
}

static bool
of_memcheck_p(const struct heapprof_model *model)
{
    if (model->type_count < TYPES || !rb_heapprof_model_comment(model, "memcheck: ")) return false;
    for (uint32_t i = 0; i < TYPES; i++) {
        if (strcmp(text(model, model->types[i].type), types[i]) != 0) return false;
    }
    return true;
}

static const char *
comment(const struct heapprof_model *model, const char *start, const char *otherwise)
{
    const char *found = rb_heapprof_model_comment(model, start);
    return found ? found : otherwise;
}

/* ---- a sample ---- */

/* The text of a label; "" if there is none. */
static const char *
label(const struct heapprof_samples *samples, const char *key)
{
    for (uint32_t i = 0; i < samples->label_count; i++) {
        if (strcmp(text(samples->model, samples->labels[i].key),
                   key) == 0) return text(samples->model, samples->labels[i].str);
    }
    return "";
}

static int64_t
number_label(const struct heapprof_samples *samples, const char *key)
{
    for (uint32_t i = 0; i < samples->label_count; i++) {
        if (strcmp(text(samples->model, samples->labels[i].key),
                   key) == 0) return samples->labels[i].num;
    }
    return 0;
}

static enum memcheck_kind
kind_of(const char *name)
{
    int kind = MEMCHECK_DEFINITE;

    while (kind < MEMCHECK_REACHABLE && strcmp(memcheck_kind_names[kind], name) != 0) kind++;
    return (enum memcheck_kind)kind;
}

/* The label class has "[library]", the label caller "function (library)". */
static void
set_caller(struct memcheck_record *record, const char *class, const char *caller)
{
    size_t class_length = strlen(class), length = strlen(caller);

    record->library = "";
    if (class_length > 2 && class[0] == '[' && strcmp(class, "[unknown]") != 0) {
        record->library = class + 1;
        record->library_length = class_length - 2;
    }
    record->function = length > 0 ? caller : "?";
    record->function_length = length > 0 ? length : 1;
    size_t behind = record->library_length + strlen(" ()");
    if (record->library_length > 0 && length > behind) record->function_length = length - behind;
}

/* In a foreign file the value may be anything. */
static int64_t
amount(int64_t value)
{
    const int64_t most = INT64_MAX / 4;
    return value < 0 ? 0 : value > most ? most : value;
}

static void
add_record(struct memcheck_process *process, const struct heapprof_samples *samples,
           uint32_t first_location)
{
    struct memcheck_record *record = &process->records[process->record_count++];

    *record = (struct memcheck_record){
        .kind = kind_of(label(samples, "leak")),
        .core = strcmp(label(samples, "of"), "extension") != 0,
        .blocks = amount(samples->values[0]),
        .bytes = amount(samples->values[1]),
        .indirect_blocks = amount(samples->values[2]),
        .indirect_bytes = amount(samples->values[3]),
        .stack = { .first = first_location, .count = samples->location_count },
        .address = (uint64_t)number_label(samples, "address"),
    };
    set_caller(record, label(samples, "class"), label(samples, "caller"));
}

/* ---- the samples ---- */

static int
compare(const void *left, const void *right)
{
    const struct memcheck_record *a = left, *b = right;
    int64_t a_bytes = a->bytes + a->indirect_bytes, b_bytes = b->bytes + b->indirect_bytes;

    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a_bytes != b_bytes) return a_bytes > b_bytes ? -1 : 1;
    if (a->error != b->error) return a->error < b->error ? -1 : 1;
    return (a->stack.first > b->stack.first) - (a->stack.first < b->stack.first);
}

void
memcheck_process_sort(struct memcheck_process *process)
{
    if (process->record_count == 0) return;
    qsort(process->records, process->record_count, sizeof(*process->records), compare);
}

/* How many locations all samples have together. */
static bool
count_locations(const struct heapprof_model *model, size_t *count)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    *count = 0;
    while (room && rb_heapprof_samples_next(&samples)) *count += samples.location_count;
    rb_heapprof_samples_end(&samples);
    return room && *count <= UINT32_MAX;
}

static bool
add_records(struct memcheck_process *process)
{
    struct heapprof_samples samples;
    size_t count, end = 0;

    if (!count_locations(process->model, &count)) return false;
    process->records = calloc((size_t)process->model->sample_count + 1, sizeof(*process->records));
    process->locations = calloc(count + 1, sizeof(*process->locations));
    bool room = rb_heapprof_samples_begin(&samples,
                                          process->model) && process->records && process->locations;
    while (room && rb_heapprof_samples_next(&samples)) {
        add_record(process, &samples, (uint32_t)end);
        for (uint32_t i = 0; i < samples.location_count; i++)
            process->locations[end++] = samples.locations[i];
    }
    rb_heapprof_samples_end(&samples);
    memcheck_process_sort(process);
    return room;
}

enum memcheck_read
memcheck_process_read(struct memcheck_process *process, struct heapprof_model *model)
{
    if (!of_memcheck_p(model)) {
        rb_heapprof_model_free(model);
        return MEMCHECK_IS_NONE;
    }
    *process = (struct memcheck_process){
        .model = model,
        .libraries = comment(model, "libraries: ", ""),
        .pid = comment(model, "pid: ", "?"),
        .program = comment(model, "program: ", "?"),
        .decided = strcmp(comment(model, "memcheck: ", ""), "decided") == 0,
        .dropped = strtoull(comment(model, "dropped samples: ", "0"), NULL, 10),
    };
    if (add_records(process)) return MEMCHECK_IS_ONE;
    memcheck_process_free(process);
    return MEMCHECK_NO_MEMORY;
}

void
memcheck_process_free(struct memcheck_process *process)
{
    rb_heapprof_model_free(process->model);
    free(process->records);
    free(process->locations);
    *process = (struct memcheck_process){0};
}

/* For an error: the frames that the process told Valgrind. */
static struct memcheck_frame
told_frame(const struct memcheck_valgrind *valgrind, const struct memcheck_ruby_frame *frame)
{
    return (struct memcheck_frame){ memcheck_valgrind_string(valgrind, frame->name),
                                     memcheck_valgrind_string(valgrind, frame->file), frame->line };
}

/* Otherwise: an index in locations. */
static struct memcheck_frame
located_frame(const struct memcheck_process *process, uint32_t at)
{
    const struct heapprof_model *model = process->model;
    const struct heapprof_model_location *location = &model->locations[process->locations[at]];
    struct memcheck_frame frame = {"?", "", 0};

    if (location[0].first_line == location[1].first_line) return frame;
    const struct heapprof_model_line *line = &model->lines[location->first_line];
    frame.line = line->line;
    if (line->function == HEAPPROF_NO_PLACE) return frame;
    frame.name = text(model, model->functions[line->function].name);
    frame.file = text(model, model->functions[line->function].filename);
    return frame;
}

struct memcheck_frame
memcheck_frame_at(const struct memcheck_process *process, const struct memcheck_ruby_stack *stack,
                  uint32_t at)
{
    if (!stack->told) return located_frame(process, stack->first + at);
    return told_frame(process->valgrind, &process->valgrind->ruby_frames[stack->first + at]);
}

struct memcheck_frame
memcheck_c_frame_at(const struct memcheck_process *process, uint32_t number)
{
    const struct memcheck_c_frame *c = &process->valgrind->frames[number];
    const char *name = memcheck_valgrind_string(process->valgrind, c->function);

    return (struct memcheck_frame){name[0] ? name : "?",
                                   memcheck_valgrind_string(process->valgrind, c->file), c->line};
}
