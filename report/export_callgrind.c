/* export_callgrind.c - writes the format of Valgrind's callgrind, which KCachegrind and
 * callgrind_annotate read. The values of a profile are its events, the chosen one first.
 *
 *     fl=(1) /srv/shop/cart.rb
 *     fn=(1) Cart#load
 *     12 4096                      line 12 of it, by itself
 *     cfi=(2) /srv/shop/items.rb
 *     cfn=(2) Items.all
 *     calls=1 0                    how many calls these were is not known; it may not be 0
 *     13 70000                     line 13, by what it called
 *
 * A function that calls itself, over others or not, would be counted twice in sums of what it
 * calls. So it is done as callgrind does: below itself, f is the function f'2. A call that is below
 * the same call counts once.
 *
 * callgrind_annotate takes a line that follows "calls=0" for a cost of the function itself. For a
 * function's sum it takes what its callers say. So each stack begins with a function that stands
 * for all of it, as a process does in callgrind.
 *
 * Names and files are escaped as on a terminal: each is a line here. */
#include "report/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "report/page_tables.h"
#include "report/text.h"

/* Numbers and the sums of values that belong to each. */
struct callgrind_sums {
    struct report_tuples keys;
    int64_t *values;          /* by key and type, as in report_page_tables */
    size_t   capacity;
};

struct callgrind {
    FILE    *out;
    struct report_page_tables tables;
    struct report_tuples functions;   /* a function of the tables, 1 if it is below itself; the
                                         first one, 0 and 0, calls all others */
    struct callgrind_sums costs;      /* function, line */
    struct callgrind_sums calls;      /* function, line, callee */
    int64_t  *totals;                 /* by node and type: with all that it calls */
    uint32_t *below, *beside;         /* by node: its first child, its next sibling; 0: none */
    uint32_t *function_of, *call_of;  /* by node: its function, the call that led to it */
    uint32_t *active, *active_calls;  /* by function, by call: how often it is on the way */
    size_t    active_capacity, active_calls_capacity;
    unsigned char *said_files, *said_functions; /* by number: its name has been written */
};

static int64_t *
values_at(const struct callgrind *callgrind, int64_t *values, uint32_t number)
{
    return values + (size_t)number * callgrind->tables.type_count;
}

/* Without undefined overflow, because a hostile file may have any values. */
static void
add_values(const struct callgrind *callgrind, int64_t *to, const int64_t *from)
{
    for (uint32_t t = 0; t < callgrind->tables.type_count; t++)
        to[t] = (int64_t)((uint64_t)to[t] + (uint64_t)from[t]);
}

/* Adds values to a key. Returns false if there is no memory. */
static bool
add_to_sum(struct callgrind *callgrind, struct callgrind_sums *sums, const uint32_t *key,
           const int64_t *values)
{
    uint32_t number = report_tuples_add(&sums->keys, key);
    size_t count = ((size_t)number + 1) * callgrind->tables.type_count;

    if (!number ||
        !HEAPPROF_MEM_GROW(&callgrind->tables.mem, sums->values, sums->capacity, count))
        return false;
    add_values(callgrind, values_at(callgrind, sums->values, number), values);
    return true;
}

/* ---- sums ---- */

static void
add_totals(struct callgrind *callgrind)
{
    struct report_page_tables *tables = &callgrind->tables;

    for (uint32_t row = 1; row <= tables->rows.count; row++) {
        add_values(callgrind,
                   values_at(callgrind, callgrind->totals,
                             report_tuples_get(&tables->rows, row)[0]),
                   values_at(callgrind, tables->values, row - 1));
    }
    for (uint32_t node = tables->nodes.count; node > 0; node--) {
        uint32_t parent = report_tuples_get(&tables->nodes, node)[0];
        add_values(callgrind, values_at(callgrind, callgrind->totals, parent),
                   values_at(callgrind, callgrind->totals, node));
        callgrind->beside[node] = callgrind->below[parent];
        callgrind->below[parent] = node;
    }
}

static uint32_t
line_of(const struct callgrind *callgrind, uint32_t node)
{
    return node ? report_tuples_get(&callgrind->tables.nodes, node)[2] : 0;
}

