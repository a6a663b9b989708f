/* export_firefox.c - writes the "processed profile" of the Firefox Profiler (profiler.firefox.com,
 * docs-developer/processed-profile-format.md there), version 58.
 *
 *     meta      units, categories: whose code a frame is
 *     shared    strings, source files
 *     threads   for each: samples (stack, time, weight) and, of that thread only,
 *               stackTable (prefix, frame) ---> frameTable (func, line) ---> funcTable (name, source)
 *
 * A node of our tables is a row of a stackTable and the row of the same number of its frameTable.
 * The labels "thread" and "pid" say whose a sample is, and "start" (in nanoseconds) when it began.
 * A profile without them has one thread, and its samples follow each other: each takes as long, or
 * as many bytes, as its value says. */
#include "report/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "report/json.h"
#include "report/own.h"
#include "report/page_tables.h"

enum { VERSION = 58, GECKO_VERSION = 31, THREADS_MOST = 1000 };

struct firefox_sample {
    uint32_t thread, row;
    bool     timed;
    int64_t  start_ns;
};

struct firefox {
    struct report_json json;
    const struct heapprof_model *model;
    uint32_t type;
    struct report_page_tables tables;  /* of one type */
    uint32_t thread_key, pid_key, start_key; /* strings of the tables */
    struct report_tuples threads;      /* pid, name: labels of the tables, or 0 */
    struct firefox_sample *samples;    /* by thread, and then by time */
    uint32_t sample_count;
    int64_t  scale;                    /* nanoseconds in the unit; 0: it is no time */
    bool     bytes;                    /* the unit is bytes */
    /* of the thread that is written */
    uint32_t *stack_of, *func_of;      /* by node and function: the number in the thread + 1 */
    uint32_t *stacks, *funcs;          /* back from these */
    uint32_t stack_count, func_count;
};

/* ---- samples and threads ---- */

static int
compare_samples(const void *a, const void *b)
{
    const struct firefox_sample *one = a, *other = b;

    if (one->thread != other->thread) return one->thread < other->thread ? -1 : 1;
    if (one->start_ns != other->start_ns) return one->start_ns < other->start_ns ? -1 : 1;
    return (one->row > other->row) - (one->row < other->row);
}

static void
read_labels(const struct firefox *firefox, uint32_t set, uint32_t thread[2],
            struct firefox_sample *sample)
{
    const struct report_page_tables *tables = &firefox->tables;

    while (set) {
        const uint32_t *tuple = report_tuples_get(&tables->sets, set);
        const uint32_t *label = report_tuples_get(&tables->labels, tuple[1]);
        if (label[0] == firefox->pid_key) thread[0] = tuple[1];
        if (label[0] == firefox->thread_key) thread[1] = tuple[1];
        if (label[0] == firefox->start_key && label[1] == 0) {
            sample->timed = true;
            sample->start_ns = (int64_t)((uint64_t)label[2] << 32 | label[3]);
        }
        set = tuple[0];
    }
}

/* Threads beyond the most share the last one, which has no name. */
static uint32_t
thread_number(struct firefox *firefox, const uint32_t thread[2])
{
    uint32_t number = report_tuples_find(&firefox->threads, thread);

    if (number) return number;
    if (firefox->threads.count + 1 < THREADS_MOST)
        return report_tuples_add(&firefox->threads, thread);
    return report_tuples_add(&firefox->threads, (uint32_t[2]){0, 0});
}

static bool
find_samples(struct firefox *firefox)
{
    const struct report_page_tables *tables = &firefox->tables;

    firefox->samples = calloc((size_t)tables->rows.count + 1, sizeof(*firefox->samples));
    if (!firefox->samples) return false;
    for (uint32_t row = 1; row <= tables->rows.count; row++) {
        struct firefox_sample sample = {.row = row};
        uint32_t thread[2] = {0, 0};
        if (tables->values[row - 1] <= 0) continue;
        read_labels(firefox, report_tuples_get(&tables->rows, row)[1], thread, &sample);
        sample.thread = thread_number(firefox, thread);
        if (!sample.thread) return false;
        firefox->samples[firefox->sample_count++] = sample;
    }
    qsort(firefox->samples, firefox->sample_count, sizeof(*firefox->samples), compare_samples);
    return true;
}

/* ---- the tables of a thread ---- */

