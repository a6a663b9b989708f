// process_test.cc - real processes, read from outside: what is there, what is not, and what became
// of them.

#include <gtest/gtest.h>

#include <cstring>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <vector>

#include "test/unit/attach/subject.h"

extern "C" {
#include "attach/rights.h"
#include "attach/target.h"
}

namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

class Process : public testing::Test {
  protected:
    char error_[ATTACH_TARGET_ERROR_MAX] = "";
    attach_target *target_ = nullptr;

    void TearDown() override { attach_target_close(target_); }

    void
    Open(pid_t pid)
    {
        attach_target_close(target_);
        target_ = attach_target_open_pid(pid, error_);
        ASSERT_NE(nullptr, target_) << error_;
    }

    // Why that one cannot be opened.
    std::string
    Refused(int64_t pid)
    {
        target_ = attach_target_open_pid(pid, error_);
        EXPECT_EQ(nullptr, target_);
        return error_;
    }
};

uint64_t
AddressOf(const void *pointer)
{
    return reinterpret_cast<uintptr_t>(pointer);
}

// A child that stays until it is killed.
void
Stay()
{
    for (;;) pause();
}

void
Ready()
{
    puts("ready");
    fflush(stdout);
}

char *
Pages(size_t count, int protection = PROT_READ | PROT_WRITE)
{
    void *pages = mmap(nullptr, count * kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) abort();
    return static_cast<char *>(pages);
}

// ---- reading ----

TEST_F(Process, ReadsAChildsMemory)
{
    int number = 17;
    Child child([&] { number = 4711; Ready(); Stay(); });
    child.Line();
    Open(child.pid());
    int copy = 0;
    EXPECT_TRUE(attach_target_read(target_, AddressOf(&number), &copy, sizeof(copy)));
    EXPECT_EQ(4711, copy);
    EXPECT_EQ(17, number);
}

TEST_F(Process, ReadsItself)
{
    const char text[] = "memory of our own";
    char copy[sizeof(text)];
    Open(getpid());
    EXPECT_TRUE(attach_target_read(target_, AddressOf(text), copy, sizeof(copy)));
    EXPECT_STREQ(text, copy);
    EXPECT_EQ(ATTACH_TARGET_SAME, attach_target_state(target_));
}

TEST_F(Process, ReadsMoreRangesThanOneCallTakes)
{
    std::vector<uint32_t> numbers(5000), copies(5000);
    std::vector<attach_range> ranges;
    for (size_t i = 0; i < numbers.size(); i++) {
        numbers[i] = static_cast<uint32_t>(i * i);
        ranges.push_back(
            { AddressOf(&numbers[numbers.size() - 1 - i]), &copies[i], sizeof(uint32_t) });
    }
    Open(getpid());
    ASSERT_TRUE(attach_target_read_all(target_, ranges.data(), ranges.size()));
    EXPECT_EQ(numbers, std::vector<uint32_t>(copies.rbegin(), copies.rend()));
    ranges[4000].address = 8;
    EXPECT_FALSE(attach_target_read_all(target_, ranges.data(), ranges.size()));
}

TEST_F(Process, ReadsUpToAHole)
{
    char *pages = Pages(3);
    memset(pages, 'x', 3 * kPage);
    Child child([&] { munmap(pages + 2 * kPage, kPage); Ready(); Stay(); });
    child.Line();
    Open(child.pid());
    std::vector<char> copy(3 * kPage);
    EXPECT_FALSE(attach_target_read(target_, AddressOf(pages), copy.data(), 3 * kPage));
    EXPECT_EQ(2 * kPage - 5,
              attach_target_read_some(target_, AddressOf(pages) + 5, copy.data(), 3 * kPage));
    EXPECT_EQ(std::string(2 * kPage - 5, 'x'), std::string(copy.data(), 2 * kPage - 5));
    munmap(pages, 3 * kPage);
}

TEST_F(Process, WildAddressesAreNotRead)
{
    char copy[16];
    Open(getpid());
    for (uint64_t address :
         { UINT64_C(0), UINT64_C(1), UINT64_C(0x5a5a5a5a5a5a5a5a), UINT64_MAX - 3, UINT64_MAX }) {
        EXPECT_FALSE(attach_target_read(target_, address, copy, sizeof(copy)));
        EXPECT_EQ(0u, attach_target_read_some(target_, address, copy, sizeof(copy)));
        EXPECT_EQ(nullptr, attach_target_mapping(target_, address));
        EXPECT_FALSE(attach_target_mapped_p(target_, address, 1));
    }
}