/* Finds the node's function, and enters the call that leads to it. */
static bool
enter(struct callgrind *callgrind, uint32_t node)
{
    const struct report_tuples *nodes = &callgrind->tables.nodes;
    const uint32_t *tuple = report_tuples_get(nodes, node);
    uint32_t plain = report_tuples_add(&callgrind->functions, (uint32_t[2]){tuple[1], 0});
    struct heapprof_mem *mem = &callgrind->tables.mem;

    if (!plain || !HEAPPROF_MEM_GROW(mem, callgrind->active, callgrind->active_capacity,
                                     (size_t)plain + 1))
        return false;
    bool again = callgrind->active[plain]++ > 0;
    uint32_t function =
        again ? report_tuples_add(&callgrind->functions, (uint32_t[2]){tuple[1], 1}) : plain;
    callgrind->function_of[node] = function;
    if (!function) return false;

    const uint32_t key[3] = {callgrind->function_of[tuple[0]], line_of(callgrind, tuple[0]),
                             function};
    uint32_t call = report_tuples_add(&callgrind->calls.keys, key);
    callgrind->call_of[node] = call;
    if (!call || !HEAPPROF_MEM_GROW(mem, callgrind->active_calls, callgrind->active_calls_capacity,
                                    (size_t)call + 1))
        return false;
    return callgrind->active_calls[call]++ > 0 ||
           add_to_sum(callgrind, &callgrind->calls, key,
                      values_at(callgrind, callgrind->totals, node));
}

static void
leave(struct callgrind *callgrind, uint32_t node)
{
    uint32_t function = report_tuples_get(&callgrind->tables.nodes, node)[1];

    callgrind->active[report_tuples_find(&callgrind->functions, (uint32_t[2]){function, 0})]--;
    callgrind->active_calls[callgrind->call_of[node]]--;
}

/* Goes through all nodes, each before what it calls and left after that. */
static bool
add_calls(struct callgrind *callgrind)
{
    uint32_t node = callgrind->below[0];

    while (node) {
        if (!enter(callgrind, node)) return false;
        if (callgrind->below[node]) {
            node = callgrind->below[node];
            continue;
        }
        leave(callgrind, node);
        while (!callgrind->beside[node]) {
            node = report_tuples_get(&callgrind->tables.nodes, node)[0];
            if (!node) return true;
            leave(callgrind, node);
        }
        node = callgrind->beside[node];
    }
    return true;
}

static bool
add_costs(struct callgrind *callgrind)
{
    struct report_page_tables *tables = &callgrind->tables;

    for (uint32_t row = 1; row <= tables->rows.count; row++) {
        uint32_t node = report_tuples_get(&tables->rows, row)[0];
        const uint32_t key[2] = {callgrind->function_of[node], line_of(callgrind, node)};
        if (!add_to_sum(callgrind, &callgrind->costs, key,
                        values_at(callgrind, tables->values, row - 1)))
            return false;
    }
    return true;
}

static bool
add_up(struct callgrind *callgrind)
{
    size_t nodes = (size_t)callgrind->tables.nodes.count + 1;

    callgrind->totals = calloc(nodes * callgrind->tables.type_count, sizeof(int64_t));
    callgrind->below = calloc(nodes, sizeof(uint32_t));
    callgrind->beside = calloc(nodes, sizeof(uint32_t));
    callgrind->function_of = calloc(nodes, sizeof(uint32_t));
    callgrind->call_of = calloc(nodes, sizeof(uint32_t));
    if (!callgrind->totals || !callgrind->below || !callgrind->beside || !callgrind->function_of ||
        !callgrind->call_of)
        return false;
    add_totals(callgrind);
    callgrind->function_of[0] = report_tuples_add(&callgrind->functions, (uint32_t[2]){0, 0});
    return callgrind->function_of[0] && add_calls(callgrind) && add_costs(callgrind);
}

/* ---- text ---- */

static void
put_string(const struct callgrind *callgrind, uint32_t string)
{
    report_put(callgrind->out, rb_heapprof_strings_get(&callgrind->tables.strings, string, NULL), 0,
               false);
}

