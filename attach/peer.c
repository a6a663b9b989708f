/* peer.c - finds who is at the other end of a connection. Only the kernel is asked, never the other
 * end.
 *
 *   - A Unix socket has the credentials of the process that connected it (SO_PEERCRED).
 *   - A TCP connection within this host is two sockets. The other end's row in /proc/net/tcp or
 *     tcp6 is the one whose two addresses are ours, exchanged. It has the inode of the socket. A
 *     row without an inode has no user, although the kernel shows root: its process has closed it.
 *   - The processes are those that have that inode among their descriptors. All ids of each process
 *     have to be of the user that owns the socket. So a setuid program does not count as the owner
 *     of its file.
 *   - A proxy answers requests of other programs: it listens, or has a connection of a port or path
 *     where some process listens. A client such as curl does neither.
 *
 * A connection that cannot be judged is refused. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* struct ucred */
#endif
#include "attach/peer.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/status.h"
#include "base/array.h"

#define ROWS_MOST ((size_t)1 << 20)
#define NAME_MAX_BYTES 48 /* 32 digits, a colon, 4 digits */
#define UNSEEN "the client's process cannot be seen: ask as this process's user"

/* States of the kernel's table. */
enum { ESTABLISHED = 1, FIN_WAIT1 = 4, FIN_WAIT2 = 5, LISTENS = 10 };
enum { ACCEPTS = 0x10000 }; /* flag in /proc/net/unix */

/* A socket of this host. */
struct peer_row {
    char     local[NAME_MAX_BYTES], remote[NAME_MAX_BYTES]; /* of TCP */
    char    *path;                                          /* of Unix; NULL: it has none */
    uint64_t inode;
    uid_t    uid;
    unsigned state;
    bool     accepts, inbound;
};

struct peer_rows {
    struct peer_row *all;
    size_t count, capacity;
    bool   memory;   /* there was not enough */
};

/* ---- the kernel's tables ---- */

static struct peer_row *
add_row(struct peer_rows *rows)
{
    if (rows->count == ROWS_MOST ||
        !HEAPPROF_ARRAY_GROW(rows->all, rows->capacity, rows->count + 1)) {
        rows->memory = true;
        return NULL;
    }
    rows->all[rows->count] = (struct peer_row){0};
    return &rows->all[rows->count++];
}

static void
free_rows(struct peer_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) free(rows->all[i].path);
    free(rows->all);
}

static void
read_tcp_line(struct peer_rows *rows, const char *line)
{
    struct peer_row row = {0};
    unsigned long long inode;
    unsigned uid;

    if (sscanf(line, " %*d: %47s %47s %x %*s %*s %*s %u %*s %llu", row.local, row.remote,
               &row.state, &uid, &inode) != 5) {
        return;
    }
    struct peer_row *added = add_row(rows);
    if (!added) return;
    *added = row;
    added->uid = uid;
    added->inode = inode;
    added->accepts = row.state == LISTENS;
}

static void
read_unix_line(struct peer_rows *rows, const char *line)
{
    unsigned long long inode;
    unsigned flags;
    int path = 0;

    if (sscanf(line, "%*x: %*x %*x %x %*x %*x %llu %n", &flags, &inode, &path) != 2) return;
    struct peer_row *row = add_row(rows);
    if (!row) return;
    row->inode = inode;
    row->accepts = flags & ACCEPTS;
    if (path && line[path]) row->path = strndup(line + path, strcspn(line + path, "\n"));
    if (path && line[path] && !row->path) rows->memory = true;
}

/* Returns false if it is not there. */
static bool
read_table(struct peer_rows *rows, const char *path,
           void read_line(struct peer_rows *, const char *))
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;

    if (!file) return false;
    while (!rows->memory && getline(&line, &size, file) > 0) read_line(rows, line);
    free(line);
    fclose(file);
    return true;
}

static int
compare_paths(const void *a, const void *b)
{
    const struct peer_row *one = a, *other = b;

    if (!one->path || !other->path) return (one->path != NULL) - (other->path != NULL);
    return strcmp(one->path, other->path);
}

static int
compare_inodes(const void *a, const void *b)
{
    const struct peer_row *one = a, *other = b;

    return (one->inode > other->inode) - (one->inode < other->inode);
}

