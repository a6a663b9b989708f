/* reading.c - reads a process for a client, in a worker.
 *
 * The client's rights are checked before the process is opened, so a refusal does not say what the
 * process is. They are checked again after it has been read, because it may have become another
 * process by then. It may have executed a setuid program. Another process may have its number. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* memfd_create */
#endif
#include "cli/serve/reading.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "attach/heap.h"
#include "attach/origin.h"
#include "attach/threads.h"
#include "cli/cli.h"
#include "cli/live/backtraces.h"
#include "cli/serve/answers.h"
#include "cli/serve/timed.h"
#include "os/clock.h"
#include "pprof/gzip.h"
#include "profiler/difference.h"
#include "profiler/pprof.h"

#define THREADS_BYTES_MOST ((size_t)256 << 20)

enum { OK = 200, FORBIDDEN = 403, NOT_FOUND = 404, NO_MEMORY = 500 };

/* ---- the process ---- */

/* A process that is open for a request. */
struct opened {
    struct attach_target *target;
    struct attach_vm *vm;
    struct attach_stop *stop;
};

static void
close_opened(struct opened *opened)
{
    attach_stop_free(opened->stop);
    attach_vm_close(opened->vm);
    attach_target_close(opened->target);
}

static bool
open_process(struct opened *opened, pid_t pid, char *error)
{
    *opened = (struct opened){.target = attach_target_open_pid(pid, error)};
    if (opened->target) opened->vm = attach_vm_open(opened->target, error);
    if (opened->vm) opened->stop = attach_stop_new(pid);
    if (opened->vm) return true;
    close_opened(opened);
    return false;
}

static int
no_memory(char *error)
{
    snprintf(error, CLI_WORKER_ERROR_MAX, "no memory");
    return NO_MEMORY;
}

/* ---- its heap ---- */

static struct heapprof_snapshot *
take(const struct opened *opened, char *error)
{
    struct attach_heap_counts counts = {0};
    struct heapprof_snapshot *snapshot =
        attach_heap_read(opened->vm, opened->stop, &counts, error);

    if (snapshot) attach_origin_of_target(opened->target, snapshot);
    return snapshot;
}

/* Takes a second snapshot after some seconds, and returns what has changed since the first one,
 * which it frees. */
static struct heapprof_snapshot *
take_change(const struct opened *opened, struct heapprof_snapshot *first, double seconds,
            char *error)
{
    struct heapprof_snapshot *change = NULL;

    cli_timed_sleep_until(rb_heapprof_clock_ns(CLOCK_MONOTONIC) + (int64_t)(seconds * 1e9));
    struct heapprof_snapshot *second = take(opened, error);
    if (second) {
        snprintf(error, CLI_WORKER_ERROR_MAX, "no memory");
        change = rb_heapprof_snapshot_difference(second, first);
    }
    rb_heapprof_snapshot_free(second);
    rb_heapprof_snapshot_free(first);
    return change;
}

static char *
encode(const struct opened *opened, const struct heapprof_snapshot *snapshot,
       enum cli_wanted_kind kind, size_t *size)
{
    char build[ATTACH_HEAP_BUILD_MAX];

    attach_heap_build(opened->vm, build);
    char *plain = rb_heapprof_pprof_encode_by(
        snapshot, kind == CLI_WANTED_ALLOCS ? "alloc_space" : "inuse_space", "ruby", build, size);
    char *packed = plain ? rb_heapprof_gzip(plain, *size, size) : NULL;
    free(plain);
    return packed;
}

static bool
write_whole(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written <= 0) return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* Copies what was written to a file, without the name that it calls the profile. */
static bool
put_without_name(FILE *out, int fd, const char *name)
{
    FILE *text = fdopen(fd, "r");
    size_t length = strlen(name), got;
    char piece[4096];

    if (!text) return false;
    rewind(text);
    got = fread(piece, 1, sizeof(piece), text);
    size_t skipped = got >= length && !memcmp(piece, name, length) ? length : 0;
    for (; got > 0; got = fread(piece, 1, sizeof(piece), text)) {
        fwrite(piece + skipped, 1, got - skipped, out);
        skipped = 0;
    }
    fclose(text);
    return !ferror(out);
}

