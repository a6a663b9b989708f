/* queue.c - parties, and who of them is next.
 *
 *   I1  waiting_count is the number of waiting tickets, waiting[pool] those of a pool. Beyond
 *       CLI_QUEUE_MOST only tickets wait for which there is a place: until next is called.
 *   I2  running[pool] is at most cli_queue_most(pool), and the sum of that of all parties.
 *   I3  A ticket waits only while its pool is full, once next has returned NULL. */
#include "cli/serve/queue.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* ---- parties ---- */

enum { KEY_USER = 1, KEY_FOUR, KEY_SIX, KEY_LOOPBACK, KEY_OTHER };

struct cli_party_key
cli_party_of_user(uid_t uid)
{
    struct cli_party_key key = {{KEY_USER}};

    memcpy(key.bytes + 1, &uid, sizeof(uid));
    return key;
}

struct cli_party_key
cli_party_of_address(const struct sockaddr *address)
{
    struct cli_party_key key = {{KEY_OTHER}};
    const unsigned char *four = NULL, *six = NULL;

    if (address->sa_family == AF_INET)
        four = (const unsigned char *)&((const struct sockaddr_in *)address)->sin_addr;
    if (address->sa_family == AF_INET6) {
        const struct in6_addr *all = &((const struct sockaddr_in6 *)address)->sin6_addr;
        six = all->s6_addr;
        if (IN6_IS_ADDR_V4MAPPED(all)) four = six + 12;
        if (IN6_IS_ADDR_LOOPBACK(all)) key.bytes[0] = KEY_LOOPBACK;
    }
    if (four) {
        key.bytes[0] = four[0] == 127 ? KEY_LOOPBACK : KEY_FOUR;
        if (four[0] != 127) memcpy(key.bytes + 1, four, 4);
    }
    else if (six && key.bytes[0] != KEY_LOOPBACK) {
        key.bytes[0] = KEY_SIX;
        memcpy(key.bytes + 1, six, 8);
    }
    return key;
}

struct cli_party *
cli_party_hold(struct cli_parties *parties, const struct cli_party_key *key)
{
    struct cli_party *party;

    LIST_FOREACH(party, parties, next) {
        if (!memcmp(&party->key, key, sizeof(*key))) break;
    }
    if (!party) {
        party = calloc(1, sizeof(*party));
        if (!party) return NULL;
        party->key = *key;
        LIST_INSERT_HEAD(parties, party, next);
    }
    party->holders++;
    return party;
}

void
cli_party_release(struct cli_party *party)
{
    if (--party->holders > 0) return;
    LIST_REMOVE(party, next);
    free(party);
}

/* ---- turns ---- */

void
cli_queue_init(struct cli_queue *queue)
{
    *queue = (struct cli_queue){.waiting_count = 0};
    TAILQ_INIT(&queue->tickets);
}

size_t
cli_queue_most(enum cli_pool pool)
{
    static const size_t most[CLI_POOLS] = {
        [CLI_POOL_HEAP] = 4,
        [CLI_POOL_CHANGE] = 4,
        [CLI_POOL_LOOK] = 8,
        [CLI_POOL_LIST] = 4,
        [CLI_POOL_RECORD] = 64,
    };

    return most[pool];
}

/* The newest ticket of the party with the most waiting tickets. */
static struct cli_ticket *
find_newest_of_most(struct cli_queue *queue)
{
    struct cli_ticket *ticket, *found = NULL;

    TAILQ_FOREACH(ticket, &queue->tickets, next) {
        if (!found || ticket->party->waiting >= found->party->waiting) found = ticket;
    }
    return found;
}

/* Whether the next ticket of that pool runs at once. */
static bool
place_p(const struct cli_queue *queue, enum cli_pool pool)
{
    return queue->running[pool] + queue->waiting[pool] < cli_queue_most(pool);
}

struct cli_ticket *
cli_queue_enter(struct cli_queue *queue, struct cli_ticket *ticket)
{
    struct cli_ticket *other = NULL;

    if (queue->waiting_count >= CLI_QUEUE_MOST && !place_p(queue, ticket->pool)) {
        other = find_newest_of_most(queue);
        if (other->party->waiting <= ticket->party->waiting + 1) return ticket;
        cli_queue_leave(queue, other);
    }
    ticket->state = CLI_TICKET_WAITS;
    TAILQ_INSERT_TAIL(&queue->tickets, ticket, next);
    queue->waiting_count++;
    queue->waiting[ticket->pool]++;
    ticket->party->waiting++;
    return other;
}

struct cli_ticket *
cli_queue_next(struct cli_queue *queue)
{
    struct cli_ticket *ticket, *found = NULL;

    TAILQ_FOREACH(ticket, &queue->tickets, next) {
        enum cli_pool pool = ticket->pool;
        if (queue->running[pool] == cli_queue_most(pool)) continue;
        if (!found || ticket->party->running[pool] < found->party->running[found->pool])
            found = ticket;
    }
    if (!found) return NULL;
    cli_queue_leave(queue, found);
    found->state = CLI_TICKET_RUNS;
    queue->running[found->pool]++;
    found->party->running[found->pool]++;
    return found;
}

void
cli_queue_leave(struct cli_queue *queue, struct cli_ticket *ticket)
{
    if (ticket->state == CLI_TICKET_WAITS) {
        TAILQ_REMOVE(&queue->tickets, ticket, next);
        queue->waiting_count--;
        queue->waiting[ticket->pool]--;
        ticket->party->waiting--;
    }
    else if (ticket->state == CLI_TICKET_RUNS) {
        queue->running[ticket->pool]--;
        ticket->party->running[ticket->pool]--;
    }
    ticket->state = CLI_TICKET_OUT;
}
