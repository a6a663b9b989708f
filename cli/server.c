/* server.c - the HTTP server of heapprof serve.
 *
 *     /                                    the processes, as text
 *     /targets                             the same for scrapers (Prometheus' HTTP service discovery)
 *     /debug/pprof/heap?pid=N              or /N/debug/pprof/heap; also allocs, profile?seconds=S, threads
 *
 * One thread, by libevent. A profile over time is looks by a timer, several of them at once; all other answers are
 * made in milliseconds while the rest waits.
 *
 * Who may ask: over a socket file, who may open it; from this host, for a host name that is of this host, so that no web
 * page can; otherwise who has HEAPPROF_TOKEN, in "Authorization: Bearer TOKEN".
 */
#include "cli/serve.h"

#ifdef HEAPPROF_EVENT
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <event2/util.h>

#include "attach/heap.h"
#include "attach/host.h"
#include "attach/origin.h"
#include "attach/record.h"
#include "attach/rights.h"
#include "cli/backtraces.h"
#include "os/clock.h"
#include "pprof/gzip.h"
#include "profiler/pprof.h"
#include "report/json.h"

#define SECOND_NS INT64_C(1000000000)

enum { RATE = 99, JOBS_MOST = 16, LIST_SECONDS = 5, BODY_MOST = 4096 };

struct server {
    struct cli *cli;
    struct event_base *base;
    struct evhttp *http;
    const char *token;            /* NULL: none */
    const char *socket;           /* path; NULL: a port */
    struct heapprof_host host;
    int64_t  listed_ns;
    size_t   jobs;
};

/* ---- answers ---- */

static void
reply(struct evhttp_request *request, int status, const char *reason, const char *type, const void *bytes, size_t size)
{
    struct evbuffer *body = evbuffer_new();

    if (body) evbuffer_add(body, bytes, size);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", type);
    evhttp_add_header(evhttp_request_get_output_headers(request), "X-Content-Type-Options", "nosniff");
    evhttp_send_reply(request, status, reason, body);
    if (body) evbuffer_free(body);
}

static void
refuse(struct evhttp_request *request, int status, const char *reason, const char *line)
{
    char text[HEAPPROF_TARGET_ERROR_MAX + 2];
    int length = snprintf(text, sizeof(text), "%s\n", line);

    reply(request, status, reason, "text/plain; charset=utf-8", text, (size_t)length);
}

static void
reply_profile(struct evhttp_request *request, const char *name, const void *bytes, size_t size)
{
    char header[96];

    snprintf(header, sizeof(header), "attachment; filename=\"%s.pb.gz\"", name);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Disposition", header);
    reply(request, 200, "OK", "application/octet-stream", bytes, size);
}

/* ---- who may ask ---- */

/* In a time that does not tell how much of it is right. */
static bool
same_text_p(const char *given, const char *token)
{
    size_t given_length = strlen(given), length = strlen(token);
    unsigned char different = given_length != length;

    for (size_t i = 0; i < given_length; i++) different |= (unsigned char)(given[i] ^ token[length ? i % length : 0]);
    return !different;
}

static bool
token_p(const struct server *server, struct evhttp_request *request)
{
    const char *header = evhttp_find_header(evhttp_request_get_input_headers(request), "Authorization");

    return server->token && header && !strncasecmp(header, "Bearer ", 7) && same_text_p(header + 7, server->token);
}

static bool
local_address_p(const char *address)
{
    return !strncmp(address, "127.", 4) || !strcmp(address, "::1") || !strncmp(address, "::ffff:127.", 11);
}