// As MRI protects heap pages while it compacts.
TEST_F(Process, ReadsAPageThatIsProtected)
{
    char *pages = Pages(1), copy[6];
    strcpy(pages, "hello");
    mprotect(pages, kPage, PROT_NONE);
    Open(getpid());
    EXPECT_TRUE(attach_target_read(target_, AddressOf(pages), copy, sizeof(copy)));
    EXPECT_STREQ("hello", copy);
    munmap(pages, kPage);
}

TEST_F(Process, ReadsStringsUpToTheirEndTheirLimitOrAHole)
{
    char *pages = Pages(2), text[600];
    memset(pages, 'x', kPage);
    strcpy(pages + kPage - 8, "end");
    memcpy(pages + kPage - 4, "hole", 4);
    Child child([&] { munmap(pages + kPage, kPage); Ready(); Stay(); });
    child.Line();
    Open(child.pid());
    EXPECT_TRUE(
        attach_target_read_string(target_, AddressOf(pages) + kPage - 8, text, sizeof(text)));
    EXPECT_STREQ("end", text);
    EXPECT_TRUE(attach_target_read_string(target_, AddressOf(pages), text, sizeof(text)));
    EXPECT_EQ(std::string(599, 'x'), text);
    EXPECT_FALSE(
        attach_target_read_string(target_, AddressOf(pages) + kPage - 4, text, sizeof(text)));
    EXPECT_STREQ("hole", text);
    EXPECT_FALSE(attach_target_read_string(target_, 1, text, sizeof(text)));
    EXPECT_STREQ("", text);
    munmap(pages, 2 * kPage);
}

// ---- mappings and threads ----

TEST_F(Process, ListsMappingsInOrder)
{
    char *pages = Pages(3);
    mprotect(pages + kPage, kPage, PROT_READ);
    mprotect(pages + 2 * kPage, kPage, PROT_NONE);
    Open(getpid());
    for (size_t i = 1; i < target_->mapping_count; i++) {
        EXPECT_LE(target_->mappings[i - 1].end, target_->mappings[i].start);
    }
    const attach_mapping *mapping = attach_target_mapping(target_, AddressOf(pages) + kPage + 7);
    ASSERT_NE(nullptr, mapping);
    EXPECT_TRUE(mapping->readable && !mapping->writable && !mapping->executable);
    EXPECT_EQ(AddressOf(pages) + kPage, mapping->start);
    EXPECT_TRUE(attach_target_mapped_p(target_, AddressOf(pages) + 1, 2 * kPage - 1));
    EXPECT_FALSE(attach_target_mapped_p(target_, AddressOf(pages) + 1, 2 * kPage));
    EXPECT_FALSE(attach_target_mapped_p(target_, AddressOf(pages), 0));
    EXPECT_FALSE(attach_target_mapped_p(target_, AddressOf(pages), UINT64_MAX));
    munmap(pages, 3 * kPage);
    ASSERT_TRUE(attach_target_refresh(target_, error_));
    EXPECT_EQ(nullptr, attach_target_mapping(target_, AddressOf(pages)));
}

TEST_F(Process, NamesTheFileOfAMapping)
{
    Scratch scratch;
    Child child(scratch.Compile("a subject"));
    child.Ready();
    Open(child.pid());
    const attach_mapping *first = &target_->mappings[0];
    EXPECT_EQ(scratch / "a subject", attach_target_path(target_, first));
    EXPECT_EQ(0u, first->offset);
    child.Tell('u');
    ASSERT_TRUE(attach_target_refresh(target_, error_));
    EXPECT_EQ(scratch / "a subject" + " (deleted)",
              attach_target_path(target_, &target_->mappings[0]));
}

TEST_F(Process, ListsThreads)
{
    Scratch scratch;
    Child child(scratch.Compile("subject"));
    child.Ready();
    Open(child.pid());
    ASSERT_TRUE(attach_target_threads(target_));
    ASSERT_EQ(1u, target_->thread_count);
    EXPECT_EQ(child.pid(), target_->threads[0].tid);
    child.Tell('n');
    child.Tell('n');
    ASSERT_TRUE(attach_target_threads(target_));
    EXPECT_EQ(3u, target_->thread_count);
    EXPECT_EQ(child.pid(), attach_target_tid(target_, child.pid()));
    EXPECT_EQ(0, attach_target_tid(target_, 1));
    child.Kill();
    EXPECT_FALSE(attach_target_threads(target_));
}

