/* processes.c - files of several processes, side by side.
 *
 *     pid 7:  a   b   c   d             column   0    1    2    3
 *     pid 9:  A       B          -->             a    b    c    d
 *                                                A    A    B    B
 *
 * A process may have fewer files than another. Each column then shows the file at the same part
 * of the process's own series. So each column has all processes, and its sum is that of the
 * whole server. A pid is used again. Other hosts use it, too. So a process is known by its
 * pid, its host and its start time.
 */
#include "cli/processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MOST 16 /* enough to see what grows; files between columns are passed over */

static bool
same_text_p(const char *one, const char *other)
{
    return one && other && !strcmp(one, other);
}

bool
cli_processes_same_p(const struct heapprof_model *one, const struct heapprof_model *other)
{
    return one->time_ns - one->duration_ns == other->time_ns - other->duration_ns &&
           same_text_p(rb_heapprof_model_comment(one, "pid: "),
                       rb_heapprof_model_comment(other, "pid: ")) &&
           same_text_p(rb_heapprof_model_comment(one, "host: "),
                       rb_heapprof_model_comment(other, "host: "));
}

/* The series of the processes: each is a list of file numbers. */
struct series {
    uint32_t *next;   /* by file: the next file of its process, or UINT32_MAX */
    uint32_t *first;  /* by process */
    uint32_t *files;  /* by process: how many files it has */
    uint32_t  count, several, most; /* processes; those with several files; most files of one */
};

static void
find_series(struct series *series, struct heapprof_model *const *models, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t process = 0, at;
        series->next[i] = UINT32_MAX;
        while (process < series->count &&
               !cli_processes_same_p(models[series->first[process]], models[i]))
            process++;
        if (process == series->count) {
            series->first[series->count++] = i;
            series->files[process] = 1;
            continue;
        }
        for (at = series->first[process]; series->next[at] != UINT32_MAX; at = series->next[at]) {}
        series->next[at] = i;
        if (++series->files[process] == 2) series->several++;
        if (series->files[process] > series->most) series->most = series->files[process];
    }
}

static uint32_t
file_of(const struct series *series, uint32_t process, uint32_t nth)
{
    uint32_t file = series->first[process];

    while (nth-- > 0) file = series->next[file];
    return file;
}

static bool
fill(struct cli_processes *processes, const struct series *series,
     struct heapprof_model *const *models, const uint32_t *types)
{
    uint32_t columns = series->most < COLUMNS_MOST ? series->most : COLUMNS_MOST;

    processes->together = series->several;
    processes->models = malloc((size_t)columns * series->several * sizeof(*processes->models));
    processes->types = malloc((size_t)columns * series->several * sizeof(*processes->types));
    if (!processes->models || !processes->types) return false;
    for (uint32_t column = 0; column < columns; column++) {
        for (uint32_t process = 0; process < series->count; process++) {
            uint32_t last = series->files[process] - 1, file;
            if (last == 0) continue;
            file = file_of(series, process, (column * last + (columns - 1) / 2) / (columns - 1));
            processes->types[processes->count] = types[file];
            processes->models[processes->count++] = models[file];
        }
    }
    return true;
}

/* Moves the names of processes with several files to the beginning. Returns how many there are. */
static uint32_t
keep_names(const struct series *series, const char **names)
{
    uint32_t kept = 0;

    for (uint32_t process = 0; process < series->count; process++) {
        if (series->files[process] == 1) names[series->first[process]] = NULL;
        kept += series->files[process];
    }
    kept -= series->count - series->several;
    for (uint32_t from = 0, to = 0; to < kept; from++) if (names[from]) names[to++] = names[from];
    return kept;
}

static bool
fill_alone(struct cli_processes *processes, struct heapprof_model *const *models,
           const uint32_t *types, uint32_t count)
{
    processes->files = processes->count = count;
    processes->models = malloc(count * sizeof(*processes->models));
    processes->types = malloc(count * sizeof(*processes->types));
    if (!processes->models || !processes->types) return false;
    memcpy(processes->models, models, count * sizeof(*models));
    memcpy(processes->types, types, count * sizeof(*types));
    return true;
}

bool
cli_processes_find(struct cli_processes *processes, struct heapprof_model *const *models,
                   const uint32_t *types, const char **names, uint32_t count)
{
    struct series series = {
        .next = malloc(count * sizeof(uint32_t)), .first = malloc(count * sizeof(uint32_t)),
        .files = malloc(count * sizeof(uint32_t)),
    };
    bool room = series.next && series.first && series.files;

    *processes = (struct cli_processes){0};
    if (room && count > 2) find_series(&series, models, count);
    if (room && series.several > 0 && series.count > 1) {
        room = fill(processes, &series, models, types);
        processes->files = keep_names(&series, names);
    }
    else if (room) room = fill_alone(processes, models, types, count);
    free(series.next);
    free(series.first);
    free(series.files);
    return room;
}

void
cli_processes_name(char text[CLI_PROCESSES_NAME_MAX], const struct cli_processes *processes)
{
    snprintf(text, CLI_PROCESSES_NAME_MAX, "%" PRIu32 " %s, %" PRIu32 " files",
             processes->together, processes->together == 1 ? "process" : "processes",
             processes->files);
}

/* Returns the place of the file's process among those that were found, or their number. */
static uint32_t
process_of(const struct cli_processes *processes, const struct heapprof_model *model)
{
    uint32_t process = 0;

    while (process < processes->count && !cli_processes_same_p(processes->models[process], model))
        process++;
    return process;
}

bool
cli_processes_last(struct cli_processes *processes, struct heapprof_model *const *models,
                   const uint32_t *types, const char **names, uint32_t count)
{
    *processes = (struct cli_processes){
        .models = malloc(count * sizeof(*processes->models)),
        .types = malloc(count * sizeof(*processes->types)),
    };
    if (!processes->models || !processes->types) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t process = process_of(processes, models[i]);
        if (process == processes->count) processes->count++;
        else if (models[i]->time_ns < processes->models[process]->time_ns) continue;
        processes->models[process] = models[i];
        processes->types[process] = types[i];
        names[process] = names[i];
    }
    processes->together = processes->files = processes->count;
    return true;
}

void
cli_processes_free(struct cli_processes *processes)
{
    free(processes->models);
    free(processes->types);
}
