/* listen.c - opens a listening socket, at a port or at a path. */
#include "cli/serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

/* ---- a path ---- */

/* Listens at a path. A socket that is at the path is replaced, unless a program listens at it. */
static int
listen_at_file(const struct cli *cli, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;

    if (strlen(path) >= sizeof(address.sun_path))
        return cli_wrong(cli, "%s: the name is too long for a socket", path), -1;
    strcpy(address.sun_path, path);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool alive = probe >= 0 && connect(probe, (struct sockaddr *)&address, sizeof(address)) == 0;
    if (probe >= 0) close(probe);
    if (alive)
        return cli_wrong(cli, "%s: another program listens there; give another path", path), -1;
    if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode)) unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t before = umask(0177);
    bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    int error = errno;
    umask(before);
    if (bound && listen(fd, BACKLOG) == 0) {
        fprintf(stderr, "heapprof serve: listening at %s\n", path);
        return fd;
    }
    if (bound) error = errno;
    if (fd >= 0) close(fd);
    return cli_wrong(cli, "%s: %s", path, strerror(error)), -1;
}

/* ---- a port ---- */

static bool
loopback_p(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

static int
bind_to(const struct addrinfo *address)
{
    const int on = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static void
say_port(int fd, const char *host)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    bool six = strchr(host, ':') != NULL;

    getsockname(fd, (struct sockaddr *)&address, &size);
    unsigned port =
        ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                            : ((struct sockaddr_in *)&address)->sin_port);
    fprintf(stderr, "heapprof serve: listening at http://%s%s%s:%u/\n", six ? "[" : "", host,
            six ? "]" : "", port);
}

static int
listen_at_address(const struct cli *cli, const char *text, const char *host, const char *port,
                  bool with_token)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
                                    .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    int error = getaddrinfo(host, port, &hints, &found), fd = -1;

    if (error) return cli_wrong(cli, "%s: %s", text, gai_strerror(error)), -1;
    if (loopback_p(found->ai_addr) || with_token) {
        fd = bind_to(found);
        if (fd >= 0) say_port(fd, host);
        else cli_wrong(cli, "%s: %s", text, strerror(errno));
    }
    else cli_wrong(cli, "--listen=%s: other hosts could ask there: set HEAPPROF_TOKEN", text);
    freeaddrinfo(found);
    return fd;
}

static int
listen_at_port(const struct cli *cli, const char *text, bool with_token, int *status)
{
    char host[128];
    const char *colon = strrchr(text, ':');
    char *end;
    long port = colon ? strtol(colon + 1, &end, 10) : -1;
    size_t length = colon ? (size_t)(colon - text) : 0;

    if (!colon || colon[1] == 0 || *end || port < 0 || port > 65535 || length >= sizeof(host)) {
        *status = cli_usage(cli, "--listen=%s: give ADDRESS:PORT or a path with a '/'", text);
        return -1;
    }
    snprintf(host, sizeof(host), "%.*s", (int)length, text);
    if (host[0] == '[' && host[length - 1] == ']') {
        memmove(host, host + 1, length);
        host[length - 2] = 0;
    }
    return listen_at_address(cli, text, host[0] ? host : "0.0.0.0", colon + 1, with_token);
}

int
cli_listen(const struct cli *cli, const char *where, bool with_token, int *status)
{
    *status = CLI_WRONG;
    return strchr(where, '/') ? listen_at_file(cli, where)
                              : listen_at_port(cli, where, with_token, status);
}
