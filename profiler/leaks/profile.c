/* profile.c - what memcheck found, in pprof's format.
 *
 *     blocks by place --add up--> totals by site and fate --> samples
 *                     --mark----> nodes of stacks that these name --> functions, locations
 *
 * Each node is a function and a location of its own: there are few, and readers add up by name.
 *
 * Has no state except its arguments.
 */
#include "profiler/leaks/profile.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "pprof/writer.h"
#include "profiler/leaks/totals.h"

#define MAPPING 1

/* The string table begins with these, in this order; fates in that of theirs. */
#define TEXTS(T) \
    T(EMPTY, "") T(DEFINITE, "definite") T(INDIRECT, "indirect") T(POSSIBLE, "possible") \
    T(REACHABLE, "reachable") \
    T(BLOCKS, "blocks") T(SPACE, "space") T(INDIRECT_BLOCKS, "indirect_blocks") \
    T(INDIRECT_SPACE, "indirect_space") \
    T(COUNT, "count") T(BYTES, "bytes") T(CLASS, "class") T(CALLER, "caller") T(LEAK, "leak") \
    T(OF, "of") \
    T(CORE, "core") T(EXTENSION, "extension") T(NO_FRAME, "[no frame]") T(UNKNOWN, "[unknown]") \
    T(ADDRESS, "address") T(CALLED_BY, "called_by") T(MISMATCHED_FREE, "mismatched_free") \
    T(DEAD_OBJECT, "dead_object") T(COLLECTED, "collected") T(WRONG_SIZE, "wrong_size") \
    T(ALLOCATED, "allocated") T(PAIR, "pair") T(WHAT, "what") \
    T(TO_RUBY, "memory of malloc was given to xfree or xrealloc") \
    T(TO_LIBC, "memory of xmalloc was given to free or realloc")

enum leak_text { TEXTS(HEAPPROF_TEXT_NUMBER) TEXT_END };
static const char *const texts[] = { TEXTS(HEAPPROF_TEXT) };

static const enum leak_text types[HEAPPROF_LEAK_VALUES][2] = {
    {TEXT_BLOCKS, TEXT_COUNT}, {TEXT_SPACE, TEXT_BYTES},
    {TEXT_INDIRECT_BLOCKS, TEXT_COUNT}, {TEXT_INDIRECT_SPACE, TEXT_BYTES},
};

struct leak_encoder {
    const struct heapprof_leak_profile *profile;
    struct heapprof_writer *writer;
    struct heapprof_leak_totals *totals; /* by site */
    bool *named;                    /* by node: a sample has it */
    uint32_t *string_ids;           /* by the tables' string; 0: not written yet */
    uint32_t *class_ids;            /* by the string of a library: "[library]", as string_ids */
};

static uint32_t
text_id(struct leak_encoder *encoder, const char *text)
{
    return rb_heapprof_writer_string(encoder->writer, text, strlen(text));
}

static uint32_t
string_id(struct leak_encoder *encoder, uint32_t string)
{
    uint32_t *id = &encoder->string_ids[string];
    size_t length;

    if (string == 0) return TEXT_EMPTY;
    if (*id == 0) {
        const char *text =
            rb_heapprof_strings_get(&encoder->profile->tables->strings, string, &length);
        *id = rb_heapprof_writer_string(encoder->writer, text, length);
    }
    return *id;
}

static bool
decided_p(const struct leak_encoder *encoder)
{
    return encoder->profile->known == HEAPPROF_LEAKS_DECIDED;
}

/* ---- what samples name ---- */

static uint32_t
stack_of(const struct leak_encoder *encoder, uint32_t site)
{
    return site ? rb_heapprof_sites_get(&encoder->profile->tables->sites, site)->stack : 0;
}

static void
name_stack(struct leak_encoder *encoder, uint32_t node)
{
    const struct heapprof_stacks *stacks = &encoder->profile->tables->stacks;

    for (; node && !encoder->named[node]; node = rb_heapprof_stacks_node(stacks, node)->parent)
        encoder->named[node] = true;
}

