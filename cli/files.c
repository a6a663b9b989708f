/* files.c - reads profiles from files and from stdin, and shows progress if reading takes long. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "os/clock.h"
#include "os/file.h"
#include "pprof/reader.h"
#include "pprof/save.h"
#include "report/text.h"

#define PATIENCE_NS INT64_C(1000000000) /* time before progress is shown */
#define STEP_NS     INT64_C(100000000)  /* time between two updates of it */

/* When the command began to work, and whether the terminal has a line that says what the command
 * does. */
static struct {
    int64_t begin_ns;    /* 0 if it has read nothing yet */
    bool    shown;
} work;

void
cli_doing(const char *what)
{
    if (!what && work.shown) fputs("\r\033[K", stderr);
    work.shown =
        what && isatty(2) && rb_heapprof_clock_ns(CLOCK_MONOTONIC) - work.begin_ns > PATIENCE_NS;
    if (work.shown) fprintf(stderr, "\r\033[K%s", what);
}

static void
show_progress(struct cli_input *input)
{
    int64_t now = rb_heapprof_clock_ns(CLOCK_MONOTONIC);

    if (now < input->next_ns) return;
    input->next_ns = now + STEP_NS;
    input->shown = true;
    fputs("\r\033[K", stderr);
    if (input->size > 0) {
        double share = (double)input->done / (double)input->size;
        report_print(stderr, "reading %s: %d%%", input->name, (int)(100 * share));
    }
    else {
        report_print(stderr, "reading %s: %.1f MB", input->name, (double)input->done / 1e6);
    }
}

ptrdiff_t
cli_more(void *data, void *buffer, size_t size)
{
    struct cli_input *input = data;
    ssize_t got = read(input->fd, buffer, size);

    if (got > 0) {
        size_t room = sizeof(input->head) - input->head_size,
               more = (size_t)got < room ? (size_t)got : room;
        memcpy(input->head + input->head_size, buffer, more);
        input->head_size += more;
        input->done += got;
    }
    if (input->next_ns) show_progress(input);
    return got;
}

const char *
cli_name(const char *path)
{
    return strcmp(path, "-") ? path : "stdin";
}

/* Returns 0, or errno. */
static int
open_input(struct cli_input *input, const char *path)
{
    struct stat status;

    *input = (struct cli_input){0};
    input->name = cli_name(path);
    if (!work.begin_ns) work.begin_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    input->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : 0;
    if (input->fd >= 0 && fstat(input->fd, &status) == 0) {
        if (S_ISREG(status.st_mode)) input->size = status.st_size;
        if (isatty(2)) input->next_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
        return 0;
    }
    return errno;
}

/* Says that the input cannot be opened. A number may be meant as a process. */
static void
say_not_opened(const struct cli *cli, const struct cli_input *input, int error)
{
    if (error == ENOENT && !input->name[strspn(input->name, "0123456789")]) {
        cli_wrong(cli, "%s: no such file; if it is a process, type heapprof %s %s first",
                  input->name, strncmp(cli->command->name, "graph ", 6) ? "snapshot" : "graph dump",
                  input->name);
    }
    else cli_wrong(cli, "%s: %s", input->name, strerror(error));
}

bool
cli_open(const struct cli *cli, struct cli_input *input, const char *path)
{
    int error = open_input(input, path);

    if (error) say_not_opened(cli, input, error);
    return error == 0;
}

void
cli_close(struct cli_input *input)
{
    if (input->shown) fputs("\r\033[K", stderr);
    if (input->fd > 0) close(input->fd);
}

int
cli_unreadable(const struct cli *cli, const struct cli_input *input, const char *error)
{
    char advice[CLI_KIND_ADVICE_MAX];
    bool from_stdin = !strcmp(input->name, cli_name("-"));
    enum cli_kind kind =
        from_stdin ? cli_kind_of(input->head, input->head_size) : cli_kind_of_file(input->name);
    bool known = cli_kind_advise(advice, kind, cli->command, from_stdin ? "-" : input->name);

    return cli_wrong(cli, "%s: %s", input->name, known ? advice : error);
}

/* Closes the input. Returns NULL after telling the user what is wrong. */
static struct heapprof_model *
read_input(const struct cli *cli, struct cli_input *input)
{
    char error[HEAPPROF_READER_ERROR_MAX];
    struct heapprof_model *model =
        rb_heapprof_reader_read(cli_more, input, HEAPPROF_READER_MOST, error);

    cli_close(input);
    if (!model) cli_unreadable(cli, input, error);
    return model;
}

struct heapprof_model *
cli_read(const struct cli *cli, const char *path)
{
    struct cli_input input;

    return cli_open(cli, &input, path) ? read_input(cli, &input) : NULL;
}

/* Whether the names differ in one number, which is larger in the second. */
static bool
later_name_p(const char *name, const char *other)
{
    unsigned differences = 0;

    while (*name || *other) {
        char *end, *other_end;
        if (!isdigit((unsigned char)*name) || !isdigit((unsigned char)*other)) {
            if (*name++ != *other++) return false;
            continue;
        }
        unsigned long long number = strtoull(name, &end, 10),
                           other_number = strtoull(other, &other_end, 10);
        if (number > other_number) return false;
        differences += number < other_number;
        name = end;
        other = other_end;
    }
    return differences == 1;
}

