/* load.c - makes a snapshot of the model of a file.
 *
 *     file              model                   snapshot
 *     values by name -> one of a sample's -->   a column of a row
 *     locations      -> lines, functions  -->   a stack, pushed from the outermost frame
 *     labels         -> texts, numbers    -->   subject, owner, age
 *     comments       -> lines             -->   facts, rungs, origin
 *
 * This file undoes what pprof.c writes, so both have to be changed together. A file does not have
 * a row's kind, but the values tell it: only rungs have resident bytes, and only objects have
 * slots.
 *
 *   I1  Nothing in the snapshot points into the model.
 *
 * Any program may have written the model: this file trusts no number in it.
 */
#include "profiler/load.h"
#include "base/version.h"
#include "profiler/label_sets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The most frames for each byte of the packed samples, inlined ones included; and the most for
 * the smallest model. */
#define MOST_FRAMES_A_BYTE 4
#define MOST_FRAMES (UINT64_C(1) << 20)

/* Whole numbers up to this one are exact as doubles. */
#define MOST_VALUE (INT64_C(1) << 53)

enum {
    ALLOC_OBJECTS,
    ALLOC_SLOT,
    ALLOC_MALLOC,
    ALLOC_SPACE,
    INUSE_OBJECTS,
    INUSE_SLOT,
    INUSE_MALLOC,
    INUSE_SPACE,
    RESIDENT,
    VARIANCE,
    PEAK_OBJECTS,
    PEAK_SPACE,
    TEMP_OBJECTS,
    TEMP_SPACE,
    COLUMNS
};

static const char *const column_names[COLUMNS] = {
    "alloc_objects",    "alloc_slot_space",   "alloc_malloc_space", "alloc_space", "inuse_objects",
    "inuse_slot_space", "inuse_malloc_space", "inuse_space",        "rss_space",   "inuse_variance",
    "peak_objects",     "peak_space",         "temp_objects",       "temp_space",
};

struct loading {
    struct heapprof_snapshot *to;
    const struct heapprof_model *from;
    char     *error;
    uint32_t  columns[COLUMNS]; /* which of a sample's values; type_count: the model has no such
                                   value */
    uint32_t *functions;        /* new numbers by place; 0: not known yet */
    uint32_t *strings;          /* new numbers by old; 0: not known yet, or empty */
    uint64_t  room;             /* how many frames may still come */
};

static bool
wrong(struct loading *loading, const char *format, const char *text)
{
    snprintf(loading->error, HEAPPROF_LOAD_ERROR_MAX, format, text);
    return false;
}

/* ---- new numbers ---- */

static bool
load_string(struct loading *loading, uint32_t old, uint32_t *number)
{
    size_t length;
    const char *text = rb_heapprof_model_string(loading->from, old, &length);

    if (length > 0 && !loading->strings[old]) {
        uint32_t interned = rb_heapprof_strings_intern(&loading->to->strings, text, length);
        if (interned == UINT32_MAX) return false;
        loading->strings[old] = interned;
    }
    *number = length > 0 ? loading->strings[old] : 0;
    return true;
}

static bool
load_text(struct loading *loading, const char *text, size_t length, uint32_t *number)
{
    *number = rb_heapprof_strings_intern(&loading->to->strings, text, length);
    return *number != UINT32_MAX;
}

/* Functions with the same name, path and first line are one. Returns 0 if memory is refused. */
static uint32_t
add_function(struct loading *loading, uint32_t name, uint32_t path, uint32_t first_line)
{
    struct heapprof_functions *functions = &loading->to->functions;
    struct heapprof_function function = {
        .origin = (uint64_t)name << 32 | path, .owner = first_line,
        .name = name, .path = path, .first_line = first_line,
    };
    uint32_t number;

    if (function.origin == 0) function.origin = UINT64_MAX; /* 0 marks a free function */
    number = rb_heapprof_functions_find(functions, function.origin, function.owner);
    return number ? number : rb_heapprof_functions_add(functions, &function);
}

static uint32_t
line_number(int64_t line)
{
    return line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
}