static void
name_nodes(struct leak_encoder *encoder)
{
    const struct heapprof_lost *lost = encoder->profile->lost;
    const struct heapprof_mismatches *mismatches = &encoder->profile->tables->mismatches;
    const struct heapprof_uses *uses = &encoder->profile->tables->uses;

    for (size_t i = 0; decided_p(encoder) && i < lost->block_count; i++)
        name_stack(encoder, stack_of(encoder, lost->blocks[i].site));
    for (uint32_t i = 0; i < mismatches->count; i++) {
        name_stack(encoder, mismatches->all[i].asked.stack);
        name_stack(encoder, mismatches->all[i].freed.stack);
    }
    for (uint32_t i = 0; i < uses->count; i++) {
        name_stack(encoder, uses->all[i].used.stack);
        name_stack(encoder, uses->all[i].object.stack);
        name_stack(encoder, uses->all[i].gc.stack);
    }
    for (size_t i = 0; i < encoder->profile->wrong_size_count; i++)
        name_stack(encoder, encoder->profile->wrong_sizes[i].code.stack);
}

static uint32_t
path_of(const struct heapprof_tables *tables, uint32_t node)
{
    uint32_t function = node ? rb_heapprof_stacks_node(&tables->stacks, node)->function : 0;
    return function ? rb_heapprof_functions_get(&tables->functions, function)->path : 0;
}

/* What was allocated outside of all Ruby code has a frame of its own. */
static uint32_t
no_frame(const struct leak_encoder *encoder)
{
    return encoder->profile->tables->stacks.numbers.end + 1;
}

static void
write_functions(struct leak_encoder *encoder)
{
    const struct heapprof_tables *tables = encoder->profile->tables;
    struct heapprof_writer *writer = encoder->writer;

    for (uint32_t node = 1; node < tables->stacks.numbers.end; node++) {
        if (!encoder->named[node]) continue;
        const struct heapprof_stack_node *one = rb_heapprof_stacks_node(&tables->stacks, node);
        const struct heapprof_function *function =
            rb_heapprof_functions_get(&tables->functions, one->function);
        uint32_t name = string_id(encoder, function->name);
        uint32_t path = string_id(encoder, path_of(tables, rb_heapprof_leak_placed(tables, node)));
        rb_heapprof_writer_function(writer, node, name, path, function->first_line);
    }
    rb_heapprof_writer_function(writer, no_frame(encoder), TEXT_NO_FRAME, TEXT_EMPTY, 0);
}

static void
write_locations(struct leak_encoder *encoder)
{
    const struct heapprof_tables *tables = encoder->profile->tables;

    for (uint32_t node = 1; node < tables->stacks.numbers.end; node++) {
        if (!encoder->named[node]) continue;
        uint32_t caller = rb_heapprof_leak_placed(tables, node);
        uint32_t line = caller ? rb_heapprof_stacks_node(&tables->stacks, caller)->line : 0;
        rb_heapprof_writer_location(encoder->writer, node, MAPPING, node, line);
    }
    rb_heapprof_writer_location(encoder->writer, no_frame(encoder), MAPPING, no_frame(encoder), 0);
}

/* ---- samples ---- */

static void
write_stack(struct leak_encoder *encoder, uint32_t node)
{
    if (node == 0) rb_heapprof_writer_sample_location(encoder->writer, no_frame(encoder));
    for (; node; node = rb_heapprof_stacks_node(&encoder->profile->tables->stacks, node)->parent) {
        rb_heapprof_writer_sample_location(encoder->writer, node);
    }
}

static uint32_t
class_id(struct leak_encoder *encoder, uint32_t library)
{
    char class[300]; /* a file's name has at most 255 bytes */

    if (library == 0) return TEXT_UNKNOWN;
    if (encoder->class_ids[library] == 0) {
        snprintf(class, sizeof(class), "[%s]",
                 rb_heapprof_strings_get(&encoder->profile->tables->strings, library, NULL));
        encoder->class_ids[library] = text_id(encoder, class);
    }
    return encoder->class_ids[library];
}

static void
write_callers(struct leak_encoder *encoder, uint32_t c_path)
{
    const struct heapprof_tables *tables = encoder->profile->tables;

    while (c_path) {
        const struct heapprof_stack_node *node = rb_heapprof_stacks_node(&tables->c_paths, c_path);
        uint32_t name = tables->identities.all[node->function].name;
        if (name != HEAPPROF_UNNAMED)
            rb_heapprof_writer_label(encoder->writer, TEXT_CALLED_BY, string_id(encoder, name));
        c_path = node->parent;
    }
}

