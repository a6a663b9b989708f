// peer_test.cc - who is at the other end of a connection, as the kernel says it. The other end is a
// child that does nothing but hold it; as other users, and through a server, in
// test/attach/test_serve.rb.

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <csignal>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

extern "C" {
#include "attach/peer.h"
}

namespace {

// A listening socket, an accepted one, and the child that has connected it.
struct Connection {
    int listener = -1, accepted = -1;
    pid_t child = 0;

    // With listens, the child keeps the listening socket. It has no other connection.
    Connection(int family, bool listens)
    {
        sockaddr_storage address = {};
        socklen_t size = 0;

        address.ss_family = static_cast<sa_family_t>(family);
        if (family == AF_INET) {
            reinterpret_cast<sockaddr_in *>(&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            size = sizeof(sockaddr_in);
        }
        else if (family == AF_INET6) {
            reinterpret_cast<sockaddr_in6 *>(&address)->sin6_addr = in6addr_loopback;
            size = sizeof(sockaddr_in6);
        }
        else {
            size = sizeof(sa_family_t); // a name that the kernel chooses
        }
        listener = socket(family, SOCK_STREAM, 0);
        if (bind(listener, reinterpret_cast<sockaddr *>(&address), size) != 0 ||
            listen(listener, 1) != 0)
            return;
        size = sizeof(address);
        getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
        child = fork();
        if (child == 0) {
            for (int fd = 3; fd < 64; fd++) {
                if (!listens || fd != listener) close(fd);
            }
            int client = socket(family, SOCK_STREAM, 0);
            if (connect(client, reinterpret_cast<sockaddr *>(&address), size) != 0) _exit(1);
            if (write(client, "", 1) != 1) _exit(1); // it has what it is to have
            pause();
            _exit(0);
        }
        char byte;
        accepted = accept(listener, nullptr, nullptr);
        if (read(accepted, &byte, 1) != 1) ADD_FAILURE();
    }

    void
    EndChild()
    {
        if (child > 0) {
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
        }
        child = 0;
    }

    ~Connection()
    {
        EndChild();
        if (accepted >= 0) close(accepted);
        if (listener >= 0) close(listener);
    }
};

std::string
Find(int accepted, attach_peer *peer)
{
    attach_peer_end end;

    attach_peer_end_of(accepted, &end);
    attach_peers_find(&end, 1);
    *peer = end.peer;
    return attach_peer_text(end.why);
}

std::string
Find(const Connection &connection, attach_peer *peer)
{
    return Find(connection.accepted, peer);
}

class Peer : public testing::TestWithParam<int> {};

TEST_P(Peer, IsTheProcessThatConnected)
{
    Connection connection(GetParam(), false);
    attach_peer peer = {};

    if (connection.accepted < 0) GTEST_SKIP() << "no such family here";
    EXPECT_EQ("", Find(connection, &peer));
    EXPECT_EQ(connection.child, peer.pid);
    EXPECT_EQ(getuid(), peer.uid);
    EXPECT_EQ(getgid(), peer.gid);
    EXPECT_EQ(GetParam() == AF_UNIX, attach_peer_unix_p(connection.accepted));
}

TEST_P(Peer, ThatListensIsAProxy)
{
    Connection connection(GetParam(), true);
    attach_peer peer = {};

    if (connection.accepted < 0) GTEST_SKIP() << "no such family here";
    EXPECT_EQ("the client's process answers requests itself, as a proxy does",
              Find(connection, &peer));
}

TEST_P(Peer, ThatIsGoneIsNobody)
{
    Connection connection(GetParam(), false);
    attach_peer peer = {};

    if (connection.accepted < 0) GTEST_SKIP() << "no such family here";
    connection.EndChild();
    EXPECT_EQ(GetParam() == AF_UNIX
                  ? "the client's process cannot be seen: ask as this process's user"
                  : "the client's socket is not in the kernel's tables",
              Find(connection, &peer));
}

INSTANTIATE_TEST_SUITE_P(Families, Peer, testing::Values(AF_INET, AF_INET6, AF_UNIX));

TEST(PeerOfNoConnection, IsNobody)
{
    attach_peer peer = {};
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    EXPECT_EQ("the connection is closed", Find(-1, &peer));
    EXPECT_EQ("the connection is closed", Find(listener, &peer));
    close(listener);
}

// Each is judged by itself: those that are clients, a server's, one whose client is gone, and none.
TEST(Peers, AreFoundTogether)
{
    Connection four(AF_INET, false), other(AF_INET, false), proxy(AF_INET, true),
        gone(AF_INET, false), local(AF_UNIX, false), local_proxy(AF_UNIX, true);
    const Connection *all[] = {&four, &proxy, &gone, &local, &other, &local_proxy};
    std::vector<attach_peer_end> ends(7);

    gone.EndChild();
    for (size_t i = 0; i < 6; i++) attach_peer_end_of(all[i]->accepted, &ends[i]);
    attach_peer_end_of(-1, &ends[6]);
    attach_peers_find(ends.data(), ends.size());
    const attach_peer_why expected[] = {ATTACH_PEER_KNOWN,     ATTACH_PEER_SERVER,
                                        ATTACH_PEER_NO_SOCKET, ATTACH_PEER_KNOWN,
                                        ATTACH_PEER_KNOWN,     ATTACH_PEER_SERVER,
                                        ATTACH_PEER_CLOSED};
    for (size_t i = 0; i < ends.size(); i++) EXPECT_EQ(expected[i], ends[i].why) << i;
    for (size_t i : {0, 3, 4}) {
        EXPECT_EQ(all[i]->child, ends[i].peer.pid) << i;
        EXPECT_EQ(getuid(), ends[i].peer.uid) << i;
        EXPECT_EQ(getgid(), ends[i].peer.gid) << i;
    }
}

// One process has both ends of several connections, and the same end twice.
TEST(Peers, OfOneProcessAreFoundTogether)
{
    constexpr size_t count = 3;
    int listener = socket(AF_INET, SOCK_STREAM, 0), copy;
    sockaddr_in address = {};
    socklen_t size = sizeof(address);
    std::vector<attach_peer_end> ends(count);
    int all[count][2];

    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(0, bind(listener, reinterpret_cast<sockaddr *>(&address), size));
    ASSERT_EQ(0, listen(listener, count));
    getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
    for (size_t i = 0; i < count; i++) {
        all[i][0] = socket(AF_INET, SOCK_STREAM, 0);
        ASSERT_EQ(0, connect(all[i][0], reinterpret_cast<sockaddr *>(&address), size));
        all[i][1] = accept(listener, nullptr, nullptr);
        attach_peer_end_of(all[i][1], &ends[i]);
    }
    copy = dup(all[0][0]);
    attach_peers_find(ends.data(), count);
    for (size_t i = 0; i < count; i++) {
        EXPECT_EQ(ATTACH_PEER_SERVER, ends[i].why) << i; // it listens
        EXPECT_EQ(getpid(), ends[i].peer.pid) << i;
        close(all[i][0]);
        close(all[i][1]);
    }
    close(copy);
    close(listener);
}

} // namespace
