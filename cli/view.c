/* view.c - heapprof view: shows a profile, or the difference of two, as a page in a browser. */
#include <stdlib.h>
#include <string.h>

#include "cli/html.h"
#include "cli/several.h"
#include "cli/sources.h"
#include "report/own.h"

#define NODES_MOST 100000 /* before small nodes are folded: a browser is quick with this many */
#define ROWS_MOST  500000

/* ---- the profile ---- */

/* Returns the page's type that has the name and the unit of the model's type. Returns type_count
 * if there is none. */
static uint32_t
same_type(const struct heapprof_model *page, const struct heapprof_model *model, uint32_t type)
{
    const struct heapprof_model_type *wanted = &model->types[type];
    uint32_t found =
        rb_heapprof_model_type(page, rb_heapprof_model_string(model, wanted->type, NULL));

    if (found < page->type_count &&
        strcmp(rb_heapprof_model_string(page, page->types[found].unit, NULL),
               rb_heapprof_model_string(model, wanted->unit, NULL)))
        return page->type_count;
    return found;
}

/* Returns that type for each type of the model. Returns NULL if there is no memory. */
static uint32_t *
match_types(const struct heapprof_model *model, const struct heapprof_model *page)
{
    uint32_t *types = malloc(((size_t)model->type_count + 1) * sizeof(*types));

    for (uint32_t t = 0; types && t < model->type_count; t++) {
        types[t] = same_type(page, model, t);
    }
    return types;
}

static bool
add_model(struct report_page_tables *tables, const struct heapprof_model *model,
          const struct heapprof_model *page, int sign)
{
    uint32_t *types = match_types(model, page);
    bool done = types && report_page_tables_add(tables, model, types, sign);

    free(types);
    return done;
}

/* Whether the two profiles of a difference have a type in common. */
static bool
common_type_p(const struct heapprof_model *model, const struct heapprof_model *old)
{
    for (uint32_t t = 0; t < old->type_count; t++) {
        if (same_type(model, old, t) < model->type_count) return true;
    }
    return false;
}

static bool
fill_tables(struct report_page_tables *tables, const char *directory,
            const struct heapprof_model *model, const struct heapprof_model *old)
{
    if (!directory) directory = report_directories(model);
    report_page_tables_init(tables, model->type_count, directory);
    return add_model(tables, model, model, 1) && (!old || add_model(tables, old, model, -1)) &&
           report_page_tables_fold(tables, NODES_MOST, ROWS_MOST);
}

/* ---- the page ---- */

struct shown {
    const struct cli *cli;
    const char *name;
    const struct heapprof_model *model, *old;
    struct cli_sources sources;
};

/* Adds the lines that the profile's frames are at. */
static bool
add_places(struct cli_sources *sources, const struct report_page_tables *tables)
{
    for (uint32_t node = 1; node <= tables->nodes.count; node++) {
        const uint32_t *tuple = report_tuples_get(&tables->nodes, node);
        uint32_t file = report_tuples_get(&tables->functions, tuple[1])[1];
        uint32_t name = report_tuples_get(&tables->files, file)[0];
        const char *path = rb_heapprof_strings_get(&tables->strings, name, NULL);
        if (tuple[2] && !cli_sources_add(sources, path, file - 1, tuple[2])) return false;
    }
    return true;
}

static void
put_page(FILE *out, struct shown *shown, const struct report_page_tables *tables)
{
    const struct cli *cli = shown->cli;
    struct report_page page = {
        .name = cli_html_name(shown->name),
        .old = shown->old ? cli_html_name(cli->values[CLI_DIFF]) : NULL,
        .model = shown->model,
        .tables = tables,
        .put_sources = cli->values[CLI_NO_SOURCES] ? cli_put_no_sources : cli_put_sources,
        .data = &shown->sources,
    };

    report_page_write(out, &page);
}

static bool
put(FILE *out, void *data)
{
    struct shown *shown = data;
    struct report_page_tables tables;
    bool done = fill_tables(&tables, shown->cli->values[CLI_APP], shown->model, shown->old);

    done = done && (shown->cli->values[CLI_NO_SOURCES] || add_places(&shown->sources, &tables));
    if (done) put_page(out, shown, &tables);
    report_page_tables_free(&tables);
    return done;
}

/* ---- the command ---- */

