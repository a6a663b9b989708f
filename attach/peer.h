#ifndef ATTACH_PEER_H
#define ATTACH_PEER_H
/* Who is at the other end of connections that were accepted. lib/heapprof/rack/peer.rb does the
 * same in Ruby.
 *
 *     fd ---> end_of ---> end ---> peers_find ---> known, or why not
 *
 * end_of asks only the socket. peers_find reads the tables of the kernel and the descriptors of all
 * processes, which takes milliseconds: once for any number of connections. */
#include "attach/sockets.h"

struct attach_peer {
    pid_t pid;   /* a process that has the other end */
    uid_t uid;   /* its real, effective and saved user */
    gid_t gid;
};

/* Why the other end may not ask. */
enum attach_peer_why {
    ATTACH_PEER_KNOWN,        /* it may: peer is the client */
    ATTACH_PEER_UNKNOWN,      /* it could not be found out */
    ATTACH_PEER_CLOSED,
    ATTACH_PEER_ELSEWHERE,    /* on another host */
    ATTACH_PEER_CONTAINED,    /* in another container */
    ATTACH_PEER_NO_TABLES,
    ATTACH_PEER_TOO_MANY,
    ATTACH_PEER_NO_SOCKET,
    ATTACH_PEER_UNSEEN,
    ATTACH_PEER_RIGHTS,       /* it has other rights than its user */
    ATTACH_PEER_SERVER,       /* it is a server itself */
    ATTACH_PEER_WHYS
};

/* The same as text. */
const char *attach_peer_text(enum attach_peer_why why);

/* A connection, as its own socket describes it. */
struct attach_peer_end {
    enum attach_peer_why why;
    bool     unix_socket;
    bool     judged;                          /* a process has been seen that has the other end */
    struct attach_socket_names near, far;     /* of TCP */
    uint64_t inode;                           /* of the other end of TCP; 0 until it is known */
    struct attach_peer peer;
};

/* True if the accepted socket is a Unix socket. */
bool attach_peer_unix_p(int fd);

/* The user of the process that connected an accepted Unix socket. Returns false if it is not
 * known. */
bool attach_peer_user(int fd, uid_t *user);

/* Asks the accepted socket. why is not KNOWN if that is enough to refuse it. */
void attach_peer_end_of(int fd, struct attach_peer_end *end);

/* Finds the other end of each connection that was not refused, and sets why and peer. */
void attach_peers_find(struct attach_peer_end *ends, size_t count);

#endif
