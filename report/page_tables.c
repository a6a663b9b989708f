/* page_tables.c - makes nodes and rows of samples.
 *
 *     sample: [frame < caller < ... < main], labels, values
 *         node:  main > ... > caller > frame     a path of nodes, shared with other samples
 *         set:   (((), label), label)            a path of sorted labels, shared in the same way
 *         row:   node, set                       to which the values are added
 *
 * So a difference is the sum of two models, one of them with its sign changed.
 *
 * A hostile file can make paths of any length with few bytes: a location may have a million
 * lines, and a stack may have it a million times. So a path has at most DEEPEST nodes, and the
 * tables have at most MOST nodes. Frames beyond that belong to the last node of their path. A
 * location that was seen under the same node before is looked up as a whole, however many lines
 * it has.
 */
#include "report/page_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/names.h"
#include "report/own.h"

#define DEEPEST 4096
#define MOST    4000000
#define SMALLEST_NODE (1.0 / 50000)
#define SMALLEST_ROW (1.0 / 1000000)

/* ---- lifecycle ---- */

void
report_page_tables_init(struct report_page_tables *tables, uint32_t type_count,
                        const char *directory)
{
    struct heapprof_mem *mem = &tables->mem;

    memset(tables, 0, sizeof(*tables));
    tables->type_count = type_count;
    tables->directory = directory;
    rb_heapprof_mem_init(mem, SIZE_MAX);
    rb_heapprof_strings_init(&tables->strings, mem);
    report_tuples_init(&tables->files, mem, 4);
    report_tuples_init(&tables->functions, mem, 3);
    report_tuples_init(&tables->nodes, mem, 3);
    report_tuples_init(&tables->labels, mem, 5);
    report_tuples_init(&tables->sets, mem, 2);
    report_tuples_init(&tables->rows, mem, 2);
    report_tuples_init(&tables->paths, mem, 2);
}

static void
free_paths(struct report_page_tables *tables)
{
    report_tuples_free(&tables->paths);
    HEAPPROF_MEM_RELEASE(&tables->mem, tables->path_ends, tables->path_ends_capacity);
}

void
report_page_tables_free(struct report_page_tables *tables)
{
    rb_heapprof_strings_free(&tables->strings);
    report_tuples_free(&tables->files);
    report_tuples_free(&tables->functions);
    report_tuples_free(&tables->nodes);
    report_tuples_free(&tables->labels);
    report_tuples_free(&tables->sets);
    report_tuples_free(&tables->rows);
    HEAPPROF_MEM_RELEASE(&tables->mem, tables->values, tables->values_capacity);
    free_paths(tables);
}

/* ---- functions and labels ---- */

static bool
intern(struct report_page_tables *tables, const struct heapprof_model *model, uint32_t string,
       uint32_t *number)
{
    size_t length;
    const char *text = rb_heapprof_model_string(model, string, &length);

    *number = rb_heapprof_strings_intern(&tables->strings, text, length);
    return *number != UINT32_MAX;
}

static bool
intern_text(struct report_page_tables *tables, const char *text, uint32_t *number)
{
    *number = rb_heapprof_strings_intern(&tables->strings, text, strlen(text));
    return *number != UINT32_MAX;
}

static uint32_t
small_number(int64_t number)
{
    return number > 0 && number < UINT32_MAX ? (uint32_t)number : 0;
}

/* Interns a part of a text of that table. Of a longer text the first 4096 bytes count. Returns
 * false if there is no memory. */
static bool
intern_part(struct report_page_tables *tables, const char *part, size_t length, uint32_t *number)
{
    char copy[4096]; /* because a text to intern must not lie in the table of strings */

    if (length > sizeof(copy)) length = sizeof(copy);
    memcpy(copy, part, length);
    *number = rb_heapprof_strings_intern(&tables->strings, copy, length);
    return *number != UINT32_MAX;
}

