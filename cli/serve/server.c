/* server.c - the HTTP server of heapprof serve: connections, and profiles over time.
 *
 *     /                         the processes, as text
 *     /targets                  the same for scrapers (Prometheus' HTTP service discovery)
 *     /debug/pprof/heap?pid=N   or /N/debug/pprof/heap; also allocs, profile?seconds=S, threads
 *
 * One thread, by libevent. A connection is for one request:
 *
 *     ASKS ----> WAITS ----> ANSWERED ----> SENT ----> closed
 *       \________________________/
 *
 * A connection asks until its head is complete. It waits if the head asks for a profile over
 * time. It is answered until all bytes are sent. It then stays until the client closes it.
 *
 * A timer takes the looks of a profile over time (cli/serve/timed.h). All other answers are made
 * in milliseconds; the other connections wait meanwhile. cli/serve/admission.h and attach/peer.h
 * say who may ask.
 *
 *   I1  At most CONNECTIONS_MOST connections are open. A new connection takes the place of the
 *       oldest one that does not wait for a profile.
 *   I2  At most PROFILES_MOST connections wait, so I1 always finds one.
 *   I3  No connection asks for longer than ASK_SECONDS. No answer is sent for longer than
 *       ANSWER_SECONDS. No connection stays for longer than SENT_SECONDS after that.
 *   I4  A connection whose client has gone is closed at once, whatever it waits for. So each
 *       connection is read from until it is closed.
 */
#include "cli/serve/serve.h"

#ifdef HEAPPROF_EVENT
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/util.h>

#include "attach/rights.h"
#include "cli/serve/admission.h"
#include "cli/serve/listen.h"
#include "cli/serve/timed.h"
#include "os/clock.h"

#define LIST_NS INT64_C(5000000000)

enum { PROFILES_MOST = 2, CONNECTIONS_MOST = 64 };
enum { ASK_SECONDS = 10, ANSWER_SECONDS = 300, SENT_SECONDS = 10, IGNORED_MOST = 1 << 20 };
enum { PROFILE_SECONDS_MOST = 600, PROFILE_SECONDS_WITHOUT_TOKEN = 60 };

enum state { ASKS, WAITS, ANSWERED, SENT };

struct connection {
    TAILQ_ENTRY(connection) next;
    struct server *server;
    struct bufferevent *buffer;
    struct event *deadline;
    struct cli_timed *timed;      /* while the connection waits */
    enum state state;
    bool head;                    /* HEAD: the answer has no body */
    bool ended;                   /* the client sends no more */
    size_t ignored;               /* bytes after the request */
    struct cli_request request;
};

TAILQ_HEAD(connections, connection);

struct server {
    struct cli *cli;
    struct event_base *base;
    struct evconnlistener *listener;
    struct connections connections;  /* the oldest first */
    size_t connection_count, timed_count;
    const char *token;               /* NULL without a token */
    struct attach_host host;
    int64_t listed_ns;
};

/* ---- connections ---- */

static void
stop_waiting(struct connection *connection)
{
    if (!connection->timed) return;
    cli_timed_free(connection->timed);
    connection->timed = NULL;
    connection->server->timed_count--;
}

static void
close_connection(struct connection *connection)
{
    struct server *server = connection->server;

    stop_waiting(connection);
    if (connection->deadline) event_free(connection->deadline);
    if (connection->buffer) bufferevent_free(connection->buffer);
    TAILQ_REMOVE(&server->connections, connection, next);
    server->connection_count--;
    free(connection);
}

static void
set_deadline(struct connection *connection, int seconds)
{
    const struct timeval time = {seconds, 0};

    evtimer_add(connection->deadline, &time);
}

static void
free_bytes(const void *bytes, size_t size, void *data)
{
    (void)size;
    (void)data;
    free((void *)bytes);
}

/* Sends the answer, and takes over its bytes. */
static void
reply(struct connection *connection, struct cli_answer answer)
{
    struct evbuffer *out = bufferevent_get_output(connection->buffer);
    char head[CLI_ANSWER_HEAD_MAX];

    connection->state = ANSWERED;
    set_deadline(connection, ANSWER_SECONDS);
    evbuffer_add(out, head, cli_answer_head(&answer, head));
    if (!answer.bytes || connection->head ||
        evbuffer_add_reference(out, answer.bytes, answer.size, free_bytes, NULL) != 0)
        free(answer.bytes);
}

/* ---- which answer ---- */

