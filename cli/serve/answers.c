/* answers.c - the processes of a host and their profiles, for a user who may see them.
 *
 * A user without the token gets what the kernel would let that user read (attach/rights.h). The
 * rights are checked before a process is opened, so a refusal does not say what the process is.
 * They are checked again after the process has been read, because it may have become another
 * process by then. It may have executed a setuid program. Another process may have its number. */
#include "cli/serve/answers.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "attach/heap.h"
#include "attach/origin.h"
#include "attach/rights.h"
#include "cli/live/backtraces.h"
#include "pprof/gzip.h"
#include "profiler/pprof.h"
#include "report/json.h"
#include "report/text.h"

enum { OK = 200, FORBIDDEN = 403, NOT_FOUND = 404, NO_MEMORY = 500 };

static const char text_type[] = "text/plain; charset=utf-8";

struct cli_answer
cli_answer_line(int status, const char *format, ...)
{
    struct cli_answer answer = {.status = status, .type = text_type};
    char line[ATTACH_TARGET_ERROR_MAX + 160];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    answer.bytes = strdup(line);
    answer.size = strlen(line);
    return answer;
}

static const char *
reason_of(int status)
{
    static const struct {int status; const char *reason;
    } reasons[] = {
        { 200, "OK" },
        { 400, "Bad Request" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        if (reasons[i].status == status) return reasons[i].reason;
    }
    return "Internal Server Error";
}

size_t
cli_answer_head(const struct cli_answer *answer, char head[CLI_ANSWER_HEAD_MAX])
{
    char download[64] = "", retry[48] = "";

    if (answer->download) {
        snprintf(download, sizeof(download), "Content-Disposition: attachment; filename=\"%s\"\r\n",
                 answer->download);
    }
    if (answer->retry_seconds)
        snprintf(retry, sizeof(retry), "Retry-After: %ld\r\n", answer->retry_seconds);
    return (size_t)snprintf(
        head, CLI_ANSWER_HEAD_MAX,
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s%s%s\r\n",
        answer->status, reason_of(answer->status), answer->type, answer->bytes ? answer->size : 0,
        download, retry, answer->status == 405 ? "Allow: GET, HEAD\r\n" : "");
}

struct cli_answer
cli_answer_profile(const char *download, char *bytes, size_t size)
{
    if (!bytes) return cli_answer_line(NO_MEMORY, "no memory");
    return (struct cli_answer){ .status = OK,
                                 .type = "application/octet-stream",
                                 .download = download,
                                 .bytes = bytes,
                                 .size = size };
}

bool
cli_answer_permitted_p(const struct attach_peer *peer, pid_t pid,
                       char error[ATTACH_TARGET_ERROR_MAX])
{
    return !peer || attach_rights_of_peer(peer, pid, error);
}

/* ---- the list ---- */

static bool
listed_p(const struct attach_host_process *process, const struct attach_peer *peer)
{
    char error[ATTACH_TARGET_ERROR_MAX];

    return process->ruby && cli_answer_permitted_p(peer, process->pid, error);
}

static void
json_label(struct report_json *json, const char *key, const char *value)
{
    if (!*value) return;
    report_json_member_text(json, key, value);
}

static void
json_target(struct report_json *json, const struct attach_host_process *process,
            const char *address)
{
    char pid[24];

    snprintf(pid, sizeof(pid), "%d", (int)process->pid);
    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_begin(json, "targets", '[');
    report_json_text(json, address);
    report_json_end(json, ']');
    report_json_member_begin(json, "labels", '{');
    json_label(json, "__param_pid", pid);
    json_label(json, "pid", pid);
    json_label(json, "process", process->name);
    json_label(json, "title", process->title);
    json_label(json, "container_id", process->container);
    json_label(json, "heap", process->profiled ? "1" : "0");
    report_json_end(json, '}');
    report_json_end(json, '}');
}

static struct cli_answer
answer_targets(const struct attach_host *host, const struct attach_peer *peer, const char *address)
{
    struct cli_answer answer = {.status = OK, .type = "application/json"};
    FILE *out = open_memstream(&answer.bytes, &answer.size);
    struct report_json json = {.out = out};

    if (!out) return cli_answer_line(NO_MEMORY, "no memory");
    report_json_begin(&json, '[');
    for (size_t i = 0; i < host->count; i++) {
        if (listed_p(&host->all[i], peer)) json_target(&json, &host->all[i], address);
    }
    report_json_end(&json, ']');
    fclose(out);
    return answer;
}

static struct cli_answer
answer_index(const struct attach_host *host, const struct attach_peer *peer)
{
    struct cli_answer answer = {.status = OK, .type = text_type};
    FILE *out = open_memstream(&answer.bytes, &answer.size);

    if (!out) return cli_answer_line(NO_MEMORY, "no memory");
    fputs("Ruby processes of this host; /PID/debug/pprof/heap, allocs, profile?seconds=10, "
          "threads\n\n",
          out);
    for (size_t i = 0; i < host->count; i++) {
        const struct attach_host_process *process = &host->all[i];
        if (!listed_p(process, peer)) continue;
        fprintf(out, "%7d  %-12s  ", (int)process->pid, process->profiled ? "heap, time" : "time");
        report_put(out, process->title, 0, false);
        fputc('\n', out);
    }
    fclose(out);
    return answer;
}

/* ---- one process ---- */

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

static struct cli_answer
encode_heap(const struct heapprof_snapshot *snapshot, bool allocs)
{
    size_t size = 0;
    char *plain = rb_heapprof_pprof_encode_by(snapshot, allocs ? "alloc_space" : "inuse_space",
                                              "ruby", "", &size);
    char *packed = plain ? rb_heapprof_gzip(plain, size, &size) : NULL;

    free(plain);
    return cli_answer_profile(allocs ? "allocs.pb.gz" : "heap.pb.gz", packed, size);
}

static struct cli_answer
answer_heap(const struct attach_peer *peer, pid_t pid, bool allocs)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct attach_heap_counts counts = {0};
    struct heapprof_snapshot *snapshot = NULL;
    struct cli_answer answer;
    struct opened opened;
    bool permitted = true;

    if (!cli_answer_permitted_p(peer, pid, error)) return cli_answer_line(FORBIDDEN, "%s", error);
    if (open_process(&opened, pid, error)) {
        snapshot = attach_heap_read(opened.vm, opened.stop, &counts, error);
        if (snapshot) attach_origin_of_target(opened.target, snapshot);
        if (snapshot) permitted = cli_answer_permitted_p(peer, pid, error);
        close_opened(&opened);
    }
    if (!snapshot) return cli_answer_line(NOT_FOUND, "%s", error);
    if (permitted) answer = encode_heap(snapshot, allocs);
    else answer = cli_answer_line(FORBIDDEN, "%s", error);
    rb_heapprof_snapshot_free(snapshot);
    return answer;
}