/* Writes "fl=(1) name", and without the name where it has been written before. */
static void
put_file(struct callgrind *callgrind, const char *key, uint32_t function)
{
    uint32_t file = function ? report_tuples_get(&callgrind->tables.functions, function)[1] : 0;
    uint32_t name = file ? report_tuples_get(&callgrind->tables.files, file)[0] : 0;

    fprintf(callgrind->out, "%s=(%"PRIu32")", key, file);
    if (!callgrind->said_files[file]) {
        putc(' ', callgrind->out);
        if (name) put_string(callgrind, name);
        else fputs("???", callgrind->out);
    }
    callgrind->said_files[file] = 1;
    putc('\n', callgrind->out);
}

static void
put_function(struct callgrind *callgrind, const char *key, uint32_t number)
{
    const uint32_t *tuple = report_tuples_get(&callgrind->functions, number);

    fprintf(callgrind->out, "%s=(%"PRIu32")", key, number);
    if (!callgrind->said_functions[number]) {
        putc(' ', callgrind->out);
        if (!tuple[0]) fputs("(all)", callgrind->out);
        else put_string(callgrind, report_tuples_get(&callgrind->tables.functions, tuple[0])[0]);
        if (tuple[1]) fputs("'2", callgrind->out);
    }
    callgrind->said_functions[number] = 1;
    putc('\n', callgrind->out);
}

static void
put_numbers(const struct callgrind *callgrind, const int64_t *values)
{
    for (uint32_t t = 0; t < callgrind->tables.type_count; t++)
        fprintf(callgrind->out, " %"PRId64, values[t]);
    putc('\n', callgrind->out);
}

static void
put_call(struct callgrind *callgrind, uint32_t call)
{
    const uint32_t *tuple = report_tuples_get(&callgrind->calls.keys, call);
    uint32_t callee = report_tuples_get(&callgrind->functions, tuple[2])[0];

    put_file(callgrind, "cfi", callee);
    put_function(callgrind, "cfn", tuple[2]);
    fprintf(callgrind->out, "calls=1 %"PRIu32"\n%"PRIu32,
            report_tuples_get(&callgrind->tables.functions, callee)[2], tuple[1]);
    put_numbers(callgrind, values_at(callgrind, callgrind->calls.values, call));
}

/* Makes lists of keys by their first number, a function: each in the order of the keys. heads is by
 * function, next by key. */
static void
list_keys(const struct report_tuples *keys, uint32_t *heads, uint32_t *next)
{
    for (uint32_t number = keys->count; number > 0; number--) {
        uint32_t function = report_tuples_get(keys, number)[0];
        next[number] = heads[function];
        heads[function] = number;
    }
}

static void
put_functions(struct callgrind *callgrind, const uint32_t *costs, const uint32_t *next_cost,
              const uint32_t *calls, const uint32_t *next_call)
{
    for (uint32_t function = 1; function <= callgrind->functions.count; function++) {
        putc('\n', callgrind->out);
        put_file(callgrind, "fl", report_tuples_get(&callgrind->functions, function)[0]);
        put_function(callgrind, "fn", function);
        for (uint32_t cost = costs[function]; cost; cost = next_cost[cost]) {
            fprintf(callgrind->out, "%"PRIu32, report_tuples_get(&callgrind->costs.keys, cost)[1]);
            put_numbers(callgrind, values_at(callgrind, callgrind->costs.values, cost));
        }
        for (uint32_t call = calls[function]; call; call = next_call[call])
            put_call(callgrind, call);
    }
}

/* Writes a name that callgrind takes: that of the type if it is one word and no other type has it,
 * or e1, e2 and so on. */
static void
put_event(FILE *out, const struct heapprof_model *model, uint32_t type, uint32_t number)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const char *name = rb_heapprof_model_string(model, model->types[type].type, NULL);
    bool word = name[0] && (name[0] < '0' || name[0] > '9') && !name[strspn(name, letters)];

    if (word && rb_heapprof_model_type(model, name) == type) fputs(name, out);
    else fprintf(out, "e%"PRIu32, number);
}