/* Writes the profile as `heapprof top` shows it, which reads stdin and writes to stdout. */
static bool
put_text(FILE *out, const char *bytes, size_t size)
{
    char *operands[] = {"-"};
    struct cli top = { .command = cli_find("top"), .operands = operands, .operand_count = 1 };
    int profile = memfd_create("heapprof-profile", MFD_CLOEXEC),
        text = memfd_create("heapprof-text", MFD_CLOEXEC);

    top.values[CLI_COUNT] = "100";
    return profile >= 0 && text >= 0 && write_whole(profile, bytes, size) &&
           lseek(profile, 0, SEEK_SET) == 0 && dup2(profile, STDIN_FILENO) >= 0 &&
           dup2(text, STDOUT_FILENO) >= 0 && top.command->run(&top) == CLI_DONE &&
           fflush(stdout) == 0 && put_without_name(out, text, "stdin: ");
}

static int
put_snapshot(const struct opened *opened, const struct heapprof_snapshot *snapshot,
             const struct cli_wanted *wanted, FILE *out, char *error)
{
    size_t size = 0;
    char *bytes = encode(opened, snapshot, wanted->kind, &size);
    bool put = bytes && (wanted->text ? put_text(out, bytes, size)
                                      : fwrite(bytes, 1, size, out) == size);

    free(bytes);
    return put ? OK : no_memory(error);
}

static int
put_heap(const struct cli_wanted *wanted, FILE *out, char *error)
{
    struct opened opened;

    if (!open_process(&opened, wanted->pid, error)) return NOT_FOUND;
    struct heapprof_snapshot *snapshot = take(&opened, error);
    if (snapshot && wanted->seconds > 0)
        snapshot = take_change(&opened, snapshot, wanted->seconds, error);
    int status = snapshot ? put_snapshot(&opened, snapshot, wanted, out, error) : NOT_FOUND;
    rb_heapprof_snapshot_free(snapshot);
    close_opened(&opened);
    return status;
}

/* ---- its threads ---- */

static int
put_threads(pid_t pid, FILE *out, char *error)
{
    struct attach_target *target = attach_target_open_pid(pid, error);
    const struct cli_backtraces_options options = { .mode = ATTACH_LOOK_AUTO };
    bool shown = target && cli_backtraces(target, &options, out, NULL, error);

    attach_target_close(target);
    return shown ? OK : NOT_FOUND;
}

/* ---- which profiles there are, as a page ---- */

static void
put_row(FILE *out, pid_t pid, const char *name, const char *count, const char *what)
{
    fprintf(out, "<tr><td>%s<td><a href=\"/%d/debug/pprof/%s\">%s</a><td>%s\n", count, (int)pid,
            name, name, what);
}

static void
put_rows(FILE *out, const struct opened *opened, pid_t pid, const char *samples,
         const char *threads)
{
    char origin[ATTACH_ORIGIN_TEXT_MAX];

    attach_origin_text(opened->target, origin);
    char *title = attach_origin_value(origin, "title");
    fprintf(out, "<!DOCTYPE html>\n<title>%d: profiles</title>\n<h1>Profiles of process %d: ",
            (int)pid, (int)pid);
    cli_answer_put_html(out, title ? title : "");
    free(title);
    fputs("</h1>\n<table>\n<tr><th>count<th>profile<th>what it is\n", out);
    put_row(out, pid, "heap", samples, "what is alive, by the code that allocated it");
    put_row(out, pid, "allocs", samples,
            "what was allocated since the profiler was started, alive or not");
    put_row(out, pid, "profile", "", "where time goes in the next 10 seconds");
    put_row(out, pid, "threads", threads, "what each thread is doing now, as text");
    fprintf(out,
            "</table>\n<p>The count of heap and allocs is of samples that are alive, that of "
            "threads is of Ruby's threads.\n<ul>\n<li>heap and allocs: "
            "<a href=\"/%d/debug/pprof/heap?debug=1\">?debug=1</a> as text; ?seconds=10 what "
            "changes in 10 seconds\n<li>profile: ?seconds=30 how long\n</ul>\n"
            "<p><a href=\"/\">All processes</a>\n",
            (int)pid);
}