/* Marks sockets that listen, and connections that came in at the same path. */
static void
mark_inbound_unix(struct peer_row *rows, size_t count)
{
    if (count) qsort(rows, count, sizeof(*rows), compare_paths);
    for (size_t i = 0, end; i < count; i = end) {
        bool accepts = rows[i].accepts;
        for (end = i + 1; end < count && rows[i].path && compare_paths(&rows[i], &rows[end]) == 0;
             end++) {
            accepts |= rows[end].accepts;
        }
        for (size_t j = i; j < end; j++) rows[j].inbound = accepts;
    }
}

static unsigned
port_of(const char *name)
{
    const char *colon = strrchr(name, ':');

    return colon ? (unsigned)strtoul(colon + 1, NULL, 16) & 0xffff : 0;
}

/* Marks sockets that listen, and connections that came in at the same port. */
static void
mark_inbound_tcp(struct peer_row *rows, size_t count)
{
    static uint8_t listens[65536];

    memset(listens, 0, sizeof(listens));
    for (size_t i = 0; i < count; i++) listens[port_of(rows[i].local)] |= rows[i].accepts;
    for (size_t i = 0; i < count; i++) rows[i].inbound = listens[port_of(rows[i].local)];
}

/* Reads all sockets of this host, by inode. Returns NULL, or what went wrong. */
static const char *
read_sockets(struct peer_rows *rows)
{
    size_t tcp;

    if (!read_table(rows, "/proc/net/tcp", read_tcp_line))
        return "the kernel's tables cannot be read";
    read_table(rows, "/proc/net/tcp6", read_tcp_line); /* may be off */
    tcp = rows->count;
    if (!read_table(rows, "/proc/net/unix", read_unix_line))
        return "the kernel's tables cannot be read";
    if (rows->memory) return "this host has too many sockets";
    mark_inbound_tcp(rows->all, tcp);
    mark_inbound_unix(rows->all + tcp, rows->count - tcp);
    if (rows->count) qsort(rows->all, rows->count, sizeof(*rows->all), compare_inodes);
    return NULL;
}

static const struct peer_row *
find_inode(const struct peer_rows *rows, uint64_t inode)
{
    struct peer_row key = {.inode = inode};

    return bsearch(&key, rows->all, rows->count, sizeof(key), compare_inodes);
}

/* ---- addresses ---- */

/* The way the tables write an address. An IPv4 address may be in either table, so it has two names.
 * Otherwise the second name is "". */
struct names {
    char all[2][NAME_MAX_BYTES];
};

static bool
names_of(const struct sockaddr_storage *address, struct names *names)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    uint32_t words[4] = {0, 0, htonl(0xffff), 0};
    unsigned port;

    *names = (struct names){{""}};
    if (address->ss_family == AF_INET) {
        words[3] = four->sin_addr.s_addr;
        port = ntohs(four->sin_port);
    }
    else {
        memcpy(words, &six->sin6_addr, sizeof(words));
        port = ntohs(six->sin6_port);
    }
    snprintf(names->all[0], NAME_MAX_BYTES, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2],
             words[3], port);
    bool mapped = !words[0] && !words[1] && words[2] == htonl(0xffff);
    if (mapped) snprintf(names->all[1], NAME_MAX_BYTES, "%08X:%04X", words[3], port);
    return mapped ? ntohl(words[3]) >> 24 == 127
                  : IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)words);
}

static bool
named_p(const struct names *names, const char *name)
{
    return !strcmp(names->all[0], name) || !strcmp(names->all[1], name);
}

/* ---- processes ---- */

/* The inode of a descriptor that is a socket. Returns 0 if it is not a socket, or is closed. */
static uint64_t
socket_of(DIR *directory, const char *name)
{
    char link[64];
    unsigned long long inode;
    ssize_t length = readlinkat(dirfd(directory), name, link, sizeof(link) - 1);

    if (length <= 0) return 0;
    link[length] = 0;
    return sscanf(link, "socket:[%llu]", &inode) == 1 ? inode : 0;
}

static DIR *
open_descriptors(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    return opendir(path);
}

