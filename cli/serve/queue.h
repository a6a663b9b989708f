#ifndef HEAPPROF_CLI_QUEUE_H
#define HEAPPROF_CLI_QUEUE_H
/* Whose turn it is. This file starts nothing, and knows no sockets.
 *
 *     enter ---> waits ---> next ---> runs ---> leave
 *                  \_____________________________/
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include <sys/socket.h>

/* ---- parties ---- */

/* What one limit is for: a user of this host, or another host. */
struct cli_party_key {
    unsigned char bytes[17];   /* what it is, and its number or address */
};

/* Kinds of work. Each has workers of its own, so a short one never waits for long ones. */
enum cli_pool {
    CLI_POOL_HEAP,     /* a heap is read, which takes a processor for seconds */
    CLI_POOL_CHANGE,   /* a heap is kept in memory until it is read again */
    CLI_POOL_LOOK,     /* a look at threads, in milliseconds */
    CLI_POOL_LIST,     /* the list of processes, for a user: it reads no process */
    CLI_POOL_RECORD,   /* a profile over time: many looks */
    CLI_POOLS
};

struct cli_party {
    LIST_ENTRY(cli_party) next;
    struct cli_party_key key;
    size_t holders;              /* of this structure */
    size_t connections, waiting, running[CLI_POOLS];
};

LIST_HEAD(cli_parties, cli_party);

struct cli_party_key cli_party_of_user(uid_t uid);

/* All loopback addresses are one, and so are all IPv6 addresses of a network of 64 bits. */
struct cli_party_key cli_party_of_address(const struct sockaddr *address);

/* Returns the party with that key, which the caller has to release. Returns NULL without
 * memory. */
struct cli_party *cli_party_hold(struct cli_parties *parties, const struct cli_party_key *key);
void cli_party_release(struct cli_party *party);

/* ---- turns ---- */

enum { CLI_QUEUE_MOST = 256 };

enum cli_ticket_state { CLI_TICKET_OUT, CLI_TICKET_WAITS, CLI_TICKET_RUNS };

struct cli_ticket {
    TAILQ_ENTRY(cli_ticket) next;
    struct cli_party *party;
    enum cli_pool pool;
    enum cli_ticket_state state;
};

struct cli_queue {
    TAILQ_HEAD(, cli_ticket) tickets;  /* those that wait, the oldest first */
    size_t waiting_count, waiting[CLI_POOLS], running[CLI_POOLS];
};

void cli_queue_init(struct cli_queue *queue);

/* How many of the pool's kind run at once. */
size_t cli_queue_most(enum cli_pool pool);

/* Lets the ticket wait. If CLI_QUEUE_MOST tickets wait already, and this one would have to, the
 * party with the most of them gives way: its newest ticket leaves, and is returned. That may be
 * this one. Otherwise returns NULL. */
struct cli_ticket *cli_queue_enter(struct cli_queue *queue, struct cli_ticket *ticket);

/* Returns the ticket whose turn it is, which runs from now on. Returns NULL if all have to wait.
 * Turns go by parties: the one for which the least runs is next; of its tickets, the oldest. */
struct cli_ticket *cli_queue_next(struct cli_queue *queue);

/* The ticket waits or runs no more. A ticket that does neither is allowed. */
void cli_queue_leave(struct cli_queue *queue, struct cli_ticket *ticket);

#endif
