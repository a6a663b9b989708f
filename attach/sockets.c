/* sockets.c - reads the kernel's tables of sockets.
 *
 * A row of TCP without an inode has no user, although the kernel shows root: its process has closed
 * it. */
#include "attach/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ROWS_MOST ((size_t)1 << 20)
#define TABLE_BUFFER ((size_t)1 << 16) /* the kernel makes the rows anew for each read */

/* States of the kernel's table. */
enum { ESTABLISHED = 1, FIN_WAIT1 = 4, FIN_WAIT2 = 5, LISTENS = 10 };
enum { ACCEPTS = 0x10000 }; /* flag in /proc/net/unix */

/* ---- rows ---- */

static struct attach_socket *
add_row(struct attach_sockets *sockets)
{
    if (sockets->count == ROWS_MOST ||
        !HEAPPROF_ARRAY_GROW(sockets->all, sockets->capacity, sockets->count + 1)) {
        sockets->memory = true;
        return NULL;
    }
    sockets->all[sockets->count] = (struct attach_socket){0};
    return &sockets->all[sockets->count++];
}

static void
read_tcp_line(struct attach_sockets *sockets, const char *line)
{
    struct attach_socket row = {0};
    unsigned long long inode;
    unsigned uid;

    if (sscanf(line, " %*d: %47s %47s %x %*s %*s %*s %u %*s %llu", row.local, row.remote,
               &row.state, &uid, &inode) != 5) {
        return;
    }
    struct attach_socket *added = add_row(sockets);
    if (!added) return;
    *added = row;
    added->uid = uid;
    added->inode = inode;
    added->accepts = row.state == LISTENS;
}

static void
read_unix_line(struct attach_sockets *sockets, const char *line)
{
    unsigned long long inode;
    unsigned flags;
    int path = 0;

    if (sscanf(line, "%*x: %*x %*x %x %*x %*x %llu %n", &flags, &inode, &path) != 2) return;
    struct attach_socket *row = add_row(sockets);
    if (!row) return;
    row->inode = inode;
    row->accepts = flags & ACCEPTS;
    if (path && line[path]) row->path = strndup(line + path, strcspn(line + path, "\n"));
    if (path && line[path] && !row->path) sockets->memory = true;
}

/* Returns false if it is not there. */
static bool
read_table(struct attach_sockets *sockets, const char *path,
           void read_line(struct attach_sockets *, const char *))
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;

    if (!file) return false;
    setvbuf(file, NULL, _IOFBF, TABLE_BUFFER);
    while (!sockets->memory && getline(&line, &size, file) > 0) read_line(sockets, line);
    free(line);
    fclose(file);
    return true;
}

/* ---- which came in ---- */

static int
compare_paths(const void *a, const void *b)
{
    const struct attach_socket *one = a, *other = b;

    if (!one->path || !other->path) return (one->path != NULL) - (other->path != NULL);
    return strcmp(one->path, other->path);
}

static int
compare_locals(const void *a, const void *b)
{
    const struct attach_socket *one = a, *other = b;

    return strcmp(one->local, other->local);
}

static int
compare_inodes(const void *a, const void *b)
{
    const uint64_t *one = a, *other = b;

    return (*one > *other) - (*one < *other);
}

static void
add_inbound(struct attach_sockets *sockets, const struct attach_socket *row)
{
    sockets->inbound[sockets->inbound_count++] = row->inode;
}

/* Adds sockets that listen, and connections that came in at the same path. */
static void
add_inbound_unix(struct attach_sockets *sockets, struct attach_socket *rows, size_t count)
{
    if (count) qsort(rows, count, sizeof(*rows), compare_paths);
    for (size_t i = 0, end; i < count; i = end) {
        bool accepts = rows[i].accepts;
        for (end = i + 1; end < count && rows[i].path && compare_paths(&rows[i], &rows[end]) == 0;
             end++) {
            accepts |= rows[end].accepts;
        }
        for (size_t j = i; accepts && j < end; j++) add_inbound(sockets, &rows[j]);
    }
}

static unsigned
port_of(const char *name)
{
    const char *colon = strrchr(name, ':');

    return colon ? (unsigned)strtoul(colon + 1, NULL, 16) & 0xffff : 0;
}