static void
put_events(struct callgrind *callgrind, const struct heapprof_model *model, const uint32_t *order)
{
    FILE *out = callgrind->out;

    for (uint32_t t = 0; t < model->type_count; t++) {
        const struct heapprof_model_type *type = &model->types[order[t]];
        fputs("event: ", out);
        put_event(out, model, order[t], t + 1);
        fputs(" : ", out);
        report_put(out, rb_heapprof_model_string(model, type->type, NULL), 100, false);
        fputs(" (", out);
        report_put(out, rb_heapprof_model_string(model, type->unit, NULL), 100, false);
        fputs(")\n", out);
    }
    fputs("events:", out);
    for (uint32_t t = 0; t < model->type_count; t++) {
        putc(' ', out);
        put_event(out, model, order[t], t + 1);
    }
    fputs("\nsummary:", out);
    put_numbers(callgrind, callgrind->totals);
}

static bool
put_all(struct callgrind *callgrind, const struct heapprof_model *model, const uint32_t *order)
{
    size_t functions = (size_t)callgrind->functions.count + 1;
    uint32_t *costs = calloc(functions, sizeof(*costs)), *calls = calloc(functions, sizeof(*calls));
    uint32_t *next_cost = calloc((size_t)callgrind->costs.keys.count + 1, sizeof(*next_cost));
    uint32_t *next_call = calloc((size_t)callgrind->calls.keys.count + 1, sizeof(*next_call));

    callgrind->said_files = calloc((size_t)callgrind->tables.files.count + 1, 1);
    callgrind->said_functions = calloc(functions, 1);
    bool room = costs && calls && next_cost && next_call && callgrind->said_files &&
                callgrind->said_functions;
    if (room) {
        fputs("# callgrind format\nversion: 1\ncreator: heapprof " HEAPPROF_VERSION
              "\npositions: line\n", callgrind->out);
        put_events(callgrind, model, order);
        list_keys(&callgrind->costs.keys, costs, next_cost);
        list_keys(&callgrind->calls.keys, calls, next_call);
        put_functions(callgrind, costs, next_cost, calls, next_call);
    }
    free(costs);
    free(calls);
    free(next_cost);
    free(next_call);
    return room;
}

static void
free_all(struct callgrind *callgrind)
{
    struct heapprof_mem *mem = &callgrind->tables.mem;

    free(callgrind->totals);
    free(callgrind->below);
    free(callgrind->beside);
    free(callgrind->function_of);
    free(callgrind->call_of);
    free(callgrind->said_files);
    free(callgrind->said_functions);
    HEAPPROF_MEM_RELEASE(mem, callgrind->active, callgrind->active_capacity);
    HEAPPROF_MEM_RELEASE(mem, callgrind->active_calls, callgrind->active_calls_capacity);
    HEAPPROF_MEM_RELEASE(mem, callgrind->costs.values, callgrind->costs.capacity);
    HEAPPROF_MEM_RELEASE(mem, callgrind->calls.values, callgrind->calls.capacity);
    report_tuples_free(&callgrind->functions);
    report_tuples_free(&callgrind->costs.keys);
    report_tuples_free(&callgrind->calls.keys);
    report_page_tables_free(&callgrind->tables);
}

bool
report_export_callgrind(FILE *out, const struct heapprof_model *model, uint32_t type)
{
    struct callgrind callgrind = {.out = out};
    uint32_t *place = calloc((size_t)model->type_count + 1, sizeof(*place));
    uint32_t *order = calloc((size_t)model->type_count + 1, sizeof(*order));
    bool room = place && order;

    report_page_tables_init(&callgrind.tables, model->type_count,
                            rb_heapprof_model_comment(model, "directory: "));
    report_tuples_init(&callgrind.functions, &callgrind.tables.mem, 2);
    report_tuples_init(&callgrind.costs.keys, &callgrind.tables.mem, 2);
    report_tuples_init(&callgrind.calls.keys, &callgrind.tables.mem, 3);
    for (uint32_t t = 0; room && t < model->type_count; t++) {
        place[t] = t == type ? 0 : t + (t < type);
        order[place[t]] = t;
    }
    room = room && report_page_tables_add(&callgrind.tables, model, place, 1) &&
           add_up(&callgrind) && put_all(&callgrind, model, order);
    free_all(&callgrind);
    free(place);
    free(order);
    return room;
}
