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

extern "C" {
#include "attach/peer.h"
}

namespace {

// A listening socket, an accepted one, and the child that has connected it.
struct Connection {
    int listener = -1, accepted = -1;
    pid_t child = 0;

    // With listens, the child keeps the listening socket.
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
            int client = socket(family, SOCK_STREAM, 0);
            if (!listens) close(listener);
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
Find(const Connection &connection, attach_peer *peer)
{
    const char *why = attach_peer_find(connection.accepted, peer);
    return why ? why : "";
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

    EXPECT_STREQ("the connection is closed", attach_peer_find(-1, &peer));
    EXPECT_STREQ("the connection is closed", attach_peer_find(listener, &peer));
    close(listener);
}

} // namespace