static bool
holds_p(pid_t pid, uint64_t inode)
{
    DIR *directory = open_descriptors(pid);
    struct dirent *entry;
    bool holds = false;

    while (directory && !holds && (entry = readdir(directory)))
        holds = socket_of(directory, entry->d_name) == inode;
    if (directory) closedir(directory);
    return holds;
}

/* True if the real, effective and saved ids are the same. */
static bool
one_id_p(const char *status, const char *name, unsigned *id)
{
    const char *line = attach_status_line(status, name);
    unsigned effective, saved;

    return line && sscanf(line, "%u %u %u", id, &effective, &saved) == 3 && *id == effective &&
           *id == saved;
}

/* Returns NULL, or why the process is not a client. connection is the inode of its end. */
static const char *
judge_process(const struct peer_rows *rows, pid_t pid, uint64_t connection,
              struct attach_peer *peer)
{
    char status[ATTACH_STATUS_MAX];
    const char *why = NULL;
    struct dirent *entry;
    unsigned uid, gid;

    if (!attach_status_read(pid, pid, status)) return UNSEEN;
    if (!one_id_p(status, "\nUid:", &uid) || !one_id_p(status, "\nGid:", &gid) ||
        uid != peer->uid) {
        return "the client's process has other rights than its user";
    }
    DIR *directory = open_descriptors(pid);
    if (!directory) return UNSEEN;
    while (!why && (entry = readdir(directory))) {
        uint64_t inode = socket_of(directory, entry->d_name);
        const struct peer_row *row = inode && inode != connection ? find_inode(rows, inode) : NULL;
        if (row && row->inbound)
            why = "the client's process answers requests itself, as a proxy does";
    }
    closedir(directory);
    peer->pid = pid;
    peer->gid = gid;
    return why;
}

/* Checks all processes that have the connection. */
static const char *
judge_holders(const struct peer_rows *rows, uint64_t inode, struct attach_peer *peer)
{
    DIR *directory = opendir("/proc");
    const char *why = NULL;
    struct dirent *entry;

    peer->pid = 0;
    while (directory && !why && (entry = readdir(directory))) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (holds_p(pid, inode)) why = judge_process(rows, pid, inode, peer);
    }
    if (directory) closedir(directory);
    return why ? why : peer->pid ? NULL : UNSEEN;
}

/* ---- both kinds ---- */

static const char *
find_by_credentials(int fd, const struct peer_rows *rows, struct attach_peer *peer)
{
    struct ucred credentials;
    socklen_t size = sizeof(credentials);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return UNSEEN;
    if (credentials.pid <= 0) return "the client is in another container";
    peer->uid = credentials.uid;
    return judge_process(rows, credentials.pid, 0, peer);
}

static const char *
find_by_table(int fd, const struct peer_rows *rows, struct attach_peer *peer)
{
    struct sockaddr_storage ours, theirs;
    socklen_t ours_size = sizeof(ours), theirs_size = sizeof(theirs);
    struct names near, far;

    if (getsockname(fd, (struct sockaddr *)&ours, &ours_size) != 0 ||
        getpeername(fd, (struct sockaddr *)&theirs, &theirs_size) != 0)
        return "the connection is closed";
    names_of(&ours, &near);
    if (!names_of(&theirs, &far)) return "the client is not on this host";
    for (size_t i = 0; i < rows->count; i++) {
        const struct peer_row *row = &rows->all[i];
        if (!row->state || !named_p(&far, row->local) || !named_p(&near, row->remote)) continue;
        bool open = row->state == ESTABLISHED || row->state == FIN_WAIT1 || row->state == FIN_WAIT2;
        if (!open || !row->inode) continue;
        peer->uid = row->uid;
        return judge_holders(rows, row->inode, peer);
    }
    return "the client's socket is not in the kernel's tables";
}

bool
attach_peer_unix_p(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);

    return getsockname(fd, (struct sockaddr *)&address, &size) == 0 && address.ss_family == AF_UNIX;
}

const char *
attach_peer_find(int fd, struct attach_peer *peer)
{
    struct peer_rows rows = {0};
    const char *why = read_sockets(&rows);

    if (!why && attach_peer_unix_p(fd)) why = find_by_credentials(fd, &rows, peer);
    else if (!why) why = find_by_table(fd, &rows, peer);
    free_rows(&rows);
    return why;
}
