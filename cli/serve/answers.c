/* answers.c - the heads of answers, and the processes of a host, for a user who may see them.
 *
 * A user without the token gets what the kernel would let that user read (attach/rights.h). The
 * rights are checked for each answer: the list may be some seconds old. */
#include "cli/serve/answers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/rights.h"
#include "report/json.h"
#include "report/text.h"

enum { OK = 200, NO_MEMORY = 500 };

const char cli_answer_text[] = "text/plain; charset=utf-8";
const char cli_answer_json[] = "application/json";
const char cli_answer_html[] = "text/html; charset=utf-8";

struct cli_answer
cli_answer_line(int status, const char *format, ...)
{
    struct cli_answer answer = {.status = status, .type = cli_answer_text, .fd = -1};
    char line[ATTACH_TARGET_ERROR_MAX + 160];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    answer.bytes = strdup(line);
    answer.size = answer.bytes ? strlen(line) : 0;
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
        { 431, "Request Header Fields Too Large" },
        { 503, "Service Unavailable" },
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
        answer->status, reason_of(answer->status), answer->type, answer->size,
        download, retry, answer->status == 405 ? "Allow: GET, HEAD\r\n" : "");
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

/* Closes the stream that the answer is written to. */
static struct cli_answer
finish(struct cli_answer *answer, FILE *out)
{
    if (fclose(out) == 0 && answer->bytes) return *answer;
    free(answer->bytes);
    return cli_answer_line(NO_MEMORY, "no memory");
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

struct cli_answer
cli_answer_targets(const struct attach_host *host, const struct attach_peer *peer,
                   const char *address)
{
    struct cli_answer answer = {.status = OK, .type = cli_answer_json, .fd = -1};
    FILE *out = open_memstream(&answer.bytes, &answer.size);
    struct report_json json = {.out = out};

    if (!out) return cli_answer_line(NO_MEMORY, "no memory");
    report_json_begin(&json, '[');
    for (size_t i = 0; i < host->count; i++) {
        if (listed_p(&host->all[i], peer)) json_target(&json, &host->all[i], address);
    }
    report_json_end(&json, ']');
    return finish(&answer, out);
}

/* ---- the same as a page ---- */

void
cli_answer_put_html(FILE *out, const char *text)
{
    char *shown = NULL;
    size_t size;
    FILE *escaped = open_memstream(&shown, &size);

    if (!escaped) return;
    report_put(escaped, text, 0, false);
    fclose(escaped);
    for (const char *at = shown; at && *at; at++) {
        switch (*at) {
          case '<': fputs("&lt;", out); break;
          case '>': fputs("&gt;", out); break;
          case '&': fputs("&amp;", out); break;
          default: putc(*at, out);
        }
    }
    free(shown);
}

struct cli_answer
cli_answer_index(const struct attach_host *host, const struct attach_peer *peer)
{
    struct cli_answer answer = {.status = OK, .type = cli_answer_html, .fd = -1};
    FILE *out = open_memstream(&answer.bytes, &answer.size);

    if (!out) return cli_answer_line(NO_MEMORY, "no memory");
    fputs("<!DOCTYPE html>\n<title>Ruby processes</title>\n<h1>Ruby processes of this host</h1>\n"
          "<table>\n<tr><th>process<th>profiles<th>title\n", out);
    for (size_t i = 0; i < host->count; i++) {
        const struct attach_host_process *process = &host->all[i];
        if (!listed_p(process, peer)) continue;
        fprintf(out, "<tr><td><a href=\"/%d/debug/pprof/\">%d</a><td>%s<td>", (int)process->pid,
                (int)process->pid, process->profiled ? "heap, time" : "time");
        cli_answer_put_html(out, process->title);
        fputc('\n', out);
    }
    fputs("</table>\n<p><a href=\"/targets\">/targets</a>: the same for scrapers, as JSON.\n", out);
    return finish(&answer, out);
}