TEST_F(Process, KnowsWhatThreadsAreCalledInTheirOwnNamespace)
{
    if (geteuid() != 0) GTEST_SKIP() << "needs root, for a pid namespace";
    Child child([] {
        if (unshare(CLONE_NEWPID) != 0) return;
        pid_t inside = fork();
        if (inside == 0) Stay();
        printf("%d\n", static_cast<int>(inside));
        fflush(stdout);
        Stay();
    });
    pid_t inside = atoi(child.Line().c_str());
    ASSERT_GT(inside, 0);
    Open(inside);
    ASSERT_TRUE(attach_target_threads(target_));
    ASSERT_EQ(1u, target_->thread_count);
    EXPECT_EQ(inside, target_->threads[0].tid);
    EXPECT_EQ(1, target_->threads[0].inner_tid);
    EXPECT_EQ(inside, attach_target_tid(target_, 1));
    kill(inside, SIGKILL);
}

// ---- what becomes of it ----

TEST_F(Process, AnEndIsNoticed)
{
    Child child(Stay);
    Open(child.pid());
    EXPECT_EQ(ATTACH_TARGET_SAME, attach_target_state(target_));
    kill(child.pid(), SIGKILL);
    Child::Until([&] { return Child::State(child.pid()) == 'Z'; });
    EXPECT_EQ(ATTACH_TARGET_ENDED, attach_target_state(target_));
    attach_target_close(target_);
    EXPECT_EQ("process " + std::to_string(child.pid()) + ": it has ended", Refused(child.pid()));
}

// Its memory ends before it does, as with exec.
TEST_F(Process, OneThatIsEndingIsNotTakenForOneThatCalledExec)
{
    for (int times = 0; times < 200; times++) {
        Child child(Stay);
        Open(child.pid());
        kill(child.pid(), SIGKILL);
        enum attach_target_state state;
        while ((state = attach_target_state(target_)) == ATTACH_TARGET_SAME) {}
        ASSERT_EQ(ATTACH_TARGET_ENDED, state);
    }
}

TEST_F(Process, AfterTheEndNothingIsRead)
{
    int number = 1, copy;
    Child child(Stay);
    Open(child.pid());
    child.Kill();
    EXPECT_FALSE(attach_target_read(target_, AddressOf(&number), &copy, sizeof(copy)));
    EXPECT_EQ(ATTACH_TARGET_ENDED, attach_target_state(target_));
    EXPECT_FALSE(attach_target_threads(target_));
    EXPECT_FALSE(attach_target_refresh(target_, error_));
    EXPECT_NE(nullptr, strstr(error_, ": it has ended"));
}

// A process with the number of the one that is gone.
pid_t
ForkAs(pid_t pid)
{
    clone_args arguments = {};
    pid_t ids[] = {pid};
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = AddressOf(ids);
    arguments.set_tid_size = 1;
    pid_t child = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
    if (child == 0) {
        for (;;) pause();
    }
    return child;
}

TEST_F(Process, AnotherProcessWithItsNumberIsNotTakenForIt)
{
    int number = 1, copy;
    Child child(Stay);
    pid_t pid = child.pid();
    Open(pid);
    child.Kill();
    pid_t again = ForkAs(pid);
    if (again < 0) GTEST_SKIP() << "needs root, to fork a process of a given number";
    ASSERT_EQ(pid, again);
    // process_vm_readv takes the number, so that this is read; it does not count.
    attach_target_read(target_, AddressOf(&number), &copy, sizeof(copy));
    EXPECT_EQ(ATTACH_TARGET_ENDED, attach_target_state(target_));
    EXPECT_FALSE(attach_target_refresh(target_, error_));
    EXPECT_FALSE(attach_target_threads(target_));
    kill(again, SIGKILL);
    waitpid(again, nullptr, 0);
}

TEST_F(Process, ExecIsNoticedAndItsMemoryReadAfterARefresh)
{
    Scratch scratch;
    Child child(scratch.Compile("subject", "-pie -fPIE"));
    uint64_t before = child.Ready();
    Open(child.pid());
    EXPECT_EQ(ATTACH_TARGET_SAME, attach_target_state(target_));
    child.Tell('x');
    uint64_t after = child.Ready();
    EXPECT_EQ(ATTACH_TARGET_REPLACED, attach_target_state(target_));
    ASSERT_TRUE(attach_target_refresh(target_, error_)) << error_;
    EXPECT_EQ(ATTACH_TARGET_SAME, attach_target_state(target_));
    int32_t number = 0;
    EXPECT_TRUE(attach_target_read(target_, after, &number, sizeof(number)));
    EXPECT_EQ(-7, number);
    if (before != after) {
        EXPECT_FALSE(attach_target_mapped_p(target_, before, 1));
    }
}

