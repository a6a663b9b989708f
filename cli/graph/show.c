/* show.c - `heapprof graph show`: shows one object, its references, and the objects that refer
 * to it.
 *
 * References to values that are not objects, and weak references, are not in the graph: this
 * command reads them from the file in a second pass. */
#include <inttypes.h>
#include <string.h>

#include "cli/graph/graph.h"
#include "profiler/label_sets.h"
#include "report/text.h"

struct view {
    const struct cli *cli;
    struct cli_graph *graph;
    uint32_t object;
    uint64_t address;
    uint64_t limit;              /* of references in each direction */
    uint64_t count;              /* so far */
    struct report_json json;
    bool     as_json;
    bool     here;               /* the reader is at the object */
    bool     failed;             /* no memory */
};

static const char *
string(const struct view *view, uint64_t number)
{
    return graph_string(&view->graph->graph.names, (uint32_t)number);
}

/* ---- what it is ---- */

static void
put_stack(const struct graph *graph, uint32_t object)
{
    const struct graph_sample *sample = graph_sample(graph, object);
    uint32_t first = sample ? sample->stack : 0;

    for (uint32_t stack = first; stack; stack = graph->names.stacks[stack].caller) {
        struct cli_text text;
        if (!cli_text_begin(&text)) return;
        cli_graph_put_frame(text.out, &graph->names, stack);
        printf("%-15s", stack == first ? "allocated" : "");
        cli_text_show(&text, 0, false);
        putchar('\n');
    }
}

static const char *
labels_of(const struct graph *graph, uint32_t object)
{
    const struct graph_sample *sample = graph_sample(graph, object);

    return sample ? graph_string(&graph->names, sample->doing) : "";
}

/* What the program was doing when it was allocated. */
static void
put_labels(const struct graph *graph, uint32_t object)
{
    const char *at = labels_of(graph, object), *before = "";
    struct cli_graph_label label;
    struct cli_text text;

    if (*at == '\0' || !cli_text_begin(&text)) return;
    for (; cli_graph_next_label(&at, &label); before = ", ")
        fprintf(text.out, "%s%.*s: %.*s", before, (int)label.key_length, label.key,
                (int)label.value_length, label.value);
    printf("%-15s", "labels");
    cli_text_show(&text, 0, false);
    putchar('\n');
}

static void
json_labels(struct report_json *json, const struct graph *graph, uint32_t object)
{
    const char *at = labels_of(graph, object);
    struct cli_graph_label label;

    report_json_member_begin(json, "labels", '{');
    while (cli_graph_next_label(&at, &label)) {
        char key[HEAPPROF_LABEL_KEY_BYTES];
        snprintf(key, sizeof(key), "%.*s", (int)label.key_length, label.key);
        report_json_key(json, key);
        report_json_string(json, label.value, label.value_length);
    }
    report_json_end(json, '}');
}

static bool
put_head(struct view *view)
{
    const struct cli_graph *graph = view->graph;
    char bytes[REPORT_AMOUNT_MAX], retained[REPORT_AMOUNT_MAX];
    bool reached = graph->dominators.dominators[view->object] != GRAPH_UNREACHED;
    struct cli_text text;

    printf("%#"PRIx64" ", view->address);
    if (!cli_graph_put_object(&graph->graph, view->object, 0)) return false;
    printf("\n%-15s%s, ", "is", graph_type(&graph->graph, view->object));
    cli_graph_put_flags(stdout, graph->graph.bits[view->object]);
    report_amount(bytes, (double)graph->graph.sizes[view->object], "bytes");
    report_amount(retained, (double)graph->dominators.retained[view->object], "bytes");
    printf("\n%-15s%s\n", "bytes", bytes);
    if (reached) printf("%-15s%s\n", "retains", retained);
    if (reached) {
        if (!cli_text_begin(&text)) return false;
        graph_put_way(text.out, &graph->graph, &graph->shortest, view->object, false);
    }
    printf("%-15s", "kept alive by");
    if (reached) cli_text_show(&text, 0, false);
    else fputs("nothing: the garbage collector will free it", stdout);
    putchar('\n');
    put_labels(&graph->graph, view->object);
    put_stack(&graph->graph, view->object);
    return true;
}

/* ---- references ---- */

static void
put_other_object(struct view *view, uint32_t object)
{
    if (view->as_json) {
        if (!cli_graph_json_object(&view->json, view->graph, object)) view->failed = true;
        return;
    }
    printf("%#"PRIx64"  ", graph_address(&view->graph->graph, object));
    cli_graph_put_bytes((double)view->graph->dominators.retained[object]);
    fputs("  ", stdout);
    if (!cli_graph_put_object(&view->graph->graph, object, 0)) view->failed = true;
}