static void
finish_waiting(void *data, struct cli_answer answer)
{
    stop_waiting(data);
    reply(data, answer);
}

static void
answer_profile(struct connection *connection, const struct attach_peer *peer,
               const struct cli_wanted *wanted)
{
    struct server *server = connection->server;
    char error[ATTACH_TARGET_ERROR_MAX];

    if (!cli_answer_permitted_p(peer, wanted->pid, error)) {
        reply(connection, cli_answer_line(403, "%s", error));
        return;
    }
    if (server->timed_count == PROFILES_MOST) {
        struct cli_answer busy = cli_answer_line(
            429, "too many requests: %d profiles are being recorded already", PROFILES_MOST);
        busy.retry_seconds = (long)wanted->seconds + 1;
        reply(connection, busy);
        return;
    }
    connection->timed =
        cli_timed_begin(server->base, wanted, peer, finish_waiting, connection, error);
    if (!connection->timed) {
        reply(connection, cli_answer_line(404, "%s", error));
        return;
    }
    server->timed_count++;
    connection->state = WAITS;
    event_del(connection->deadline);
}

static void
list(struct server *server)
{
    int64_t now = rb_heapprof_clock_ns(CLOCK_MONOTONIC);

    if (server->listed_ns && now - server->listed_ns < LIST_NS) return;
    attach_host_list(&server->host);
    server->listed_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
}

static void
answer(struct connection *connection, const struct attach_peer *peer,
       const struct cli_wanted *wanted)
{
    struct server *server = connection->server;
    const char *host = cli_request_header(&connection->request, "Host");

    if (wanted->kind == CLI_WANTED_PROFILE) {
        answer_profile(connection, peer, wanted);
        return;
    }
    if (wanted->kind == CLI_WANTED_INDEX || wanted->kind == CLI_WANTED_TARGETS) list(server);
    reply(connection, cli_answer_at_once(&server->host, peer, wanted, host ? host : "localhost"));
}

/* Whether the request may be answered. If not, a refusal has been sent. *known says whether peer
 * has the client's user. */
static bool
admit(struct connection *connection, struct attach_peer *peer, bool *known)
{
    const struct server *server = connection->server;
    int fd = bufferevent_getfd(connection->buffer);
    char shown[CLI_ADMISSION_WHY_MAX];
    const char *why = shown;

    *known = !server->token;
    if (server->token) {
        if (cli_admission_token_p(&connection->request, server->token)) return true;
        why = "the token is missing or wrong";
    }
    else if (cli_admission_client_p(&connection->request, attach_peer_unix_p(fd), shown)) {
        why = attach_peer_find(fd, peer);
        if (!why) return true;
    }
    reply(connection,
          cli_answer_line(403, "forbidden: %s; %ssend the header Authorization: Bearer TOKEN", why,
                          server->token ? ""
                                        : "start heapprof serve with HEAPPROF_TOKEN=TOKEN and "));
    return false;
}

static void
handle(struct connection *connection)
{
    struct attach_peer peer = {0};
    struct cli_wanted wanted;
    const char *line;
    bool known;

    connection->head = !strcmp(connection->request.method, "HEAD");
    if (!admit(connection, &peer, &known)) return;
    int longest = known ? PROFILE_SECONDS_WITHOUT_TOKEN : PROFILE_SECONDS_MOST;
    int status = cli_request_wanted(&connection->request, longest, &wanted, &line);
    if (status) reply(connection, cli_answer_line(status, "%s", line));
    else answer(connection, known ? &peer : NULL, &wanted);
}

/* ---- events ---- */

/* Drops the bytes that come after the request (I4). Closes the connection if they do not end. */
static void
ignore(struct connection *connection)
{
    struct evbuffer *in = bufferevent_get_input(connection->buffer);
    size_t size = evbuffer_get_length(in);

    evbuffer_drain(in, size);
    connection->ignored += size;
    if (connection->ignored > IGNORED_MOST) close_connection(connection);
}

static void
on_read(struct bufferevent *buffer, void *data)
{
    struct connection *connection = data;
    struct evbuffer *in = bufferevent_get_input(buffer);
    char bytes[CLI_REQUEST_MOST];
    const char *line;

    if (connection->state == ASKS) {
        ev_ssize_t size = evbuffer_copyout(in, bytes, sizeof(bytes));
        int status =
            cli_request_read(&connection->request, bytes, size > 0 ? (size_t)size : 0, &line);
        if (status < 0) return;
        if (status) reply(connection, cli_answer_line(status, "%s", line));
        else handle(connection);
    }
    ignore(connection);
}

