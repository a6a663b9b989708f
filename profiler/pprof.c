/* pprof.c - what a heap profile says in pprof's format.
 *
 *     snapshot --pprof_tables.c--> numbers --pprof.c--> things --pprof/writer.c--> bytes
 *
 * pprof_tables.c has already decided what the profile has, and numbered it. This file writes it
 * down, thing by thing. It decides units, labels and the words of the comments.
 *
 *  I1  string_table starts with texts[], in that order, so their indices are constants.
 *  I2  Every other string is written when something first refers to it. string_ids knows the
 *      strings of the snapshot that are written, so none is written twice.
 *
 * Has no state except its arguments. May run on any thread, without the GVL.
 */
#include "profiler/pprof.h"
#include "base/aside.h"
#include "base/version.h"

#include "pprof/writer.h"
#include "profiler/label_sets.h"
#include "profiler/pprof_tables.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAPPING_ID 1

#define TEXTS(T) \
    T(EMPTY, "") T(ALLOC_OBJECTS, "alloc_objects") T(ALLOC_SLOT_SPACE, "alloc_slot_space") \
    T(ALLOC_MALLOC_SPACE, "alloc_malloc_space") T(ALLOC_SPACE, "alloc_space") \
    T(INUSE_OBJECTS, "inuse_objects") T(INUSE_SLOT_SPACE, "inuse_slot_space") \
    T(INUSE_MALLOC_SPACE, "inuse_malloc_space") T(INUSE_SPACE, "inuse_space") \
    T(RSS_SPACE, "rss_space") T(PEAK_OBJECTS, "peak_objects") T(PEAK_SPACE, "peak_space") \
    T(TEMP_OBJECTS, "temp_objects") T(TEMP_SPACE, "temp_space") \
    T(INUSE_VARIANCE, "inuse_variance") T(SQUARE_BYTES, "bytes^2") \
    T(COUNT, "count") T(BYTES, "bytes") T(SPACE, "space") T(CLASS, "class") T(CALLER, "caller") \
    T(OWNER, "owner") \
    T(OWNER_ALLOCATED_BY, "owner_allocated_by") T(NATIVE_LEAK, "native_leak") \
    T(SUSPECT, "suspect") T(MEMSIZE, "memsize") T(GC_AGE, "gc_age") \
    T(DEATH_AGE, "death_age") T(GCS, "gcs") \
    T(FOLDED, "[folded]") T(NO_FRAME, "[no frame]") T(UNKNOWN, "[unknown]") T(VM, "[VM]")

enum pprof_text { TEXTS(HEAPPROF_TEXT_NUMBER) TEXT_END };
static const char *const texts[] = { TEXTS(HEAPPROF_TEXT) };

/* The sample types, in the order of the samples' values. */
static const enum pprof_text sample_types[HEAPPROF_PPROF_VALUES][2] = {
    {TEXT_ALLOC_OBJECTS, TEXT_COUNT}, {TEXT_ALLOC_SLOT_SPACE, TEXT_BYTES},
    {TEXT_ALLOC_MALLOC_SPACE, TEXT_BYTES}, {TEXT_ALLOC_SPACE, TEXT_BYTES},
    {TEXT_INUSE_OBJECTS, TEXT_COUNT}, {TEXT_INUSE_SLOT_SPACE, TEXT_BYTES},
    {TEXT_INUSE_MALLOC_SPACE, TEXT_BYTES}, {TEXT_INUSE_SPACE, TEXT_BYTES},
    {TEXT_RSS_SPACE, TEXT_BYTES}, {TEXT_INUSE_VARIANCE, TEXT_SQUARE_BYTES},
    {TEXT_PEAK_OBJECTS, TEXT_COUNT}, {TEXT_PEAK_SPACE, TEXT_BYTES},
    {TEXT_TEMP_OBJECTS, TEXT_COUNT}, {TEXT_TEMP_SPACE, TEXT_BYTES},
};

