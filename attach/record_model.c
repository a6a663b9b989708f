/* record_model.c - a record as a profile.
 *
 *     values    samples: looks that saw the stack; wall, cpu, gvl or off: nanoseconds
 *     labels    thread, pid, title, container: whose time it is. The pid is a number, since
 *               `go tool pprof -tagfocus=pid=42` looks for a number
 *               what the program has labelled itself with (label_sets.h)
 *               waits: what for (mode off)
 *               start: nanoseconds since the record began (in order)
 *     comments  how it was made, and of which process */
#include "attach/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"

enum {
    CONTAINER_DIGITS = 12, /* as many as container runtimes show */
    LABELS_MOST = ATTACH_ROSTER_LABELS + 2 + HEAPPROF_LABEL_KEYS
};

/* A profile that is being made. A function or stack with a number has been added already. */
struct record_making {
    struct attach_record *record;
    struct heapprof_model *model;
    uint32_t *strings, *functions,
        *locations; /* by string of names + 1, by function, by node of stacks; 0: not yet */
    uint32_t *processes, *containers; /* locations that stand for them, by program; 0: not yet */
    uint32_t *threads;                /* the same, by who */
    uint32_t keys[ATTACH_ROSTER_LABELS], waits_key, start_key, unit; /* strings of labels */
    uint32_t waits[ATTACH_RECORD_WAITS];   /* strings: what is waited for */
    uint32_t marks[ATTACH_RECORD_WAITS];   /* functions that stand for it */
};

/* Makes strings of the keys and values that programs have labelled themselves with. */
static bool
split_labels(struct attach_record *record)
{
    struct heapprof_strings *strings = &record->names.strings;
    char copy[HEAPPROF_LABEL_TEXT_BYTES]; /* a text may move while strings are made */
    struct heapprof_label label;
    uint32_t last = 0;
    size_t length;

    for (uint32_t i = 1; i <= record->entry_count; i++) {
        if (record->entries[i].labels == last) continue;
        last = record->entries[i].labels;
        const char *bytes = rb_heapprof_strings_get(strings, last, &length);
        memcpy(copy, bytes, length);
        for (const char *at = copy; rb_heapprof_label_next(&at, copy + length, &label); ) {
            if (rb_heapprof_strings_intern(strings, label.key, label.key_length) == UINT32_MAX ||
                rb_heapprof_strings_intern(strings, label.value, label.value_length) == UINT32_MAX)
                return false;
        }
    }
    return true;
}

static bool
begin(struct record_making *making, struct attach_record *record)
{
    *making = (struct record_making){
        .record = record, .model = rb_heapprof_model_new(),
        .strings = calloc((size_t)record->names.strings.numbers.end + 1, sizeof(uint32_t)),
        .functions = calloc((size_t)record->names.functions.numbers.end + 1, sizeof(uint32_t)),
        .locations = calloc((size_t)record->stacks.numbers.end + 1, sizeof(uint32_t)),
        .processes = calloc((size_t)record->roster.program_count + 1, sizeof(uint32_t)),
        .containers = calloc((size_t)record->roster.program_count + 1, sizeof(uint32_t)),
        .threads = calloc((size_t)record->roster.who_count + 1, sizeof(uint32_t)),
    };
    return making->model && making->strings && making->functions && making->locations &&
           making->processes && making->containers && making->threads &&
           rb_heapprof_model_add_string(making->model, "", 0) == 0;
}

static void
end(struct record_making *making)
{
    free(making->strings);
    free(making->functions);
    free(making->locations);
    free(making->processes);
    free(making->containers);
    free(making->threads);
}

static uint32_t
text(struct record_making *making, const char *bytes)
{
    return rb_heapprof_model_add_string(making->model, bytes, strlen(bytes));
}

static uint32_t
string(struct record_making *making, uint32_t interned)
{
    size_t length;
    const char *bytes = attach_names_text(&making->record->names, interned, &length);

    if (interned == 0) return 0;
    if (!making->strings[interned])
        making->strings[interned] = rb_heapprof_model_add_string(making->model, bytes, length);
    return making->strings[interned];
}

