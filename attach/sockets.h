#ifndef ATTACH_SOCKETS_H
#define ATTACH_SOCKETS_H
/* The sockets of this host, as the kernel's tables show them: /proc/net/tcp, tcp6 and unix. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define ATTACH_SOCKET_NAME_MAX 48 /* 32 digits, a colon, 4 digits */

/* The ways in which the tables write an address. An IPv4 address may be in either table of TCP, so
 * it has two names. Otherwise the second name is "". */
struct attach_socket_names {
    char all[2][ATTACH_SOCKET_NAME_MAX];
};

/* Fills names. Returns true if the address is a loopback address. */
bool attach_socket_names_of(const struct sockaddr_storage *address,
                            struct attach_socket_names *names);

struct attach_socket {
    char     local[ATTACH_SOCKET_NAME_MAX], remote[ATTACH_SOCKET_NAME_MAX]; /* of TCP */
    char    *path;      /* of Unix; NULL: it has none */
    uint64_t inode;     /* 0: its process has closed it */
    uid_t    uid;       /* of TCP */
    unsigned state;     /* of TCP */
    bool     accepts;   /* it listens */
};

struct attach_sockets {
    struct attach_socket *all;   /* those of TCP first, by their local names */
    size_t    count, tcp, capacity;
    uint64_t *inbound;           /* inodes of those that listen, or came in where one listens */
    size_t    inbound_count;
    bool      memory;            /* there was not enough */
};

/* Reads all sockets. Returns false if the tables are not there, or there are too many sockets:
 * memory says which. The caller frees them in each case. */
bool attach_sockets_read(struct attach_sockets *sockets);
void attach_sockets_free(struct attach_sockets *sockets);

/* The open socket of TCP that has these addresses, or NULL. */
const struct attach_socket *attach_sockets_find(const struct attach_sockets *sockets,
                                                const struct attach_socket_names *local,
                                                const struct attach_socket_names *remote);

/* Whether the socket listens, or is a connection of a port or path where some socket listens. */
bool attach_sockets_inbound_p(const struct attach_sockets *sockets, uint64_t inode);

#endif