static uint32_t
load_function(struct loading *loading, uint64_t place)
{
    const struct heapprof_model_function *function = &loading->from->functions[place];
    uint32_t name, path;

    if (loading->functions[place]) return loading->functions[place];
    if (!load_string(loading, function->name, &name) ||
        !load_string(loading, function->filename, &path))
        return 0;
    return loading->functions[place] =
               add_function(loading, name, path, line_number(function->start_line));
}

/* A frame without a name is shown by its address. */
static uint32_t
load_address(struct loading *loading, uint64_t address)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "0x%"PRIx64, address);
    uint32_t name;

    return load_text(loading, text, (size_t)length, &name) ? add_function(loading, name, 0, 0) : 0;
}

/* An inlined function takes no byte in a sample. Without a bound a small file could have any
 * number of frames. */
static bool
push(struct loading *loading, uint32_t function, uint32_t line, uint32_t *stack)
{
    if (loading->room == 0) return wrong(loading, "has too many inlined functions%s", "");
    loading->room--;
    if (function) *stack = rb_heapprof_stacks_push(&loading->to->stacks, *stack, function, line);
    return function && *stack != HEAPPROF_NO_STACK;
}

static bool
push_location(struct loading *loading, uint32_t place, uint32_t *stack)
{
    const struct heapprof_model_location *location = &loading->from->locations[place];
    uint32_t line = location[1].first_line;

    if (line == location->first_line)
        return push(loading, load_address(loading, location->address), 0, stack);
    while (line-- > location->first_line) {
        const struct heapprof_model_line *at = &loading->from->lines[line];
        uint32_t function = at->function == HEAPPROF_NO_PLACE
                                ? load_address(loading, location->address)
                                : load_function(loading, at->function);
        if (!push(loading, function, line_number(at->line), stack)) return false;
    }
    return true;
}

static bool
load_stack(struct loading *loading, const struct heapprof_samples *samples, uint32_t *stack)
{
    *stack = 0;
    for (uint32_t i = samples->location_count; i-- > 0;) {
        if (!push_location(loading, samples->locations[i], stack)) return false;
    }
    return true;
}

/* ---- labels ---- */

static const struct heapprof_model_label *
find_label(const struct heapprof_samples *samples, const char *key)
{
    for (uint32_t i = 0; i < samples->label_count; i++) {
        const struct heapprof_model_label *label = &samples->labels[i];
        if (!strcmp(rb_heapprof_model_string(samples->model, label->key, NULL), key)) return label;
    }
    return NULL;
}

static const char *
label_text(const struct heapprof_samples *samples, const char *key)
{
    const struct heapprof_model_label *label = find_label(samples, key);

    return label ? rb_heapprof_model_string(samples->model, label->str, NULL) : "";
}

/* Finds the library that the caller of a block is in. If the block has no owner, the class says
 * it: "[libc.so.6]". If it has one, the end of the caller says it: "strdup (libc.so.6)". */
static bool
load_library(struct loading *loading, const char *class, const char *caller, bool owned,
             uint32_t *library)
{
    const char *text = owned ? strrchr(caller, '(') : class;
    size_t length = text ? strlen(text) : 0;

    *library = 0;
    if (length < 3 || !strcmp(text, "[unknown]")) return true;
    return load_text(loading, text + 1, length - 2, library);
}

/* Reads "Cart#load /srv/cart.rb:17", the innermost frame of the stack that allocated the owner. */
static bool
load_place(struct loading *loading, const char *text, uint32_t *stack)
{
    const char *path = strstr(text, " /"), *line = strrchr(text, ':');
    uint32_t name, file = 0;

    if (!path) path = strstr(text, " <internal:");
    if (!path) path = strchr(text, ' ');
    if (!path || !line || line < path) path = line = text + strlen(text);
    *stack = 0;
    if (!load_text(loading, text, (size_t)(path - text), &name)) return false;
    if (path < line && !load_text(loading, path + 1, (size_t)(line - path - 1), &file))
        return false;
    return push(loading, add_function(loading, name, file, 0),
                *line ? line_number(strtoll(line + 1, NULL, 10)) : 0, stack);
}

static bool
load_owner(struct loading *loading, const struct heapprof_samples *samples,
           struct heapprof_row *row)
{
    const char *owner = label_text(samples, "owner"),
               *place = label_text(samples, "owner_allocated_by");