/* Returns the file of that name, a string of the tables, or 0 if there is no memory. */
static uint32_t
add_file(struct report_page_tables *tables, uint32_t name)
{
    size_t length;
    const char *path = rb_heapprof_strings_get(&tables->strings, name, NULL);
    const char *belongs = report_gem(path, tables->directory, &length);
    uint32_t file[4] = {name, 0, report_own_p(path, tables->directory), 0};

    if (!intern_part(tables, belongs, length, &file[1])) return 0;
    path = rb_heapprof_strings_get(&tables->strings, name, NULL);
    path = report_short_path(path, tables->directory);
    if (!intern_part(tables, path, strlen(path), &file[3])) return 0;
    return report_tuples_add(&tables->files, file);
}

/* Returns 0 if there is no memory. */
static uint32_t
add_function(struct report_page_tables *tables, const struct heapprof_model *model, uint64_t place)
{
    const struct heapprof_model_function *function = &model->functions[place];
    const char *name = rb_heapprof_model_string(model, function->name, NULL);
    const char *file = rb_heapprof_model_string(model, function->filename, NULL);
    const char *known = report_function_name(name, file, model);
    uint32_t tuple[3], filename;

    if (known == name && !intern(tables, model, function->name, &tuple[0])) return 0;
    if (known != name && !intern_text(tables, known, &tuple[0])) return 0;
    if (!intern(tables, model, function->filename, &filename)) return 0;
    tuple[1] = add_file(tables, filename);
    tuple[2] = small_number(function->start_line);
    return tuple[1] ? report_tuples_add(&tables->functions, tuple) : 0;
}

/* Returns a function for a location whose address alone is known, or 0 if there is no memory. */
static uint32_t
add_address(struct report_page_tables *tables, uint64_t address)
{
    char name[32];
    int length = snprintf(name, sizeof(name), "0x%"PRIx64, address);
    uint32_t tuple[3] = {rb_heapprof_strings_intern(&tables->strings, name, (size_t)length)};

    if (tuple[0] == UINT32_MAX) return 0;
    tuple[1] = add_file(tables, 0);
    return tuple[1] ? report_tuples_add(&tables->functions, tuple) : 0;
}

static uint32_t
add_label(struct report_page_tables *tables, const struct heapprof_model *model,
          const struct heapprof_model_label *label)
{
    uint64_t number = label->str ? 0 : (uint64_t)label->num;
    uint32_t tuple[5] = {0, 0, (uint32_t)(number >> 32), (uint32_t)number, 0};
    char buffer[REPORT_LABEL_MAX];
    bool named = label->str && report_label_text(model, label, buffer) == buffer;

    if (named ? !intern_text(tables, buffer, &tuple[1])
              : !intern(tables, model, label->str, &tuple[1]))
        return 0;
    if (!intern(tables, model, label->key, &tuple[0]) ||
        !intern(tables, model, label->str ? 0 : label->unit, &tuple[4])) return 0;
    return report_tuples_add(&tables->labels, tuple);
}

/* ---- adding a model ---- */

/* The model that is being added. */
struct addition {
    struct report_page_tables *tables;
    const struct heapprof_model *model;
    const uint32_t *types;
    int       sign;
    uint32_t *functions; /* by place: the function in the tables; 0: not known yet */
    uint32_t *labels;    /* scratch: the labels of a sample */
};

/* Returns the function of that line in the tables, or 0 if there is no memory. */
static uint32_t
function_at(struct addition *addition, const struct heapprof_model_line *line, uint64_t address)
{
    if (line->function == HEAPPROF_NO_PLACE) return add_address(addition->tables, address);
    if (!addition->functions[line->function]) {
        addition->functions[line->function] =
            add_function(addition->tables, addition->model, line->function);
    }
    return addition->functions[line->function];
}

/* Goes down to the child node, if there is room for it. Returns false if there is no memory. */
static bool
step(struct report_page_tables *tables, uint32_t *node, uint32_t *depth, uint32_t function,
     uint32_t line)
{
    uint32_t tuple[3] = {*node, function, line}, below;

    if (!function) return false;
    if (*depth >= DEEPEST) return true;
    below = tables->nodes.count < MOST ? report_tuples_add(&tables->nodes, tuple)
                                       : report_tuples_find(&tables->nodes, tuple);
    if (!below) {
        *depth = DEEPEST;
        return tables->nodes.count >= MOST;
    }
    *node = below;
    (*depth)++;
    return true;
}