/* A new function's id; 0 without memory. */
static uint32_t
add_function(struct heapprof_model *model, uint32_t name, uint32_t path, uint32_t first_line)
{
    uint32_t id = rb_heapprof_model_functions(model) + 1;

    if (name == HEAPPROF_NO_STRING || path == HEAPPROF_NO_STRING ||
        rb_heapprof_ids_add(&model->function_ids, &model->mem, id) != HEAPPROF_IDS_ADDED)
        return 0;
    struct heapprof_model_function *function = rb_heapprof_model_add_function(model);
    if (!function) return 0;
    *function = (struct heapprof_model_function){
        .name = name, .system_name = name, .filename = path, .start_line = first_line
    };
    return id;
}

/* The same of a location. */
static uint32_t
add_location(struct heapprof_model *model, uint32_t function, uint32_t line_number)
{
    uint32_t id = rb_heapprof_model_locations(model) + 1;

    if (!function ||
        rb_heapprof_ids_add(&model->location_ids, &model->mem, id) != HEAPPROF_IDS_ADDED)
        return 0;
    struct heapprof_model_location *location = rb_heapprof_model_add_location(model);
    struct heapprof_model_line *line = location ? rb_heapprof_model_add_line(model) : NULL;
    if (!line) return 0;
    line->function = function;
    line->line = line_number;
    return id;
}

/* Its id; 0 without memory. */
static uint32_t
function_id(struct record_making *making, uint32_t number)
{
    if (making->functions[number]) return making->functions[number];

    const struct heapprof_function *from = attach_names_get(&making->record->names, number);
    return making->functions[number] =
               add_function(making->model, string(making, from->name), string(making, from->path),
                            from->first_line);
}

static uint32_t
location_id(struct record_making *making, uint32_t node_number)
{
    if (making->locations[node_number]) return making->locations[node_number];

    const struct heapprof_stack_node *node =
        rb_heapprof_stacks_node(&making->record->stacks, node_number);
    return making->locations[node_number] =
               add_location(making->model, function_id(making, node->function), node->line);
}

static bool
add_type(struct record_making *making, uint32_t name, const char *unit)
{
    uint32_t unit_string = text(making, unit);
    struct heapprof_model_type *type = rb_heapprof_model_add_type(making->model);

    if (!type || name == HEAPPROF_NO_STRING || unit_string == HEAPPROF_NO_STRING) return false;
    type->type = name;
    type->unit = unit_string;
    return true;
}

static bool
add_types(struct record_making *making)
{
    static const char *const modes[] = { "wall", "cpu", "gvl", "off" };

    return add_type(making, text(making, "samples"), "count") &&
           add_type(making, text(making, modes[making->record->options.mode]), "nanoseconds");
}

static bool
add_numbers(struct heapprof_model *model, const uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!rb_heapprof_model_add_number(model, numbers[i])) return false;
    }
    return true;
}

/* ---- labels ---- */

static bool
add_keys(struct record_making *making)
{
    static const char *const keys[ATTACH_ROSTER_LABELS] = { "thread", "pid", "title", "container" };
    bool room = true;

    for (int i = 0; i < ATTACH_ROSTER_LABELS; i++)
        room &= (making->keys[i] = text(making, keys[i])) != HEAPPROF_NO_STRING;
    for (int i = ATTACH_WAITS_NOT + 1; i < ATTACH_RECORD_WAITS; i++) {
        const struct attach_record_wait *wait = &attach_record_waits[i];
        making->marks[i] = attach_names_mark(&making->record->names, wait->frame);
        room &= making->marks[i] != 0 &&
                (making->waits[i] = text(making, wait->label)) != HEAPPROF_NO_STRING;
    }
    making->waits_key = text(making, "waits");
    making->start_key = text(making, "start");
    making->unit = text(making, "nanoseconds");
    return room && making->waits_key != HEAPPROF_NO_STRING &&
           making->start_key != HEAPPROF_NO_STRING && making->unit != HEAPPROF_NO_STRING;
}

