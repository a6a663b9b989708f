#ifndef ATTACH_PEER_H
#define ATTACH_PEER_H
/* Who is at the other end of a connection that was accepted. lib/heapprof/rack/peer.rb does the same in Ruby. */
#include <stdbool.h>
#include <sys/types.h>

struct attach_peer {
    pid_t pid;   /* a process that has the other end */
    uid_t uid;   /* that process's, real, effective and saved */
    gid_t gid;
};

/* Whether the accepted socket is a Unix socket. */
bool attach_peer_unix_p(int fd);

/* Returns NULL, or why the other end may not ask: it is not on this host, cannot be seen, or answers requests itself. */
const char *attach_peer_find(int fd, struct attach_peer *peer);

#endif