/* The name that was asked for: a page of elsewhere whose name leads here has its own. */
static bool
local_host_p(struct evhttp_request *request)
{
    const char *host = evhttp_request_get_host(request);
    struct in_addr address;

    if (!host) return false;
    if (!strcasecmp(host, "localhost") || !strcmp(host, "::1") || !strcmp(host, "[::1]")) return true;
    return inet_pton(AF_INET, host, &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

static bool
forwarded_p(struct evhttp_request *request)
{
    static const char *const headers[] = {"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP"};

    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
        if (evhttp_find_header(evhttp_request_get_input_headers(request), headers[i])) return true;
    }
    return false;
}

static bool
allowed_p(const struct server *server, struct evhttp_request *request)
{
    char *address = NULL;
    ev_uint16_t port;

    if (server->socket || token_p(server, request)) return true;
    evhttp_connection_get_peer(evhttp_request_get_connection(request), &address, &port);
    return address && local_address_p(address) && local_host_p(request) && !forwarded_p(request);
}

/* ---- the list ---- */

static void
list(struct server *server)
{
    int64_t now = rb_heapprof_clock_ns(CLOCK_MONOTONIC);

    if (server->listed_ns && now - server->listed_ns < LIST_SECONDS * SECOND_NS) return;
    rb_heapprof_host_list(&server->host);
    server->listed_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
}

static void
json_label(struct report_json *json, const char *key, const char *value)
{
    if (!*value) return;
    report_json_member_text(json, key, value);
}

static void
json_target(struct report_json *json, const struct heapprof_host_process *process, const char *address)
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

/* The host and port as the scraper called them. */
static void
answer_targets(struct server *server, struct evhttp_request *request)
{
    const char *host = evhttp_find_header(evhttp_request_get_input_headers(request), "Host");
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct report_json json = {.out = out};

    if (!out) {
        refuse(request, 500, "Internal Server Error", "no memory");
        return;
    }
    report_json_begin(&json, '[');
    for (size_t i = 0; i < server->host.count; i++) {
        if (server->host.all[i].ruby) json_target(&json, &server->host.all[i], host ? host : "localhost");
    }
    report_json_end(&json, ']');
    fclose(out);
    reply(request, 200, "OK", "application/json", text, size);
    free(text);
}

static void
answer_index(struct server *server, struct evhttp_request *request)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out) {
        refuse(request, 500, "Internal Server Error", "no memory");
        return;
    }
    fputs("Ruby processes of this host; /PID/debug/pprof/heap, allocs, profile?seconds=10, threads\n\n", out);
    for (size_t i = 0; i < server->host.count; i++) {
        const struct heapprof_host_process *process = &server->host.all[i];
        if (!process->ruby) continue;
        fprintf(out, "%7d  %-12s  ", (int)process->pid, process->profiled ? "heap, time" : "time");
        for (const char *at = process->title; *at; at++) fputc((unsigned char)*at < ' ' ? '?' : *at, out);
        fputc('\n', out);
    }
    fclose(out);
    reply(request, 200, "OK", "text/plain; charset=utf-8", text, size);
    free(text);
}

/* ---- one process, at once ---- */

/* A process that is open for a request. */
struct opened {
    struct heapprof_target *target;
    struct heapprof_vm *vm;
    struct heapprof_stop *stop;
};

static void
close_opened(struct opened *opened)
{
    rb_heapprof_stop_free(opened->stop);
    rb_heapprof_vm_close(opened->vm);
    rb_heapprof_target_close(opened->target);
}

static bool
open_process(struct opened *opened, pid_t pid, char *error)
{
    *opened = (struct opened){.target = rb_heapprof_target_open_pid(pid, error)};
    if (opened->target) opened->vm = rb_heapprof_vm_open(opened->target, error);
    if (opened->vm) opened->stop = rb_heapprof_stop_new(pid);
    if (opened->vm) return true;
    close_opened(opened);
    return false;
}

static void
answer_heap(struct evhttp_request *request, pid_t pid, const char *name, const char *by)
{
    char error[HEAPPROF_TARGET_ERROR_MAX];
    struct heapprof_heap_counts counts = {0};
    struct heapprof_snapshot *snapshot = NULL;
    struct opened opened;
    size_t size = 0;

    if (open_process(&opened, pid, error)) {
        snapshot = rb_heapprof_heap_read(opened.vm, opened.stop, &counts, error);
        if (snapshot) rb_heapprof_origin_of_target(opened.target, snapshot);
        close_opened(&opened);
    }
    if (!snapshot) {
        refuse(request, 404, "Not Found", error);
        return;
    }
    char *plain = rb_heapprof_pprof_encode_by(snapshot, by, "ruby", "", &size);
    char *packed = plain ? rb_heapprof_gzip(plain, size, &size) : NULL;
    if (packed) reply_profile(request, name, packed, size);
    else refuse(request, 500, "Internal Server Error", "no memory");
    free(packed);
    free(plain);
    rb_heapprof_snapshot_free(snapshot);
}

