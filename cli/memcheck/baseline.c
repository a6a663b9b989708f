/* baseline.c - reads and writes the file of causes that are known (memcheck/baseline.h). */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* open_memstream */
#endif
#include "cli/memcheck/baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"

bool
cli_memcheck_read_baseline(struct cli_memcheck_run *run)
{
    const char *path = run->cli->values[CLI_BASELINE];
    char error[MEMCHECK_BASELINE_ERROR_MAX];

    if (!path) return true;
    run->question.baseline = &run->baseline;
    if (memcheck_baseline_read(&run->baseline, path, error)) return true;
    cli_wrong(run->cli, "%s: %s", path, error);
    return false;
}

/* Returns an array from malloc; NULL if there is no memory. */
static struct memcheck_baseline_line *
lines_of(const struct cli_memcheck_run *run, size_t *count)
{
    size_t most = 0;

    for (size_t i = 0; i < run->count; i++) most += run->processes[i].record_count;
    struct memcheck_baseline_line *lines = calloc(most + 1, sizeof(*lines));
    *count = 0;
    for (size_t i = 0; lines && i < run->count; i++) {
        const struct memcheck_process *process = &run->processes[i];
        for (size_t r = 0; r < process->record_count; r++) {
            const struct memcheck_record *record = &process->records[r];
            enum memcheck_verdict verdict = memcheck_judge(&run->question, process, record);
            if (verdict != MEMCHECK_SHOWN && verdict != MEMCHECK_KNOWN) continue;
            lines[(*count)++] = (struct memcheck_baseline_line){process, record};
        }
    }
    return lines;
}

static int
write_lines(const char *path, struct memcheck_baseline_line *lines, size_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int error = ENOMEM;

    if (!out) return error;
    memcheck_baseline_put(out, lines, count);
    bool whole = !ferror(out);
    if (fclose(out) == 0 && whole) error = rb_heapprof_file_write_whole(path, text, size, true);
    free(text);
    return error;
}

bool
cli_memcheck_write_baseline(const struct cli_memcheck_run *run)
{
    const char *path = run->cli->values[CLI_WRITE_BASELINE];
    size_t count;

    if (!path) return true;
    struct memcheck_baseline_line *lines = lines_of(run, &count);
    int error = lines ? write_lines(path, lines, count) : ENOMEM;
    free(lines);
    if (error) cli_wrong(run->cli, "%s: %s", path, strerror(error));
    return !error;
}
