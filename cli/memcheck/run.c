/* run.c - reads the files that a command's processes have left.
 *
 *     DIRECTORY/PID-TIME.pb.gz   of each Ruby process, at its end
 *     DIRECTORY/PID.xml, .log    with Valgrind, of each process (valgrind.h); joined with the first
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* asprintf */
#endif
#include "cli/memcheck/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

/* Returns room for one more process, or NULL if there is no memory. */
static struct memcheck_process *
next_process(struct cli_memcheck_run *run)
{
    if (!HEAPPROF_ARRAY_GROW(run->processes, run->capacity, run->count + 1)) {
        cli_wrong(run->cli, "no memory");
        run->wrong = true;
        return NULL;
    }
    return memset(&run->processes[run->count], 0, sizeof(*run->processes));
}

static bool
profile_p(const char *path)
{
    size_t length = strlen(path), suffix = strlen(".pb.gz");
    return length > suffix && strcmp(path + length - suffix, ".pb.gz") == 0;
}

static void
read_process(struct cli_memcheck_run *run, const char *path)
{
    if (!profile_p(path)) return;
    struct memcheck_process *process = next_process(run);
    struct heapprof_model *model = process ? cli_read(run->cli, path) : NULL;
    enum memcheck_read read = MEMCHECK_NO_MEMORY;

    if (model) read = memcheck_process_read(process, model);
    if (read == MEMCHECK_IS_ONE) {
        run->count++;
    }
    else if (read == MEMCHECK_NO_MEMORY) {
        if (model) cli_wrong(run->cli, "no memory");
        run->wrong = true;
    }
}

/* ---- what Valgrind says ---- */

/* Returns the file that is Ruby, as the processes' profiles name it. */
static const char *
core_of(const struct cli_memcheck_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct heapprof_model *model = run->processes[i].model;
        if (rb_heapprof_model_mappings(model) > 0)
            return rb_heapprof_model_string(model, model->mappings[0].filename, NULL);
    }
    return "ruby";
}

static struct memcheck_process *
process_of(struct cli_memcheck_run *run, const char *pid)
{
    for (size_t i = 0; i < run->count; i++) {
        if (!run->processes[i].valgrind && strcmp(run->processes[i].pid, pid) == 0)
            return &run->processes[i];
    }
    return NULL;
}

static bool
errors_p(const struct memcheck_valgrind *found, uint32_t document)
{
    for (uint32_t i = 0; i < found->error_count; i++) {
        if (found->errors[i].document == document && memcheck_error_p(found->errors[i].kind))
            return true;
    }
    return false;
}

/* Joins a document with its process. A process without a profile of its own counts only if
 * Valgrind has seen an error in it. */
static void
join_document(struct cli_memcheck_run *run, uint32_t number)
{
    const struct memcheck_valgrind *found = &run->valgrind.found;
    const struct memcheck_document *document = &found->documents[number];
    struct memcheck_process *process =
        process_of(run, memcheck_valgrind_string(found, document->pid));

    if (!process && errors_p(found, number) && (process = next_process(run)) != NULL) {
        process->pid = memcheck_valgrind_string(found, document->pid);
        process->program = memcheck_valgrind_string(found, document->program);
        run->count++;
    }
    if (!process || memcheck_join(process, found, number, &run->valgrind.lists[number])) return;
    cli_wrong(run->cli, "no memory");
    run->wrong = true;
}

/* Drops the processes of which Valgrind has written nothing: the report cannot say anything
 * about them. The user is told. */
static void
drop_unjoined(struct cli_memcheck_run *run)
{
    size_t kept = 0;

    for (size_t i = 0; i < run->count; i++) {
        if (run->processes[i].valgrind) {
            run->processes[kept++] = run->processes[i];
            continue;
        }
        cli_wrong(run->cli, "Valgrind has written nothing of process %s", run->processes[i].pid);
        run->wrong = true;
        memcheck_process_free(&run->processes[i]);
    }
    run->count = kept;
}

static void
join_all(struct cli_memcheck_run *run)
{
    if (!cli_valgrind_read(run->cli, &run->valgrind, run->directory)) run->wrong = true;
    memcheck_valgrind_attribute(&run->valgrind.found, core_of(run));
    for (uint32_t i = 0; run->valgrind.lists && i < run->valgrind.found.document_count; i++) {
        if (!run->valgrind.found.documents[i].elsewhere) join_document(run, i);
    }
    drop_unjoined(run);
}

/* ---- all of it ---- */

static int
file_p(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void
each_file(struct cli_memcheck_run *run,
          void (*function)(struct cli_memcheck_run *run, const char *path))
{
    struct dirent **entries;
    int count = scandir(run->directory, &entries, file_p, alphasort);

    for (int i = 0; i < count; i++) {
        char *path;
        if (asprintf(&path, "%s/%s", run->directory, entries[i]->d_name) >= 0) {
            function(run, path);
            free(path);
        }
        free(entries[i]);
    }
    if (count >= 0) free(entries);
}

static void
remove_file(struct cli_memcheck_run *run, const char *path)
{
    (void)run;
    unlink(path);
}

void
cli_memcheck_collect(struct cli_memcheck_run *run)
{
    each_file(run, read_process);
    if (run->question.valgrind) join_all(run);
    each_file(run, remove_file);
    if (rmdir(run->directory) != 0) cli_wrong(run->cli, "%s: %s", run->directory, strerror(errno));
    for (size_t i = 0; i < run->count; i++) {
        if (!run->processes[i].decided || run->processes[i].dropped > 0) run->wrong = true;
    }
    if (run->count > 0 || run->wrong) return;
    cli_wrong(run->cli,
              "no process of %s wrote a report: it is not a ruby with the heap profiler, or ended "
              "by exit!, exec or a "
              "signal",
              run->cli->operands[0]);
    run->wrong = true;
}

void
cli_memcheck_run_free(struct cli_memcheck_run *run)
{
    for (size_t i = 0; i < run->count; i++) memcheck_process_free(&run->processes[i]);
    free(run->processes);
    cli_valgrind_free(&run->valgrind);
    memcheck_suppressions_free(&run->suppressions);
    memcheck_baseline_free(&run->baseline);
}
