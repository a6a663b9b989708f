/* pprof.c - what a heap profile says in pprof's format.
 *
 *     snapshot --pprof_tables.c--> numbers --pprof.c--> messages --pprof_writer.h--> bytes
 *
 * pprof_tables.c has already decided what there is to say and numbered it; this file
 * writes it down, message by message. Units, labels and the words of the comments are
 * decided here.
 *
 *  I1  string_table starts with texts[], in that order, so their indices are constants.
 *  I2  Every other string is written when it is first referred to; string_ids knows those
 *      that come from the snapshot, so none of its strings is written twice, and none that
 *      nothing refers to.
 *
 * Knows no state but its arguments; may run on any thread, without the GVL.
 */
#include "profiler/pprof.h"

#include "profiler/pprof_tables.h"
#include "pprof/pprof_writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define MAPPING_ID 1

#define TEXTS(T) \
    T(EMPTY, "") T(ALLOC_OBJECTS, "alloc_objects") T(ALLOC_SLOT_SPACE, "alloc_slot_space") \
    T(ALLOC_MALLOC_SPACE, "alloc_malloc_space") T(ALLOC_SPACE, "alloc_space") \
    T(INUSE_OBJECTS, "inuse_objects") T(INUSE_SLOT_SPACE, "inuse_slot_space") \
    T(INUSE_MALLOC_SPACE, "inuse_malloc_space") T(INUSE_SPACE, "inuse_space") T(COUNT, "count") \
    T(BYTES, "bytes") T(SPACE, "space") T(CLASS, "class") T(CALLER, "caller") T(OWNER, "owner") \
    T(OWNER_ALLOCATED_BY, "owner_allocated_by") T(NATIVE_LEAK, "native_leak") \
    T(SUSPECT, "suspect") T(MEMSIZE, "memsize") T(GC_AGE, "gc_age") T(GCS, "gcs") T(FOLDED, "[folded]") T(NO_FRAME, "[no frame]")

enum text {
#define TEXT_NAME(name, text) TEXT_##name,
    TEXTS(TEXT_NAME)
    TEXT_END
};

#define TEXT_ITSELF(name, text) text,
static const char *const texts[] = {TEXTS(TEXT_ITSELF)};

/* The sample types, in the order of the samples' values. */
static const enum text sample_types[HEAPPROF_PPROF_VALUES][2] = {
    {TEXT_ALLOC_OBJECTS, TEXT_COUNT}, {TEXT_ALLOC_SLOT_SPACE, TEXT_BYTES},
    {TEXT_ALLOC_MALLOC_SPACE, TEXT_BYTES}, {TEXT_ALLOC_SPACE, TEXT_BYTES},
    {TEXT_INUSE_OBJECTS, TEXT_COUNT}, {TEXT_INUSE_SLOT_SPACE, TEXT_BYTES},
    {TEXT_INUSE_MALLOC_SPACE, TEXT_BYTES}, {TEXT_INUSE_SPACE, TEXT_BYTES},
};

struct encoder {
    struct writer writer;
    const struct heapprof_snapshot *snapshot;
    const struct heapprof_pprof_tables *tables;
    uint32_t *string_ids; /* by the snapshot's string; 0: not written yet */
    uint32_t *place_ids;  /* by the snapshot's stack: "function path:line", as string_ids */
};

/* ---- strings ---- */

static uint32_t
write_text(struct writer *writer, const char *text)
{
    return append_string(writer, text, strlen(text));
}

/* The index of a string of the snapshot, or of the name of a synthetic frame. */
static uint32_t
string_id(struct encoder *encoder, uint32_t string)
{
    if (string == 0) return TEXT_EMPTY;
    if (string == HEAPPROF_PPROF_NAME_FOLDED) return TEXT_FOLDED;
    if (string == HEAPPROF_PPROF_NAME_NO_FRAME) return TEXT_NO_FRAME;

    if (!encoder->string_ids[string]) {
        size_t length;
        const char *text = rb_heapprof_strings_get(&encoder->snapshot->strings, string, &length);
        encoder->string_ids[string] = append_string(&encoder->writer, text, length);
    }
    return encoder->string_ids[string];
}

/* The innermost frame of a stack in one line. */
static uint32_t
place_id(struct encoder *encoder, uint32_t stack)
{
    const struct heapprof_strings *strings = &encoder->snapshot->strings;
    struct heapprof_frame frame;
    char text[1024];

    if (!encoder->place_ids[stack]) {
        rb_heapprof_snapshot_frames(encoder->snapshot, stack, &frame, 1);
        snprintf(text, sizeof(text), "%s %s:%"PRIu32,
                 rb_heapprof_strings_get(strings, frame.name, NULL),
                 rb_heapprof_strings_get(strings, frame.path, NULL), frame.line);
        encoder->place_ids[stack] = write_text(&encoder->writer, text);
    }
    return encoder->place_ids[stack];
}