static int
view(const struct cli *cli, const struct cli_sum *sum, const struct heapprof_model *old)
{
    struct shown shown = {
        .cli = cli, .name = sum->name, .model = sum->model, .old = old,
        .sources.time_ns = sum->model->time_ns
    };
    int status;

    if (old && !common_type_p(sum->model, old)) {
        return cli_wrong(cli, "%s and %s have no kind of value in common",
                         cli_name(cli->values[CLI_DIFF]), sum->name);
    }
    if (!cli_source_roots_find(&shown.sources.roots, cli, cli->values[CLI_SOURCES],
                               cli->operands[0],
                               rb_heapprof_model_comment(sum->model, "directory: ")))
        return CLI_USAGE;
    status = cli_html_show(cli, put, &shown, cli->values[CLI_OUTPUT], cli->values[CLI_OPEN]);
    if (status == CLI_DONE && !cli->values[CLI_NO_SOURCES])
        cli_sources_say(&shown.sources, "heapprof view");
    cli_sources_free(&shown.sources);
    return status;
}

/* Two files of one process may be meant as the old and the new one. */
static void
say_what_is_meant(const struct cli *cli, const struct cli_sum *sum)
{
    if (sum->given != 2 || sum->used != 1) return;
    cli_wrong(cli, "%s and %s are of one process, and only the later one is shown; to see what "
              "grew, type heapprof view --diff=OLD NEW",
              cli_name(cli->operands[0]), cli_name(cli->operands[1]));
}

static int
run(struct cli *cli)
{
    const char *old_path = cli->values[CLI_DIFF];
    struct heapprof_model *old = NULL;
    struct cli_sum sum;
    int status = CLI_WRONG;

    if (!cli_html_there(cli)) return CLI_WRONG;
    if (old_path && !(old = cli_read(cli, old_path))) return CLI_WRONG;
    if (cli_sum_read(&sum, cli)) {
        if (old) cli_check_order(cli, cli_name(old_path), old, sum.name, sum.model);
        else say_what_is_meant(cli, &sum);
        status = view(cli, &sum, old);
    }
    rb_heapprof_model_free(old);
    cli_sum_free(&sum);
    return status;
}

static const struct cli_option options[] = {
    {CLI_DIFF, NULL, "Show what changed since that profile, which is the older one"},
    CLI_HTML_OUTPUT_OPTION,
    {CLI_SOURCES, NULL, "Read source below that directory (default: where the profile is)"},
    {CLI_NO_SOURCES, NULL, "Leave out the lines of source that the profile's frames are at"},
    CLI_HTML_OPEN_OPTION,
    {CLI_APP, NULL, "Where the application's code is (default: as the file says)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof view heap.pb.gz", "a flame graph, in the browser"},
    {"heapprof view --diff=before.pb.gz after.pb.gz", "what grew and what shrank, in colour"},
    {"heapprof view heapprof-*.pb.gz", "all workers of a server in one picture"},
    {"heapprof view /var/tmp/heap.pb.gz --sources=.", "of a program whose code is here"},
    {"heapprof view heap.pb.gz -o heap.html --no-sources", "a page to pass on"},
    {0}
};

const struct cli_command cli_view_command = {
    .name = "view",
    .arguments = "[options] [--diff=OLD] FILE...",
    .summary = "A page with a flame graph, tables and sources",
    .description =
        "Writes one HTML page that needs no network, and prints its name. The page has a flame\n"
        "graph of any kind of value; search; a table by line of the application, function, class,\n"
        "file, gem or label; ages; what the resident memory (RSS) consists of; and the lines of\n"
        "source, if they are found. With --diff=OLD it shows what changed since.\n"
        "\n"
        CLI_SUM_HELP "\n"
        "\n"
        "The application comes first: frames of gems are folded into one, and a click unfolds\n"
        "them. Beside the calls there are two other pictures: what allocates with its callers\n"
        "below, and one function with its callers and callees. The address of the page, behind\n"
        "the \"#\", says what is shown.\n"
        "\n"
        "A profile may come from anybody, and may name any file. So source is read only in these\n"
        "places: below the directory that the profile is in, or below --sources=DIR; in this\n"
        "ruby's library; and in this user's gems (GEM_HOME, GEM_PATH, BUNDLE_PATH, ~/.gem,\n"
        "~/.local/share/gem). If the profile is in the home directory itself, or above it, give\n"
        "--sources. Links that lead out of these places are not followed. A line on stderr says\n"
        "how many lines of how many files the page has.",
    .readers = "only the owner of the page (mode 0600). It names all that the program runs, and "
               "has lines of its source\n"
               "unless --no-sources is given: read it before you pass it on.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = 1000,
    .writes_output = true,
    .run = run,
};