static struct cli_answer
answer_threads(const struct attach_peer *peer, pid_t pid)
{
    struct cli_answer answer = {.status = OK, .type = text_type};
    char error[ATTACH_TARGET_ERROR_MAX] = "no memory";

    if (!cli_answer_permitted_p(peer, pid, error)) return cli_answer_line(FORBIDDEN, "%s", error);
    struct attach_target *target = attach_target_open_pid(pid, error);
    FILE *out = target ? open_memstream(&answer.bytes, &answer.size) : NULL;
    bool shown = out && cli_backtraces(target, ATTACH_LOOK_AUTO, false, out, NULL, error);

    if (out) fclose(out);
    attach_target_close(target);
    bool permitted = !shown || cli_answer_permitted_p(peer, pid, error);
    if (shown && permitted) return answer;
    free(answer.bytes);
    return cli_answer_line(permitted ? NOT_FOUND : FORBIDDEN, "%s", error);
}

struct cli_answer
cli_answer_at_once(const struct attach_host *host, const struct attach_peer *peer,
                   const struct cli_wanted *wanted, const char *address)
{
    switch (wanted->kind) {
      case CLI_WANTED_INDEX: return answer_index(host, peer);
      case CLI_WANTED_TARGETS: return answer_targets(host, peer, address);
      case CLI_WANTED_THREADS: return answer_threads(peer, wanted->pid);
      default: return answer_heap(peer, wanted->pid, wanted->kind == CLI_WANTED_ALLOCS);
    }
}
