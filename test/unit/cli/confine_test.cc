// confine_test.cc - what a worker of heapprof serve may not do.

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

extern "C" {
#include "cli/serve/confine.h"
}

namespace {

// The errno of a call that a confined child makes, by the kernel alone; 0 if it succeeds.
int
Confined(const std::function<long()> &call, bool asks = false)
{
    const cli_confinement confinement = {0, 10, 64, asks};
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        cli_confine(&confinement);
        errno = 0;
        long result = call();
        syscall(SYS_exit_group, result < 0 ? errno : 0);
    }
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define CONFINED(...) Confined([&]() -> long { return syscall(__VA_ARGS__); })
#define ASKING(...) Confined([&]() -> long { return syscall(__VA_ARGS__); }, true)

TEST(Confine, LetsAWorkerRead)
{
    char byte = 1, copy = 0;
    iovec to = {&copy, 1}, from = {&byte, 1};

    EXPECT_EQ(0, CONFINED(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0));
    EXPECT_EQ(0, CONFINED(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1, &from, 1, 0));
    EXPECT_EQ(ESRCH, CONFINED(SYS_ptrace, PTRACE_SEIZE, 0x7fffffff, 0, 0));
}

TEST(Confine, LetsAWorkerChangeNothing)
{
    char byte = 1;
    iovec to = {&byte, 1}, from = {&byte, 1};

    for (int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC})
        EXPECT_EQ(EPERM, CONFINED(SYS_openat, AT_FDCWD, "/dev/null", flags, 0600)) << flags;
    EXPECT_EQ(EPERM, CONFINED(SYS_process_vm_writev, syscall(SYS_getpid), &to, 1, &from, 1, 0));
    for (long request : {long(PTRACE_POKEDATA), long(PTRACE_POKETEXT), long(PTRACE_SETREGSET),
                         long(PTRACE_ATTACH), long(PTRACE_TRACEME)})
        EXPECT_EQ(EPERM, CONFINED(SYS_ptrace, request, 0x7fffffff, 0, 0)) << request;
    EXPECT_EQ(EPERM, CONFINED(SYS_unlinkat, AT_FDCWD, "/nowhere", 0));
    EXPECT_EQ(EPERM, CONFINED(SYS_kill, syscall(SYS_getpid), 0));
    EXPECT_EQ(EPERM, CONFINED(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
    EXPECT_EQ(EPERM, CONFINED(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    EXPECT_EQ(EPERM, CONFINED(SYS_execve, "/bin/true", nullptr, nullptr));
}

TEST(Confine, LetsAWorkerThatAsksWriteToWhatIsThere)
{
    char byte = 1;
    iovec to = {&byte, 1}, from = {&byte, 1};

    EXPECT_EQ(0, ASKING(SYS_openat, AT_FDCWD, "/proc/self/mem", O_WRONLY | O_CLOEXEC, 0));
    EXPECT_EQ(EBADF, ASKING(SYS_pidfd_getfd, -1, 0, 0));
    EXPECT_EQ(EBADF, ASKING(SYS_flock, -1, 2));
    for (int flags : {O_RDWR, O_WRONLY | O_CREAT, O_WRONLY | O_TRUNC})
        EXPECT_EQ(EPERM, ASKING(SYS_openat, AT_FDCWD, "/dev/null", flags, 0600)) << flags;
    EXPECT_EQ(EPERM, ASKING(SYS_process_vm_writev, syscall(SYS_getpid), &to, 1, &from, 1, 0));
    EXPECT_EQ(EPERM, ASKING(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
    EXPECT_EQ(EPERM, ASKING(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    EXPECT_EQ(EPERM, CONFINED(SYS_flock, -1, 2));
}

// A descriptor that is one too many, and a file that is a byte too long.
TEST(Confine, BoundsWhatAWorkerHas)
{
    EXPECT_EQ(0, CONFINED(SYS_fcntl, 0, F_DUPFD, 63));
    EXPECT_EQ(EINVAL, CONFINED(SYS_fcntl, 0, F_DUPFD, 64));
    EXPECT_EQ(EFBIG, Confined([]() -> long {
        long file = syscall(SYS_memfd_create, "large", 0);
        return syscall(SYS_ftruncate, file, (128L << 20) + 1);
    }));
}

} // namespace