/* Writes the beginning of a reference, and ends the text of its label. */
static void
begin_reference(struct view *view, struct cli_text *label)
{
    unsigned columns;

    if (view->as_json) {
        report_json_line(&view->json);
        report_json_begin(&view->json, '{');
        report_json_key(&view->json, "label");
        cli_text_json(label, &view->json);
        return;
    }
    fputs("  ", stdout);
    columns = cli_text_show(label, 30, false);
    printf("%*s", columns < 32 ? (int)(32 - columns) : 2, "");
}

static void
end_reference(struct view *view)
{
    if (view->as_json) report_json_end(&view->json, '}');
    else putchar('\n');
}

/* ---- references of the object, from the file ---- */

static void
put_immediate(FILE *out, const struct view *view, const struct heapprof_dump_value *value)
{
    static const char *const specials[] = {"nil", "false", "true", "undefined"};
    static const char *const hidden[] = {"an Integer", "a Float", "a Symbol"};
    uint64_t bits = value->bits;

    switch (value->immediate) {
      case HEAPPROF_DUMP_SPECIAL: fputs(bits < 4 ? specials[bits] : "(nothing)", out); break;
      case HEAPPROF_DUMP_INTEGER: fprintf(out, "%"PRId64,
                                          (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1)); break;
      case HEAPPROF_DUMP_SYMBOL: fprintf(out, ":%s", string(view, bits)); break;
      case HEAPPROF_DUMP_FLOAT: fputs(string(view, bits), out); break;
      default: fputs(hidden[bits], out); break;
    }
}

static void
put_label(FILE *out, const struct view *view, const struct heapprof_dump_reference *reference)
{
    const struct heapprof_dump_value *key = &reference->key;
    uint32_t object, label;

    if (reference->label == HEAPPROF_DUMP_VALUE) {
        object = key->object ? graph_find(&view->graph->graph, key->bits) : 0;
        fputc('[', out);
        if (object) graph_put_object(out, &view->graph->graph, object);
        else if (!key->object) put_immediate(out, view, key);
        fputc(']', out);
        return;
    }
    if (reference->label == HEAPPROF_DUMP_WEAK) fputs("weak ", out);
    label = graph_label(reference->label, reference->name ? reference->name : reference->index);
    graph_put_label(out, &view->graph->graph, label, false);
}

static bool
on_object(void *data, const struct heapprof_dump_read_object *object)
{
    struct view *view = data;

    view->here = object->address == view->address;
    return true;
}

static void
put_to(struct view *view, const struct heapprof_dump_reference *reference)
{
    uint32_t object =
        reference->to.object ? graph_find(&view->graph->graph, reference->to.bits) : 0;
    struct cli_text label, value;

    if (!cli_text_begin(&label)) {
        view->failed = true;
        return;
    }
    put_label(label.out, view, reference);
    begin_reference(view, &label);
    if (object) put_other_object(view, object);
    else if (cli_text_begin(&value)) {
        if (reference->to.object) fputs("an object that is not in the dump", value.out);
        else put_immediate(value.out, view, &reference->to);
        if (view->as_json) report_json_key(&view->json, "value");
        if (view->as_json) cli_text_json(&value, &view->json);
        else cli_text_show(&value, 0, false);
    }
    else view->failed = true;
    end_reference(view);
}

/* Writes a key that is not an object together with its value. */
static bool
nothing_p(const struct heapprof_dump_reference *reference)
{
    const struct heapprof_dump_value *to = &reference->to;

    return !to->object &&
           (reference->label == HEAPPROF_DUMP_KEY ||
            (to->immediate == HEAPPROF_DUMP_SPECIAL && to->bits == 4));
}

static bool
on_reference(void *data, const struct heapprof_dump_reference *reference)
{
    struct view *view = data;

    if (!view->here || nothing_p(reference)) return true;
    if (view->count++ < view->limit) put_to(view, reference);
    return !view->failed;
}

static int
put_references_to(struct view *view)
{
    struct heapprof_dump_visitor visitor = {.data = view, .object = on_object,
                                            .reference = on_reference};
    char error[HEAPPROF_DUMP_ERROR_MAX];
    struct cli_input input;
    enum heapprof_dump_result result;

    if (!cli_open(view->cli, &input, view->cli->operands[0])) return CLI_WRONG;
    result = rb_heapprof_dump_read(cli_more, &input, &visitor, error);
    cli_close(&input);
    if (result == HEAPPROF_DUMP_COMPLETE || result == HEAPPROF_DUMP_INCOMPLETE) return CLI_DONE;
    return cli_wrong(view->cli, "%s: %s", view->cli->operands[0], error);
}

/* ---- references to the object ---- */

static void
put_from(struct view *view, uint32_t from, uint32_t label)
{
    struct cli_text text;

    if (view->failed || view->count++ >= view->limit) return;
    if (!cli_text_begin(&text)) {
        view->failed = true;
        return;
    }
    graph_put_label(text.out, &view->graph->graph, label, false);
    begin_reference(view, &text);
    if (from) put_other_object(view, from);
    else if (!view->as_json) fputs("(a root)", stdout);
    end_reference(view);
}