// Between vfork and exec a child has its parent's memory, which outlives the exec.
TEST_F(Process, ExecAfterVforkIsNoticed)
{
    Scratch scratch;
    std::string subject = scratch.Compile("subject"), gate = scratch / "gate";
    ASSERT_EQ(0, mkfifo(gate.c_str(), 0600));
    Child child([&] {
        const char *program = subject.c_str(), *fifo = gate.c_str();
        pid_t inner = vfork();
        if (inner == 0) {
            char byte;
            pid_t self = static_cast<pid_t>(syscall(SYS_getpid));
            (void)!write(1, &self, sizeof(self));
            int fd = open(fifo, O_RDONLY);
            (void)!read(fd, &byte, 1);
            execl(program, program, static_cast<char *>(nullptr));
            _exit(1);
        }
        Stay();
    });
    pid_t inner = child.RawPid();
    Open(inner);
    EXPECT_EQ(ATTACH_TARGET_SAME, attach_target_state(target_));
    int fd = open(gate.c_str(), O_WRONLY);
    ASSERT_EQ(1, write(fd, "x", 1));
    close(fd);
    child.Ready();
    EXPECT_EQ(ATTACH_TARGET_REPLACED, attach_target_state(target_));
    ASSERT_TRUE(attach_target_refresh(target_, error_)) << error_;
    EXPECT_EQ(ATTACH_TARGET_SAME, attach_target_state(target_));
    EXPECT_EQ(subject, attach_target_path(target_, &target_->mappings[0]));
    kill(inner, SIGKILL);
    Child::Until([&] { return attach_target_state(target_) == ATTACH_TARGET_ENDED; });
}

// ---- writing ----

TEST_F(Process, WritesToAChildsMemoryAlone)
{
    int number = 17, copy = 0;
    Child child([&] { Ready(); Stay(); });
    child.Line();
    Open(child.pid());
    int other = 4711;
    ASSERT_TRUE(attach_target_write(target_, AddressOf(&number), &other, sizeof(other)));
    EXPECT_TRUE(attach_target_read(target_, AddressOf(&number), &copy, sizeof(copy)));
    EXPECT_EQ(4711, copy);
    EXPECT_EQ(17, number);
    EXPECT_FALSE(attach_target_write(target_, 8, &other, sizeof(other)));
}

TEST_F(Process, AfterTheEndNothingIsWritten)
{
    int number = 17;
    Child child([&] { Ready(); Stay(); });
    child.Line();
    Open(child.pid());
    ASSERT_TRUE(attach_target_write(target_, AddressOf(&number), &number, sizeof(number)));
    pid_t pid = child.pid();
    child.Kill();
    EXPECT_FALSE(attach_target_write(target_, AddressOf(&number), &number, sizeof(number)));
    pid_t again = ForkAs(pid);
    if (again < 0) GTEST_SKIP() << "needs root, to fork a process of a given number";
    EXPECT_FALSE(attach_target_write(target_, AddressOf(&number), &number, sizeof(number)));
    kill(again, SIGKILL);
    waitpid(again, nullptr, 0);
}

// What was opened before the exec is another image.
TEST_F(Process, AfterAnExecNothingIsWrittenUntilARefresh)
{
    Scratch scratch;
    Child child(scratch.Compile("subject", "-pie -fPIE"));
    child.Ready();
    Open(child.pid());
    child.Tell('x');
    uint64_t after = child.Ready();
    int32_t number = 5, copy = 0;
    EXPECT_FALSE(attach_target_write(target_, after, &number, sizeof(number)));
    ASSERT_TRUE(attach_target_refresh(target_, error_)) << error_;
    ASSERT_TRUE(attach_target_write(target_, after, &number, sizeof(number)));
    EXPECT_TRUE(attach_target_read(target_, after, &copy, sizeof(copy)));
    EXPECT_EQ(5, copy);
}

// ---- what cannot be opened ----