/* Goes down through all lines of a location, the outermost first. */
static bool
walk_location(struct addition *addition, uint32_t place, uint32_t *node, uint32_t *depth)
{
    const struct heapprof_model *model = addition->model;
    const struct heapprof_model_location *location = &model->locations[place];
    const struct heapprof_model_line unknown = {.function = HEAPPROF_NO_PLACE};
    uint32_t first = location[0].first_line, end = location[1].first_line;

    if (first == end) {
        return step(addition->tables, node, depth,
                    function_at(addition, &unknown, location->address), 0);
    }
    for (uint32_t l = end; l-- > first && *depth < DEEPEST; ) {
        const struct heapprof_model_line *line = &model->lines[l];
        if (!step(addition->tables, node, depth, function_at(addition, line, location->address),
                  small_number(line->line))) return false;
    }
    return true;
}

/* Does the same, but looks the result up if the location was under this node before. */
static bool
enter_location(struct addition *addition, uint32_t place, uint32_t *node, uint32_t *depth)
{
    struct report_page_tables *tables = addition->tables;
    uint32_t path[2] = {*node, place}, number = report_tuples_find(&tables->paths, path);

    if (number) {
        const struct heapprof_model_location *location = &addition->model->locations[place];
        uint32_t lines = location[1].first_line - location[0].first_line;
        *node = tables->path_ends[number - 1];
        *depth += lines < DEEPEST - *depth ? (lines ? lines : 1) : DEEPEST - *depth;
        return true;
    }
    if (!walk_location(addition, place, node, depth)) return false;
    if (tables->paths.count >= MOST) return true;
    number = report_tuples_add(&tables->paths, path);
    if (!number ||
        !HEAPPROF_MEM_GROW(&tables->mem, tables->path_ends, tables->path_ends_capacity, number))
        return false;
    tables->path_ends[number - 1] = *node;
    return true;
}

/* Finds the node of a table of the VM, which is no code's. */
static bool
find_node_of_table(struct report_page_tables *tables, const char *name, uint32_t *node)
{
    uint32_t function[3] = {0}, depth = 0;

    if (!intern_text(tables, name, &function[0]) || !(function[1] = add_file(tables, 0)))
        return false;
    return step(tables, node, &depth, report_tuples_add(&tables->functions, function), 0);
}

static bool
find_node(struct addition *addition, const struct heapprof_samples *samples, uint32_t *node)
{
    const char *table = report_vm_table(samples);
    uint32_t depth = 0;

    *node = 0;
    if (table) return find_node_of_table(addition->tables, table, node);
    for (uint32_t i = samples->location_count; i-- > 0 && depth < DEEPEST; ) {
        if (!enter_location(addition, samples->locations[i], node, &depth)) return false;
    }
    return true;
}

