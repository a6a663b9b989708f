/* peer.c - finds who is at the other end of a connection. Only the kernel is asked, never the other
 * end.
 *
 *   - A Unix socket has the credentials of the process that connected it (SO_PEERCRED).
 *   - A TCP connection within this host is two sockets. The other end's row in the kernel's tables
 *     is the one whose two addresses are ours, exchanged. It has the inode of the socket.
 *   - The processes are those that have that inode among their descriptors. All ids of each process
 *     have to be of the user that owns the socket. So a setuid program does not count as the owner
 *     of its file.
 *   - A proxy answers requests of other programs: it listens, or has a connection of a port or path
 *     where some process listens. A client such as curl does neither.
 *
 * A connection that cannot be judged is refused. The descriptors of a process are read once for all
 * connections. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* struct ucred */
#endif
#include "attach/peer.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/host.h"
#include "attach/status.h"

const char *
attach_peer_text(enum attach_peer_why why)
{
    static const char *const texts[ATTACH_PEER_WHYS] = {
        [ATTACH_PEER_KNOWN] = "",
        [ATTACH_PEER_UNKNOWN] = "this server could not find out who asks",
        [ATTACH_PEER_CLOSED] = "the connection is closed",
        [ATTACH_PEER_ELSEWHERE] = "the client is not on this host",
        [ATTACH_PEER_CONTAINED] = "the client is in another container",
        [ATTACH_PEER_NO_TABLES] = "the kernel's tables cannot be read",
        [ATTACH_PEER_TOO_MANY] = "this host has too many sockets",
        [ATTACH_PEER_NO_SOCKET] = "the client's socket is not in the kernel's tables",
        [ATTACH_PEER_UNSEEN] = "the client's process cannot be seen: ask as this process's user",
        [ATTACH_PEER_RIGHTS] = "the client's process has other rights than its user",
        [ATTACH_PEER_SERVER] = "the client's process answers requests itself, as a proxy does",
    };

    return texts[why];
}

/* ---- the socket itself ---- */

static bool
read_credentials(int fd, struct ucred *credentials)
{
    socklen_t size = sizeof(*credentials);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, credentials, &size) == 0;
}

bool
attach_peer_unix_p(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);

    return getsockname(fd, (struct sockaddr *)&address, &size) == 0 && address.ss_family == AF_UNIX;
}

bool
attach_peer_user(int fd, uid_t *user)
{
    struct ucred credentials;

    if (!attach_peer_unix_p(fd) || !read_credentials(fd, &credentials)) return false;
    *user = credentials.uid;
    return true;
}

static enum attach_peer_why
ask_unix(int fd, struct attach_peer_end *end)
{
    struct ucred credentials;

    if (!read_credentials(fd, &credentials)) return ATTACH_PEER_UNSEEN;
    if (credentials.pid <= 0) return ATTACH_PEER_CONTAINED;
    end->peer = (struct attach_peer){.pid = credentials.pid, .uid = credentials.uid};
    return ATTACH_PEER_KNOWN;
}

static enum attach_peer_why
ask_tcp(int fd, struct attach_peer_end *end)
{
    struct sockaddr_storage ours, theirs;
    socklen_t ours_size = sizeof(ours), theirs_size = sizeof(theirs);

    if (getsockname(fd, (struct sockaddr *)&ours, &ours_size) != 0 ||
        getpeername(fd, (struct sockaddr *)&theirs, &theirs_size) != 0) return ATTACH_PEER_CLOSED;
    attach_socket_names_of(&ours, &end->near);
    return attach_socket_names_of(&theirs, &end->far) ? ATTACH_PEER_KNOWN : ATTACH_PEER_ELSEWHERE;
}

void
attach_peer_end_of(int fd, struct attach_peer_end *end)
{
    *end = (struct attach_peer_end){.unix_socket = attach_peer_unix_p(fd)};
    end->why = end->unix_socket ? ask_unix(fd, end) : ask_tcp(fd, end);
}

/* ---- processes ---- */

/* A walk over processes. */
struct walk {
    const struct attach_sockets *sockets;
    struct attach_peer_end *ends;
    size_t count;
    struct attach_peer_end **by_inode;  /* those of TCP that are looked for */
    size_t tcp_count;
    struct attach_peer_end **held;      /* those of the process that is looked at */
    size_t held_count;
};

static int
compare_inodes(const void *a, const void *b)
{
    const struct attach_peer_end *const *one = a, *const *other = b;

    return ((*one)->inode > (*other)->inode) - ((*one)->inode < (*other)->inode);
}

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

/* Notes that the process has the other end of a connection, if that is its inode. Several
 * descriptors may be the same socket. */
