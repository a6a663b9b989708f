/* server.c - the HTTP server of heapprof serve: connections and answers.
 *
 *     /                         the processes, as a page
 *     /targets                  the same for scrapers (Prometheus' HTTP service discovery)
 *     /N/debug/pprof/           the profiles of a process, as a page
 *     /N/debug/pprof/heap       or /debug/pprof/heap?pid=N; also allocs, profile?seconds=S, threads
 *
 * One thread, by libevent. It reads no other process, and no file: workers do
 * (cli/serve/worker.h). So no client waits for the work that another one makes. A connection is for
 * one request:
 *
 *     ASKS ---> AT_DOOR ---> LISTS ---> READS ---> ANSWERED ---> SENT ---> closed
 *
 * A connection asks until its head is complete. Without a token, it waits at the door until one
 * worker has found out who all are that wait there (door.h). It waits for the list of processes,
 * which one worker makes for all (list.h), if it asks for it. It waits for a worker of its own
 * (jobs.h), which reads the process, or finds the processes in the list that the client may read.
 * To root, and with a token, the server shows the list itself. A connection is answered until all
 * bytes are sent. It then stays until the client closes it. admission.h and attach/peer.h say who
 * may ask.
 *
 *   I1  At most CONNECTIONS_MOST connections are open, or fewer if the limit of descriptors is low.
 *       A new connection takes the place of another one, of the party that has the most connections
 *       (make_room). A connection that has a job is not closed for another one.
 *   I2  At most CLI_QUEUE_MOST connections have a job that waits, and fewer than 128 have one that
 *       runs.
 *   I3  No connection asks for longer than ASK_SECONDS, or waits for longer than WAIT_SECONDS
 *       beyond what it asks for. An answer is sent at PACE_BYTES in PACE_SECONDS at least, so its
 *       size bounds its time. No connection stays for longer than SENT_SECONDS after that.
 *   I4  A connection whose client has gone is closed at once, whatever it waits for. So each
 *       connection is read from until it is closed.
 *   I5  Answers that are being sent have at most ANSWER_BYTES_MOST. Beyond that the oldest is
 *       closed.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* accept4 */
#endif
#include "cli/serve/serve.h"

#ifdef HEAPPROF_EVENT
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/util.h>

#include "attach/rights.h"
#include "cli/serve/admission.h"
#include "cli/serve/door.h"
#include "cli/serve/jobs.h"
#include "cli/serve/list.h"
#include "cli/serve/listen.h"
#include "cli/serve/marks.h"

#define ANSWER_BYTES_MOST ((size_t)256 << 20)

/* A connection may have a descriptor for its answer, too. Results of workers that run have less
 * than DESCRIPTORS_APART. */
enum { CONNECTIONS_MOST = 2048, DESCRIPTORS_APART = 128 };
enum { ACCEPTED_AT_ONCE = 32, LIST_SECONDS = 5 };
enum { ASK_SECONDS = 10, DOOR_SECONDS = 60, WAIT_SECONDS = 300, SENT_SECONDS = 10 };
enum { PACE_SECONDS = 10, PACE_BYTES = 16384 * PACE_SECONDS, IGNORED_MOST = 1 << 20 };

/* What the kernel holds of an answer: twice that, which is less than PACE_BYTES. So a client that
 * reads nothing does not keep pace. */
enum { SEND_BUFFER = 1 << 16 };
enum { SECONDS_MOST = 600, SECONDS_WITHOUT_TOKEN = 60 };

enum state { ASKS, AT_DOOR, LISTS, READS, ANSWERED, SENT };

struct connection {
    TAILQ_ENTRY(connection) next;
    struct server *server;
    struct bufferevent *buffer;
    struct event *deadline;
    struct cli_party *party;
    struct cli_caller caller;     /* AT_DOOR; afterwards, who it is if known */
    struct cli_reader reader;     /* LISTS */
    struct cli_job *job;          /* READS: what its worker does */
    enum state state;
    bool head;                    /* HEAD: the answer has no body */
    bool ended;                   /* the client sends no more */
    size_t searched, ignored;     /* bytes without the end of the head; after the request */
    size_t answer, left;          /* bytes of the answer; that were left when it was last looked */
    struct cli_wanted wanted;     /* what it asks for */
    int  wrong;                   /* status of a request that is wrong; 0: it is right */
    char line[CLI_WANTED_LINE_MAX];  /* what is wrong */
    char host[256];               /* as the client called this host */
};