    if (!load_text(loading, owner, strlen(owner), &row->owner)) return false;
    row->native_leak = find_label(samples, "native_leak") != NULL;
    loading->to->facts.owners = loading->to->facts.owners || row->owner || row->memsize_bytes != 0;
    return !place[0] || load_place(loading, place, &row->owner_stack);
}

static int
compare_keys(const void *left, const void *right)
{
    const struct heapprof_label *a = left, *b = right;

    return strcmp(a->key, b->key);
}

/* The text of labels in order. Labels that are too many or too long are left out. */
static size_t
write_label_text(struct heapprof_label *labels, size_t count, char text[HEAPPROF_LABEL_TEXT_BYTES])
{
    size_t length = 0;

    qsort(labels, count, sizeof(*labels), compare_keys);
    for (size_t i = 0; i < count; i++) {
        const struct heapprof_label *label = &labels[i];
        if (i > 0 && !strcmp(label->key, labels[i - 1].key)) continue;
        memcpy(text + length, label->key, label->key_length + 1);
        length += label->key_length + 1;
        memcpy(text + length, label->value, label->value_length + 1);
        length += label->value_length + 1;
    }
    return length;
}

/* The labels that the program has given. */
static bool
load_labels(struct loading *loading, const struct heapprof_samples *samples, uint32_t *string)
{
    struct heapprof_label labels[HEAPPROF_LABEL_KEYS];
    char text[HEAPPROF_LABEL_TEXT_BYTES];
    size_t count = 0;

    for (uint32_t i = 0; i < samples->label_count && count < HEAPPROF_LABEL_KEYS; i++) {
        const struct heapprof_model_label *from = &samples->labels[i];
        const char *key = rb_heapprof_model_string(samples->model, from->key, NULL);
        const char *value = rb_heapprof_model_string(samples->model, from->str, NULL);
        size_t key_length = strlen(key), value_length = strlen(value);
        if (!key_length || key_length >= HEAPPROF_LABEL_KEY_BYTES ||
            value_length > HEAPPROF_LABEL_VALUE_BYTES || !from->str ||
            rb_heapprof_label_reserved_p(key)) continue;
        labels[count++] = (struct heapprof_label){ .key = key, .key_length = key_length,
                                                   .value = value, .value_length = value_length };
    }
    size_t length = write_label_text(labels, count, text);
    *string = rb_heapprof_strings_intern(&loading->to->strings, text, length);
    return *string != UINT32_MAX;
}

/* ---- rows ---- */

static double
value_of(const struct loading *loading, const struct heapprof_samples *samples, int column)
{
    uint32_t value = loading->columns[column];

    return value < loading->from->type_count ? (double)samples->values[value] : 0;
}

/* The values of rows are whole numbers, and so are their sums. */
static bool
check_values(struct loading *loading, const struct heapprof_samples *samples)
{
    for (int column = 0; column < COLUMNS; column++) {
        if (column == VARIANCE || loading->columns[column] >= loading->from->type_count) continue;
        int64_t value = samples->values[loading->columns[column]];
        if (value < 0) loading->to->facts.difference = true; /* only a difference has such values */
        if (value <= MOST_VALUE && value >= -MOST_VALUE) continue;
        snprintf(loading->error, HEAPPROF_LOAD_ERROR_MAX,
                 "sample %" PRIu64 ": %s is out of range: %" PRId64, samples->number,
                 column_names[column], value);
        return false;
    }
    return true;
}

static void
load_values(const struct loading *loading, const struct heapprof_samples *samples,
            struct heapprof_row *row)
{
    const struct heapprof_model_label *age = find_label(samples, "gc_age"),
                                      *death_age = find_label(samples, "death_age"),
                                      *memsize = find_label(samples, "memsize");
    bool parts = loading->columns[INUSE_SLOT] < loading->from->type_count;