static void
write_labels(struct leak_encoder *encoder, uint32_t site, enum heapprof_fate fate)
{
    const struct heapprof_tables *tables = encoder->profile->tables;
    struct heapprof_leak_caller found = rb_heapprof_leak_site_caller(tables, site);
    const struct heapprof_identity *caller = found.identity;
    bool core = rb_heapprof_leak_core_p(tables, caller, encoder->profile->core);
    struct heapprof_writer *writer = encoder->writer;

    rb_heapprof_writer_label(writer, TEXT_CLASS, class_id(encoder, caller ? caller->library : 0));
    if (caller) rb_heapprof_writer_label(writer, TEXT_CALLER, string_id(encoder, caller->name));
    rb_heapprof_writer_label(writer, TEXT_LEAK, TEXT_DEFINITE + (fate - HEAPPROF_LOST));
    rb_heapprof_writer_label(writer, TEXT_OF, core ? TEXT_CORE : TEXT_EXTENSION);
    write_callers(encoder, found.c_path);
}

/* Left open, for labels. */
static void
write_sample(struct leak_encoder *encoder, uint32_t site, enum heapprof_fate fate,
             const struct heapprof_leak_total *total)
{
    rb_heapprof_writer_begin_sample(encoder->writer);
    write_stack(encoder, stack_of(encoder, site));
    for (int v = 0; v < HEAPPROF_LEAK_VALUES; v++)
        rb_heapprof_writer_sample_value(encoder->writer, total->values[v]);
    write_labels(encoder, site, fate);
}

static void
write_blocks(struct leak_encoder *encoder)
{
    const struct heapprof_lost *lost = encoder->profile->lost;

    for (size_t i = 0; i < lost->block_count; i++) {
        const struct heapprof_lost_block *block = &lost->blocks[i];
        const struct heapprof_leak_total total = {{1, (int64_t)block->bytes}};
        write_sample(encoder, block->site, block->fate, &total);
        rb_heapprof_writer_number_label(encoder->writer, TEXT_ADDRESS, (int64_t)block->address,
                                        TEXT_EMPTY);
        rb_heapprof_writer_end_sample(encoder->writer);
    }
}

static void
write_samples(struct leak_encoder *encoder)
{
    uint32_t end = encoder->profile->tables->sites.numbers.end;

    for (uint32_t site = 0; site < end || site == 0; site++) {
        for (int fate = HEAPPROF_LOST; fate < HEAPPROF_FATES; fate++) {
            const struct heapprof_leak_total *total = &encoder->totals[site].of[fate];
            if (total->values[HEAPPROF_LEAK_BLOCKS] == 0) continue;
            write_sample(encoder, site, fate, total);
            rb_heapprof_writer_end_sample(encoder->writer);
        }
    }
}

/* ---- errors: a sample for each code that has to do with one, which have one number ---- */

struct error_code {
    struct heapprof_mismatch_end code;
    enum leak_text role;
    bool     never_core;   /* MRI only does what it is asked for */
    int64_t  times, bytes;
};

static void
write_code(struct leak_encoder *encoder, const struct error_code *one, uint32_t what,
           uint32_t number)
{
    const struct heapprof_tables *tables = encoder->profile->tables;
    struct heapprof_leak_caller caller = rb_heapprof_leak_end_caller(tables, one->code.c_path);
    bool core = !one->never_core &&
                rb_heapprof_leak_core_p(tables, caller.identity, encoder->profile->core);
    struct heapprof_writer *writer = encoder->writer;
    const int64_t values[HEAPPROF_LEAK_VALUES] = { one->times, one->bytes };

    rb_heapprof_writer_begin_sample(writer);
    write_stack(encoder, one->code.stack);
    for (int v = 0; v < HEAPPROF_LEAK_VALUES; v++)
        rb_heapprof_writer_sample_value(writer, values[v]);
    rb_heapprof_writer_label(writer, TEXT_CLASS,
                             class_id(encoder, caller.identity ? caller.identity->library : 0));
    if (caller.identity)
        rb_heapprof_writer_label(writer, TEXT_CALLER, string_id(encoder, caller.identity->name));
    rb_heapprof_writer_label(writer, TEXT_LEAK, one->role);
    rb_heapprof_writer_label(writer, TEXT_OF, core ? TEXT_CORE : TEXT_EXTENSION);
    rb_heapprof_writer_label(writer, TEXT_WHAT, what);
    write_callers(encoder, caller.c_path);
    rb_heapprof_writer_number_label(writer, TEXT_PAIR, number, TEXT_EMPTY);
    rb_heapprof_writer_end_sample(writer);
}