static int
compare_numbers(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

static bool
find_set(struct addition *addition, const struct heapprof_samples *samples, uint32_t *set)
{
    struct report_page_tables *tables = addition->tables;

    for (uint32_t i = 0; i < samples->label_count; i++) {
        addition->labels[i] = add_label(tables, addition->model, &samples->labels[i]);
        if (!addition->labels[i]) return false;
    }
    qsort(addition->labels, samples->label_count, sizeof(uint32_t), compare_numbers);
    *set = 0;
    for (uint32_t i = 0; i < samples->label_count; i++) {
        uint32_t tuple[2] = {*set, addition->labels[i]};
        if (!(*set = report_tuples_add(&tables->sets, tuple))) return false;
    }
    return true;
}

/* Returns the values of a row, or NULL if there is no memory. */
static int64_t *
find_row(struct report_page_tables *tables, uint32_t node, uint32_t set)
{
    uint32_t tuple[2] = {node, set}, row = report_tuples_add(&tables->rows, tuple);
    size_t count = (size_t)row * tables->type_count;

    if (!row || !HEAPPROF_MEM_GROW(&tables->mem, tables->values, tables->values_capacity, count))
        return NULL;
    return tables->values + count - tables->type_count;
}

/* Adds without undefined overflow, because a hostile file may have any values. */
static void
add_value(int64_t *sum, int64_t value, int sign)
{
    uint64_t change = sign < 0 ? -(uint64_t)value : (uint64_t)value;
    *sum = (int64_t)((uint64_t)*sum + change);
}

static bool
any_p(const struct heapprof_samples *samples)
{
    for (uint32_t t = 0; t < samples->model->type_count; t++) {
        if (samples->values[t] != 0) return true;
    }
    return false;
}

static bool
add_sample(struct addition *addition, const struct heapprof_samples *samples)
{
    uint32_t node, set;
    int64_t *row;

    if (!any_p(samples)) return true;
    if (!find_node(addition, samples, &node) || !find_set(addition, samples, &set)) return false;
    row = find_row(addition->tables, node, set);
    if (!row) return false;
    for (uint32_t t = 0; t < addition->model->type_count; t++) {
        uint32_t type = addition->types[t];
        if (type < addition->tables->type_count)
            add_value(&row[type], samples->values[t], addition->sign);
    }
    return true;
}

static bool
add_samples(struct addition *addition)
{
    struct heapprof_samples samples;
    bool done = rb_heapprof_samples_begin(&samples, addition->model);

    while (done && rb_heapprof_samples_next(&samples)) done = add_sample(addition, &samples);
    rb_heapprof_samples_end(&samples);
    return done;
}

bool
report_page_tables_add(struct report_page_tables *tables, const struct heapprof_model *model,
                       const uint32_t *types, int sign)
{
    struct addition addition = {.tables = tables, .model = model, .types = types, .sign = sign};
    bool done;

    addition.functions = calloc((size_t)rb_heapprof_model_functions(model) + 1, sizeof(uint32_t));
    addition.labels = malloc(((size_t)model->most_labels + 1) * sizeof(uint32_t));
    done = addition.functions && addition.labels && add_samples(&addition);
    free(addition.functions);
    free(addition.labels);
    free_paths(tables);
    report_tuples_init(&tables->paths, &tables->mem,
                       2); /* the locations belong to this model only */
    return done;
}

bool
report_page_tables_add_type(struct report_page_tables *tables, const struct heapprof_model *model,
                            uint32_t type, const char *directory)
{
    uint32_t *types = malloc(((size_t)model->type_count + 1) * sizeof(*types));

    report_page_tables_init(tables, 1, directory);
    for (uint32_t i = 0; types && i < model->type_count; i++) types[i] = i != type;
    bool added = types && report_page_tables_add(tables, model, types, 1);
    free(types);
    return added;
}

enum report_page_owner
report_page_tables_owner(const struct report_page_tables *tables, uint32_t function)
{
    const uint32_t *file =
        report_tuples_get(&tables->files, report_tuples_get(&tables->functions, function)[1]);
    const char *belongs = rb_heapprof_strings_get(&tables->strings, file[1], NULL);

    if (file[2]) return REPORT_PAGE_OWN;
    return belongs[0] == '(' ? REPORT_PAGE_OTHER : REPORT_PAGE_GEM;
}

/* ---- folding ---- */

/* Marks in keep, by node, each node that is not too small in that type. widths is scratch, by
 * node. */
static void
mark_wide(const struct report_page_tables *tables, uint32_t type, double *widths,
          unsigned char *keep)
{
    uint32_t count = tables->nodes.count;
    double all = 0;

    memset(widths, 0, ((size_t)count + 1) * sizeof(*widths));
    for (uint32_t row = 1; row <= tables->rows.count; row++) {
        double value = fabs((double)tables->values[(size_t)(row - 1) * tables->type_count + type]);
        widths[report_tuples_get(&tables->rows, row)[0]] += value;
        all += value;
    }
    for (uint32_t node = count; node > 0; node--) {
        if (widths[node] > all * SMALLEST_NODE) keep[node] = 1;
        widths[report_tuples_get(&tables->nodes, node)[0]] += widths[node];
    }
}

/* Makes a new table of the nodes that stay. Sets to, by node, to the node in the new table that
 * replaces it. */
static bool
fold_nodes(struct report_page_tables *tables, const unsigned char *keep, uint32_t *to)
{
    struct report_tuples nodes;

    report_tuples_init(&nodes, &tables->mem, 3);
    to[0] = 0;
    for (uint32_t node = 1; node <= tables->nodes.count; node++) {
        uint32_t tuple[3];
        memcpy(tuple, report_tuples_get(&tables->nodes, node), sizeof(tuple));
        tuple[0] = to[tuple[0]];
        to[node] = keep[node] ? report_tuples_add(&nodes, tuple) : tuple[0];
        if (keep[node] && !to[node]) {
            report_tuples_free(&nodes);
            return false;
        }
    }
    report_tuples_free(&tables->nodes);
    tables->nodes = nodes;
    return true;
}

/* Makes the rows anew. A row moves to the node that to says, and loses its labels if plain is set
 * for it. Either may be NULL: that part of the rows then stays. */
static bool
fold_rows(struct report_page_tables *tables, const uint32_t *to, const unsigned char *plain)
{
    struct report_tuples rows = tables->rows;
    int64_t *values = tables->values;
    size_t capacity = tables->values_capacity;
    bool done = true;

    report_tuples_init(&tables->rows, &tables->mem, 2);
    tables->values = NULL;
    tables->values_capacity = 0;
    for (uint32_t row = 1; done && row <= rows.count; row++) {
        const uint32_t *tuple = report_tuples_get(&rows, row);
        int64_t *sums =
            find_row(tables, to ? to[tuple[0]] : tuple[0], plain && plain[row] ? 0 : tuple[1]);
        done = sums != NULL;
        for (uint32_t t = 0; done && t < tables->type_count; t++) {
            add_value(&sums[t], values[(size_t)(row - 1) * tables->type_count + t], 1);
        }
    }
    report_tuples_free(&rows);
    HEAPPROF_MEM_RELEASE(&tables->mem, values, capacity);
    return done;
}

static bool
fold_small_nodes(struct report_page_tables *tables)
{
    size_t count = (size_t)tables->nodes.count + 1;
    double *widths = malloc(count * sizeof(*widths));
    unsigned char *keep = calloc(count, 1);
    uint32_t *to = malloc(count * sizeof(*to));
    bool done = widths && keep && to;

    for (uint32_t t = 0; done && t < tables->type_count; t++) mark_wide(tables, t, widths, keep);
    done = done && fold_nodes(tables, keep, to) && fold_rows(tables, to, NULL);
    free(widths);
    free(keep);
    free(to);
    return done;
}

/* Clears plain of each row that is not too small in that type. */
static void
unmark_large(const struct report_page_tables *tables, uint32_t type, unsigned char *plain)
{
    const int64_t *values = tables->values + type;
    size_t step = tables->type_count;
    double all = 0;

    for (size_t row = 0; row < tables->rows.count; row++) all += fabs((double)values[row * step]);
    for (size_t row = 0; row < tables->rows.count; row++) {
        if (fabs((double)values[row * step]) > all * SMALLEST_ROW) plain[row + 1] = 0;
    }
}

static bool
fold_small_rows(struct report_page_tables *tables)
{
    size_t count = (size_t)tables->rows.count + 1;
    unsigned char *plain = malloc(count);
    bool done = plain != NULL;

    if (plain) memset(plain, 1, count);
    for (uint32_t t = 0; done && t < tables->type_count; t++) unmark_large(tables, t, plain);
    done = done && fold_rows(tables, NULL, plain);
    free(plain);
    return done;
}

bool
report_page_tables_fold(struct report_page_tables *tables, uint32_t most_nodes, uint32_t most_rows)
{
    if (tables->nodes.count > most_nodes && !fold_small_nodes(tables)) return false;
    return tables->rows.count <= most_rows || fold_small_rows(tables);
}