struct pprof_encoder {
    struct heapprof_writer *writer;
    const struct heapprof_snapshot *snapshot;
    const struct heapprof_pprof_tables *tables;
    enum pprof_text by;         /* the sample type that is looked at first */
    uint32_t *string_ids; /* by the snapshot's string; 0: not written yet */
    uint32_t *library_ids; /* by the snapshot's string, of a library: "[library]", as string_ids */
    uint32_t *place_ids;  /* by the snapshot's stack: "function path:line", as string_ids */
    struct heapprof_strings labels; /* keys and values of labels */
    uint32_t *label_ids;  /* by string of these, as string_ids */
    size_t    label_ids_capacity;
};

/* ---- strings ---- */

static uint32_t
write_text(struct heapprof_writer *writer, const char *text)
{
    return rb_heapprof_writer_string(writer, text, strlen(text));
}

/* The index of a string of the snapshot, or of the name of a synthetic frame. */
static uint32_t
string_id(struct pprof_encoder *encoder, uint32_t string)
{
    if (string == 0) return TEXT_EMPTY;
    if (string == HEAPPROF_PPROF_NAME_FOLDED) return TEXT_FOLDED;
    if (string == HEAPPROF_PPROF_NAME_NO_FRAME) return TEXT_NO_FRAME;

    if (!encoder->string_ids[string]) {
        size_t length;
        const char *text = rb_heapprof_strings_get(&encoder->snapshot->strings, string, &length);
        encoder->string_ids[string] = rb_heapprof_writer_string(encoder->writer, text, length);
    }
    return encoder->string_ids[string];
}

static uint32_t
library_id(struct pprof_encoder *encoder, uint32_t library)
{
    if (library == 0) return TEXT_UNKNOWN;
    if (!encoder->library_ids[library]) {
        char name[300]; /* a file's name has at most 255 bytes */
        snprintf(name, sizeof(name), "[%s]",
                 rb_heapprof_strings_get(&encoder->snapshot->strings, library, NULL));
        encoder->library_ids[library] = write_text(encoder->writer, name);
    }
    return encoder->library_ids[library];
}

/* The innermost frame of a stack in one line. */
static uint32_t
place_id(struct pprof_encoder *encoder, uint32_t stack)
{
    const struct heapprof_strings *strings = &encoder->snapshot->strings;
    struct heapprof_frame frame;
    char text[1024];

    if (!encoder->place_ids[stack]) {
        rb_heapprof_snapshot_frames(encoder->snapshot, stack, &frame, 1);
        snprintf(text, sizeof(text), "%s %s:%"PRIu32,
                 rb_heapprof_strings_get(strings, frame.name, NULL),
                 rb_heapprof_strings_get(strings, frame.path, NULL), frame.line);
        encoder->place_ids[stack] = write_text(encoder->writer, text);
    }
    return encoder->place_ids[stack];
}

/* The index of a key or a value of a label; TEXT_EMPTY without memory. */
static uint32_t
label_id(struct pprof_encoder *encoder, const char *text, size_t length)
{
    uint32_t number = rb_heapprof_strings_intern(&encoder->labels, text, length);

    if (number == 0 || number == UINT32_MAX ||
        !HEAPPROF_MEM_GROW(encoder->labels.mem, encoder->label_ids, encoder->label_ids_capacity,
                           (size_t)number + 1))
        return TEXT_EMPTY;
    if (!encoder->label_ids[number])
        encoder->label_ids[number] = rb_heapprof_writer_string(encoder->writer, text, length);
    return encoder->label_ids[number];
}

/* ---- what the profile is about ---- */

/* The text of the sample type of that name; TEXT_EMPTY if there is none. */
static enum pprof_text
type_named(const struct heapprof_facts *facts, const char *name)
{
    for (int v = 0; v < HEAPPROF_PPROF_VALUES; v++) {
        if (!rb_heapprof_pprof_value_p(facts, v)) continue;
        if (strcmp(texts[sample_types[v][0]], name) == 0) return sample_types[v][0];
    }
    return TEXT_EMPTY;
}

bool
rb_heapprof_pprof_type_p(const struct heapprof_facts *facts, const char *name)
{
    return type_named(facts, name) != TEXT_EMPTY;
}