/* Whether the missing file was one of a series: a later file of it is among the operands, and is
 * there. A process removes its older files, never its last one. */
static bool
of_series_p(const struct cli *cli, size_t given, size_t missing)
{
    for (size_t i = 0; i < given; i++) {
        if (later_name_p(cli->operands[missing], cli->operands[i]) &&
            access(cli->operands[i], F_OK) == 0)
            return true;
    }
    return false;
}

size_t
cli_read_operands(struct cli *cli, struct heapprof_model **models, const char **names)
{
    size_t given = cli->operand_count, read = 0, gone = 0;
    struct cli_input input;

    for (size_t i = 0; i < given; i++) {
        int error = open_input(&input, cli->operands[i]);
        if (error == ENOENT && given - gone > cli->command->least && of_series_p(cli, given, i)) {
            cli_wrong(cli, "%s: has been removed meanwhile, and is left out", input.name);
            gone++;
            continue;
        }
        if (error) say_not_opened(cli, &input, error);
        models[read] = error ? NULL : read_input(cli, &input);
        if (!models[read]) break;
        names[read] = input.name;
        cli->operands[read++] = cli->operands[i];
    }
    cli->operand_count = given - gone;
    return read;
}

bool
cli_type(const struct cli *cli, const char *path, const struct heapprof_model *model,
         const char *name, uint32_t *type)
{
    char names[256] = "";
    size_t size = 0;

    *type = name ? rb_heapprof_model_type(model, name) : rb_heapprof_model_default_type(model);
    if (*type < model->type_count) return true;
    for (uint32_t i = 0; i < model->type_count && size < sizeof(names); i++) {
        size += (size_t)snprintf(names + size, sizeof(names) - size, " %s",
                                 rb_heapprof_model_string(model, model->types[i].type, NULL));
    }
    const char *unit = rb_heapprof_model_string(
        model, model->types[rb_heapprof_model_default_type(model)].unit, NULL);
    const char *of = !strcmp(unit, "nanoseconds") ? "is a profile of time, and " : "";
    bool peak = !strncmp(name, "peak_", 5), young = !strncmp(name, "temp_", 5);
    cli_wrong(cli, "%s: %shas no value that is called %s; it has:%s%s", cli_name(path), of, name,
              names,
              peak ? "; RUBY_HEAPPROF=peak=1 keeps the peak"
                   : young ? "; RUBY_HEAPPROF=lifetimes=1 counts it" : "");
    return false;
}

/* ---- writing ---- */

struct output {
    char  *bytes;
    size_t size, capacity;
};

static bool
keep(void *data, const void *bytes, size_t size)
{
    struct output *output = data;

    if (size > SIZE_MAX - output->size ||
        !HEAPPROF_ARRAY_GROW(output->bytes, output->capacity, output->size + size)) return false;
    memcpy(output->bytes + output->size, bytes, size);
    output->size += size;
    return true;
}

static bool
print(void *data, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, data) == size;
}

char *
cli_encode(const struct heapprof_model *model, size_t *size)
{
    struct output output = {0};

    if (rb_heapprof_save(model, keep, &output) != HEAPPROF_SAVED) {
        free(output.bytes);
        return NULL;
    }
    *size = output.size;
    return output.bytes;
}

/* Writes the text, and frees it. */
static int
write_text(const struct cli *cli, const char *path, char *text, size_t size)
{
    int error = rb_heapprof_file_write_whole(path, text, size, true);

    free(text);
    return error ? cli_wrong(cli, "%s: %s", path, strerror(error)) : CLI_DONE;
}

int
cli_export(const struct cli *cli, report_export_i *export, const struct heapprof_model *model,
           const char *path)
{
    uint32_t type = rb_heapprof_model_default_type(model);
    char *text = NULL;
    size_t size = 0;

    if (!path || !strcmp(path, "-")) {
        return export(stdout, model, type) ? cli_finish(cli) : cli_wrong(cli, "no memory");
    }
    FILE *out = open_memstream(&text, &size);
    bool room = out && export(out, model, type) && !ferror(out);
    if (out && fclose(out) != 0) room = false;
    if (room) return write_text(cli, path, text, size);
    free(text);
    return cli_wrong(cli, "no memory");
}

int
cli_save(const struct cli *cli, const struct heapprof_model *model, const char *path)
{
    size_t size;

    if (!path || !strcmp(path, "-")) {
        if (isatty(1))
            return cli_usage(
                cli, "a profile is not text for a terminal: write it to a file with -o FILE");
        if (rb_heapprof_save(model, print, stdout) == HEAPPROF_SAVE_NO_MEMORY)
            return cli_wrong(cli, "no memory");
        return cli_finish(cli);
    }
    char *bytes = cli_encode(model, &size);
    return bytes ? write_text(cli, path, bytes, size) : cli_wrong(cli, "no memory");
}