static void
answer_threads(struct evhttp_request *request, pid_t pid)
{
    char error[HEAPPROF_TARGET_ERROR_MAX], *text = NULL;
    size_t size = 0;
    struct heapprof_target *target = rb_heapprof_target_open_pid(pid, error);
    FILE *out = target ? open_memstream(&text, &size) : NULL;
    bool shown = out && cli_backtraces(target, HEAPPROF_LOOK_AUTO, false, out, NULL, error);

    if (out) fclose(out);
    if (shown) reply(request, 200, "OK", "text/plain; charset=utf-8", text, size);
    else refuse(request, 404, "Not Found", error);
    free(text);
    rb_heapprof_target_close(target);
}

/* ---- one process, over time ---- */

struct job {
    struct server *server;
    struct evhttp_request *request;
    struct evhttp_connection *connection;
    struct event *timer;
    struct heapprof_target *target;
    struct heapprof_record record;
    struct heapprof_looks *looks;
    int64_t  began_ns, end_ns, wall_ns;
};

static void
free_job(struct job *job)
{
    if (job->timer) event_free(job->timer);
    rb_heapprof_look_close(job->looks);
    rb_heapprof_record_free(&job->record);
    rb_heapprof_target_close(job->target);
    job->server->jobs--;
    free(job);
}

static void
give_up(struct evhttp_connection *connection, void *data)
{
    (void)connection;
    free_job(data);
}

static void
finish_job(struct job *job)
{
    const char *const none[] = {NULL};
    size_t size = 0;
    struct heapprof_model *model =
        rb_heapprof_record_model(&job->record, none, job->wall_ns, rb_heapprof_clock_ns(CLOCK_MONOTONIC) - job->began_ns);
    char *bytes = model ? cli_encode(model, &size) : NULL;

    evhttp_connection_set_closecb(job->connection, NULL, NULL);
    if (bytes) reply_profile(job->request, "profile", bytes, size);
    else refuse(job->request, 500, "Internal Server Error", "no memory");
    free(bytes);
    rb_heapprof_model_free(model);
    free_job(job);
}

static void
tick(evutil_socket_t none, short events, void *data)
{
    struct job *job = data;
    bool goes_on = rb_heapprof_look(job->looks) && rb_heapprof_record_add(&job->record, job->looks, 1);

    (void)none;
    (void)events;
    if (!goes_on || rb_heapprof_clock_ns(CLOCK_MONOTONIC) >= job->end_ns) finish_job(job);
}

static bool
begin_job(struct job *job, pid_t pid, double seconds, char *error)
{
    const struct timeval period = {0, 1000000 / RATE};
    const struct heapprof_record_options options = {.threads = true, .period_ns = (uint64_t)(SECOND_NS / RATE)};

    rb_heapprof_record_init(&job->record, &options);
    job->target = rb_heapprof_target_open_pid(pid, error);
    if (!job->target) return false;
    job->looks = rb_heapprof_look_open(job->target, &job->record.names, HEAPPROF_LOOK_AUTO, error);
    if (!job->looks) return false;
    job->wall_ns = rb_heapprof_clock_ns(CLOCK_REALTIME);
    job->began_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    job->end_ns = job->began_ns + (int64_t)(seconds * 1e9);
    job->timer = event_new(job->server->base, -1, EV_PERSIST, tick, job);
    if (!job->timer || event_add(job->timer, &period) != 0) {
        rb_heapprof_target_say(job->target, error, "no memory");
        return false;
    }
    return true;
}