/* The connection is not closed at once. If bytes came in then, the client would get a reset, and
 * lose the answer. */
static void
on_sent(struct bufferevent *buffer, void *data)
{
    struct connection *connection = data;

    if (connection->state != ANSWERED) return;
    connection->state = SENT;
    if (connection->ended || shutdown(bufferevent_getfd(buffer), SHUT_WR) != 0)
        close_connection(connection);
    else set_deadline(connection, SENT_SECONDS);
}

/* A client that has sent everything may still read. So the connection stays open while an answer
 * is being sent. */
static void
on_event(struct bufferevent *buffer, short events, void *data)
{
    struct connection *connection = data;

    connection->ended = events & BEV_EVENT_EOF;
    if (connection->ended && connection->state == ANSWERED) bufferevent_disable(buffer, EV_READ);
    else close_connection(connection);
}

static void
on_deadline(evutil_socket_t none, short events, void *data)
{
    (void)none;
    (void)events;
    close_connection(data);
}

/* Holds I1. */
static void
make_room(struct server *server)
{
    struct connection *oldest;

    if (server->connection_count < CONNECTIONS_MOST) return;
    TAILQ_FOREACH(oldest, &server->connections, next) {
        if (oldest->state != WAITS) break;
    }
    close_connection(oldest);
}

static void
on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int size,
          void *data)
{
    struct server *server = data;
    struct connection *connection = calloc(1, sizeof(*connection));

    (void)listener;
    (void)address;
    (void)size;
    if (!connection) {
        close(fd);
        return;
    }
    make_room(server);
    connection->server = server;
    TAILQ_INSERT_TAIL(&server->connections, connection, next);
    server->connection_count++;
    connection->buffer = bufferevent_socket_new(server->base, fd, BEV_OPT_CLOSE_ON_FREE);
    connection->deadline = evtimer_new(server->base, on_deadline, connection);
    if (!connection->buffer) close(fd);
    if (!connection->buffer || !connection->deadline) {
        close_connection(connection);
        return;
    }
    bufferevent_setcb(connection->buffer, on_read, on_sent, on_event, connection);
    bufferevent_setwatermark(connection->buffer, EV_READ, 0, CLI_REQUEST_MOST);
    set_deadline(connection, ASK_SECONDS);
    bufferevent_enable(connection->buffer, EV_READ | EV_WRITE);
}

static void
stop(evutil_socket_t signal, short events, void *data)
{
    (void)signal;
    (void)events;
    event_base_loopbreak(data);
}

/* ---- the command ---- */

static void
run(struct server *server)
{
    struct event *interrupt = evsignal_new(server->base, SIGINT, stop, server->base);
    struct event *terminate = evsignal_new(server->base, SIGTERM, stop, server->base);

    if (interrupt) event_add(interrupt, NULL);
    if (terminate) event_add(terminate, NULL);
    event_base_dispatch(server->base);
    if (interrupt) event_free(interrupt);
    if (terminate) event_free(terminate);
    while (!TAILQ_EMPTY(&server->connections)) close_connection(TAILQ_FIRST(&server->connections));
}

static int
serve(struct server *server)
{
    const char *where = server->cli->values[CLI_LISTEN];
    int status, fd = cli_listen(server->cli, where, server->token, &status);

    if (fd < 0) return status;
    attach_rights_drop(false);
    server->listener = evconnlistener_new(server->base, on_accept, server,
                                          LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (server->listener) run(server);
    else close(fd);
    status = server->listener ? CLI_DONE : cli_wrong(server->cli, "no memory");
    if (server->listener) evconnlistener_free(server->listener);
    if (strchr(where, '/')) unlink(where);
    return status;
}

int
cli_serve(struct cli *cli)
{
    struct server server = {.cli = cli, .token = getenv("HEAPPROF_TOKEN")};
    int status = CLI_WRONG;

    if (server.token && !*server.token)
        return cli_wrong(cli, "HEAPPROF_TOKEN is empty: unset it, or give it a token");
    TAILQ_INIT(&server.connections);
    server.base = event_base_new();
    if (server.base) status = serve(&server);
    else cli_wrong(cli, "no memory");
    if (server.base) event_base_free(server.base);
    attach_host_free(&server.host);
    return status;
}

#else

int
cli_serve(struct cli *cli)
{
    return cli_wrong(cli, "this heapprof was built without libevent (Debian: libevent-dev)");
}

#endif