/* What a stack waits for, as a string; 0: it does not wait. */
static uint32_t
waits_of(const struct record_making *making, uint32_t stack)
{
    const struct attach_record *record = making->record;

    if (!stack || record->options.mode != ATTACH_RECORD_OFF) return 0;
    uint32_t function = rb_heapprof_stacks_node(&record->stacks, stack)->function;
    for (int i = ATTACH_WAITS_NOT + 1; i < ATTACH_RECORD_WAITS; i++) {
        if (making->marks[i] == function) return making->waits[i];
    }
    return 0;
}

/* Whether the key is one of ours. */
static bool
reserved_p(const struct heapprof_label *label)
{
    return rb_heapprof_label_reserved_p(label->key) || !strcmp(label->key, HEAPPROF_LABEL_THREAD);
}

/* Adds the labels that the program has given. Returns false without memory. */
static bool
add_given_labels(struct record_making *making, uint32_t labels, uint64_t *numbers,
                 uint32_t *count)
{
    const struct heapprof_strings *strings = &making->record->names.strings;
    size_t length;
    const char *at = rb_heapprof_strings_get(strings, labels, &length), *end = at + length;
    struct heapprof_label label;

    while (rb_heapprof_label_next(&at, end, &label)) {
        if (reserved_p(&label)) continue;
        uint32_t key = string(making, rb_heapprof_strings_find(strings, label.key,
                                                               label.key_length));
        uint32_t value = string(making, rb_heapprof_strings_find(strings, label.value,
                                                                 label.value_length));
        if (key == HEAPPROF_NO_STRING || value == HEAPPROF_NO_STRING) return false;
        memcpy(&numbers[4 * (*count)++], (uint64_t[]){ key, value, 0, 0 }, 4 * sizeof(*numbers));
    }
    return true;
}

/* The labels of an entry: key, string, number, unit of each; *count is how many. Returns false
 * without memory. */
static bool
find_labels(struct record_making *making, const struct attach_record_entry *entry,
            uint64_t numbers[4 * LABELS_MOST], uint32_t *count)
{
    const struct attach_record *record = making->record;
    const struct attach_roster_who *who = &record->roster.whos[entry->who];
    uint32_t waits = waits_of(making, entry->stack), labels = 0;

    for (int i = 0; i < ATTACH_ROSTER_LABELS && !record->options.thread_frames; i++) {
        if (!who->labels[i]) continue;
        bool number = i == ATTACH_ROSTER_PID;
        uint32_t value = number ? 0 : string(making, who->labels[i]);
        if (value == HEAPPROF_NO_STRING) return false;
        uint64_t pid = number ? strtoull(attach_names_text(&record->names, who->labels[i], NULL),
                                         NULL, 10) : 0;
        memcpy(&numbers[4 * labels++], (uint64_t[]){ making->keys[i], value, pid, 0 },
               4 * sizeof(*numbers));
    }
    if (waits) {
        memcpy(&numbers[4 * labels++], (uint64_t[]){ making->waits_key, waits, 0, 0 },
               4 * sizeof(*numbers));
    }
    if (record->options.in_order) {
        memcpy(&numbers[4 * labels++],
               (uint64_t[]){ making->start_key, 0, (uint64_t)entry->began_ns, making->unit },
               4 * sizeof(*numbers));
    }
    *count = labels;
    return add_given_labels(making, entry->labels, numbers, count);
}

/* ---- threads and processes as frames ---- */

enum { FRAMES_MOST = 3 };

/* A location that stands for that text. */
static uint32_t
text_location(struct record_making *making, const char *name)
{
    return add_location(making->model, add_function(making->model, text(making, name), 0, 0), 0);
}

