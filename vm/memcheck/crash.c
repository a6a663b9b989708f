/* crash.c - a last will: a process that has used a dead object may crash of it. So MRI's crash
 * report has a file written with the uses that were seen, and so has abort(): glibc calls it where
 * it finds its lists broken, C++ for an exception that nobody catches.
 *
 *     crash --> rb_bug --> crash_i --> a stack of its own --> fork --> child: the file
 *     abort() --> SIGABRT --> on_abort --^   (alternate signal         parent: waits, then abort
 *                                             stack, 16 KB)
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
#include "vm/run/child.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 20 };

static struct {
    const char *(*path)(void);
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
write_last_uses(void)
{
    if (crash.begun || !rb_heapprof_on || rb_heapprof.tables.uses.count == 0) return;
    crash.begun = true;
    rb_heapprof_on_own_stack(write_in_child);
}

static void
crash_i(FILE *out, void *unused)
{
    write_last_uses();
}

/* The signal has its own effect again (SA_RESETHAND), and has it when this returns. */
static void
on_abort(int signal)
{
    write_last_uses();
    raise(signal);
}

void
rb_heapprof_crash_start(const char *(*path)(void))
{
    struct sigaction action = { .sa_flags = SA_ONSTACK | SA_RESETHAND }, before;

    crash.path = path;
    rb_bug_reporter_add(crash_i, NULL);
    action.sa_handler = on_abort;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGABRT, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGABRT, &action, NULL);
}