static int
put_page(pid_t pid, FILE *out, char *error)
{
    struct attach_threads threads = {0};
    struct heapprof_mem mem;
    struct opened opened;
    char samples[24] = "not profiled", count[24] = "";
    uint64_t alive;

    if (!open_process(&opened, pid, error)) return NOT_FOUND;
    rb_heapprof_mem_init(&mem, THREADS_BYTES_MOST);
    if (attach_heap_alive(opened.vm, &alive))
        snprintf(samples, sizeof(samples), "%" PRIu64, alive);
    if (attach_threads_read(&threads, opened.vm, &mem))
        snprintf(count, sizeof(count), "%zu", threads.count);
    put_rows(out, &opened, pid, samples, count);
    attach_threads_free(&threads, &mem);
    close_opened(&opened);
    return OK;
}

/* ---- the processes that a client may read ---- */

static int
put_list(const struct cli_reading *reading, const struct attach_peer *peer, FILE *out, char *error)
{
    struct cli_answer answer = reading->wanted.kind == CLI_WANTED_TARGETS
                                   ? cli_answer_targets(reading->host, peer, reading->address)
                                   : cli_answer_index(reading->host, peer);
    bool put = answer.status == OK && fwrite(answer.bytes, 1, answer.size, out) == answer.size;

    free(answer.bytes);
    return put ? OK : no_memory(error);
}

/* ---- any of them ---- */

int
cli_reading_run(void *data, FILE *out, char error[CLI_WORKER_ERROR_MAX])
{
    const struct cli_reading *reading = data;
    const struct cli_wanted *wanted = &reading->wanted;
    const struct attach_peer *peer = reading->for_all ? NULL : &reading->peer;
    int status;

    if (!wanted->pid) return put_list(reading, peer, out, error);
    if (!cli_answer_permitted_p(peer, wanted->pid, error)) return FORBIDDEN;
    switch (wanted->kind) {
      case CLI_WANTED_PROFILE:
        return cli_timed_record(wanted->pid, wanted->seconds, peer, out, error);
      case CLI_WANTED_PAGE: status = put_page(wanted->pid, out, error); break;
      case CLI_WANTED_THREADS: status = put_threads(wanted->pid, out, error); break;
      default: status = put_heap(wanted, out, error);
    }
    if (status == OK && !cli_answer_permitted_p(peer, wanted->pid, error)) return FORBIDDEN;
    return status;
}

const char *
cli_reading_type(const struct cli_wanted *wanted)
{
    if (wanted->kind == CLI_WANTED_PAGE || wanted->kind == CLI_WANTED_INDEX)
        return cli_answer_html;
    if (wanted->kind == CLI_WANTED_TARGETS) return cli_answer_json;
    if (wanted->kind == CLI_WANTED_THREADS || wanted->text) return cli_answer_text;
    return "application/octet-stream";
}

const char *
cli_reading_download(const struct cli_wanted *wanted)
{
    if (wanted->text) return NULL;
    switch (wanted->kind) {
      case CLI_WANTED_HEAP: return "heap.pb.gz";
      case CLI_WANTED_ALLOCS: return "allocs.pb.gz";
      case CLI_WANTED_PROFILE: return "profile.pb.gz";
      default: return NULL;
    }
}

/* ---- all processes ---- */

int
cli_reading_list(void *data, FILE *out, char error[CLI_WORKER_ERROR_MAX])
{
    struct attach_host *host = data;

    if (!attach_host_list(host)) return no_memory(error);
    fwrite(host->all, sizeof(*host->all), host->count, out);
    return OK;
}

bool
cli_reading_take_list(struct attach_host *host, int fd, size_t size)
{
    size_t count = size / sizeof(*host->all);
    struct attach_host_process *all = size ? malloc(size) : NULL;

    if (size % sizeof(*all) || (size && !all) ||
        pread(fd, all, size, CLI_WORKER_BODY) != (ssize_t)size) {
        free(all);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        all[i].name[sizeof(all[i].name) - 1] = 0;
        all[i].title[sizeof(all[i].title) - 1] = 0;
        all[i].container[sizeof(all[i].container) - 1] = 0;
    }
    attach_host_free(host);
    *host = (struct attach_host){.all = all, .count = count, .capacity = count};
    return true;
}