TEST_F(Process, NumbersOfNoProcess)
{
    EXPECT_EQ("process -1: there is no such process", Refused(-1));
    EXPECT_EQ("process 0: there is no such process", Refused(0));
    EXPECT_EQ("process 1099511627776: there is no such process", Refused(INT64_C(1) << 40));
    EXPECT_EQ("process 2147483647: there is no such process", Refused(INT32_MAX));
}

TEST_F(Process, AThreadIsNoProcess)
{
    Scratch scratch;
    Child child(scratch.Compile("subject"));
    child.Ready();
    child.Tell('n');
    Open(child.pid());
    ASSERT_TRUE(attach_target_threads(target_));
    pid_t tid = target_->threads[1].tid;
    attach_target_close(target_);
    EXPECT_EQ("process " + std::to_string(tid) +
                  ": it is a thread of another process, not a process",
              Refused(tid));
}

// ---- rights ----

// What a child that has become somebody else is told of a process.
std::string
ToldTo(const std::function<void()> &become, pid_t pid)
{
    Child child([&] {
        char error[ATTACH_TARGET_ERROR_MAX] = "it was opened";
        become();
        attach_target_close(attach_target_open_pid(pid, error));
        puts(error);
        fflush(stdout);
    });
    return child.Line();
}

long
YamaScope()
{
    long scope = 0;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (!file) return 0;
    EXPECT_EQ(1, fscanf(file, "%ld", &scope));
    fclose(file);
    return scope;
}

void
BecomeNobody()
{
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) abort();
}

// In a child that has become root without some rights: root's files stay readable, others' memory
// does not.
void
DropTracing()
{
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) != 0) abort();
    for (auto &half : data) half.inheritable = 0;
    data[0].effective &= ~(1u << CAP_SYS_PTRACE);
    data[0].permitted &= ~(1u << CAP_SYS_PTRACE);
    if (syscall(SYS_capset, &header, data) != 0) abort();
}

TEST_F(Process, AnotherUsersProcessIsNamedAsSuch)
{
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
    if (YamaScope() == 3) GTEST_SKIP() << "kernel.yama.ptrace_scope is 3";
    EXPECT_EQ("process " + std::to_string(getpid()) +
                  ": not permitted: it belongs to user 0, and heapprof runs as user 65534; run "
                  "heapprof as"
                  " that user or as root",
              ToldTo(BecomeNobody, getpid()));
}

TEST_F(Process, RootWithoutTheCapabilityIsToldOfContainers)
{
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a capability up";
    if (YamaScope() == 3) GTEST_SKIP() << "kernel.yama.ptrace_scope is 3";
    EXPECT_EQ("process " + std::to_string(getpid()) +
                  ": not permitted: root without CAP_SYS_PTRACE; in a container, start it"
                  " with --cap-add=SYS_PTRACE",
              ToldTo(DropTracing, getpid()));
}

TEST_F(Process, AProcessThatGaveUpBeingReadIsNamedAsSuch)
{
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
    if (YamaScope() != 0) GTEST_SKIP() << "kernel.yama.ptrace_scope is not 0";
    Child undumpable([] { BecomeNobody(); prctl(PR_SET_DUMPABLE, 0); Ready(); Stay(); });
    undumpable.Line();
    EXPECT_EQ("process " + std::to_string(undumpable.pid()) +
                  ": not permitted: it does not let itself be read (it is not dumpable, or was"
                  " started with more rights than heapprof); run heapprof as root; in a container, "
                  "start it with"
                  " --cap-add=SYS_PTRACE",
              ToldTo(BecomeNobody, undumpable.pid()));
}

TEST_F(Process, WithoutRightsThatAreNotNeededItIsStillRead)
{
    int number = 4711;
    Child target(Stay);
    Child reader([&] {
        char error[ATTACH_TARGET_ERROR_MAX] = "";
        attach_target *opened = attach_target_open_pid(target.pid(), error);
        int copy = 0;
        attach_rights_drop(ATTACH_RIGHTS_READ);
        bool read = opened && attach_target_read(opened, AddressOf(&number), &copy, sizeof(copy)) &&
                    attach_target_refresh(opened, error) && attach_target_threads(opened);
        attach_target_close(opened);
        bool gone = setresuid(1, 1, 1) != 0;
        printf("%d %d %d %d %d\n", read, copy,
               static_cast<int>(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)),
               static_cast<int>(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)), gone);
        fflush(stdout);
    });
    EXPECT_EQ("1 4711 1 0 1", reader.Line());
}

} // namespace
