// door_test.cc - how many workers find out who asks, and for whom.

#include <gtest/gtest.h>

#include <csignal>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <vector>

extern "C" {
#include "cli/serve/door.h"
}

namespace {

std::vector<cli_caller *> judged;

// Callers at the door: both ends of their connections are ours.
struct Door : testing::Test {
    cli_door door;
    std::deque<cli_caller> callers;
    std::vector<int> open;

    void SetUp() override
    {
        judged.clear();
        cli_door_init(&door, [](cli_caller *caller) { judged.push_back(caller); });
    }

    void TearDown() override
    {
        pid_t worker = door.worker.pid;
        cli_door_free(&door);
        if (worker) waitpid(worker, nullptr, 0);
        for (int fd : open) close(fd);
    }

    cli_caller *Enter()
    {
        int pair[2];

        EXPECT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
        open.insert(open.end(), pair, pair + 2);
        callers.emplace_back();
        cli_door_enter(&door, &callers.back(), pair[0]);
        return &callers.back();
    }

    // When the worker has ended, takes its result.
    void Reap()
    {
        siginfo_t info;

        ASSERT_NE(0, door.worker.pid);
        EXPECT_EQ(0, waitid(P_PID, door.worker.pid, &info, WEXITED | WNOWAIT));
        cli_door_reap(&door);
    }
};

using Callers = std::vector<cli_caller *>;

TEST_F(Door, WhoLeavesIsNotJudged)
{
    cli_caller *looked_at = Enter(), *waits = Enter(), *stays = Enter();

    cli_door_leave(&door, looked_at);
    cli_door_leave(&door, waits);
    Reap();
    EXPECT_EQ(Callers{}, judged);
    Reap();
    EXPECT_EQ(Callers{stays}, judged);
    cli_door_leave(&door, stays);
}

TEST_F(Door, NeedsNoWorkerForWhatTheSocketSays)
{
    cli_caller *caller = &callers.emplace_back();

    cli_door_enter(&door, caller, -1);
    EXPECT_EQ(Callers{caller}, judged);
    EXPECT_EQ(ATTACH_PEER_CLOSED, caller->end.why);
    EXPECT_EQ(0, door.worker.pid);
}

#ifndef __SANITIZE_ADDRESS__ // it asks for more memory than a worker may have
TEST_F(Door, ThoseWhoComeMeanwhileAreLookedAtTogether)
{
    Callers first = {Enter()}, rest;
    pid_t worker = door.worker.pid;

    for (int i = 0; i < 50; i++) rest.push_back(Enter());
    EXPECT_EQ(worker, door.worker.pid);
    Reap();
    EXPECT_EQ(first, judged);
    judged.clear();
    Reap();
    EXPECT_EQ(rest, judged);
    EXPECT_EQ(0, door.worker.pid);
    for (const cli_caller &caller : callers) {
        EXPECT_EQ(ATTACH_PEER_KNOWN, caller.end.why);
        EXPECT_EQ(getpid(), caller.end.peer.pid);
        EXPECT_EQ(getgid(), caller.end.peer.gid);
    }
}

TEST_F(Door, IsShutForThoseWhoseWorkerFails)
{
    cli_caller *first = Enter(), *second = Enter();

    kill(door.worker.pid, SIGKILL);
    Reap();
    EXPECT_EQ(Callers{first}, judged);
    EXPECT_EQ(ATTACH_PEER_UNKNOWN, first->end.why);
    Reap();
    EXPECT_EQ(ATTACH_PEER_KNOWN, second->end.why);
}
#endif

} // namespace