static const char *
label_of(const struct record_making *making, const struct attach_roster_who *who,
         enum attach_roster_label label)
{
    return attach_names_text(&making->record->names, who->labels[label], NULL);
}

/* Makes the frame of an entry's thread. Returns how many there are: none if labels say it. */
static uint32_t
find_thread(struct record_making *making, uint32_t number, uint64_t *frame)
{
    const struct attach_roster_who *who = &making->record->roster.whos[number];

    if (!making->record->options.thread_frames || !who->labels[ATTACH_ROSTER_THREAD]) return 0;
    if (!making->threads[number])
        making->threads[number] =
            text_location(making, label_of(making, who, ATTACH_ROSTER_THREAD));
    *frame = making->threads[number];
    return 1;
}

/* Makes the frames of an entry's process. Returns how many there are: none if one process is all
 * that was seen. */
static uint32_t
find_process(struct record_making *making, uint32_t number, uint64_t frames[2])
{
    const struct attach_record *record = making->record;
    const struct attach_roster_who *who = &record->roster.whos[number];
    uint32_t program = who->program;
    char name[512];

    if (!record->options.process_frames || record->roster.pids < 2 || !program) return 0;
    if (!making->processes[program]) {
        snprintf(name, sizeof(name), "%s [%s]", label_of(making, who, ATTACH_ROSTER_TITLE),
                 label_of(making, who, ATTACH_ROSTER_PID));
        making->processes[program] = text_location(making, name);
    }
    if (who->labels[ATTACH_ROSTER_CONTAINER] && !making->containers[program]) {
        snprintf(name, sizeof(name), "container %.*s", CONTAINER_DIGITS,
                 label_of(making, who, ATTACH_ROSTER_CONTAINER));
        making->containers[program] = text_location(making, name);
    }
    frames[0] = making->processes[program];
    frames[1] = making->containers[program];
    return 1 + (frames[1] != 0);
}

/* ---- samples ---- */

static bool
add_sample(struct record_making *making, const struct attach_record_entry *entry)
{
    const struct heapprof_stacks *stacks = &making->record->stacks;
    uint32_t depth = entry->stack ? rb_heapprof_stacks_node(stacks, entry->stack)->depth : 0;
    uint64_t labels[4 * LABELS_MOST], frames[FRAMES_MOST];
    uint32_t count, outer = find_thread(making, entry->who, frames);

    outer += find_process(making, entry->who, frames + outer);
    if (!find_labels(making, entry, labels, &count) || (outer && !frames[0]) ||
        (outer > 1 && !frames[1]) ||
        !rb_heapprof_model_begin_sample(making->model, depth + outer, count))
        return false;
    for (uint32_t node = entry->stack; node; node = rb_heapprof_stacks_node(stacks, node)->parent) {
        uint32_t id = location_id(making, node);
        if (!id || !rb_heapprof_model_add_number(making->model, id)) return false;
    }
    return add_numbers(making->model, frames, outer) &&
           add_numbers(making->model, (uint64_t[]){ entry->count, entry->ns }, 2) &&
           add_numbers(making->model, labels, 4 * (size_t)count);
}

/* What a process ran that was never seen: threads that ended before a look, or are not Ruby's, or
 * waited at each look. Returns false without memory. */
static bool
count_unseen(struct attach_record *record)
{
    struct attach_roster *roster = &record->roster;

    for (uint32_t i = 1; i <= roster->program_count; i++) {
        struct attach_roster_program *program = &roster->programs[i];
        if (program->ran_ns <= program->counted_ns) continue;
        uint32_t stack = attach_record_mark(record, 0, "(ran when nobody looked)");
        uint32_t who = attach_roster_others(roster, program);
        const struct attach_record_entry key = {
            .stack = stack, .who = who, .ns = program->ran_ns - program->counted_ns
        };
        if (who == UINT32_MAX || !attach_record_count(record, &key)) return false;
        program->counted_ns = program->ran_ns;
    }
    return true;
}

