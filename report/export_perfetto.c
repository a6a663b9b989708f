/* export_perfetto.c - writes a trace with one heap profile in it, as Perfetto's heapprofd does:
 *
 *     TracePacket { ClockSnapshot }
 *     TracePacket { ProfilePacket { strings, mapping, frames, callstacks; samples of a process } } ...
 *
 * A process's samples have the time of another clock than the trace (MONOTONIC_COARSE). Perfetto
 * drops the samples unless a snapshot relates both clocks. A profile has a single time, so it is
 * written as the time of all clocks.
 *
 * Packets have a bounded size. Each packet except the last says that another follows. The ids of
 * frames are the numbers of the lines, from 1; behind them come the locations that have no line,
 * then the samples of tables of the VM, each with a frame of its own. A callstack is one sample's
 * stack, and begins with the outermost frame. In Perfetto, memory alive is memory allocated minus
 * memory freed. So a heap's alloc and inuse make one sample. For any other profile, the value of
 * the question is written as "allocated".
 *
 * The messages' fields are those of Perfetto's profile_packet.proto, profile_common.proto and
 * clock_snapshot.proto.
 */
#include "report/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "pprof/wire.h"
#include "report/names.h"
#include "report/stack.h"

#define PACKET_BYTES 1000000
#define SEQUENCE 1
#define MAPPING 1
#define HEAP_NAME "ruby"

enum {TRACE_PACKET = 1};
enum {PACKET_CLOCKS = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_PROFILE = 37};
enum {CLOCKS_CLOCK = 1, CLOCK_ID = 1, CLOCK_TIME};
enum {REALTIME = 1, MONOTONIC = 3, MONOTONIC_COARSE, BOOTTIME = 6};
enum {
    PROFILE_STRINGS = 1,
    PROFILE_FRAMES,
    PROFILE_CALLSTACKS,
    PROFILE_MAPPINGS,
    PROFILE_PROCESS,
    PROFILE_CONTINUED,
    PROFILE_INDEX
};
enum {PROCESS_PID = 1, PROCESS_SAMPLES, PROCESS_TIME = 9, PROCESS_HEAP = 11};
enum {
    SAMPLE_CALLSTACK = 1,
    SAMPLE_ALLOCATED,
    SAMPLE_FREED,
    SAMPLE_ALLOC_COUNT = 5,
    SAMPLE_FREE_COUNT
};
enum {STRING_ID = 1, STRING_TEXT};
enum {FRAME_ID = 1, FRAME_NAME, FRAME_MAPPING, FRAME_PC};
enum {CALLSTACK_ID = 1, CALLSTACK_FRAME};
enum {MAPPING_ID = 1, MAPPING_START = 4, MAPPING_END, MAPPING_PATH = 7};

struct message {
    unsigned char *bytes;
    size_t size, capacity;
};

struct exporting {
    FILE *out;
    const struct heapprof_model *model;
    struct message trace, packet, profile, process; /* each is part of the one before */
    struct message inner;   /* is part of any of them */
    uint64_t pid;
    uint64_t index;         /* number of the packet */
    uint32_t types[4];      /* alloc_space, inuse_space, alloc_objects, inuse_objects */
    bool     heap;
    bool     failed;        /* there was no memory */
};

/* ---- messages ---- */

static unsigned char *
room(struct exporting *exporting, struct message *message, size_t size)
{
    if (exporting->failed) return NULL;
    if (size > SIZE_MAX - message->size ||
        !HEAPPROF_ARRAY_GROW(message->bytes, message->capacity, message->size + size)) {
        exporting->failed = true;
        return NULL;
    }
    return message->bytes + message->size;
}

static void
put(struct exporting *exporting, struct message *message, unsigned field, uint64_t number)
{
    unsigned char *at = room(exporting, message, 2 * HEAPPROF_VARINT_MAX);

    if (!at) return;
    at = rb_heapprof_wire_put(at, field << 3);
    message->size = (size_t)(rb_heapprof_wire_put(at, number) - message->bytes);
}

static void
put_bytes(struct exporting *exporting, struct message *message, unsigned field, const void *bytes,
          size_t size)
{
    unsigned char *at = room(exporting, message, 2 * HEAPPROF_VARINT_MAX + size);

    if (!at) return;
    at = rb_heapprof_wire_put(at, field << 3 | HEAPPROF_WIRE_BYTES);
    at = rb_heapprof_wire_put(at, size);
    if (size) memcpy(at, bytes, size);
    message->size = (size_t)(at - message->bytes) + size;
}

/* Puts one message into another, and empties it. */
static void
put_message(struct exporting *exporting, struct message *message, unsigned field,
            struct message *part)
{
    put_bytes(exporting, message, field, part->bytes, part->size);
    part->size = 0;
}

/* ---- packets ---- */