/* The code that freed, and the code that asked. */
static void
write_mismatch(struct leak_encoder *encoder, const struct heapprof_mismatch *one, uint32_t number)
{
    const struct error_code codes[] = {
        { one->freed, TEXT_MISMATCHED_FREE, false, one->blocks, (int64_t)one->bytes },
        { one->asked, TEXT_ALLOCATED, false, 0, 0 },
    };

    for (int i = 0; i < 2; i++)
        write_code(encoder, &codes[i], one->of_ruby ? TEXT_TO_LIBC : TEXT_TO_RUBY, number);
}

/* The words of --engine=valgrind (vm/memcheck/touches.c), without the size of the access. */
static uint32_t
what_of_use(struct leak_encoder *encoder, const struct heapprof_use *one)
{
    static const char *const accesses[] = { "access", "read", "write" };
    uint32_t name = one->object.class_name;
    char what[1200];

    if (one->object.bytes == 0) {
        snprintf(what, sizeof(what), "Invalid %s: memory between objects", accesses[one->access]);
        return text_id(encoder, what);
    }
    snprintf(what, sizeof(what), "Invalid %s: %.1000s, %s by GC %" PRIu64 " (%s)",
             accesses[one->access],
             name ? rb_heapprof_strings_get(&encoder->profile->tables->strings, name, NULL)
                  : "object",
             one->object.moved ? "moved" : "freed", one->gc.count,
             one->gc.major ? "full" : "minor");
    return text_id(encoder, what);
}

/* The code that used a dead object, that allocated it, and that ran when the GC began. */
static void
write_use(struct leak_encoder *encoder, const struct heapprof_use *one, uint32_t number)
{
    const struct error_code codes[] = {
        { one->used, TEXT_DEAD_OBJECT, true, one->times, 0 },
        { { .stack = one->object.stack }, TEXT_ALLOCATED, true, 0, 0 },
        { { .stack = one->gc.stack }, TEXT_COLLECTED, true, 0, 0 },
    };
    uint32_t what = what_of_use(encoder, one);

    for (int i = 0; i < 3; i++) {
        if (i == 0 || codes[i].code.stack) write_code(encoder, &codes[i], what, number);
    }
}

static void
write_wrong_size(struct leak_encoder *encoder, const struct heapprof_wrong_size *one,
                 uint32_t number)
{
    const struct error_code code = { one->code, TEXT_WRONG_SIZE, true, 1, 0 };
    const char *type = rb_heapprof_strings_get(&encoder->profile->tables->strings, one->type, NULL);
    char what[1200];

    snprintf(what, sizeof(what),
             one->said < one->held
                 ? "%.1000s: it says %" PRIu64 " bytes of %" PRIu32 " %s, and %" PRIu64
                   " bytes are theirs alone"
                 : "%.1000s: it says %" PRIu64 " bytes of %" PRIu32 " %s, and %" PRIu64
                   " bytes are all that can be found",
             type, one->said, one->objects, one->objects == 1 ? "object" : "objects", one->held);
    write_code(encoder, &code, text_id(encoder, what), number);
}

static void
write_errors(struct leak_encoder *encoder)
{
    const struct heapprof_leak_profile *profile = encoder->profile;
    const struct heapprof_mismatches *mismatches = &encoder->profile->tables->mismatches;
    const struct heapprof_uses *uses = &encoder->profile->tables->uses;
    uint32_t number = 0;

    for (uint32_t i = 0; i < mismatches->count; i++)
        write_mismatch(encoder, &mismatches->all[i], ++number);
    for (uint32_t i = 0; i < uses->count; i++) write_use(encoder, &uses->all[i], ++number);
    for (size_t i = 0; i < profile->wrong_size_count; i++)
        write_wrong_size(encoder, &profile->wrong_sizes[i], ++number);
}