static void
add_func(struct firefox *firefox, uint32_t function)
{
    if (firefox->func_of[function]) return;
    firefox->funcs[firefox->func_count++] = function;
    firefox->func_of[function] = firefox->func_count;
}

/* Adds the node and its callers. A caller comes before what it calls. */
static void
add_stack(struct firefox *firefox, uint32_t node)
{
    const struct report_tuples *nodes = &firefox->tables.nodes;
    uint32_t first = firefox->stack_count;

    for (; node && !firefox->stack_of[node]; node = report_tuples_get(nodes, node)[0]) {
        firefox->stacks[firefox->stack_count++] = node;
        firefox->stack_of[node] = UINT32_MAX;
    }
    for (uint32_t i = first, j = firefox->stack_count; i < j && i < --j; i++) {
        uint32_t other = firefox->stacks[i];
        firefox->stacks[i] = firefox->stacks[j];
        firefox->stacks[j] = other;
    }
    for (uint32_t i = first; i < firefox->stack_count; i++) {
        firefox->stack_of[firefox->stacks[i]] = i + 1;
        add_func(firefox, report_tuples_get(nodes, firefox->stacks[i])[1]);
    }
}

static void
forget_tables(struct firefox *firefox)
{
    for (uint32_t i = 0; i < firefox->stack_count; i++)
        firefox->stack_of[firefox->stacks[i]] = 0;
    for (uint32_t i = 0; i < firefox->func_count; i++) firefox->func_of[firefox->funcs[i]] = 0;
    firefox->stack_count = firefox->func_count = 0;
}

/* ---- writing columns ---- */

/* Writes the number, or null for 0. */
static void
put_number_or_null(struct report_json *json, uint32_t number)
{
    if (number) report_json_unsigned(json, number);
    else report_json_null(json);
}

/* Writes a column of so many rows. The statement writes the value of row i. */
#define PUT_COLUMN(json, key, count, statement) \
    do { \
        report_json_member_begin(json, key, '['); \
        for (uint32_t i = 0; i < (count); i++) { statement; } \
        report_json_end(json, ']'); \
    } while (0)

static void
put_stack_table(struct firefox *firefox)
{
    struct report_json *json = &firefox->json;
    const struct report_tuples *nodes = &firefox->tables.nodes;

    report_json_member_begin(json, "stackTable", '{');
    report_json_member_unsigned(json, "length", firefox->stack_count);
    PUT_COLUMN(json, "frame", firefox->stack_count, report_json_unsigned(json, i));
    report_json_member_begin(json, "prefix", '[');
    for (uint32_t i = 0; i < firefox->stack_count; i++) {
        uint32_t parent = report_tuples_get(nodes, firefox->stacks[i])[0];
        if (parent) report_json_unsigned(json, firefox->stack_of[parent] - 1);
        else report_json_null(json);
    }
    report_json_end(json, ']');
    report_json_end(json, '}');
}

static const uint32_t *
node_of(const struct firefox *firefox, uint32_t stack)
{
    return report_tuples_get(&firefox->tables.nodes, firefox->stacks[stack]);
}

static void
put_frame_table(struct firefox *firefox)
{
    struct report_json *json = &firefox->json;
    uint32_t count = firefox->stack_count;

    report_json_member_begin(json, "frameTable", '{');
    report_json_member_unsigned(json, "length", count);
    PUT_COLUMN(json, "address", count, report_json_integer(json, -1));
    PUT_COLUMN(json, "inlineDepth", count, report_json_unsigned(json, 0));
    PUT_COLUMN(json, "category", count,
               report_json_unsigned(json, report_page_tables_owner(&firefox->tables,
                                                                   node_of(firefox, i)[1])));
    PUT_COLUMN(json, "subcategory", count, report_json_unsigned(json, 0));
    PUT_COLUMN(json, "func", count,
               report_json_unsigned(json, firefox->func_of[node_of(firefox, i)[1]] - 1));
    PUT_COLUMN(json, "nativeSymbol", count, report_json_null(json));
    PUT_COLUMN(json, "innerWindowID", count, report_json_null(json));
    PUT_COLUMN(json, "line", count, put_number_or_null(json, node_of(firefox, i)[2]));
    PUT_COLUMN(json, "column", count, report_json_null(json));
    report_json_end(json, '}');
}

static void
put_source(struct firefox *firefox, uint32_t file)
{
    if (report_tuples_get(&firefox->tables.files, file)[0])
        report_json_unsigned(&firefox->json, file - 1);
    else report_json_null(&firefox->json);
}

