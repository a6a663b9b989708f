/* crash.c - a last will: a process that has used a dead object may crash of it. So MRI's crash
 * report has a file written with the uses that were seen.
 *
 *     crash --> rb_bug --> crash_i --> a stack of its own --> fork --> child: the file
 *               (alternate signal stack, 16 KB)                        parent: waits, then abort
 *
 * The crash may have come inside malloc. Then the child waits for a lock that nobody lets go, until
 * an alarm ends it: there is no file. Blocks that are left are not searched, because the process is
 * not at its end.
 */
#include "ruby/ruby.h"
#include "vm/memcheck/crash.h"
#include "gc/book/state.h"
#include "internal/error.h"
#include "vm/memcheck/memcheck.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 512 * 1024, SECONDS = 20 };

static struct {
    const char *(*path)(void);
    ucontext_t back, there;
    bool begun;
} crash;

/* fork would take the allocator's locks. */
static pid_t
fork_without_locks(void)
{
#if defined(__GLIBC_PREREQ)
# if __GLIBC_PREREQ(2, 34)
    return _Fork();
# endif
#endif
    return fork();
}

static void
write_in_child(void)
{
    const char *path = crash.path();
    sigset_t none;

    if (!path) return;
    rb_heapprof_memcheck_note_process();
    pid_t child = fork_without_locks();
    if (child == 0) {
        sigemptyset(&none);
        signal(SIGALRM, SIG_DFL);
        pthread_sigmask(SIG_SETMASK, &none, NULL);
        alarm(SECONDS);
        _exit(rb_heapprof_memcheck_write_uses(path) == 0 ? 0 : 1);
    }
    if (child > 0) waitpid(child, NULL, 0);
}

static void
crash_i(FILE *out, void *unused)
{
    if (crash.begun || !rb_heapprof_on || rb_heapprof.tables.uses.count == 0) return;
    crash.begun = true;
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
    if (stack == MAP_FAILED || getcontext(&crash.there) != 0) return;
    crash.there.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = STACK_BYTES };
    crash.there.uc_link = &crash.back;
    makecontext(&crash.there, write_in_child, 0);
    swapcontext(&crash.back, &crash.there);
}

void
rb_heapprof_crash_start(const char *(*path)(void))
{
    crash.path = path;
    rb_bug_reporter_add(crash_i, NULL);
}
