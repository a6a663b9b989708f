/* process.c - reads the records of a process from its file. The file may come from anybody, so
 * nothing in it is trusted. */
#include "memcheck/process.h"

#include <stdlib.h>
#include <string.h>

#include "memcheck/causes.h"

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

static uint64_t
count(const struct heapprof_model *model, const char *start)
{
    return strtoull(comment(model, start, "0"), NULL, 10);
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

/* The samples of an error are of one number: of the code that freed a block in the wrong way, or
 * used a dead object; of the code that asked for it; and of the code that ran when the object was
 * collected. The last two are no records of their own. */
static bool
allocated_p(const char *leak)
{
    return strcmp(leak, "allocated") == 0;
}

static bool
collected_p(const char *leak)
{
    return strcmp(leak, "collected") == 0;
}

static enum memcheck_kind
kind_of(const char *name)
{
    int kind = MEMCHECK_DEFINITE;

    if (strcmp(name, memcheck_kind_names[MEMCHECK_MISMATCHED_FREE]) == 0)
        return MEMCHECK_MISMATCHED_FREE;
    if (strcmp(name, memcheck_kind_names[MEMCHECK_DEAD_OBJECT]) == 0) return MEMCHECK_DEAD_OBJECT;
    if (strcmp(name, memcheck_kind_names[MEMCHECK_WRONG_SIZE]) == 0) return MEMCHECK_WRONG_SIZE;
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

/* From "function (library)". */
static struct memcheck_c_function
read_caller(const char *caller)
{
    struct memcheck_c_function read = {.function = caller, .function_length = strlen(caller),
                                       .library = ""};
    const char *behind = caller + read.function_length, *open = strrchr(caller, '(');

    if (!open || open - caller < 2 || open[-1] != ' ' || behind[-1] != ')') return read;
    read.function_length = (size_t)(open - 1 - caller);
    read.library = open + 1;
    read.library_length = (size_t)(behind - 1 - read.library);
    return read;
}

static const char called_by[] = "called_by"; /* a label for each caller, innermost first */

static void
add_callers(struct memcheck_process *process, const struct heapprof_samples *samples,
            struct memcheck_record *record, size_t *end)
{
    record->first_caller = (uint32_t)*end;
    for (uint32_t i = 0; i < samples->label_count; i++) {
        if (strcmp(text(samples->model, samples->labels[i].key), called_by) != 0) continue;
        process->callers[(*end)++] = read_caller(text(samples->model, samples->labels[i].str));
    }
    record->caller_count = (uint32_t)*end - record->first_caller;
}

/* In a foreign file the value may be anything. */
static int64_t
amount(int64_t value)
{
    const int64_t most = INT64_MAX / 4;
    return value < 0 ? 0 : value > most ? most : value;
}

static struct memcheck_record *
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
        .what = label(samples, "what"),
    };
    const char *leak = label(samples, "leak");
    if (memcheck_error_p(record->kind) || allocated_p(leak) || collected_p(leak)) {
        record->pair = number_label(samples, "pair");
        record->times = record->blocks;
        record->blocks = record->bytes = record->indirect_blocks = record->indirect_bytes = 0;
    }
    set_caller(record, label(samples, "class"), label(samples, "caller"));
    return record;
}

/* ---- the samples ---- */

/* The function that freed may be MRI's: then the one that asked has done it. */
static void
pair_mismatch(struct memcheck_record *freed, const struct memcheck_record *asked)
{
    freed->asked = asked->stack;
    freed->asked_by = (struct memcheck_c_function){asked->function, asked->library,
                                                   asked->function_length, asked->library_length};
    if (!freed->core || asked->core) return;
    freed->core = false;
    freed->function = asked->function;
    freed->function_length = asked->function_length;
    freed->library = asked->library;
    freed->library_length = asked->library_length;
    freed->first_caller = asked->first_caller;
    freed->caller_count = asked->caller_count;
}

/* The last record is more of the record before. In a foreign file it may be of none. */
static void
pair_last(struct memcheck_process *process, const char *leak)
{
    struct memcheck_record *more = &process->records[--process->record_count],
                           *error = process->record_count > 0 ? more - 1 : NULL;

    if (!error || !memcheck_error_p(error->kind) || error->pair != more->pair) return;
    if (collected_p(leak)) error->collected = more->stack;
    else if (error->kind == MEMCHECK_DEAD_OBJECT) error->asked = more->stack;
    else pair_mismatch(error, more);
}

/* How many locations and labels all samples have together. */
static bool
count_all(const struct heapprof_model *model, size_t *locations, size_t *labels)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    *locations = *labels = 0;
    while (room && rb_heapprof_samples_next(&samples)) {
        *locations += samples.location_count;
        *labels += samples.label_count;
    }
    rb_heapprof_samples_end(&samples);
    return room && *locations <= UINT32_MAX && *labels <= UINT32_MAX;
}

static bool
add_records(struct memcheck_process *process)
{
    struct heapprof_samples samples;
    size_t count, label_count, end = 0, caller_end = 0;

    if (!count_all(process->model, &count, &label_count)) return false;
    process->records = calloc((size_t)process->model->sample_count + 1, sizeof(*process->records));
    process->locations = calloc(count + 1, sizeof(*process->locations));
    process->callers = calloc(label_count + 1, sizeof(*process->callers));
    bool room = rb_heapprof_samples_begin(&samples, process->model) && process->records &&
                process->locations && process->callers;
    bool each_block = false;
    while (room && rb_heapprof_samples_next(&samples)) {
        struct memcheck_record *record = add_record(process, &samples, (uint32_t)end);
        add_callers(process, &samples, record, &caller_end);
        each_block = each_block || record->address != 0;
        for (uint32_t i = 0; i < samples.location_count; i++)
            process->locations[end++] = samples.locations[i];
        const char *leak = label(&samples, "leak");
        if (allocated_p(leak) || collected_p(leak)) pair_last(process, leak);
    }
    rb_heapprof_samples_end(&samples);
    if (!room) return false;
    memcheck_causes_find(process);
    if (!each_block) memcheck_causes_merge(process); /* else join.c needs each */
    return true;
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
        .crashed = strcmp(comment(model, "memcheck: ", ""), "crashed") == 0,
        .dropped = count(model, "dropped samples: "),
        .dead_objects = count(model, "dead objects: "),
        .dead_crowded = count(model, "dead objects among others: "),
        .dead_unmapped = count(model, "dead objects without a mapping: "),
        .dead_uncoverable = count(model, "dead objects that cannot be covered: "),
        .unknown_uses = count(model, "uses of unknown objects: "),
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
    free(process->callers);
    *process = (struct memcheck_process){0};
}