    row->alloc_objects = value_of(loading, samples, ALLOC_OBJECTS);
    row->alloc_slot_bytes = value_of(loading, samples, parts ? ALLOC_SLOT : ALLOC_SPACE);
    row->alloc_malloc_bytes = value_of(loading, samples, ALLOC_MALLOC);
    row->inuse_objects = value_of(loading, samples, INUSE_OBJECTS);
    row->inuse_slot_bytes = value_of(loading, samples, parts ? INUSE_SLOT : INUSE_SPACE);
    row->inuse_malloc_bytes = value_of(loading, samples, INUSE_MALLOC);
    row->resident_bytes = value_of(loading, samples, RESIDENT);
    row->inuse_variance = value_of(loading, samples, VARIANCE);
    row->peak_objects = value_of(loading, samples, PEAK_OBJECTS);
    row->peak_bytes = value_of(loading, samples, PEAK_SPACE);
    row->temp_objects = value_of(loading, samples, TEMP_OBJECTS);
    row->temp_bytes = value_of(loading, samples, TEMP_SPACE);
    if (death_age && death_age->num >= 0 && death_age->num < HEAPPROF_AGE_DEAD)
        row->death_age = 1 + (uint32_t)death_age->num;
    row->gc_age = HEAPPROF_AGE_DEAD;
    if (age && age->num >= 0 && age->num < HEAPPROF_AGE_DEAD) row->gc_age = (uint32_t)age->num;
    if (memsize && memsize->num <= MOST_VALUE && memsize->num >= -MOST_VALUE)
        row->memsize_bytes = (double)memsize->num;
}

/* Returns whether the stack is one frame that no code stands for. */
static bool
synthetic_p(const struct loading *loading, const struct heapprof_row *row, const char *name)
{
    const struct heapprof_stack_node *node;
    const struct heapprof_function *function;

    if (row->stack == 0) return false;
    node = rb_heapprof_stacks_node(&loading->to->stacks, row->stack);
    if (node->depth != 1) return false;
    function = rb_heapprof_functions_get(&loading->to->functions, node->function);
    return function->path == 0 &&
           !strcmp(rb_heapprof_strings_get(&loading->to->strings, function->name, NULL), name);
}

static void
load_kind(const struct loading *loading, const char *class, const char *caller,
          struct heapprof_row *row)
{
    /* a row of the peak, of blocks of a library */
    bool peak = row->peak_bytes != 0 && row->peak_objects == 0 && class[0] == '[';

    row->kind = HEAPPROF_ROW_OBJECTS;
    if (row->resident_bytes != 0) row->kind = HEAPPROF_ROW_RUNG;
    else if (caller[0] || row->alloc_malloc_bytes != 0 || row->inuse_malloc_bytes != 0 || peak)
        row->kind = HEAPPROF_ROW_BLOCKS;
    row->folded = synthetic_p(loading, row, "[folded]");
    if (row->folded || synthetic_p(loading, row, "[no frame]")) row->stack = 0;
}

/* The subject is the class, the caller, or the name of a rung. */
static bool
load_subject(struct loading *loading, const char *class, const char *caller,
             struct heapprof_row *row)
{
    if (row->folded) return true;
    if (row->kind == HEAPPROF_ROW_RUNG) {
        if (row->stack == 0) return true;
        uint32_t function = rb_heapprof_stacks_node(&loading->to->stacks, row->stack)->function;
        row->subject = rb_heapprof_functions_get(&loading->to->functions, function)->name;
        return true;
    }
    if (row->kind == HEAPPROF_ROW_BLOCKS) {
        return load_text(loading, caller, strlen(caller), &row->subject) &&
               load_library(loading, class, caller, row->owner != 0, &row->library);
    }
    return !strcmp(class, "[unknown]") || load_text(loading, class, strlen(class), &row->subject);
}

static bool
load_row(struct loading *loading, const struct heapprof_samples *samples)
{
    struct heapprof_snapshot *to = loading->to;
    const char *class = label_text(samples, "class"), *caller = label_text(samples, "caller");
    struct heapprof_row row = {0};

    if (!check_values(loading, samples)) return false;
    load_values(loading, samples, &row);
    if (!load_stack(loading, samples, &row.stack) || !load_owner(loading, samples, &row) ||
        !load_labels(loading, samples, &row.label))
        return false;
    load_kind(loading, class, caller, &row);
    if (!load_subject(loading, class, caller, &row) ||
        !HEAPPROF_MEM_GROW(&to->mem, to->rows, to->rows_capacity, to->row_count + 1)) return false;
    to->rows[to->row_count++] = row;
    return true;
}

