/* view.c - heapprof view: a profile, or the difference of two, as a page for a browser.
 *
 * The page is linked in (scripts/page). Where the profile belongs it has MARK; it is written as what is
 * before it, the profile as JSON, and what is behind it.
 */
#define _GNU_SOURCE /* memmem, mkostemps */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/sources.h"
#include "os/file.h"

#define MARK "@@PROFILE@@"
#define NODES_MOST 100000 /* before small ones are folded: what a browser is quick with */
#define ROWS_MOST  500000

enum {OUTPUT = 1, NO_SOURCES, OPEN, APP};

/* By the linker; the page is empty in a build without npm. */
extern const char _binary_page_html_start[], _binary_page_html_end[];

/* Bytes that grow as a stream. */
struct memory {
    char  *bytes;
    size_t size;
};

/* Volatile, because a compiler may take two arrays for two places. */
static size_t
page_size(void)
{
    const char *volatile end = _binary_page_html_end;

    return (size_t)(end - _binary_page_html_start);
}

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : cli_name(path);
}

/* ---- the profile ---- */

/* The type of the page that has the name and the unit of the model's; type_count: none. */
static uint32_t
same_type(const struct heapprof_model *page, const struct heapprof_model *model, uint32_t type)
{
    const struct heapprof_model_type *wanted = &model->types[type];
    uint32_t found = rb_heapprof_model_type(page, rb_heapprof_model_string(model, wanted->type, NULL));

    if (found < page->type_count && strcmp(rb_heapprof_model_string(page, page->types[found].unit, NULL),
                                           rb_heapprof_model_string(model, wanted->unit, NULL))) return page->type_count;
    return found;
}

/* The same of each type of the model. NULL: no memory. */
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
add_model(struct report_page_tables *tables, const struct heapprof_model *model, const struct heapprof_model *page, int sign)
{
    uint32_t *types = match_types(model, page);
    bool done = types && report_page_tables_add(tables, model, types, sign);

    free(types);
    return done;
}

/* Of a difference, what the two have in common. */
static bool
common_type_p(const struct heapprof_model *model, const struct heapprof_model *old)
{
    for (uint32_t t = 0; t < old->type_count; t++) {
        if (same_type(model, old, t) < model->type_count) return true;
    }
    return false;
}

static bool
fill_tables(struct report_page_tables *tables, const char *directory, const struct heapprof_model *model,
            const struct heapprof_model *old)
{
    if (!directory) directory = rb_heapprof_model_comment(model, "directory: ");
    report_page_tables_init(tables, model->type_count, directory);
    return add_model(tables, model, model, 1) && (!old || add_model(tables, old, model, -1)) &&
           report_page_tables_fold(tables, NODES_MOST, ROWS_MOST);
}

/* ---- the page ---- */

static void
write_page(FILE *out, const struct cli *cli, const struct heapprof_model *model, const struct report_page_tables *tables)
{
    const char *start = _binary_page_html_start, *end = start + page_size();
    const char *mark = memmem(start, page_size(), MARK, strlen(MARK));
    struct cli_sources sources = {.tables = tables, .time_ns = model->time_ns};
    struct report_page page = {
        .name = base_name(cli->operands[0]), .old = cli->operand_count > 1 ? base_name(cli->operands[1]) : NULL,
        .model = model, .tables = tables,
        .put_sources = cli->values[NO_SOURCES] ? cli_put_no_sources : cli_put_sources, .data = &sources,
    };

    fwrite(start, 1, (size_t)(mark - start), out);
    report_page_write(out, &page);
    fwrite(mark + strlen(MARK), 1, (size_t)(end - mark) - strlen(MARK), out);
}

/* The page in memory; false: there is none left. */
static bool
make_page(struct memory *page, const struct cli *cli, const struct heapprof_model *model, const struct heapprof_model *old)
{
    struct report_page_tables tables;
    bool done = fill_tables(&tables, cli->values[APP], model, old);
    FILE *out = done ? open_memstream(&page->bytes, &page->size) : NULL;

    if (out) {
        write_page(out, cli, model, &tables);
        done = !ferror(out);
        done = fclose(out) == 0 && done;
    }
    report_page_tables_free(&tables);
    return out && done;
}

/* ---- the file ---- */

