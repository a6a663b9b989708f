/* valgrind.c - Valgrind's command line and files.
 *
 * The process asks Valgrind to look for leaks (vm/memcheck/memcheck.c) after Ruby has freed its
 * own memory. Valgrind also looks for leaks at the end, because XML output brings this. That
 * search comes too late, and is not read.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* asprintf */
#endif
#include "cli/memcheck/valgrind.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the command line ---- */

#define LEAST_MAJOR 3
#define LEAST_MINOR 14 /* it has --keep-debuginfo */

static bool
usable_p(const struct cli *cli)
{
    if (memcheck_valgrind_refusal()) {
        cli_wrong(cli, "--engine=valgrind: %s", memcheck_valgrind_refusal());
        return false;
    }
    FILE *out = popen("valgrind --version 2>/dev/null", "r");
    int major = 0, minor = 0, read = out ? fscanf(out, "valgrind-%d.%d", &major, &minor) : 0;

    if (out) pclose(out);
    if (read != 2) {
        cli_wrong(cli, "valgrind was not found: install the Debian package valgrind, or leave out "
                       "--engine=valgrind");
        return false;
    }
    if (major > LEAST_MAJOR || (major == LEAST_MAJOR && minor >= LEAST_MINOR)) return true;
    cli_wrong(cli, "valgrind %d.%d is too old: at least %d.%d is needed", major, minor, LEAST_MAJOR,
              LEAST_MINOR);
    return false;
}

static const char *
kinds_option(enum memcheck_kind most)
{
    if (most == MEMCHECK_REACHABLE) return "--show-leak-kinds=all";
    return most == MEMCHECK_POSSIBLE ? "--show-leak-kinds=definite,possible"
                                     : "--show-leak-kinds=definite";
}

static const char *const fixed[] = {
    "valgrind",
    "--tool=memcheck",
    "--xml=yes",
    "--error-limit=no",
    "--num-callers=50",
    "--trace-children=yes",
    "--keep-debuginfo=yes", /* for libraries that are unloaded */
    "--vgdb=no",            /* vgdb leaves files behind */
};

enum { FIXED = sizeof(fixed) / sizeof(fixed[0]), CHOSEN = 5 };

char **
cli_valgrind_command(const struct cli *cli, const char *directory, enum memcheck_kind most,
                     bool undefined)
{
    char **command =
        usable_p(cli) ? calloc(FIXED + CHOSEN + cli->operand_count + 1, sizeof(*command)) : NULL;
    char **next = command;

    if (!command) return NULL;
    for (int i = 0; i < FIXED; i++) *next++ = strdup(fixed[i]);
    *next++ = strdup(kinds_option(most));
    *next++ = strdup(undefined ? "--track-origins=yes" : "--undef-value-errors=no");
    if (asprintf(next++, "--xml-file=%s/%%p.xml", directory) < 0 ||
        asprintf(next++, "--log-file=%s/%%p.log", directory) < 0) {
        cli_wrong(cli, "no memory");
        free(command);
        return NULL;
    }
    *next++ = strdup("--");
    for (size_t i = 0; i < cli->operand_count; i++) *next++ = strdup(cli->operands[i]);
    return command;
}

void
cli_valgrind_command_free(char **command)
{
    for (char **word = command; word && *word; word++) free(*word);
    free(command);
}

/* ---- what it has written ---- */

static FILE *
open_file(const char *directory, const char *pid, const char *extension)
{
    char *path;

    if (asprintf(&path, "%s/%s%s", directory, pid, extension) < 0) return NULL;
    FILE *file = fopen(path, "r");
    free(path);
    return file;
}

static bool
own_file_p(const char *pid, void *directory)
{
    FILE *file = open_file(directory, pid, ".xml");

    if (file) fclose(file);
    return file != NULL;
}

static bool
read_xml(const struct cli *cli, struct cli_valgrind *valgrind, const char *directory,
         const char *name)
{
    char error[MEMCHECK_VALGRIND_ERROR_MAX] = "it cannot be opened";
    FILE *file = open_file(directory, name, "");
    bool read = file && memcheck_valgrind_read(&valgrind->found, file, own_file_p,
                                               (void *)directory, error);

    if (file) fclose(file);
    if (!read)
        cli_wrong(cli, "Valgrind's XML of process %.*s: %s", (int)strcspn(name, "."), name, error);
    return read;
}

static int
xml_p(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".xml") == 0;
}

static bool
read_lists(const struct cli *cli, struct cli_valgrind *valgrind, const char *directory)
{
    uint32_t count = valgrind->found.document_count;
    bool read = (valgrind->lists = calloc((size_t)count + 1, sizeof(*valgrind->lists))) != NULL;

    for (uint32_t i = 0; i < count && read; i++) {
        FILE *log = open_file(
            directory, memcheck_valgrind_string(&valgrind->found, valgrind->found.documents[i].pid),
            ".log");
        if (!log) continue;
        read = memcheck_block_list_read(&valgrind->lists[i], log);
        fclose(log);
    }
    if (!read) cli_wrong(cli, "no memory");
    return read;
}

bool
cli_valgrind_read(const struct cli *cli, struct cli_valgrind *valgrind, const char *directory)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, xml_p, alphasort);
    bool whole = true;

    memcheck_valgrind_init(&valgrind->found);
    for (int i = 0; i < count; i++) {
        whole = read_xml(cli, valgrind, directory, entries[i]->d_name) && whole;
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    if (!read_lists(cli, valgrind, directory)) return false;
    memcheck_join_place(&valgrind->found, valgrind->lists);
    return whole;
}

void
cli_valgrind_free(struct cli_valgrind *valgrind)
{
    for (uint32_t i = 0; valgrind->lists && i < valgrind->found.document_count; i++)
        memcheck_block_list_free(&valgrind->lists[i]);
    free(valgrind->lists);
    memcheck_valgrind_free(&valgrind->found);
}