static void
put_func_table(struct firefox *firefox)
{
    struct report_json *json = &firefox->json;
    const struct report_tuples *functions = &firefox->tables.functions;
    uint32_t count = firefox->func_count;

    report_json_member_begin(json, "funcTable", '{');
    report_json_member_unsigned(json, "length", count);
    PUT_COLUMN(json, "name", count,
               report_json_unsigned(json, report_tuples_get(functions, firefox->funcs[i])[0]));
    PUT_COLUMN(json, "isJS", count, report_json_bool(json, false));
    PUT_COLUMN(json, "relevantForJS", count, report_json_bool(json, false));
    PUT_COLUMN(json, "resource", count, report_json_integer(json, -1));
    PUT_COLUMN(json, "source", count,
               put_source(firefox, report_tuples_get(functions, firefox->funcs[i])[1]));
    PUT_COLUMN(json, "lineNumber", count,
               put_number_or_null(json, report_tuples_get(functions, firefox->funcs[i])[2]));
    PUT_COLUMN(json, "columnNumber", count, report_json_null(json));
    report_json_end(json, '}');
}

static void
put_empty(struct report_json *json, const char *key)
{
    report_json_member_begin(json, key, '[');
    report_json_end(json, ']');
}

/* Writes a table of these columns without rows. The list ends with NULL. */
static void
put_empty_table(struct report_json *json, const char *key, const char *const *columns)
{
    report_json_member_begin(json, key, '{');
    report_json_member_unsigned(json, "length", 0);
    for (; *columns; columns++) put_empty(json, *columns);
    report_json_end(json, '}');
}

/* ---- a thread ---- */

static int64_t
value_of(const struct firefox *firefox, const struct firefox_sample *sample)
{
    return firefox->tables.values[sample->row - 1];
}

static void
put_value(struct firefox *firefox, int64_t value)
{
    if (!firefox->scale) report_json_integer(&firefox->json, value);
    else if (value > INT64_MAX / firefox->scale) report_json_integer(&firefox->json, INT64_MAX);
    else report_json_milliseconds(&firefox->json, value * firefox->scale);
}

static void
put_times(struct firefox *firefox, const struct firefox_sample *samples, uint32_t count)
{
    uint64_t sum = 0;

    report_json_member_begin(&firefox->json, "time", '[');
    for (uint32_t i = 0; i < count; i++) {
        if (samples[i].timed) report_json_milliseconds(&firefox->json, samples[i].start_ns);
        else put_value(firefox, (int64_t)(sum & INT64_MAX));
        sum += (uint64_t)value_of(firefox, &samples[i]);
    }
    report_json_end(&firefox->json, ']');
}

static void
put_samples(struct firefox *firefox, const struct firefox_sample *samples, uint32_t count)
{
    struct report_json *json = &firefox->json;

    report_json_member_begin(json, "samples", '{');
    report_json_member_unsigned(json, "length", count);
    report_json_member_begin(json, "stack", '[');
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = report_tuples_get(&firefox->tables.rows, samples[i].row)[0];
        if (node) report_json_unsigned(json, firefox->stack_of[node] - 1);
        else report_json_null(json);
    }
    report_json_end(json, ']');
    put_times(firefox, samples, count);
    PUT_COLUMN(json, "weight", count, put_value(firefox, value_of(firefox, &samples[i])));
    report_json_member_text(json, "weightType", firefox->bytes   ? "bytes"
                                                : firefox->scale ? "tracing-ms"
                                                                 : "samples");
    report_json_end(json, '}');
}

/* Writes the text of a label of the tables, or the text that stands for no label. */
static void
put_label(struct firefox *firefox, const char *key, uint32_t label, const char *none)
{
    const struct report_page_tables *tables = &firefox->tables;
    const uint32_t *tuple = label ? report_tuples_get(&tables->labels, label) : NULL;
    char number[32];
    size_t length;

    if (!tuple) report_json_member_text(&firefox->json, key, none);
    else if (tuple[1]) {
        const char *text = rb_heapprof_strings_get(&tables->strings, tuple[1], &length);
        report_json_member_string(&firefox->json, key, text, length);
    }
    else {
        int64_t value = (int64_t)((uint64_t)tuple[2] << 32 | tuple[3]);
        snprintf(number, sizeof(number), "%"PRId64, value);
        report_json_member_text(&firefox->json, key, number);
    }
}