static void
put_references_from(struct view *view)
{
    const struct graph *graph = &view->graph->graph;

    for (uint32_t i = 0; i < graph->root_count; i++) {
        const struct graph_root *root = &graph->roots[i];
        if (root->target == view->object) put_from(view, 0, graph_root_label(root));
    }
    for (uint32_t from = 1; from <= graph->count; from++) {
        for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++) {
            if (graph->targets[i] == view->object) put_from(view, from, graph->labels[i]);
        }
    }
    for (uint32_t from = 1; from <= graph->count; from++) {
        if (graph_class(graph, from) != view->object) continue;
        put_from(view, from, graph_label(HEAPPROF_DUMP_CLASS, 0));
    }
}

/* ---- the command ---- */

static void
begin_list(struct view *view, const char *title, const char *key)
{
    view->count = 0;
    if (view->as_json) {
        report_json_member_begin(&view->json, key, '[');
    }
    else printf("\n%s\n", title);
}

static void
end_list(struct view *view)
{
    if (view->as_json) report_json_end(&view->json, ']');
    else if (view->count > view->limit) {
        fputs("  ", stdout);
        cli_graph_put_left(view->count - view->limit);
    }
    else if (view->count == 0) puts("  nothing");
}

static bool
begin(struct view *view)
{
    const struct graph *graph = &view->graph->graph;
    const struct graph_sample *sample = graph_sample(graph, view->object);

    if (!view->as_json) return put_head(view);
    report_json_begin(&view->json, '{');
    if (!cli_graph_json_object(&view->json, view->graph, view->object)) return false;
    report_json_member_text(&view->json, "type", graph_type(graph, view->object));
    json_labels(&view->json, graph, view->object);
    report_json_key(&view->json, "stack");
    cli_graph_json_stack(&view->json, graph, sample ? sample->stack : 0);
    return view->graph->dominators.dominators[view->object] == GRAPH_UNREACHED ||
           cli_graph_json_way(&view->json, "way", graph, &view->graph->shortest, view->object,
                              false);
}

static int
show(struct view *view)
{
    int status;

    if (!begin(view)) return cli_wrong(view->cli, "no memory");
    begin_list(view, "refers to", "to");
    status = put_references_to(view);
    end_list(view);
    begin_list(view, "is referred to by", "from");
    put_references_from(view);
    end_list(view);
    if (view->as_json) {
        report_json_end(&view->json, '}');
        putchar('\n');
    }
    if (view->failed) return cli_wrong(view->cli, "no memory");
    return status == CLI_DONE ? cli_finish(view->cli) : status;
}

static int
run(struct cli *cli)
{
    struct cli_graph graph;
    struct view view = {.cli = cli, .graph = &graph, .json = {.out = stdout},
                        .as_json = cli->values[CLI_JSON]};
    long limit;
    int status;

    if (!cli_number(cli, CLI_COUNT, 0, 20, &limit)) return CLI_USAGE;
    if (!strcmp(cli->operands[0], "-"))
        return cli_usage(cli, "this command reads the dump twice, and stdin can be read only once: "
                              "give the name of a file");
    view.limit = limit ? (uint64_t)limit : UINT64_MAX;
    status =
        cli_graph_read(cli, cli->operands[0], &graph, CLI_GRAPH_SHORTEST | cli_graph_exactly(cli));
    if (status == CLI_DONE) {
        cli_graph_warn(cli, cli->operands[0], &graph);
        view.object = cli_graph_object(&graph.graph, cli->operands[1]);
        view.address = view.object ? graph_address(&graph.graph, view.object) : 0;
        if (view.object) status = show(&view);
        else
            status =
                cli_wrong(cli, "%s: there is no object at %s", cli->operands[0], cli->operands[1]);
    }
    cli_graph_free(&graph);
    return status;
}

static const struct cli_option options[] = {
    CLI_GRAPH_KEEPER_OPTIONS,
    {CLI_COUNT, NULL, "How many references in each direction; 0: all (default: 20)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph show app.graph 0x7f3a5c0210a8",
     "what the object refers to, and what refers to it"},
    {0}
};

const struct cli_command cli_graph_show_command = {
    .name = "graph show", .arguments = "FILE ADDRESS [-n N]",
    .summary = "One object of a dump: what it refers to, what refers to it",
    .description =
        "Shows the object at an address: what it is, its bytes, what it retains, the\n"
        "strongest path to it, where it was allocated, and its references with their labels.\n"
        "Numbers, true, nil and symbols are shown with their label. So are weak references,\n"
        "which keep nothing alive.",
    .options = options, .examples = examples, .least = 2, .most = 2, .run = run,
};