/* ---- what the profile is about ---- */

static void
write_value_type(struct writer *writer, upb_Message *value_type, enum text type, enum text unit)
{
    set(writer, value_type, ValueType_type, type);
    set(writer, value_type, ValueType_unit, unit);
}

static void
write_sample_types(struct writer *writer)
{
    for (int v = 0; v < HEAPPROF_PPROF_VALUES; v++) {
        upb_Message *value_type = append_message(writer, writer->profile, Profile_sample_type);
        write_value_type(writer, value_type, sample_types[v][0], sample_types[v][1]);
    }
    set(writer, writer->profile, Profile_default_sample_type, TEXT_INUSE_SPACE);
}

static void
write_period(struct writer *writer, const struct heapprof_facts *facts)
{
    upb_Message *profile = writer->profile;
    upb_Message *period_type = set_message(writer, profile, Profile_period_type);
    int64_t duration_ns = facts->time_ns - facts->start_ns;

    write_value_type(writer, period_type, TEXT_SPACE, TEXT_BYTES);
    set(writer, profile, Profile_period, facts->interval_bytes);
    set(writer, profile, Profile_time_nanos, (uint64_t)facts->time_ns);
    set(writer, profile, Profile_duration_nanos, (uint64_t)duration_ns);
}

static void
write_mapping(struct writer *writer, const char *binary, const char *build_id)
{
    upb_Message *mapping = append_message(writer, writer->profile, Profile_mapping);

    set(writer, mapping, Mapping_id, MAPPING_ID);
    set(writer, mapping, Mapping_filename, write_text(writer, binary));
    set(writer, mapping, Mapping_build_id, write_text(writer, build_id));
    /* Nothing is left for pprof to look up in the binary. */
    set_true(writer, mapping, Mapping_has_functions);
    set_true(writer, mapping, Mapping_has_filenames);
    set_true(writer, mapping, Mapping_has_line_numbers);
}