static void
hold(struct walk *walk, pid_t pid, uint64_t inode)
{
    struct attach_peer_end key = {.inode = inode}, *const wanted = &key, **found = NULL;

    if (walk->tcp_count)
        found = bsearch(&wanted, walk->by_inode, walk->tcp_count, sizeof(*found), compare_inodes);
    if (!found || (*found)->peer.pid == pid) return;
    (*found)->peer.pid = pid;
    walk->held[walk->held_count++] = *found;
}

/* Notes the Unix connections of the process. */
static void
hold_unix(struct walk *walk, pid_t pid)
{
    for (size_t i = 0; i < walk->count; i++) {
        struct attach_peer_end *end = &walk->ends[i];
        if (end->unix_socket && !end->why && end->peer.pid == pid)
            walk->held[walk->held_count++] = end;
    }
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

/* Sets why for a connection that the process has. If several have it, all have to be clients.
 * inbound: two different sockets of the process that came in, one of which may be the connection
 * itself. */
static void
judge(struct attach_peer_end *end, const char *status, bool seen, const uint64_t inbound[2])
{
    unsigned uid, gid = 0;

    if (end->judged && end->why) return;
    end->judged = true;
    if (!seen) end->why = ATTACH_PEER_UNSEEN;
    else if (!one_id_p(status, "\nUid:", &uid) || !one_id_p(status, "\nGid:", &gid) ||
             uid != end->peer.uid) end->why = ATTACH_PEER_RIGHTS;
    else if (inbound[0] && (inbound[0] != end->inode || inbound[1])) end->why = ATTACH_PEER_SERVER;
    end->peer.gid = gid;
}

static bool
visit_i(pid_t pid, void *data)
{
    struct walk *walk = data;
    char path[64], status[ATTACH_STATUS_MAX];
    uint64_t inbound[2] = {0}, inode;
    struct dirent *entry;

    walk->held_count = 0;
    hold_unix(walk, pid);
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    while (directory && (entry = readdir(directory))) {
        inode = socket_of(directory, entry->d_name);
        if (!inode) continue;
        hold(walk, pid, inode);
        if (inbound[1] || inode == inbound[0] ||
            !attach_sockets_inbound_p(walk->sockets, inode)) continue;
        inbound[inbound[0] != 0] = inode;
    }
    if (directory) closedir(directory);
    bool seen = walk->held_count && directory && attach_status_read(pid, pid, status);
    for (size_t i = 0; i < walk->held_count; i++) judge(walk->held[i], status, seen, inbound);
    return true;
}

/* ---- all connections ---- */

static void
find_sockets(struct walk *walk)
{
    for (size_t i = 0; i < walk->count; i++) {
        struct attach_peer_end *end = &walk->ends[i];
        if (end->unix_socket || end->why) continue;
        const struct attach_socket *row =
            attach_sockets_find(walk->sockets, &end->far, &end->near);
        if (!row) end->why = ATTACH_PEER_NO_SOCKET;
        if (!row) continue;
        end->peer.uid = row->uid;
        end->inode = row->inode;
        walk->by_inode[walk->tcp_count++] = end;
    }
    qsort(walk->by_inode, walk->tcp_count, sizeof(*walk->by_inode), compare_inodes);
}

/* Unix connections tell their process. For those of TCP, all have to be looked at. */
static void
find_processes(struct walk *walk)
{
    struct attach_peer_end *end = walk->ends, *last = end + walk->count;

    if (walk->tcp_count) attach_host_each(visit_i, walk);
    for (; end < last; end++) {
        if (end->unix_socket && !end->why && !end->judged) visit_i(end->peer.pid, walk);
    }
    for (end = walk->ends; end < last; end++) {
        if (!end->judged && !end->why) end->why = ATTACH_PEER_UNSEEN;
    }
}

static void
refuse(struct attach_peer_end *ends, size_t count, enum attach_peer_why why)
{
    for (size_t i = 0; i < count; i++) {
        if (!ends[i].why) ends[i].why = why;
    }
}

void
attach_peers_find(struct attach_peer_end *ends, size_t count)
{
    struct attach_sockets sockets;
    struct walk walk = { .sockets = &sockets, .ends = ends, .count = count };

    if (!count) return;
    walk.by_inode = malloc(count * sizeof(*walk.by_inode));
    walk.held = malloc(count * sizeof(*walk.held));
    if (!attach_sockets_read(&sockets)) {
        refuse(ends, count, sockets.memory ? ATTACH_PEER_TOO_MANY : ATTACH_PEER_NO_TABLES);
    }
    else if (!walk.by_inode || !walk.held) refuse(ends, count, ATTACH_PEER_UNKNOWN);
    else {
        find_sockets(&walk);
        find_processes(&walk);
    }
    attach_sockets_free(&sockets);
    free(walk.by_inode);
    free(walk.held);
}