static void
answer_profile(struct server *server, struct evhttp_request *request, pid_t pid, const char *seconds_text)
{
    char error[HEAPPROF_TARGET_ERROR_MAX] = "no memory", *end = NULL;
    double seconds = seconds_text ? strtod(seconds_text, &end) : 10;

    if (seconds_text && (*end || end == seconds_text || !(seconds > 0 && seconds <= 600))) {
        refuse(request, 400, "Bad Request", "seconds: more than 0, at most 600");
        return;
    }
    if (server->jobs == JOBS_MOST) {
        refuse(request, 503, "Service Unavailable", "too many profiles are being recorded");
        return;
    }
    struct job *job = calloc(1, sizeof(*job));
    if (!job) {
        refuse(request, 500, "Internal Server Error", error);
        return;
    }
    job->server = server;
    job->request = request;
    job->connection = evhttp_request_get_connection(request);
    server->jobs++;
    if (begin_job(job, pid, seconds, error)) {
        evhttp_connection_set_closecb(job->connection, give_up, job);
        return;
    }
    free_job(job);
    refuse(request, 404, "Not Found", error);
}

/* ---- which answer ---- */

/* The process in the path, "/12/debug/...", or else in the query; 0: none. *path is behind it. */
static pid_t
pid_of(const char **path, struct evkeyvalq *query)
{
    const char *text = evhttp_find_header(query, "pid");
    char *end;
    long pid = 0;

    if ((*path)[0] == '/' && (*path)[1] >= '1' && (*path)[1] <= '9') {
        pid = strtol(*path + 1, &end, 10);
        *path = end;
    }
    else if (text) {
        pid = strtol(text, &end, 10);
        if (*end) pid = 0;
    }
    return pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

static void
answer_of_process(struct server *server, struct evhttp_request *request, const char *name, pid_t pid,
                  struct evkeyvalq *query)
{
    if (!pid) refuse(request, 400, "Bad Request", "which process? pid=N");
    else if (!strcmp(name, "heap")) answer_heap(request, pid, name, "inuse_space");
    else if (!strcmp(name, "allocs")) answer_heap(request, pid, name, "alloc_space");
    else if (!strcmp(name, "threads")) answer_threads(request, pid);
    else if (!strcmp(name, "profile")) answer_profile(server, request, pid, evhttp_find_header(query, "seconds"));
    else refuse(request, 404, "Not Found", "no such profile: expected heap, allocs, profile or threads");
}

static void
answer(struct server *server, struct evhttp_request *request, const char *path, struct evkeyvalq *query)
{
    static const char prefix[] = "/debug/pprof/";
    pid_t pid = pid_of(&path, query);

    if (!strncmp(path, prefix, sizeof(prefix) - 1)) {
        answer_of_process(server, request, path + sizeof(prefix) - 1, pid, query);
        return;
    }
    if (strcmp(path, "/") && strcmp(path, "/targets")) {
        refuse(request, 404, "Not Found", "expected /, /targets or /PID/debug/pprof/");
        return;
    }
    list(server);
    if (path[1]) answer_targets(server, request);
    else answer_index(server, request);
}

static void
handle(struct evhttp_request *request, void *data)
{
    struct server *server = data;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = evhttp_uri_get_path(uri), *query_text = evhttp_uri_get_query(uri);
    struct evkeyvalq query = {0};

    if (!allowed_p(server, request)) {
        refuse(request, 403, "Forbidden", "forbidden: not from this host, and without the token");
    }
    else if (evhttp_parse_query_str(query_text ? query_text : "", &query) != 0) {
        refuse(request, 400, "Bad Request", "the query is malformed");
    }
    else answer(server, request, path && *path ? path : "/", &query);
    evhttp_clear_headers(&query);
}

/* ---- listening ---- */

/* A socket file that only we may open; one that is there must not be listened to any more. */
static int
listen_at_file(struct server *server, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct evconnlistener *listener;
    struct stat status;

    if (strlen(path) >= sizeof(address.sun_path)) return cli_wrong(server->cli, "%s: the name is too long", path);
    strcpy(address.sun_path, path);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool alive = probe >= 0 && connect(probe, (struct sockaddr *)&address, sizeof(address)) == 0;
    if (probe >= 0) close(probe);
    if (alive) return cli_wrong(server->cli, "%s: somebody listens there", path);
    if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode)) unlink(path);
    mode_t before = umask(0177);
    listener = evconnlistener_new_bind(server->base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, -1,
                                       (struct sockaddr *)&address, sizeof(address));
    int error = errno;
    umask(before);
    if (!listener) return cli_wrong(server->cli, "%s: %s", path, strerror(error));
    if (!evhttp_bind_listener(server->http, listener)) return cli_wrong(server->cli, "no memory");
    server->socket = path;
    fprintf(stderr, "heapprof serve: listening at %s\n", path);
    return CLI_DONE;
}