TAILQ_HEAD(connections, connection);

struct server {
    struct cli *cli;
    struct event_base *base;
    int listener;
    struct connections connections;  /* the oldest first */
    size_t connection_count, connections_most, answer_bytes;
    struct cli_parties parties;
    struct cli_door door;
    struct cli_list list;
    struct cli_jobs jobs;
    struct cli_marks marks;
    const char *token;               /* NULL without a token */
    struct cli_request request;      /* the one that is being read */
};

/* ---- connections ---- */

#define CONNECTION_OF(part, member) \
    ((struct connection *)((char *)(part) - offsetof(struct connection, member)))

static void
close_connection(struct connection *connection)
{
    struct server *server = connection->server;

    cli_door_leave(&server->door, &connection->caller);
    cli_list_leave(&server->list, &connection->reader);
    if (connection->job) cli_job_leave(&server->jobs, connection->job);
    if (connection->deadline) event_free(connection->deadline);
    if (connection->buffer) bufferevent_free(connection->buffer);
    TAILQ_REMOVE(&server->connections, connection, next);
    server->connection_count--;
    server->answer_bytes -= connection->answer;
    connection->party->connections--;
    cli_party_release(connection->party);
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

/* Holds I5. */
static void
make_room_for_answer(struct server *server, size_t size)
{
    struct connection *connection, *next;

    for (connection = TAILQ_FIRST(&server->connections);
         connection && server->answer_bytes + size > ANSWER_BYTES_MOST; connection = next) {
        next = TAILQ_NEXT(connection, next);
        if (connection->state == ANSWERED) close_connection(connection);
    }
}

static void
put_body(struct evbuffer *out, struct cli_answer *answer)
{
    if (answer->bytes &&
        evbuffer_add_reference(out, answer->bytes, answer->size, free_bytes, NULL) == 0)
        answer->bytes = NULL;
    if (answer->fd >= 0 && answer->size > 0 &&
        evbuffer_add_file(out, answer->fd, (ev_off_t)answer->offset, (ev_off_t)answer->size) == 0)
        answer->fd = -1;
}

/* Sends the answer, and takes over its body. */
static void
reply(struct connection *connection, struct cli_answer answer)
{
    struct server *server = connection->server;
    struct evbuffer *out = bufferevent_get_output(connection->buffer);
    char head[CLI_ANSWER_HEAD_MAX];

    connection->job = NULL;
    make_room_for_answer(server, answer.size);
    connection->state = ANSWERED;
    evbuffer_add(out, head, cli_answer_head(&answer, head));
    if (!connection->head) put_body(out, &answer);
    free(answer.bytes);
    if (answer.fd >= 0) close(answer.fd);
    connection->answer = connection->head ? 0 : answer.size;
    server->answer_bytes += connection->answer;
    connection->left = evbuffer_get_length(out);
    set_deadline(connection, PACE_SECONDS);
}

/* ---- which answer ---- */

/* The client; NULL if it has the token. */
static const struct attach_peer *
peer_of(const struct connection *connection)
{
    return connection->server->token ? NULL : &connection->caller.end.peer;
}

static void
on_done(void *data, struct cli_answer answer)
{
    reply(data, answer);
}

/* Gives the request to a worker. */
static void
wait_for_worker(struct connection *connection)
{
    struct server *server = connection->server;
    const struct attach_peer *peer = peer_of(connection);
    struct cli_reading reading = { .wanted = connection->wanted,
                                   .for_all = !peer,
                                   .host = &server->list.host,
                                   .address = connection->host };
    struct cli_party_key key = connection->party->key;

    if (peer) {
        reading.peer = *peer;
        key = cli_party_of_user(peer->uid);
    }
    struct cli_party *party = cli_party_hold(&server->parties, &key);
    if (!party) {
        reply(connection, cli_answer_line(500, "no memory"));
        return;
    }
    connection->state = READS;
    set_deadline(connection, WAIT_SECONDS + (int)connection->wanted.seconds);
    connection->job = cli_job_begin(&server->jobs, &reading, party, connection);
    cli_party_release(party);
    cli_jobs_start(&server->jobs);
}

/* The list is there. Root sees all of it. What another user may see, a worker finds out. */
static void
answer_list(struct connection *connection)
{
    const struct attach_host *host = &connection->server->list.host;
    const struct attach_peer *peer = peer_of(connection);

    if (peer && peer->uid != 0) wait_for_worker(connection);
    else if (connection->wanted.kind == CLI_WANTED_INDEX)
        reply(connection, cli_answer_index(host, NULL));
    else reply(connection, cli_answer_targets(host, NULL, connection->host));
}

static void
on_list(struct cli_reader *reader, const char *error)
{
    struct connection *connection = CONNECTION_OF(reader, reader);

    if (error) reply(connection, cli_answer_line(500, "the processes: %s", error));
    else answer_list(connection);
}

static void
wait_for_list(struct connection *connection)
{
    connection->state = LISTS;
    int seconds = cli_list_enter(&connection->server->list, &connection->reader);
    if (connection->reader.waits) set_deadline(connection, seconds);
}

/* The client may ask. */
static void
serve_client(struct connection *connection)
{
    if (connection->wrong)
        reply(connection, cli_answer_line(connection->wrong, "%s", connection->line));
    else if (connection->wanted.pid) wait_for_worker(connection);
    else wait_for_list(connection);
}

/* ---- who asks ---- */

static void
refuse(struct connection *connection, const char *why)
{
    bool token = connection->server->token != NULL;

    reply(connection,
          cli_answer_line(403, "forbidden: %s; %ssend the header Authorization: Bearer TOKEN", why,
                          token ? "" : "start heapprof serve with HEAPPROF_TOKEN=TOKEN and "));
}

static void
on_judged(struct cli_caller *caller)
{
    struct connection *connection = CONNECTION_OF(caller, caller);

    if (caller->end.why) refuse(connection, attach_peer_text(caller->end.why));
    else serve_client(connection);
}

/* The request is whole. Notes all of it that is needed later. */
static void
handle(struct connection *connection)
{
    struct server *server = connection->server;
    const struct cli_request *request = &server->request;
    const char *host = cli_request_header(request, "Host");
    int longest = server->token ? SECONDS_MOST : SECONDS_WITHOUT_TOKEN;
    int fd = bufferevent_getfd(connection->buffer);
    char why[CLI_ADMISSION_WHY_MAX];

    connection->wrong = cli_wanted_read(request, longest, &connection->wanted, connection->line);
    snprintf(connection->host, sizeof(connection->host), "%s", host ? host : "localhost");
    if (server->token) {
        if (cli_admission_token_p(request, server->token)) serve_client(connection);
        else refuse(connection, "the token is missing or wrong");
    }
    else if (!cli_admission_client_p(request, attach_peer_unix_p(fd), why)) {
        refuse(connection, why);
    }
    else {
        connection->state = AT_DOOR;
        set_deadline(connection, DOOR_SECONDS);
        cli_door_enter(&server->door, &connection->caller, fd);
    }
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

/* Whether the whole head is there, or too much for one. Each byte is searched once: a client may
 * send them one by one. */
static bool
head_arrived_p(struct connection *connection, struct evbuffer *in)
{
    size_t size = evbuffer_get_length(in);
    struct evbuffer_ptr from;

    if (size >= CLI_REQUEST_MOST) return true;
    if (evbuffer_ptr_set(in, &from, connection->searched, EVBUFFER_PTR_SET) != 0) return false;
    connection->searched = size > 2 ? size - 2 : 0;
    return evbuffer_search(in, "\n\n", 2, &from).pos >= 0 ||
           evbuffer_search(in, "\n\r\n", 3, &from).pos >= 0;
}

static void
on_read(struct bufferevent *buffer, void *data)
{
    struct connection *connection = data;
    struct evbuffer *in = bufferevent_get_input(buffer);
    char bytes[CLI_REQUEST_MOST];
    const char *line;

    if (connection->state == ASKS) {
        if (!head_arrived_p(connection, in)) return;
        ev_ssize_t size = evbuffer_copyout(in, bytes, sizeof(bytes));
        int status = cli_request_read(&connection->server->request, bytes,
                                      size > 0 ? (size_t)size : 0, &line);
        if (status < 0) return;
        connection->head = size >= 5 && !memcmp(bytes, "HEAD ", 5);
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

static bool
waits_p(const struct connection *connection)
{
    return connection->state == AT_DOOR || connection->state == LISTS ||
           connection->state == READS;
}

/* Ends the worker that has not done its work in time. */
static void
give_up(struct connection *connection)
{
    struct server *server = connection->server;
    struct cli_answer late = cli_answer_line(503, "it took too long: ask again later");

    if (connection->state == AT_DOOR) cli_worker_kill(&server->door.worker);
    if (connection->state == LISTS) cli_worker_kill(&server->list.lister);
    if (connection->job) cli_job_leave(&server->jobs, connection->job);
    cli_door_leave(&server->door, &connection->caller);
    cli_list_leave(&server->list, &connection->reader);
    late.retry_seconds = CLI_JOBS_RETRY_SECONDS;
    reply(connection, late);
}

static void
on_deadline(evutil_socket_t none, short events, void *data)
{
    struct connection *connection = data;
    struct server *server = connection->server;
    size_t left = evbuffer_get_length(bufferevent_get_output(connection->buffer));

    (void)none;
    (void)events;
    if (connection->state == LISTS && cli_list_usable_p(&server->list)) {
        cli_list_leave(&server->list, &connection->reader);
        answer_list(connection);
    }
    else if (waits_p(connection)) give_up(connection);
    else if (connection->state == ANSWERED && connection->left - left >= PACE_BYTES) {
        connection->left = left;
        set_deadline(connection, PACE_SECONDS);
    }
    else close_connection(connection);
}

/* Whether one gives way before the other: of the party that has more connections, then one that is
 * nearer to its beginning. Those that wait come last. */
static bool
gives_way_p(const struct connection *one, const struct connection *other)
{
    static const int order[] = { [ASKS] = 0, [SENT] = 1, [ANSWERED] = 2,
                                 [AT_DOOR] = 3, [LISTS] = 3, [READS] = 3 };

    if (one->party->connections != other->party->connections)
        return one->party->connections > other->party->connections;
    return order[one->state] < order[other->state];
}

static void
make_room(struct server *server)
{
    struct connection *connection, *found = NULL;

    TAILQ_FOREACH(connection, &server->connections, next) {
        if (!connection->job && (!found || gives_way_p(connection, found))) found = connection;
    }
    if (found) close_connection(found);
}

static struct cli_party *
find_party(struct server *server, int fd, const struct sockaddr *address)
{
    struct cli_party_key key = cli_party_of_address(address);
    uid_t user;

    if (attach_peer_user(fd, &user)) key = cli_party_of_user(user);
    return cli_party_hold(&server->parties, &key);
}

static bool
open_connection(struct server *server, int fd, const struct sockaddr *address)
{
    static const int send_buffer = SEND_BUFFER;
    struct connection *connection = calloc(1, sizeof(*connection));

    if (!connection) return false;
    connection->party = find_party(server, fd, address);
    if (!connection->party) {
        free(connection);
        return false;
    }
    connection->server = server;
    TAILQ_INSERT_TAIL(&server->connections, connection, next);
    server->connection_count++;
    connection->party->connections++;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
    connection->buffer = bufferevent_socket_new(server->base, fd, BEV_OPT_CLOSE_ON_FREE);
    connection->deadline = evtimer_new(server->base, on_deadline, connection);
    if (!connection->buffer || !connection->deadline) {
        bool owned = connection->buffer;
        close_connection(connection);
        return owned;
    }
    bufferevent_setcb(connection->buffer, on_read, on_sent, on_event, connection);
    bufferevent_setwatermark(connection->buffer, EV_READ, 0, CLI_REQUEST_MOST);
    set_deadline(connection, ASK_SECONDS);
    bufferevent_enable(connection->buffer, EV_READ);
    return true;
}

static bool
full_p(const struct server *server)
{
    return server->connection_count == server->connections_most;
}

/* Returns false if nobody wants to connect. */
static bool
accept_one(struct server *server)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    int fd = accept4(server->listener, (struct sockaddr *)&address, &size,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) return false;
    if (full_p(server)) make_room(server);
    if (full_p(server) || !open_connection(server, fd, (struct sockaddr *)&address)) close(fd);
    return true;
}

/* Accepts some connections, so that they do not wait for what all others send. If there is no room,
 * accepts one: what the connections before it have sent is read before many new ones can take their
 * places. */
static void
on_accept(evutil_socket_t listener, short events, void *data)
{
    struct server *server = data;

    (void)listener;
    (void)events;
    for (int i = 0; i < ACCEPTED_AT_ONCE && accept_one(server) && !full_p(server); i++) continue;
}

static void
on_child(evutil_socket_t signal, short events, void *data)
{
    struct server *server = data;

    (void)signal;
    (void)events;
    cli_door_reap(&server->door);
    cli_list_reap(&server->list);
    cli_jobs_reap(&server->jobs);
    cli_marks_reap(&server->marks);
    cli_marks_look(&server->marks, &server->list.host, server->list.listed_ns);
}

/* New processes are to be found although no client asks for the list. */
static void
on_time(evutil_socket_t none, short events, void *data)
{
    struct server *server = data;

    (void)none;
    (void)events;
    cli_list_begin(&server->list);
}

static void
stop(evutil_socket_t signal, short events, void *data)
{
    (void)signal;
    (void)events;
    event_base_loopbreak(data);
}

/* ---- the command ---- */

/* Adds an event; NULL is no memory for it. */
static bool
add(struct event *event, const struct timeval *time)
{
    return event && event_add(event, time) == 0;
}

static bool
run(struct server *server)
{
    struct event *events[] = {
        evsignal_new(server->base, SIGINT, stop, server->base),
        evsignal_new(server->base, SIGTERM, stop, server->base),
        evsignal_new(server->base, SIGCHLD, on_child, server),
        event_new(server->base, server->listener, EV_READ | EV_PERSIST, on_accept, server),
        event_new(server->base, -1, EV_PERSIST, on_time, server),
    };
    static const struct timeval time = { LIST_SECONDS, 0 };
    size_t count = sizeof(events) / sizeof(*events);
    bool added = true;

    for (size_t i = 0; i + 1 < count; i++) added &= add(events[i], NULL);
    if (cli_marks_p(&server->marks)) added &= add(events[count - 1], &time);
    if (added) {
        cli_list_begin(&server->list); /* the first one takes the longest */
        event_base_dispatch(server->base);
    }
    while (!TAILQ_EMPTY(&server->connections)) close_connection(TAILQ_FIRST(&server->connections));
    cli_jobs_free(&server->jobs);
    cli_marks_free(&server->marks);
    cli_list_free(&server->list);
    cli_door_free(&server->door);
    for (size_t i = 0; i < count; i++) {
        if (events[i]) event_free(events[i]);
    }
    return added;
}

/* Sets how many connections there may be by the limit of descriptors, which it raises if it can. */
static bool
allow_connections(struct server *server)
{
    static const rlim_t wanted = 2 * CONNECTIONS_MOST + DESCRIPTORS_APART;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (limit.rlim_cur < DESCRIPTORS_APART + 2 || setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    server->connections_most = (size_t)(limit.rlim_cur - DESCRIPTORS_APART) / 2;
    return true;
}

static int
serve(struct server *server, const char *where)
{
    int status;

    server->listener = cli_listen(server->cli, where, server->token, &status);
    if (server->listener < 0) return status;
    attach_rights_drop(ATTACH_RIGHTS_READ);
    if (!allow_connections(server))
        status = cli_wrong(server->cli, "too few descriptors: allow more, by ulimit -n 1024");
    else status = run(server) ? CLI_DONE : cli_wrong(server->cli, "no memory");
    close(server->listener);
    if (strchr(where, '/')) unlink(where);
    return status;
}

int
cli_serve(struct cli *cli, const char *where)
{
    static struct server server;
    int status = CLI_WRONG;

    server = (struct server){.cli = cli, .token = getenv("HEAPPROF_TOKEN")};
    if (server.token && !*server.token)
        return cli_wrong(cli, "HEAPPROF_TOKEN is empty: unset it, or give it a token");
    if (!cli_marks_init(&server.marks, cli)) return CLI_USAGE;
    TAILQ_INIT(&server.connections);
    LIST_INIT(&server.parties);
    cli_door_init(&server.door, on_judged);
    cli_list_init(&server.list, on_list);
    cli_jobs_init(&server.jobs, on_done);
    server.base = event_base_new();
    if (server.base) status = serve(&server, where);
    else cli_wrong(cli, "no memory");
    if (server.base) event_base_free(server.base);
    return status;
}

#else

int
cli_serve(struct cli *cli, const char *where)
{
    (void)where;
    return cli_wrong(cli, "this heapprof was built without libevent (Debian: libevent-dev)");
}

#endif