static void
write_comment(struct writer *writer, const char *format, ...)
{
    char text[128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    append_number(writer, writer->profile, Profile_comment, write_text(writer, text));
}

static void
write_comments(struct writer *writer, const struct heapprof_snapshot *snapshot)
{
    const struct heapprof_facts *facts = &snapshot->facts;
    const struct heapprof_ladder *ladder = &snapshot->ladder;

    write_comment(writer, "interval: %"PRIu64" bytes", facts->interval_bytes);
    write_comment(writer, "malloc interval: %"PRIu64" bytes", facts->malloc_interval_bytes);
    write_comment(writer, "as of GC: %"PRIu64, facts->gc_count);
    write_comment(writer, "samples: %"PRIu64" live of %"PRIu64" taken",
                  facts->live_samples, facts->total_samples);
    write_comment(writer, "dropped samples: %"PRIu64, facts->dropped);
    write_comment(writer, "folded sites: %"PRIu64, facts->folded);
    write_comment(writer, "truncated stacks: %"PRIu64, facts->truncated);
    write_comment(writer, "memory: %"PRIu64" of %"PRIu64" bytes",
                  facts->used_bytes, facts->budget_bytes);
    if (ladder->rss == 0) return;
    write_comment(writer, "rss: %"PRIu64" bytes, %"PRIu64" unexplained", ladder->rss, ladder->unexplained);
}

/* ---- what it holds ---- */

static void
write_functions(struct encoder *encoder)
{
    struct writer *writer = &encoder->writer;
    const struct heapprof_functions *functions = &encoder->tables->functions;

    for (uint32_t id = 1; id < functions->end && !writer->failed; id++) {
        const struct heapprof_function *function = rb_heapprof_functions_get(functions, id);
        upb_Message *message = append_message(writer, writer->profile, Profile_function);
        set(writer, message, Function_id, id);
        set(writer, message, Function_name, string_id(encoder, function->name));
        set(writer, message, Function_filename, string_id(encoder, function->path));
        set(writer, message, Function_start_line, function->first_line);
        next_part_if_full(writer);
    }
}

static void
write_locations(struct encoder *encoder)
{
    struct writer *writer = &encoder->writer;
    const struct heapprof_stacks *locations = &encoder->tables->locations;

    for (uint32_t id = 1; id <= locations->count && !writer->failed; id++) {
        const struct heapprof_stack_node *node = rb_heapprof_stacks_node(locations, id);
        upb_Message *location = append_message(writer, writer->profile, Profile_location);
        upb_Message *line = append_message(writer, location, Location_line);
        set(writer, location, Location_id, id);
        set(writer, location, Location_mapping_id, MAPPING_ID);
        set(writer, line, Line_function_id, node->function);
        set(writer, line, Line_line, node->line);
        next_part_if_full(writer);
    }
}

static void
write_stack(struct encoder *encoder, upb_Message *message,
            const struct heapprof_pprof_sample *sample)
{
    const struct heapprof_stacks *stacks = &encoder->snapshot->stacks;
    const uint32_t *location_of = encoder->tables->location_of;
    struct writer *writer = &encoder->writer;

    append_number(writer, message, Sample_location_id, sample->location);
    for (uint32_t stack = sample->outer; stack;) {
        append_number(writer, message, Sample_location_id, location_of[stack]);
        stack = rb_heapprof_stacks_node(stacks, stack)->parent;
    }
}

static void
write_label(struct writer *writer, upb_Message *message, enum text key, uint32_t string)
{
    upb_Message *label = append_message(writer, message, Sample_label);

    set(writer, label, Label_key, key);
    set(writer, label, Label_str, string);
}

static void
write_number_label(struct writer *writer, upb_Message *message, enum text key, uint64_t number,
                   enum text unit)
{
    upb_Message *label = append_message(writer, message, Sample_label);

    set(writer, label, Label_key, key);
    set(writer, label, Label_num, number);
    set(writer, label, Label_num_unit, unit);
}

static void
write_labels(struct encoder *encoder, upb_Message *message,
             const struct heapprof_pprof_sample *sample)
{
    const struct heapprof_row *row = &encoder->snapshot->rows[sample->row];
    struct writer *writer = &encoder->writer;

    if (row->class_name) {
        write_label(writer, message, row->blocks ? TEXT_CALLER : TEXT_CLASS,
                    string_id(encoder, row->class_name));
    }
    if (row->owner) write_label(writer, message, TEXT_OWNER, string_id(encoder, row->owner));
    if (row->owner_stack) {
        write_label(writer, message, TEXT_OWNER_ALLOCATED_BY, place_id(encoder, row->owner_stack));
    }
    if (row->native_leak) write_label(writer, message, TEXT_NATIVE_LEAK, TEXT_SUSPECT);
    if (row->gc_age != HEAPPROF_AGE_DEAD) {
        write_number_label(writer, message, TEXT_GC_AGE, row->gc_age, TEXT_GCS);
    }
    if (sample->memsize_bytes) {
        write_number_label(writer, message, TEXT_MEMSIZE, (uint64_t)sample->memsize_bytes,
                           TEXT_BYTES);
    }
}

static void
write_samples(struct encoder *encoder)
{
    struct writer *writer = &encoder->writer;

    for (size_t i = 0; i < encoder->tables->sample_count && !writer->failed; i++) {
        const struct heapprof_pprof_sample *sample = &encoder->tables->samples[i];
        upb_Message *message = append_message(writer, writer->profile, Profile_sample);
        write_stack(encoder, message, sample);
        for (int v = 0; v < HEAPPROF_PPROF_VALUES; v++) {
            append_number(writer, message, Sample_value, (uint64_t)sample->values[v]);
        }
        write_labels(encoder, message, sample);
        next_part_if_full(writer);
    }
}

/* ---- the whole ---- */

static char *
encode(struct encoder *encoder, const char *binary, const char *build_id, size_t *size)
{
    struct writer *writer = &encoder->writer;

    writer_begin(writer);
    for (int i = 0; i < TEXT_END; i++) write_text(writer, texts[i]);
    write_sample_types(writer);
    write_period(writer, &encoder->snapshot->facts);
    write_mapping(writer, binary, build_id);
    write_functions(encoder);
    write_locations(encoder);
    write_samples(encoder);
    write_comments(writer, encoder->snapshot);
    return writer_end(writer, size);
}

char *
rb_heapprof_pprof_encode(const struct heapprof_snapshot *snapshot, const char *binary,
                         const char *build_id, size_t *size)
{
    struct heapprof_pprof_tables tables;
    struct encoder encoder = {.snapshot = snapshot, .tables = &tables};
    char *bytes = NULL;

    encoder.string_ids = calloc((size_t)snapshot->strings.count + 1, sizeof(uint32_t));
    encoder.place_ids = calloc((size_t)snapshot->stacks.nodes_end + 1, sizeof(uint32_t));
    if (rb_heapprof_pprof_tables_build(&tables, snapshot) && encoder.string_ids &&
        encoder.place_ids) {
        bytes = encode(&encoder, binary, build_id, size);
    }
    rb_heapprof_pprof_tables_free(&tables);
    free(encoder.string_ids);
    free(encoder.place_ids);
    return bytes;
}