static bool
load_rows(struct loading *loading)
{
    struct heapprof_samples samples;
    bool loaded = rb_heapprof_samples_begin(&samples, loading->from);

    while (loaded && rb_heapprof_samples_next(&samples)) loaded = load_row(loading, &samples);
    rb_heapprof_samples_end(&samples);
    return loaded;
}

/* ---- what the profile is about ---- */

static bool
find_columns(struct loading *loading)
{
    const struct heapprof_model *model = loading->from;
    char names[160] = "";
    size_t size = 0;

    for (int column = 0; column < COLUMNS; column++) {
        loading->columns[column] = rb_heapprof_model_type(model, column_names[column]);
    }
    if (loading->columns[INUSE_SPACE] < model->type_count ||
        loading->columns[ALLOC_SPACE] < model->type_count)
        return true;
    for (uint32_t i = 0; i < model->type_count && size < sizeof(names); i++) {
        size += (size_t)snprintf(names + size, sizeof(names) - size, " %s",
                                 rb_heapprof_model_string(model, model->types[i].type, NULL));
    }
    for (char *at = names; *at; at++) if ((unsigned char)*at < 32 || *at == 127) *at = '?';
    return wrong(loading,
                 "is not a heap profile: it has%s, and neither inuse_space nor alloc_space", names);
}

/* Returns the number in the comment that begins with start. If behind is given, the number
 * comes behind it. */
static uint64_t
comment_number(const struct heapprof_model *model, const char *start, const char *behind)
{
    const char *text = rb_heapprof_model_comment(model, start);

    if (text && behind) text = strstr(text, behind);
    if (!text) return 0;
    return strtoull(text + (behind ? strlen(behind) : 0), NULL, 10);
}

/* Reads what pprof.c writes of the peak. */
static void
load_peak(struct heapprof_facts *facts, const struct heapprof_model *model)
{
    const char *text = rb_heapprof_model_comment(model, HEAPPROF_COMMENT_PEAK);
    struct tm tm = {0};
    int64_t ns;
    double bytes;
    uint64_t gc;

    if (!text || sscanf(text, "%lf bytes after GC %" SCNu64 ", %4d-%2d-%2dT%2d:%2d:%2d.%9" SCNd64,
                        &bytes, &gc, &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
                        &tm.tm_sec, &ns) != 9) return;
    if (!(bytes > 0 && bytes < (double)MOST_VALUE) || tm.tm_year < 1900 || ns < 0) return;
    tm.tm_year -= 1900;
    tm.tm_mon--;
    time_t seconds = timegm(&tm);
    if (seconds < 0 || seconds >= INT64_MAX / 1000000000) return;
    facts->peak_bytes = bytes;
    facts->peak_gc = gc;
    facts->peak_ns = (int64_t)seconds * 1000000000 + ns;
}

static void
load_facts(struct loading *loading)
{
    const struct heapprof_model *model = loading->from;
    struct heapprof_facts *facts = &loading->to->facts;

    *facts = (struct heapprof_facts){
        .interval_bytes = comment_number(model, "interval: ", NULL),
        .malloc_interval_bytes = comment_number(model, "malloc interval: ", NULL),
        .gc_count = comment_number(model, "as of GC: ", NULL),
        .live_samples = comment_number(model, "samples: ", NULL),
        .total_samples = comment_number(model, "samples: ", " of "),
        .dropped = comment_number(model, "dropped samples: ", NULL),
        .folded = comment_number(model, "folded sites: ", NULL),
        .truncated = comment_number(model, "truncated stacks: ", NULL),
        .doublings = comment_number(model, "doubled intervals: ", NULL),
        .other_labels = comment_number(model, "labels that became (other): ", NULL),
        .left_out_labels = comment_number(model, "labels left out: ", NULL),
        .used_bytes = comment_number(model, "memory: ", NULL),
        .budget_bytes = comment_number(model, "memory: ", " of "),
        .owner_frames = true,
        .time_ns = model->time_ns,
        .start_ns = (int64_t)((uint64_t)model->time_ns - (uint64_t)model->duration_ns),
    };
    facts->peak_kept = loading->columns[PEAK_SPACE] < model->type_count;
    facts->lifetimes = loading->columns[TEMP_SPACE] < model->type_count;
    load_peak(facts, model);
    if (facts->interval_bytes == 0 && model->period > 0)
        facts->interval_bytes = (uint64_t)model->period;
}

