// queue_test.cc - whose turn it is among the requests that heapprof serve reads.

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

extern "C" {
#include "cli/serve/queue.h"
}

namespace {

struct Queue : testing::Test {
    cli_queue queue;
    cli_parties parties = LIST_HEAD_INITIALIZER(parties);
    std::deque<cli_ticket> tickets;
    std::vector<cli_party *> held;

    void SetUp() override { cli_queue_init(&queue); }

    void TearDown() override
    {
        for (cli_party *party : held) cli_party_release(party);
        EXPECT_TRUE(LIST_EMPTY(&parties));
    }

    cli_party *Party(uid_t user)
    {
        cli_party_key key = cli_party_of_user(user);
        held.push_back(cli_party_hold(&parties, &key));
        return held.back();
    }

    cli_ticket *Ticket(uid_t user, cli_pool pool = CLI_POOL_HEAP)
    {
        tickets.emplace_back();
        tickets.back().party = Party(user);
        tickets.back().pool = pool;
        return &tickets.back();
    }

    cli_ticket *Enter(uid_t user, cli_pool pool = CLI_POOL_HEAP)
    {
        cli_ticket *ticket = Ticket(user, pool);
        EXPECT_EQ(nullptr, cli_queue_enter(&queue, ticket));
        return ticket;
    }
};

TEST_F(Queue, HasTurnsInOrderAndBoundsWhatRuns)
{
    std::vector<cli_ticket *> all;
    size_t most = cli_queue_most(CLI_POOL_HEAP);

    for (size_t i = 0; i < most + 3; i++) all.push_back(Enter(1));
    for (size_t i = 0; i < most; i++) EXPECT_EQ(all[i], cli_queue_next(&queue)) << i;
    EXPECT_EQ(nullptr, cli_queue_next(&queue));
    cli_queue_leave(&queue, all[most]); // it waits: the next one takes its turn
    EXPECT_EQ(nullptr, cli_queue_next(&queue));
    cli_queue_leave(&queue, all[0]); // it runs: its place is free
    EXPECT_EQ(all[most + 1], cli_queue_next(&queue));
    EXPECT_EQ(nullptr, cli_queue_next(&queue));
    EXPECT_EQ(1u, queue.waiting_count);
}

TEST_F(Queue, HasPoolsThatDoNotWaitForEachOther)
{
    for (size_t i = 0; i < cli_queue_most(CLI_POOL_HEAP) + 1; i++) Enter(1);
    while (cli_queue_next(&queue)) continue;
    for (cli_pool pool : { CLI_POOL_CHANGE, CLI_POOL_LOOK, CLI_POOL_LIST, CLI_POOL_RECORD }) {
        cli_ticket *ticket = Enter(1, pool);
        EXPECT_EQ(ticket, cli_queue_next(&queue));
    }
}

TEST_F(Queue, GivesATurnToThePartyForWhichTheLeastRuns)
{
    for (int i = 0; i < 10; i++) Enter(1);
    while (cli_queue_next(&queue)) continue;
    cli_ticket *other = Enter(2);
    EXPECT_EQ(nullptr, cli_queue_next(&queue));
    cli_queue_leave(&queue, &tickets[0]);
    EXPECT_EQ(other, cli_queue_next(&queue));
}

TEST_F(Queue, ThatIsFullRefusesThePartyWithTheMost)
{
    for (int i = 0; i < CLI_QUEUE_MOST - 1; i++) Enter(1);
    Enter(2);
    cli_ticket *more = Ticket(1);
    EXPECT_EQ(more, cli_queue_enter(&queue, more));
    EXPECT_EQ(CLI_TICKET_OUT, more->state);
    cli_ticket *newest = &tickets[CLI_QUEUE_MOST - 2], *other = Ticket(2);
    EXPECT_EQ(newest, cli_queue_enter(&queue, other));
    EXPECT_EQ(CLI_TICKET_OUT, newest->state);
    EXPECT_EQ(CLI_TICKET_WAITS, other->state);
    EXPECT_EQ(static_cast<size_t>(CLI_QUEUE_MOST), queue.waiting_count);
}

TEST_F(Queue, ThatIsFullRefusesNobodyWhoNeedNotWait)
{
    for (size_t i = 0; i < cli_queue_most(CLI_POOL_HEAP) + CLI_QUEUE_MOST; i++) {
        Enter(1);
        if (i < cli_queue_most(CLI_POOL_HEAP)) cli_queue_next(&queue);
    }
    for (size_t i = 0; i < cli_queue_most(CLI_POOL_LIST); i++) {
        cli_ticket *ticket = Enter(1, CLI_POOL_LIST);
        if (i % 2) { EXPECT_EQ(CLI_POOL_LIST, cli_queue_next(&queue)->pool); }
        EXPECT_NE(CLI_TICKET_OUT, ticket->state);
    }
    while (cli_queue_next(&queue)) continue;
    cli_ticket *more = Ticket(1, CLI_POOL_LIST);
    EXPECT_EQ(more, cli_queue_enter(&queue, more));
    EXPECT_EQ(static_cast<size_t>(CLI_QUEUE_MOST), queue.waiting_count);
}

TEST_F(Queue, KeepsItsSumsOverRandomSteps)
{
    std::mt19937 random(1);
    std::vector<cli_ticket *> in;

    for (int step = 0; step < 20000; step++) {
        size_t at = in.empty() ? 0 : random() % in.size();
        switch (random() % 3) {
          case 0: {
            cli_ticket *ticket = Ticket(random() % 4, static_cast<cli_pool>(random() % CLI_POOLS));
            cli_ticket *out = cli_queue_enter(&queue, ticket);
            in.push_back(ticket);
            if (out) in.erase(std::find(in.begin(), in.end(), out));
            break;
          }
          case 1:
            if (in.empty()) break;
            cli_queue_leave(&queue, in[at]);
            in.erase(in.begin() + static_cast<long>(at));
            break;
          default: cli_queue_next(&queue);
        }
        size_t waiting = 0, running[CLI_POOLS] = {};
        for (cli_ticket *ticket : in) {
            waiting += ticket->state == CLI_TICKET_WAITS;
            running[ticket->pool] += ticket->state == CLI_TICKET_RUNS;
        }
        ASSERT_EQ(waiting, queue.waiting_count);
        ASSERT_LE(waiting, static_cast<size_t>(CLI_QUEUE_MOST));
        for (int pool = 0; pool < CLI_POOLS; pool++) {
            ASSERT_EQ(running[pool], queue.running[pool]);
            ASSERT_LE(running[pool], cli_queue_most(static_cast<cli_pool>(pool)));
        }
    }
}

cli_party_key
Address(const char *text)
{
    sockaddr_storage address = {};
    auto *four = reinterpret_cast<sockaddr_in *>(&address);
    auto *six = reinterpret_cast<sockaddr_in6 *>(&address);

    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) address.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) address.ss_family = AF_INET6;
    return cli_party_of_address(reinterpret_cast<sockaddr *>(&address));
}

bool
Same(const char *one, const char *other)
{
    cli_party_key a = Address(one), b = Address(other);
    return !memcmp(&a, &b, sizeof(a));
}

TEST(Party, IsAHostOrAUser)
{
    EXPECT_TRUE(Same("127.0.0.1", "127.0.0.9"));
    EXPECT_TRUE(Same("127.0.0.1", "::1"));
    EXPECT_TRUE(Same("127.0.0.1", "::ffff:127.0.0.1"));
    EXPECT_TRUE(Same("10.0.0.1", "::ffff:10.0.0.1"));
    EXPECT_FALSE(Same("10.0.0.1", "10.0.0.2"));
    EXPECT_TRUE(Same("2001:db8:1:2::3", "2001:db8:1:2:ffff::4"));
    EXPECT_FALSE(Same("2001:db8:1:2::3", "2001:db8:1:3::3"));
    EXPECT_FALSE(Same("2001:db8:1:2::3", "::1"));
    cli_party_key root = cli_party_of_user(0), user = cli_party_of_user(1000);
    EXPECT_TRUE(memcmp(&root, &user, sizeof(root)));
}

} // namespace