static bool
main_p(const struct firefox *firefox, uint32_t label)
{
    const struct report_page_tables *tables = &firefox->tables;

    return !label || !strcmp("main", rb_heapprof_strings_get(
                                         &tables->strings,
                                         report_tuples_get(&tables->labels, label)[1], NULL));
}

static void
put_thread(struct firefox *firefox, uint32_t number, const struct firefox_sample *samples,
           uint32_t count)
{
    static const char *const markers[] = { "data", "name", "startTime", "endTime", "phase",
                                           "category", NULL };
    static const char *const resources[] = { "lib", "name", "host", "type", NULL };
    static const char *const symbols[] = { "libIndex", "address", "name", "functionSize", NULL };
    const uint32_t *thread = report_tuples_get(&firefox->threads, number);
    const char *pid = rb_heapprof_model_comment(firefox->model, "pid: ");
    struct report_json *json = &firefox->json;

    for (uint32_t i = 0; i < count; i++)
        add_stack(firefox, report_tuples_get(&firefox->tables.rows, samples[i].row)[0]);
    report_json_line(json);
    report_json_begin(json, '{');
    put_label(firefox, "name", thread[1], "all threads");
    put_label(firefox, "pid", thread[0], pid ? pid : "0");
    report_json_member_unsigned(json, "tid", number);
    report_json_member_bool(json, "isMainThread", main_p(firefox, thread[1]));
    report_json_member_text(json, "processType", "default");
    report_json_member_text(json, "processName", "ruby");
    report_json_member_unsigned(json, "processStartupTime", 0);
    report_json_member_text(json, "processShutdownTime", NULL);
    report_json_member_unsigned(json, "registerTime", 0);
    report_json_member_text(json, "unregisterTime", NULL);
    put_empty(json, "pausedRanges");
    put_samples(firefox, samples, count);
    put_empty_table(json, "markers", markers);
    put_stack_table(firefox);
    put_frame_table(firefox);
    put_func_table(firefox);
    put_empty_table(json, "resourceTable", resources);
    put_empty_table(json, "nativeSymbols", symbols);
    report_json_end(json, '}');
    forget_tables(firefox);
}

static void
put_threads(struct firefox *firefox)
{
    report_json_member_begin(&firefox->json, "threads", '[');
    for (uint32_t first = 0, end; first < firefox->sample_count; first = end) {
        uint32_t thread = firefox->samples[first].thread;
        for (end = first; end < firefox->sample_count; end++)
            if (firefox->samples[end].thread != thread) break;
        put_thread(firefox, thread, firefox->samples + first, end - first);
    }
    report_json_end(&firefox->json, ']');
}

/* ---- the whole ---- */

static void
put_categories(struct report_json *json)
{
    static const char *const categories[][2] = { /* by enum report_page_owner */
        { "Ruby and C", "grey" }, { "Application", "orange" }, { "Gems", "blue" }
    };

    report_json_member_begin(json, "categories", '[');
    for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
        report_json_begin(json, '{');
        report_json_member_text(json, "name", categories[i][0]);
        report_json_member_text(json, "color", categories[i][1]);
        report_json_member_begin(json, "subcategories", '[');
        report_json_text(json, "Other");
        report_json_end(json, ']');
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
}

static void
put_time(struct report_json *json, const char *key, int64_t ns)
{
    report_json_key(json, key);
    report_json_milliseconds(json, ns);
}

static void
put_meta(struct firefox *firefox)
{
    const struct heapprof_model *model = firefox->model;
    struct report_json *json = &firefox->json;
    const char *unit = rb_heapprof_model_string(model, model->period_type.unit, NULL);
    bool period = !strcmp(unit, "nanoseconds") && model->period > 0;

    report_json_member_begin(json, "meta", '{');
    put_time(json, "interval", period ? model->period : 1000000);
    put_time(json, "startTime", model->time_ns);
    put_time(json, "profilingStartTime", 0);
    put_time(json, "profilingEndTime", model->duration_ns > 0 ? model->duration_ns : 0);
    report_json_member_unsigned(json, "processType", 0);
    report_json_member_text(json, "product", "Ruby");
    report_json_member_text(json, "importedFrom", "heapprof " HEAPPROF_VERSION);
    report_json_member_unsigned(json, "stackwalk", 0);
    report_json_member_unsigned(json, "version", GECKO_VERSION);
    report_json_member_unsigned(json, "preprocessedProfileVersion", VERSION);
    report_json_member_bool(json, "symbolicated", true);
    report_json_member_bool(json, "symbolicationNotSupported", true);
    report_json_member_bool(json, "usesOnlyOneStackType", true);
    report_json_member_bool(json, "sourceCodeIsNotOnSearchfox", true);
    put_empty(json, "markerSchema");
    put_categories(json);
    report_json_member_begin(json, "sampleUnits", '{');
    report_json_member_text(json, "time", firefox->bytes ? "bytes" : "ms");
    report_json_member_text(json, "eventDelay", "ms");
    report_json_member_text(json, "threadCPUDelta", "ns");
    report_json_end(json, '}');
    report_json_end(json, '}');
}