/* ---- the whole ---- */

__attribute__((format(printf, 2, 3))) static void
comment(struct leak_encoder *encoder, const char *format, ...)
{
    char text[128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    rb_heapprof_writer_comment(encoder->writer, text_id(encoder, text));
}

static void
write_dead_objects(struct leak_encoder *encoder)
{
    const struct heapprof_dead_objects *dead = &encoder->profile->tables->dead_objects;

    if (dead->died == 0) return;
    comment(encoder, "dead objects: %" PRIu64, dead->died);
    comment(encoder, "dead objects among others: %" PRIu64, dead->crowded);
    comment(encoder, "dead objects without a mapping: %" PRIu64, dead->unmapped);
    comment(encoder, "dead objects that cannot be covered: %" PRIu64, dead->uncoverable);
    comment(encoder, "uses of unknown objects: %" PRIu64, encoder->profile->tables->uses.unknown);
}

static void
write_comments(struct leak_encoder *encoder)
{
    static const char *const known[] = { "decided", "not decided", "crashed" };
    const struct heapprof_leak_profile *profile = encoder->profile;
    const char *line, *end = "";

    comment(encoder, HEAPPROF_COMMENT_VERSION HEAPPROF_VERSION);
    comment(encoder, HEAPPROF_COMMENT_BUILD "%s", profile->build);
    comment(encoder, "memcheck: %s", known[profile->known]);
    comment(encoder, "malloc interval: %" PRIu64 " bytes", profile->interval_bytes);
    comment(encoder, "dropped samples: %" PRIu64, profile->dropped);
    comment(encoder, "blocks left: %zu", profile->lost->block_count);
    write_dead_objects(encoder);
    rb_heapprof_writer_comment(encoder->writer, text_id(encoder, profile->libraries));
    if (profile->origin == 0) return;
    line = rb_heapprof_strings_get(&profile->tables->strings, profile->origin, NULL);
    for (; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        rb_heapprof_writer_comment(
            encoder->writer,
            rb_heapprof_writer_string(encoder->writer, line, (size_t)(end - line)));
    }
}

static char *
encode(struct leak_encoder *encoder, size_t *size)
{
    const struct heapprof_leak_profile *profile = encoder->profile;
    struct heapprof_writer *writer = encoder->writer;

    name_nodes(encoder);
    rb_heapprof_writer_texts(encoder->writer, texts, TEXT_END);
    for (int v = 0; v < HEAPPROF_LEAK_VALUES; v++)
        rb_heapprof_writer_sample_type(writer, types[v][0], types[v][1]);
    rb_heapprof_writer_default_sample_type(writer, TEXT_SPACE);
    rb_heapprof_writer_time(writer, profile->time_ns, profile->time_ns - profile->start_ns);
    rb_heapprof_writer_mapping(writer, MAPPING, text_id(encoder, profile->core), 0);
    write_functions(encoder);
    write_locations(encoder);
    if (decided_p(encoder) && profile->each_block) write_blocks(encoder);
    else if (decided_p(encoder)) write_samples(encoder);
    write_errors(encoder);
    write_comments(encoder);
    return rb_heapprof_writer_close(writer, size);
}

char *
rb_heapprof_leak_profile_encode(const struct heapprof_leak_profile *profile, size_t *size)
{
    const struct heapprof_tables *tables = profile->tables;
    size_t strings = (size_t)tables->strings.numbers.end + 1;
    struct leak_encoder encoder = {.profile = profile};
    char *bytes = NULL;

    encoder.totals = rb_heapprof_leak_totals(tables, profile->lost);
    encoder.named = calloc((size_t)tables->stacks.numbers.end + 1, sizeof(*encoder.named));
    encoder.string_ids = calloc(strings, sizeof(*encoder.string_ids));
    encoder.class_ids = calloc(strings, sizeof(*encoder.class_ids));
    if (encoder.totals && encoder.named && encoder.string_ids && encoder.class_ids &&
        (encoder.writer = rb_heapprof_writer_open()) != NULL) {
        bytes = encode(&encoder, size);
    }
    free(encoder.totals);
    free(encoder.named);
    free(encoder.string_ids);
    free(encoder.class_ids);
    return bytes;
}
