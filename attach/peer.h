#ifndef ATTACH_PEER_H
#define ATTACH_PEER_H
/* Who is at the other end of a connection that was accepted. lib/heapprof/rack/peer.rb does the
 * same in Ruby. */
#include <stdbool.h>
#include <sys/types.h>

struct attach_peer {
    pid_t pid;   /* a process that has the other end */
    uid_t uid;   /* its real, effective and saved user */
    gid_t gid;
};

/* True if the accepted socket is a Unix socket. */
bool attach_peer_unix_p(int fd);

/* Finds the other end, and returns NULL. Returns the reason if the other end may not ask: it is not
 * on this host, cannot be seen, or is a server itself. */
const char *attach_peer_find(int fd, struct attach_peer *peer);

#endif
