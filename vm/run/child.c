/* child.c - how each child of ours begins (graph_child.c, native_leaks.c, frozen.c, crash.c). */
#include "ruby/ruby.h"
#include "vm/run/child.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES (512 * 1024)

void *
rb_heapprof_child_share(size_t bytes)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return shared == MAP_FAILED ? NULL : shared;
}

void
rb_heapprof_child_take_no_signals(void)
{
    static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    sigset_t none;

    for (int i = 1; i < NSIG; i++) signal(i, SIG_IGN);
    for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++) signal(ending[i], SIG_DFL);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

void
rb_heapprof_child_die_first(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0) return;
    if (write(fd, "1000", 4) < 0) errno = 0; /* then it is as likely to be ended as the program */
    close(fd);
}

void
rb_heapprof_on_own_stack(void (*function)(void))
{
    static ucontext_t back, there;
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);

    if (stack == MAP_FAILED || getcontext(&there) != 0) return;
    there.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = STACK_BYTES };
    there.uc_link = &back;
    makecontext(&there, function, 0);
    swapcontext(&back, &there);
}