/* In order: a thread that still lives has gone on with what it did, until the last look. */
static void
extend_living(struct attach_record *record)
{
    struct attach_roster *roster = &record->roster;

    for (uint32_t i = 1; i <= roster->program_count; i++) {
        const struct attach_roster_program *program = &roster->programs[i];
        for (uint32_t t = program->first; t; t = roster->threads[t].next) {
            uint32_t entry = roster->threads[t].entry;
            if (entry) attach_record_extend(record, entry, program->looked_ns - record->began_ns);
        }
    }
}

/* ---- comments ---- */

static bool
add_comment(struct record_making *making, const char *comment)
{
    uint32_t string = text(making, comment);
    return string != HEAPPROF_NO_STRING && rb_heapprof_model_add_comment(making->model, string);
}

static bool
add_origin(struct record_making *making)
{
    char lines[ATTACH_ORIGIN_TEXT_MAX], *state;

    memcpy(lines, making->record->origin, sizeof(lines));
    for (char *line = strtok_r(lines, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        if (!add_comment(making, line)) return false;
    }
    return true;
}

static bool
add_comments(struct record_making *making)
{
    const struct attach_record *record = making->record;
    const struct attach_pace *pace = &record->pace;
    const struct attach_look_counts *counts = &record->counts;
    char looks[200], alarmed[200], stacks[200], gap[200], threads[200], children[200];

    snprintf(looks, sizeof(looks), "looks: asked %" PRIu64 ", taken %" PRIu64 ", late %" PRIu64,
             pace->asked, pace->taken, pace->late);
    snprintf(alarmed, sizeof(alarmed),
             "looks because a thread had run for a period: %" PRIu64, record->alarmed);
    snprintf(stacks, sizeof(stacks), "stacks: read %" PRIu64 ", torn %" PRIu64 ", failed %" PRIu64,
             counts->stacks, counts->torn, counts->failed);
    snprintf(gap, sizeof(gap), "longest time without a look: %.6f s",
             (double)record->longest_ns / 1e9);
    snprintf(threads, sizeof(threads),
             "threads: %" PRIu64 " more than %d are counted as \"(other threads)\"",
             record->roster.folded, ATTACH_ROSTER_WHOS_MOST);
    snprintf(children, sizeof(children),
             "children: %" PRIu64 " ended before they were looked at", record->missed);
    return add_comment(making, HEAPPROF_COMMENT_VERSION HEAPPROF_VERSION) &&
           add_comment(making, looks) && (!record->alarmed || add_comment(making, alarmed)) &&
           add_comment(making, stacks) && add_comment(making, gap) &&
           (!record->roster.folded || add_comment(making, threads)) &&
           (!record->missed || add_comment(making, children)) && add_origin(making);
}

/* ---- all of it ---- */

static bool
make(struct record_making *making)
{
    struct heapprof_model *model = making->model;
    struct attach_record *record = making->record;

    if (!add_keys(making) || !add_types(making) || !add_comments(making)) return false;
    for (uint32_t i = 1; i <= record->entry_count; i++) {
        if (!add_sample(making, &record->entries[i])) return false;
    }
    model->period = record->options.period_ns;
    model->period_type = model->types[model->type_count - 1];
    return true;
}

struct heapprof_model *
attach_record_model(struct attach_record *record, int64_t time_ns)
{
    struct record_making making = { 0 };
    char message[256];
    bool cpu = record->options.mode == ATTACH_RECORD_CPU && !record->options.in_order;

    if (record->options.in_order) extend_living(record);
    bool made = (!cpu || count_unseen(record)) && split_labels(record) &&
                begin(&making, record) && make(&making) &&
                rb_heapprof_model_finish(making.model, message, sizeof(message));

    end(&making);
    if (!made) {
        rb_heapprof_model_free(making.model);
        return NULL;
    }
    making.model->time_ns = time_ns;
    making.model->duration_ns = record->looked_ns - record->began_ns;
    return making.model;
}