static void
write_sample_types(struct heapprof_writer *writer, const struct heapprof_facts *facts,
                   enum pprof_text by)
{
    for (int v = 0; v < HEAPPROF_PPROF_VALUES; v++) {
        if (!rb_heapprof_pprof_value_p(facts, v)) continue;
        rb_heapprof_writer_sample_type(writer, sample_types[v][0], sample_types[v][1]);
    }
    rb_heapprof_writer_default_sample_type(writer, by);
}

static void
write_period(struct heapprof_writer *writer, const struct heapprof_facts *facts)
{
    rb_heapprof_writer_period(writer, TEXT_SPACE, TEXT_BYTES, facts->interval_bytes);
    rb_heapprof_writer_time(writer, facts->time_ns, facts->time_ns - facts->start_ns);
}

static void
write_mapping(struct heapprof_writer *writer, const char *binary, const char *build_id)
{
    uint32_t filename = write_text(writer, binary);

    rb_heapprof_writer_mapping(writer, MAPPING_ID, filename, write_text(writer, build_id));
}

__attribute__((format(printf, 2, 3))) static void
write_comment(struct heapprof_writer *writer, const char *format, ...)
{
    char text[128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    rb_heapprof_writer_comment(writer, write_text(writer, text));
}

/* Such as "peak: 1048576 bytes after GC 12, 2026-03-01T12:00:00.000000001Z". */
static void
write_peak(struct heapprof_writer *writer, const struct heapprof_facts *facts)
{
    time_t seconds = (time_t)(facts->peak_ns / 1000000000);
    char when[40] = "";
    struct tm tm;

    if (facts->peak_bytes <= 0) return;
    if (gmtime_r(&seconds, &tm)) strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
    write_comment(writer,
                  HEAPPROF_COMMENT_PEAK "%.0f bytes after GC %" PRIu64 ", %s.%09" PRId64 "Z",
                  facts->peak_bytes, facts->peak_gc, when, facts->peak_ns % 1000000000);
}

/* A comment a line. */
static void
write_origin(struct heapprof_writer *writer, const struct heapprof_snapshot *snapshot)
{
    const char *line, *end;

    if (snapshot->origin == 0) return;
    line = rb_heapprof_strings_get(&snapshot->strings, snapshot->origin, NULL);
    for (;; line = end + 1) {
        end = line + strcspn(line, "\n");
        rb_heapprof_writer_comment(writer,
                                   rb_heapprof_writer_string(writer, line, (size_t)(end - line)));
        if (*end == '\0') return;
    }
}

static void
write_comments(struct heapprof_writer *writer, const struct heapprof_snapshot *snapshot,
               const char *build)
{
    const struct heapprof_facts *facts = &snapshot->facts;
    const struct heapprof_ladder *ladder = &snapshot->ladder;

    write_comment(writer, HEAPPROF_COMMENT_VERSION HEAPPROF_VERSION);
    if (*build) write_comment(writer, HEAPPROF_COMMENT_BUILD "%s", build);
    write_comment(writer, "interval: %"PRIu64" bytes", facts->interval_bytes);
    write_comment(writer, "malloc interval: %"PRIu64" bytes", facts->malloc_interval_bytes);
    write_comment(writer, "as of GC: %"PRIu64, facts->gc_count);
    write_comment(writer, "samples: %"PRIu64" live of %"PRIu64" taken",
                  facts->live_samples, facts->total_samples);
    write_comment(writer, "dropped samples: %"PRIu64, facts->dropped);
    write_comment(writer, "folded sites: %"PRIu64, facts->folded);
    write_comment(writer, "truncated stacks: %"PRIu64, facts->truncated);
    write_comment(writer, "doubled intervals: %"PRIu64, facts->doublings);
    if (facts->other_labels > 0)
        write_comment(writer, "labels that became (other): %"PRIu64, facts->other_labels);
    if (facts->left_out_labels > 0)
        write_comment(writer, "labels left out: %"PRIu64, facts->left_out_labels);
    write_peak(writer, facts);
    write_comment(writer, "memory: %"PRIu64" of %"PRIu64" bytes",
                  facts->used_bytes, facts->budget_bytes);
    write_origin(writer, snapshot);
    if (ladder->rss == 0) return;
    write_comment(writer, "not in memory: %"PRIu64" bytes", ladder->samples_absent);
    write_comment(writer, "estimated too high: %"PRIu64" bytes", ladder->samples_excess);
    write_comment(writer, "rss: %" PRIu64 " bytes, %" PRIu64 " unexplained", ladder->rss,
                  ladder->unexplained);
}

/* ---- what it holds ---- */

static void
write_functions(struct pprof_encoder *encoder)
{
    struct heapprof_writer *writer = encoder->writer;
    const struct heapprof_functions *functions = &encoder->tables->functions;

    for (uint32_t id = 1; id < functions->numbers.end && !rb_heapprof_writer_failed_p(writer);
         id++) {
        const struct heapprof_function *function = rb_heapprof_functions_get(functions, id);
        uint32_t name = string_id(encoder, function->name);
        uint32_t path = string_id(encoder, function->path);
        rb_heapprof_writer_function(writer, id, name, path, function->first_line);
    }
}

static void
write_locations(struct pprof_encoder *encoder)
{
    struct heapprof_writer *writer = encoder->writer;
    const struct heapprof_stacks *locations = &encoder->tables->locations;

    for (uint32_t id = 1; id <= locations->numbers.count && !rb_heapprof_writer_failed_p(writer);
         id++) {
        const struct heapprof_stack_node *node = rb_heapprof_stacks_node(locations, id);
        rb_heapprof_writer_location(writer, id, MAPPING_ID, node->function, node->line);
    }
}

static void
write_stack(struct pprof_encoder *encoder, const struct heapprof_pprof_sample *sample)
{
    const struct heapprof_stacks *stacks = &encoder->snapshot->stacks;
    const uint32_t *location_of = encoder->tables->location_of;
    struct heapprof_writer *writer = encoder->writer;

    rb_heapprof_writer_sample_location(writer, sample->location);
    for (uint32_t stack = sample->outer; stack;) {
        rb_heapprof_writer_sample_location(writer, location_of[stack]);
        stack = rb_heapprof_stacks_node(stacks, stack)->parent;
    }
}

/* What a sample counts as, "by class": every sample has one. */
static uint32_t
class_id(struct pprof_encoder *encoder, const struct heapprof_row *row)
{
    if (row->folded) return TEXT_FOLDED;
    if (row->kind == HEAPPROF_ROW_RUNG) return TEXT_VM;
    if (row->owner) return string_id(encoder, row->owner);
    if (row->kind == HEAPPROF_ROW_BLOCKS) return library_id(encoder, row->library);
    return row->subject ? string_id(encoder, row->subject) : TEXT_UNKNOWN;
}

/* The labels that the program has given. */
static void
write_given_labels(struct pprof_encoder *encoder, uint32_t set)
{
    size_t length;
    const char *at = rb_heapprof_strings_get(&encoder->snapshot->strings, set, &length);
    const char *end = at + length;
    struct heapprof_label label;

    while (rb_heapprof_label_next(&at, end, &label)) {
        uint32_t key = label_id(encoder, label.key, label.key_length);
        uint32_t value = label_id(encoder, label.value, label.value_length);
        if (key) rb_heapprof_writer_label(encoder->writer, key, value);
    }
}

static void
write_labels(struct pprof_encoder *encoder, const struct heapprof_pprof_sample *sample)
{
    const struct heapprof_row *row = &encoder->snapshot->rows[sample->row];
    struct heapprof_writer *writer = encoder->writer;
    uint32_t caller = rb_heapprof_row_caller(row);

    rb_heapprof_writer_label(writer, TEXT_CLASS, class_id(encoder, row));
    if (caller) rb_heapprof_writer_label(writer, TEXT_CALLER, string_id(encoder, caller));
    if (row->owner) rb_heapprof_writer_label(writer, TEXT_OWNER, string_id(encoder, row->owner));
    if (row->owner_stack) {
        rb_heapprof_writer_label(writer, TEXT_OWNER_ALLOCATED_BY,
                                 place_id(encoder, row->owner_stack));
    }
    if (row->native_leak) rb_heapprof_writer_label(writer, TEXT_NATIVE_LEAK, TEXT_SUSPECT);
    write_given_labels(encoder, row->label);
    if (row->gc_age != HEAPPROF_AGE_DEAD) {
        rb_heapprof_writer_number_label(writer, TEXT_GC_AGE, row->gc_age, TEXT_GCS);
    }
    if (row->death_age)
        rb_heapprof_writer_number_label(writer, TEXT_DEATH_AGE, row->death_age - 1, TEXT_GCS);
    if (sample->memsize_bytes) {
        rb_heapprof_writer_number_label(writer, TEXT_MEMSIZE, sample->memsize_bytes, TEXT_BYTES);
    }
}

static void
write_samples(struct pprof_encoder *encoder)
{
    struct heapprof_writer *writer = encoder->writer;

    for (size_t i = 0; i < encoder->tables->sample_count && !rb_heapprof_writer_failed_p(writer);
         i++) {
        const struct heapprof_pprof_sample *sample = &encoder->tables->samples[i];
        rb_heapprof_writer_begin_sample(writer);
        write_stack(encoder, sample);
        for (int v = 0; v < HEAPPROF_PPROF_VALUES; v++) {
            if (!rb_heapprof_pprof_value_p(&encoder->snapshot->facts, v)) continue;
            rb_heapprof_writer_sample_value(writer, sample->values[v]);
        }
        write_labels(encoder, sample);
        rb_heapprof_writer_end_sample(writer);
    }
}

/* ---- the whole ---- */

static char *
encode(struct pprof_encoder *encoder, const char *binary, const char *build_id, size_t *size)
{
    struct heapprof_writer *writer = encoder->writer;

    rb_heapprof_writer_texts(writer, texts, TEXT_END);
    write_sample_types(writer, &encoder->snapshot->facts, encoder->by);
    write_period(writer, &encoder->snapshot->facts);
    write_mapping(writer, binary, build_id);
    write_functions(encoder);
    write_locations(encoder);
    write_samples(encoder);
    write_comments(writer, encoder->snapshot, build_id);
    return rb_heapprof_writer_close(writer, size);
}

char *
rb_heapprof_pprof_encode(const struct heapprof_snapshot *snapshot, const char *binary,
                         const char *build_id, size_t *size)
{
    return rb_heapprof_pprof_encode_by(snapshot, texts[TEXT_INUSE_SPACE], binary, build_id, size);
}

char *
rb_heapprof_pprof_encode_by(const struct heapprof_snapshot *snapshot, const char *by,
                            const char *binary, const char *build_id, size_t *size)
{
    struct heapprof_pprof_tables tables;
    struct heapprof_mem mem;
    struct pprof_encoder encoder = {.snapshot = snapshot, .tables = &tables,
                                    .by = type_named(&snapshot->facts, by)};
    const size_t strings = (size_t)snapshot->strings.numbers.end + 1;
    const size_t stacks = (size_t)snapshot->stacks.numbers.end + 1;
    char *bytes = NULL;

    rb_heapprof_mem_init(&mem, SIZE_MAX);
    rb_heapprof_strings_init(&encoder.labels, &mem);
    encoder.string_ids = rb_heapprof_aside_zeroed(strings, sizeof(uint32_t));
    encoder.library_ids = rb_heapprof_aside_zeroed(strings, sizeof(uint32_t));
    encoder.place_ids = rb_heapprof_aside_zeroed(stacks, sizeof(uint32_t));
    if (rb_heapprof_pprof_tables_build(&tables, snapshot) && encoder.string_ids &&
        encoder.library_ids && encoder.place_ids &&
        (encoder.writer = rb_heapprof_writer_open()) != NULL) {
        bytes = encode(&encoder, binary, build_id, size);
    }
    rb_heapprof_pprof_tables_free(&tables);
    HEAPPROF_MEM_RELEASE(&mem, encoder.label_ids, encoder.label_ids_capacity);
    rb_heapprof_strings_free(&encoder.labels);
    rb_heapprof_aside_free(encoder.string_ids);
    rb_heapprof_aside_free(encoder.library_ids);
    rb_heapprof_aside_free(encoder.place_ids);
    return bytes;
}