/* A new file where temporary ones are. 0, or errno. */
static int
write_temporary(const struct memory *page, char path[PATH_MAX])
{
    const char *directory = getenv("TMPDIR");
    int fd, error = 0;

    if (!directory || directory[0] != '/') directory = "/tmp";
    if (snprintf(path, PATH_MAX, "%s/heapprof-XXXXXX.html", directory) >= PATH_MAX) return ENAMETOOLONG;
    fd = mkostemps(path, 5, O_CLOEXEC);
    if (fd < 0) return errno;
    if (rb_heapprof_file_write(fd, page->bytes, page->size) < page->size) error = errno;
    if (close(fd) != 0 && !error) error = errno;
    if (error) unlink(path);
    return error;
}

/* Whether somebody sits in front of it. */
static bool
desktop_p(void)
{
    return isatty(1) && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"));
}

/* By what the desktop opens pages with. */
static bool
open_browser(const char *path)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; fd++) dup2(null, fd);
        execlp("xdg-open", "xdg-open", path, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int
show_page(const struct cli *cli, const struct memory *page)
{
    const char *path = cli->values[OUTPUT];
    char temporary[PATH_MAX];
    int error;

    if (path && !strcmp(path, "-")) {
        fwrite(page->bytes, 1, page->size, stdout);
        return cli_finish(cli);
    }
    error = path ? rb_heapprof_file_write_whole(path, page->bytes, page->size, true) : write_temporary(page, temporary);
    if (error) return cli_wrong(cli, "%s: %s", path ? path : temporary, strerror(error));
    if (!path) path = temporary;
    printf("%s\n", path);
    if ((cli->values[OPEN] || (path == temporary && desktop_p())) && !open_browser(path)) {
        cli_wrong(cli, "%s: xdg-open could not open it", path);
        return cli->values[OPEN] ? CLI_WRONG : cli_finish(cli);
    }
    return cli_finish(cli);
}

/* ---- the command ---- */

static int
view(const struct cli *cli, const struct heapprof_model *model, const struct heapprof_model *old)
{
    struct memory page = {0};
    int status;

    if (old && !common_type_p(model, old)) {
        return cli_wrong(cli, "%s and %s have no kind of value in common", cli_name(cli->operands[0]),
                         cli_name(cli->operands[1]));
    }
    if (make_page(&page, cli, model, old)) status = show_page(cli, &page);
    else status = cli_wrong(cli, "%s: no memory", cli_name(cli->operands[0]));
    free(page.bytes);
    return status;
}

static int
run(struct cli *cli)
{
    struct heapprof_model *model, *old = NULL;
    int status = CLI_WRONG;

    if (page_size() == 0) {
        return cli_wrong(cli, "this heapprof was built without its page, because npm was missing: install npm, and build again");
    }
    model = cli_read(cli, cli->operands[0]);
    if (model && cli->operand_count > 1) old = cli_read(cli, cli->operands[1]);
    if (model && (old || cli->operand_count == 1)) status = view(cli, model, old);
    rb_heapprof_model_free(old);
    rb_heapprof_model_free(model);
    return status;
}

static const struct cli_option options[] = {
    {"--output", 'o', "OUT.html", "FILE", "Write the page there, \"-\" is stdout; otherwise into a new temporary file"},
    {"--no-sources", 0, NULL, NULL, "Leave out the lines of source that the profile's frames are at"},
    {"--open", 0, NULL, NULL, "Open it in a browser; a temporary one is opened anyway where there is a desktop"},
    {"--app", 0, "DIR", "FILE", "Where the application's code is (default: as the file says)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof view heap.pb.gz", "a flame graph, in the browser"},
    {"heapprof view after.pb.gz before.pb.gz", "what grew and what shrank, in colour"},
    {"heapprof view heap.pb.gz -o heap.html --no-sources", "to be given on"},
    {0}
};

const struct cli_command cli_view_command = {
    .name = "view", .arguments = "[options] FILE [OLD]",
    .summary = "A page with a flame graph, tables and sources",
    .description = "Writes one HTML page that needs no network, and prints its name. In it: a flame graph of any kind of\n"
                   "value, search, a table by function, class, file, gem, line of the application or label, ages, what RSS\n"
                   "consists of, and the lines of source, if they are there. With OLD it shows what changed since.\n\n"
                   "The page is only its owner's to read (mode 0600): it names all that the program runs.",
    .options = options, .examples = examples, .least = 1, .most = 2, .run = run,
};