static int
listen_at_port(struct server *server, const char *text)
{
    char host[128];
    const char *colon = strrchr(text, ':');
    char *end;
    long port = colon ? strtol(colon + 1, &end, 10) : -1;
    size_t length = colon ? (size_t)(colon - text) : 0;

    if (!colon || colon[1] == 0 || *end || port < 0 || port > 65535 || length >= sizeof(host)) {
        return cli_usage(server->cli, "--listen=%s: expected ADDRESS:PORT or a path with a '/'", text);
    }
    snprintf(host, sizeof(host), "%.*s", (int)length, text);
    if (host[0] == '[' && host[length - 1] == ']') {
        memmove(host, host + 1, length);
        host[length - 2] = 0;
    }
    if (!host[0]) strcpy(host, "0.0.0.0");
    if (strcmp(host, "localhost") && !local_address_p(host) && !server->token) {
        return cli_wrong(server->cli, "--listen=%s: others could ask there: set HEAPPROF_TOKEN", text);
    }
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(server->http, host, (ev_uint16_t)port);
    if (!bound) return cli_wrong(server->cli, "%s: %s", text, strerror(errno));
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if (getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &size) == 0) {
        port = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                   : ((struct sockaddr_in *)&address)->sin_port);
    }
    fprintf(stderr, "heapprof serve: listening at http://%s%s%s:%ld/\n", strchr(host, ':') ? "[" : "", host,
            strchr(host, ':') ? "]" : "", port);
    return CLI_DONE;
}

static void
stop(evutil_socket_t signal, short events, void *data)
{
    (void)signal;
    (void)events;
    event_base_loopbreak(data);
}

static int
serve(struct server *server)
{
    const char *where = server->cli->values[CLI_SERVE_LISTEN];
    int status;

    evhttp_set_gencb(server->http, handle, server);
    evhttp_set_allowed_methods(server->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_max_headers_size(server->http, 65536);
    evhttp_set_max_body_size(server->http, BODY_MOST);
    evhttp_set_timeout(server->http, 700);
    status = strchr(where, '/') ? listen_at_file(server, where) : listen_at_port(server, where);
    if (status != CLI_DONE) return status;
    rb_heapprof_rights_drop(false);
    struct event *interrupt = evsignal_new(server->base, SIGINT, stop, server->base);
    struct event *terminate = evsignal_new(server->base, SIGTERM, stop, server->base);
    if (interrupt) event_add(interrupt, NULL);
    if (terminate) event_add(terminate, NULL);
    event_base_dispatch(server->base);
    if (interrupt) event_free(interrupt);
    if (terminate) event_free(terminate);
    if (server->socket) unlink(server->socket);
    return CLI_DONE;
}

int
cli_serve(struct cli *cli)
{
    struct server server = {.cli = cli, .token = getenv("HEAPPROF_TOKEN")};
    int status = CLI_WRONG;

    if (server.token && !*server.token) server.token = NULL;
    server.base = event_base_new();
    if (server.base) server.http = evhttp_new(server.base);
    if (server.http) status = serve(&server);
    else cli_wrong(cli, "no memory");
    if (server.http) evhttp_free(server.http);
    if (server.base) event_base_free(server.base);
    rb_heapprof_host_free(&server.host);
    return status;
}

#else

int
cli_serve(struct cli *cli)
{
    return cli_wrong(cli, "this heapprof was built without libevent (Debian: libevent-dev)");
}

#endif