/* Adds sockets that listen, and connections that came in at the same port. */
static void
add_inbound_tcp(struct attach_sockets *sockets, struct attach_socket *rows, size_t count)
{
    static bool listens[65536];

    memset(listens, 0, sizeof(listens));
    for (size_t i = 0; i < count; i++) {
        if (rows[i].accepts) listens[port_of(rows[i].local)] = true;
    }
    for (size_t i = 0; i < count; i++) {
        if (listens[port_of(rows[i].local)]) add_inbound(sockets, &rows[i]);
    }
    if (count) qsort(rows, count, sizeof(*rows), compare_locals);
}

static bool
find_inbound(struct attach_sockets *sockets)
{
    if (!sockets->count) return true;
    sockets->inbound = malloc(sockets->count * sizeof(*sockets->inbound));
    if (!sockets->inbound) return false;
    add_inbound_tcp(sockets, sockets->all, sockets->tcp);
    add_inbound_unix(sockets, sockets->all + sockets->tcp, sockets->count - sockets->tcp);
    qsort(sockets->inbound, sockets->inbound_count, sizeof(*sockets->inbound), compare_inodes);
    return true;
}

bool
attach_sockets_inbound_p(const struct attach_sockets *sockets, uint64_t inode)
{
    return sockets->inbound_count && bsearch(&inode, sockets->inbound, sockets->inbound_count,
                                             sizeof(inode), compare_inodes);
}

/* ---- all of them ---- */

bool
attach_sockets_read(struct attach_sockets *sockets)
{
    *sockets = (struct attach_sockets){0};
    if (!read_table(sockets, "/proc/net/tcp", read_tcp_line)) return false;
    read_table(sockets, "/proc/net/tcp6", read_tcp_line); /* may be off */
    sockets->tcp = sockets->count;
    if (!read_table(sockets, "/proc/net/unix", read_unix_line)) return false;
    sockets->memory |= !sockets->memory && !find_inbound(sockets);
    return !sockets->memory;
}

void
attach_sockets_free(struct attach_sockets *sockets)
{
    for (size_t i = 0; i < sockets->count; i++) free(sockets->all[i].path);
    free(sockets->all);
    free(sockets->inbound);
}

/* ---- addresses ---- */

bool
attach_socket_names_of(const struct sockaddr_storage *address, struct attach_socket_names *names)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    uint32_t words[4] = {0, 0, htonl(0xffff), 0};
    unsigned port;

    *names = (struct attach_socket_names){{""}};
    if (address->ss_family == AF_INET) {
        words[3] = four->sin_addr.s_addr;
        port = ntohs(four->sin_port);
    }
    else {
        memcpy(words, &six->sin6_addr, sizeof(words));
        port = ntohs(six->sin6_port);
    }
    snprintf(names->all[0], ATTACH_SOCKET_NAME_MAX, "%08X%08X%08X%08X:%04X", words[0], words[1],
             words[2], words[3], port);
    bool mapped = !words[0] && !words[1] && words[2] == htonl(0xffff);
    if (mapped) snprintf(names->all[1], ATTACH_SOCKET_NAME_MAX, "%08X:%04X", words[3], port);
    return mapped ? ntohl(words[3]) >> 24 == 127
                  : IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)words);
}

static bool
open_p(const struct attach_socket *row)
{
    return row->inode && (row->state == ESTABLISHED || row->state == FIN_WAIT1 ||
                          row->state == FIN_WAIT2);
}

/* The first row with that local name, or a later one. */
static size_t
first_row(const struct attach_sockets *sockets, const char *local)
{
    size_t from = 0, to = sockets->tcp;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (strcmp(sockets->all[middle].local, local) < 0) from = middle + 1;
        else to = middle;
    }
    return from;
}

const struct attach_socket *
attach_sockets_find(const struct attach_sockets *sockets, const struct attach_socket_names *local,
                    const struct attach_socket_names *remote)
{
    for (size_t name = 0; name < 2 && local->all[name][0]; name++) {
        size_t i = first_row(sockets, local->all[name]);
        for (; i < sockets->tcp && !strcmp(sockets->all[i].local, local->all[name]); i++) {
            const struct attach_socket *row = &sockets->all[i];
            if (open_p(row) && (!strcmp(row->remote, remote->all[0]) ||
                                !strcmp(row->remote, remote->all[1]))) return row;
        }
    }
    return NULL;
}
