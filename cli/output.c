/* output.c - the file of --output, for commands that print.
 *
 * What is printed goes to stdout, or to a temporary file without a name. At the end it is mapped
 * and written to the path, where it appears whole (os/file.h). So a result may be larger than
 * memory, and no half of it is left behind.
 */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

/* ---- what the name of a file says ---- */

/* Endings, and the formats that they name; "" is one that is not written by that name alone. The
 * longer of two endings comes first. */
static const struct {
    const char *ending, *format;
} endings[] = {
    {".svg", "svg"}, {".folded", "collapsed"}, {".collapsed", "collapsed"},
    {".speedscope.json", "speedscope"}, {".json", ""}, {".html", ""}, {".htm", ""}, {".txt", ""},
    {".csv", ""}, {".md", ""}, {".perfetto", ""}, {".rbgraph", ""},
};

const char *
cli_format_by_name(const char *path)
{
    size_t length = path ? strlen(path) : 0;

    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t end = strlen(endings[i].ending);
        if (length >= end && !strcmp(path + length - end, endings[i].ending))
            return endings[i].format;
    }
    return NULL;
}

bool
cli_profile_name_p(const struct cli *cli)
{
    const char *path = cli->values[CLI_OUTPUT];

    if (!cli_format_by_name(path)) return true;
    cli_usage(cli, "--output=%s: a profile is written there; give it a name that ends in .pb.gz%s",
              path, cli_has_option_p(cli->command, CLI_TO)
                        ? ", or another format by --to"
                        : ". heapprof convert makes other formats of it, heapprof view a page");
    return false;
}

/* ---- the file ---- */

FILE *
cli_output_open(const struct cli *cli)
{
    const char *path = cli->values[CLI_OUTPUT];
    FILE *out;
    int error;

    if (!path || !strcmp(path, "-")) return stdout;
    error = rb_heapprof_file_check(path);
    out = error ? NULL : tmpfile();
    if (!out) cli_wrong(cli, "%s: %s", path, strerror(error ? error : errno));
    return out;
}

int
cli_output_copy(const struct cli *cli, int fd)
{
    const char *path = cli->values[CLI_OUTPUT];
    struct stat status;
    void *bytes = "";
    int error = fstat(fd, &status) == 0 ? 0 : errno;
    size_t size = error ? 0 : (size_t)status.st_size;

    if (size > 0) bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) error = errno;
    if (!error) error = rb_heapprof_file_write_whole(path, bytes, size, true);
    if (size > 0 && bytes != MAP_FAILED) munmap(bytes, size);
    return error ? cli_wrong(cli, "%s: %s", path, strerror(error)) : CLI_DONE;
}

int
cli_output_end(const struct cli *cli, FILE *out)
{
    int status;

    if (out == stdout) return cli_finish(cli);
    if (fflush(out) != 0 || ferror(out)) {
        status = cli_wrong(cli, "%s: %s", cli->values[CLI_OUTPUT], strerror(errno));
    }
    else status = cli_output_copy(cli, fileno(out));
    fclose(out);
    return status;
}

/* Makes stdout the file. */
static bool
replace_stdout(const struct cli *cli, FILE *file)
{
    if (fflush(stdout) == 0 && dup2(fileno(file), STDOUT_FILENO) >= 0) return true;
    cli_wrong(cli, "%s: %s", cli->values[CLI_OUTPUT], strerror(errno));
    return false;
}

int
cli_output_run(struct cli *cli)
{
    struct stat written;
    FILE *out = cli->command->writes_output ? stdout : cli_output_open(cli);
    int unwritten = cli->command->unwritten ? cli->command->unwritten : CLI_WRONG;
    int status = unwritten;

    if (out == stdout) return cli->command->run(cli);
    if (out && replace_stdout(cli, out)) {
        status = cli->command->run(cli);
        fflush(stdout);
        bool empty = fstat(STDOUT_FILENO, &written) == 0 && written.st_size == 0;
        if (status == CLI_DONE || !empty) {
            if (cli_output_copy(cli, STDOUT_FILENO) != CLI_DONE) status = unwritten;
        }
    }
    if (out) fclose(out);
    return status;
}

const char *
cli_readers(const struct cli_command *command)
{
    if (command->readers) return command->readers;
    return cli_has_option_p(command, CLI_OUTPUT) ? CLI_OUTPUT_READERS : NULL;
}