static void
put_shared(struct firefox *firefox)
{
    const struct report_page_tables *tables = &firefox->tables;
    struct report_json *json = &firefox->json;

    report_json_member_begin(json, "shared", '{');
    report_json_member_begin(json, "stringArray", '[');
    for (uint32_t i = 0; i < tables->strings.numbers.end; i++) {
        size_t length;
        const char *text = rb_heapprof_strings_get(&tables->strings, i, &length);
        report_json_string(json, text, length);
    }
    report_json_end(json, ']');
    report_json_member_begin(json, "sources", '{');
    report_json_member_unsigned(json, "length", tables->files.count);
    PUT_COLUMN(json, "uuid", tables->files.count, report_json_null(json));
    PUT_COLUMN(json, "filename", tables->files.count,
               report_json_unsigned(json, report_tuples_get(&tables->files, i + 1)[0]));
    report_json_end(json, '}');
    report_json_end(json, '}');
}

static bool
intern(struct firefox *firefox, const char *text, uint32_t *number)
{
    *number = rb_heapprof_strings_intern(&firefox->tables.strings, text, strlen(text));
    return *number != UINT32_MAX;
}

static void
read_unit(struct firefox *firefox)
{
    static const struct {
        const char *unit;
        int64_t ns;
    } units[] = { { "nanoseconds", 1 }, { "microseconds", 1000 }, { "milliseconds", 1000000 },
                  { "seconds", 1000000000 } };
    const struct heapprof_model *model = firefox->model;
    const char *unit = rb_heapprof_model_string(model, model->types[firefox->type].unit, NULL);

    firefox->bytes = !strcmp(unit, "bytes");
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(unit, units[i].unit)) firefox->scale = units[i].ns;
}

static bool
make_tables(struct firefox *firefox)
{
    const char *directory = report_directories(firefox->model);
    struct report_page_tables *tables = &firefox->tables;
    bool made = report_page_tables_add_type(tables, firefox->model, firefox->type, directory);

    report_tuples_init(&firefox->threads, &tables->mem, 2);
    firefox->stack_of = calloc((size_t)tables->nodes.count + 1, sizeof(uint32_t));
    firefox->stacks = calloc((size_t)tables->nodes.count + 1, sizeof(uint32_t));
    firefox->func_of = calloc((size_t)tables->functions.count + 1, sizeof(uint32_t));
    firefox->funcs = calloc((size_t)tables->functions.count + 1, sizeof(uint32_t));
    return made && firefox->stack_of && firefox->stacks && firefox->func_of && firefox->funcs &&
           intern(firefox, "thread", &firefox->thread_key) &&
           intern(firefox, "pid", &firefox->pid_key) &&
           intern(firefox, "start", &firefox->start_key) && find_samples(firefox);
}

bool
report_export_firefox(FILE *out, const struct heapprof_model *model, uint32_t type)
{
    struct firefox firefox = {.json = {.out = out}, .model = model, .type = type};

    read_unit(&firefox);
    bool made = make_tables(&firefox);
    if (made) {
        report_json_begin(&firefox.json, '{');
        put_meta(&firefox);
        put_empty(&firefox.json, "libs");
        put_shared(&firefox);
        put_threads(&firefox);
        report_json_end(&firefox.json, '}');
        putc('\n', out);
    }
    free(firefox.samples);
    free(firefox.stack_of);
    free(firefox.stacks);
    free(firefox.func_of);
    free(firefox.funcs);
    report_tuples_free(&firefox.threads);
    report_page_tables_free(&firefox.tables);
    return made;
}