/* Returns whether pprof.c made that comment from facts and rungs. All other comments are the
 * origin's. */
static bool
made_p(const char *comment)
{
    static const char *const starts[] = {
        HEAPPROF_COMMENT_VERSION,
        HEAPPROF_COMMENT_BUILD,
        "interval: ",
        "malloc interval: ",
        "as of GC: ",
        "samples: ",
        "dropped samples: ",
        "folded sites: ",
        "truncated stacks: ",
        "doubled intervals: ",
        "labels that became (other): ",
        "labels left out: ",
        HEAPPROF_COMMENT_PEAK,
        "memory: ",
        "not in memory: ",
        "estimated too high: ",
        "rss: ",
    };

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (!strncmp(comment, starts[i], strlen(starts[i]))) return true;
    }
    return false;
}

static bool
load_origin(struct loading *loading)
{
    const struct heapprof_model *model = loading->from;
    size_t size = 0, used = 0;
    bool loaded;
    char *text;

    for (uint32_t i = 0; i < model->comment_count; i++) {
        size += strlen(rb_heapprof_model_string(model, model->comments[i], NULL)) + 1;
    }
    text = malloc(size + 1);
    if (!text) return false;
    for (uint32_t i = 0; i < model->comment_count; i++) {
        const char *comment = rb_heapprof_model_string(model, model->comments[i], NULL);
        size_t length = strlen(comment);
        if (made_p(comment)) continue;
        if (used > 0) text[used++] = '\n';
        memcpy(text + used, comment, length);
        used += length;
    }
    loaded = load_text(loading, text, used, &loading->to->origin);
    free(text);
    return loaded;
}

/* Makes the ladder again from the rows that were made of it. */
static void
load_ladder(struct heapprof_snapshot *to, const struct heapprof_model *model)
{
    struct heapprof_ladder *ladder = &to->ladder;

    for (size_t i = 0; i < to->row_count; i++) {
        const struct heapprof_row *row = &to->rows[i];
        if (row->kind != HEAPPROF_ROW_RUNG || row->resident_bytes < 0) continue;
        const char *name = rb_heapprof_strings_get(&to->strings, row->subject, NULL);
#define RUNG(field, title) \
        if (!strcmp(name, "[VM] " title)) ladder->field += (uint64_t)row->resident_bytes;
        HEAPPROF_RUNGS(RUNG)
#undef RUNG
    }
#define ADD(field, title) + ladder->field
    ladder->rss = 0 HEAPPROF_RUNGS(ADD);
#undef ADD
    ladder->samples_absent = comment_number(model, "not in memory: ", NULL);
    ladder->samples_excess = comment_number(model, "estimated too high: ", NULL);
}

struct heapprof_snapshot *
rb_heapprof_load(const struct heapprof_model *model, char error[HEAPPROF_LOAD_ERROR_MAX])
{
    static const struct heapprof_facts none;
    struct loading loading = { .from = model,
                               .error = error,
                               .to = rb_heapprof_snapshot_new_salted(&none) };
    bool loaded = false;

    error[0] = '\0';
    loading.room = MOST_FRAMES + (uint64_t)model->samples_bytes * MOST_FRAMES_A_BYTE;
    loading.functions =
        calloc((size_t)rb_heapprof_model_functions(model) + 1, sizeof(*loading.functions));
    loading.strings = calloc((size_t)model->string_count + 1, sizeof(*loading.strings));
    if (loading.to && loading.functions && loading.strings && find_columns(&loading)) {
        load_facts(&loading);
        loaded = load_rows(&loading) && load_origin(&loading);
        if (loaded) load_ladder(loading.to, model);
    }
    free(loading.functions);
    free(loading.strings);
    if (loaded) return loading.to;
    rb_heapprof_snapshot_free(loading.to);
    return NULL;
}