static void
write_packet(struct exporting *exporting)
{
    put_message(exporting, &exporting->trace, TRACE_PACKET, &exporting->packet);
    if (!exporting->failed)
        fwrite(exporting->trace.bytes, 1, exporting->trace.size, exporting->out);
    exporting->trace.size = 0;
}

/* profile is used as room for the snapshot, because no profile has begun yet. */
static void
write_clocks(struct exporting *exporting)
{
    static const unsigned clocks[] = {REALTIME, MONOTONIC, MONOTONIC_COARSE, BOOTTIME};

    for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
        put(exporting, &exporting->inner, CLOCK_ID, clocks[i]);
        put(exporting, &exporting->inner, CLOCK_TIME, (uint64_t)exporting->model->time_ns);
        put_message(exporting, &exporting->profile, CLOCKS_CLOCK, &exporting->inner);
    }
    put(exporting, &exporting->packet, PACKET_SEQUENCE, SEQUENCE);
    put_message(exporting, &exporting->packet, PACKET_CLOCKS, &exporting->profile);
    write_packet(exporting);
}

static void
end_packet(struct exporting *exporting, bool continued)
{
    struct message *packet = &exporting->packet;

    if (exporting->process.size) {
        put(exporting, &exporting->process, PROCESS_PID, exporting->pid);
        put(exporting, &exporting->process, PROCESS_TIME, (uint64_t)exporting->model->time_ns);
        put_bytes(exporting, &exporting->process, PROCESS_HEAP, HEAP_NAME, strlen(HEAP_NAME));
        put_message(exporting, &exporting->profile, PROFILE_PROCESS, &exporting->process);
    }
    put(exporting, &exporting->profile, PROFILE_CONTINUED, continued);
    put(exporting, &exporting->profile, PROFILE_INDEX, exporting->index++);
    put(exporting, packet, PACKET_TIMESTAMP, (uint64_t)exporting->model->time_ns);
    put(exporting, packet, PACKET_SEQUENCE, SEQUENCE);
    put_message(exporting, packet, PACKET_PROFILE, &exporting->profile);
    write_packet(exporting);
}

static void
end_packet_if_full(struct exporting *exporting)
{
    if (exporting->profile.size + exporting->process.size >= PACKET_BYTES)
        end_packet(exporting, true);
}

/* ---- strings, frames, callstacks, samples ---- */

static void
put_string(struct exporting *exporting, uint64_t id, const char *text)
{
    size_t length = strlen(text);
    char *utf8 = malloc(HEAPPROF_UTF8_MAX(length) + 1);

    if (!utf8) exporting->failed = true;
    else {
        put(exporting, &exporting->inner, STRING_ID, id);
        put_bytes(exporting, &exporting->inner, STRING_TEXT, utf8,
                  rb_heapprof_utf8_copy(utf8, text, length));
        put_message(exporting, &exporting->profile, PROFILE_STRINGS, &exporting->inner);
    }
    free(utf8);
}

static void
put_mapping(struct exporting *exporting)
{
    const struct heapprof_model *model = exporting->model;
    const char *path = "";

    if (rb_heapprof_model_mappings(model))
        path = rb_heapprof_model_string(model, model->mappings[0].filename, NULL);
    put_string(exporting, 1, path);
    put(exporting, &exporting->inner, MAPPING_ID, MAPPING);
    put(exporting, &exporting->inner, MAPPING_START, 0);
    put(exporting, &exporting->inner, MAPPING_END, UINT64_C(1) << 40);
    put(exporting, &exporting->inner, MAPPING_PATH, 1);
    put_message(exporting, &exporting->profile, PROFILE_MAPPINGS, &exporting->inner);
}

/* Writes a frame and its name. id is above 1, because 1 is the mapping's path. */
static void
put_frame(struct exporting *exporting, uint64_t id, const char *name)
{
    put_string(exporting, id, name);
    put(exporting, &exporting->inner, FRAME_ID, id);
    put(exporting, &exporting->inner, FRAME_NAME, id);
    put(exporting, &exporting->inner, FRAME_MAPPING, MAPPING);
    put(exporting, &exporting->inner, FRAME_PC, id);
    put_message(exporting, &exporting->profile, PROFILE_FRAMES, &exporting->inner);
    end_packet_if_full(exporting);
}

static uint64_t
line_id(uint64_t line)
{
    return line + 2;
}

static uint64_t
location_id(const struct heapprof_model *model, uint32_t location)
{
    return line_id(model->line_count) + location;
}

static void
put_frame_of_line(struct exporting *exporting, uint64_t id, uint32_t location,
                  const struct heapprof_model_line *line)
{
    char address[32];

    put_frame(exporting, id,
              report_frame_name(exporting->model, location, line, address, sizeof(address)));
}

static void
put_frames(struct exporting *exporting)
{
    const struct heapprof_model *model = exporting->model;

    for (uint32_t i = 0; i < rb_heapprof_model_locations(model) && !exporting->failed; i++) {
        const struct heapprof_model_location *location = &model->locations[i];
        if (location->first_line == location[1].first_line)
            put_frame_of_line(exporting, location_id(model, i), i, NULL);
        for (uint32_t l = location->first_line; l < location[1].first_line; l++) {
            put_frame_of_line(exporting, line_id(l), i, &model->lines[l]);
        }
    }
}

static void
put_callstack(struct exporting *exporting, const struct heapprof_samples *samples)
{
    const struct heapprof_model *model = exporting->model;
    const char *table = report_vm_table(samples);
    uint64_t own = location_id(model, rb_heapprof_model_locations(model)) + samples->number;

    if (table) put_frame(exporting, own, table);
    put(exporting, &exporting->inner, CALLSTACK_ID, samples->number);
    if (table) put(exporting, &exporting->inner, CALLSTACK_FRAME, own);
    for (uint32_t i = table ? 0 : samples->location_count; i-- > 0;) {
        const struct heapprof_model_location *location = &model->locations[samples->locations[i]];
        uint32_t line = location[1].first_line;
        if (line == location->first_line) {
            put(exporting, &exporting->inner, CALLSTACK_FRAME,
                location_id(model, samples->locations[i]));
        }
        while (line-- > location->first_line)
            put(exporting, &exporting->inner, CALLSTACK_FRAME, line_id(line));
    }
    put_message(exporting, &exporting->profile, PROFILE_CALLSTACKS, &exporting->inner);
}

static void
put_sample(struct exporting *exporting, const struct heapprof_samples *samples, uint32_t type)
{
    const uint32_t *types = exporting->types;
    const int64_t *values = samples->values;

    put(exporting, &exporting->inner, SAMPLE_CALLSTACK, samples->number);
    if (!exporting->heap)
        put(exporting, &exporting->inner, SAMPLE_ALLOCATED, (uint64_t)values[type]);
    else {
        int64_t freed = values[types[0]] - values[types[1]],
                free_count = values[types[2]] - values[types[3]];
        put(exporting, &exporting->inner, SAMPLE_ALLOCATED, (uint64_t)values[types[0]]);
        put(exporting, &exporting->inner, SAMPLE_FREED, freed > 0 ? (uint64_t)freed : 0);
        put(exporting, &exporting->inner, SAMPLE_ALLOC_COUNT, (uint64_t)values[types[2]]);
        put(exporting, &exporting->inner, SAMPLE_FREE_COUNT,
            free_count > 0 ? (uint64_t)free_count : 0);
    }
    put_message(exporting, &exporting->process, PROCESS_SAMPLES, &exporting->inner);
    end_packet_if_full(exporting);
}

static bool
put_samples(struct exporting *exporting, uint32_t type)
{
    struct heapprof_samples samples;
    bool there = rb_heapprof_samples_begin(&samples, exporting->model);

    while (there && !exporting->failed && rb_heapprof_samples_next(&samples)) {
        uint32_t value = exporting->heap ? exporting->types[0] : type;
        if (samples.location_count == 0 || samples.values[value] == 0) continue;
        put_callstack(exporting, &samples);
        put_sample(exporting, &samples, type);
    }
    rb_heapprof_samples_end(&samples);
    return there && !exporting->failed;
}

/* ---- the whole trace ---- */

/* Returns the process's number, or 1 if the file does not say it. */
static uint64_t
pid_of(const struct heapprof_model *model)
{
    const char *text = rb_heapprof_model_comment(model, "pid: ");
    uint64_t pid = text ? strtoul(text, NULL, 10) : 0;

    return pid > 0 && pid <= INT32_MAX ? pid : 1;
}

static void
find_types(struct exporting *exporting)
{
    static const char *const names[] = { "alloc_space", "inuse_space", "alloc_objects",
                                         "inuse_objects" };

    exporting->heap = true;
    for (int i = 0; i < 4; i++) {
        exporting->types[i] = rb_heapprof_model_type(exporting->model, names[i]);
        exporting->heap = exporting->heap && exporting->types[i] < exporting->model->type_count;
    }
}

bool
report_export_perfetto(FILE *out, const struct heapprof_model *model, uint32_t type)
{
    struct exporting exporting = {.out = out, .model = model};
    struct message *const messages[] = { &exporting.trace, &exporting.packet, &exporting.profile,
                                         &exporting.process, &exporting.inner };
    bool done;

    find_types(&exporting);
    exporting.pid = pid_of(model);
    write_clocks(&exporting);
    put_mapping(&exporting);
    put_frames(&exporting);
    done = put_samples(&exporting, type);
    end_packet(&exporting, false);
    for (int i = 0; i < 5; i++) free(messages[i]->bytes);
    return done && !exporting.failed;
}
