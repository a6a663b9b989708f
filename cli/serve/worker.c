/* worker.c - forks a worker, takes away what it does not need, and takes its result.
 *
 *     server --- fork ---> worker ---> reads a process
 *        \                    |
 *         file in memory <----/   status (4 bytes), body
 *
 *   I1  A worker has no descriptor of the server except the file and stdin, stdout, stderr. It ends
 *       when the server ends.
 *   I2  It may do only what reading needs, within bounds that the kernel holds (confine.h).
 *   I3  A result counts only if the worker has exited by itself. Then it is sealed: no process
 *       can change it while it is sent. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#endif
#include "cli/serve/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RESULT_FD = 3 };

/* ---- in the worker ---- */

/* Holds I1. Old kernels have no close_range. The limit of descriptors is lowered afterwards,
 * because it bounds the loop. */
static void
close_others(int fd)
{
    struct rlimit bounds = {0};

    if (fd != RESULT_FD) dup2(fd, RESULT_FD);
    if (close_range(RESULT_FD + 1, ~0u, 0) == 0) return;
    getrlimit(RLIMIT_NOFILE, &bounds);
    for (int other = RESULT_FD + 1; (rlim_t)other < bounds.rlim_cur; other++) close(other);
}

/* Writes the status in front of the body. Returns false if not all of it could be written. */
static bool
put_result(FILE *out, int status, const char *error)
{
    uint32_t word = (uint32_t)status;

    if (status != 200) {
        rewind(out);
        if (ftruncate(RESULT_FD, 0) != 0) return false;
        if (fseek(out, CLI_WORKER_BODY, SEEK_SET) != 0) return false;
        fprintf(out, "%s\n", error);
    }
    return fflush(out) == 0 && !ferror(out) &&
           pwrite(RESULT_FD, &word, sizeof(word), 0) == sizeof(word);
}

static bool
work(cli_worker_run_i *run, void *data)
{
    char error[CLI_WORKER_ERROR_MAX] = "no memory";
    FILE *out = fdopen(RESULT_FD, "w");

    if (!out || fseek(out, CLI_WORKER_BODY, SEEK_SET) != 0) return false;
    int status = run(data, out, error);
    if (put_result(out, status, error)) return true;
    clearerr(out);
    return put_result(out, 500, "the answer is too large");
}

static _Noreturn void
be_worker(int fd, pid_t server, cli_worker_run_i *run, void *data,
          const struct cli_confinement *confinement)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGCHLD, SIGHUP };
    sigset_t none;

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) signal(signals[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server) _exit(1);
    close_others(fd);
    cli_confine(confinement);
    _exit(work(run, data) ? 0 : 1);
}

/* ---- in the server ---- */

/* Signals wait until the child has its own handlers: those of the server write to descriptors that
 * both share. */
bool
cli_worker_start(struct cli_worker *worker, cli_worker_run_i *run, void *data,
                 const struct cli_confinement *confinement)
{
    pid_t server = getpid();
    sigset_t all, before;

    *worker = (struct cli_worker){
        .fd = memfd_create("heapprof-answer", MFD_CLOEXEC | MFD_ALLOW_SEALING)
    };
    if (worker->fd < 0) return false;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    worker->pid = fork();
    if (worker->pid == 0) be_worker(worker->fd, server, run, data, confinement);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (worker->pid > 0) return true;
    worker->pid = 0;
    cli_worker_free(worker);
    return false;
}

void
cli_worker_kill(const struct cli_worker *worker)
{
    if (worker->pid) kill(worker->pid, SIGKILL);
}

/* Holds I3. Returns 0 if the result is not whole. */
static int
take_result(const struct cli_worker *worker, size_t *size)
{
    struct stat file;
    uint32_t status;

    if (fcntl(worker->fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) ||
        fstat(worker->fd, &file) != 0 || file.st_size < CLI_WORKER_BODY ||
        pread(worker->fd, &status, sizeof(status), 0) != sizeof(status)) {
        return 0;
    }
    *size = (size_t)file.st_size - CLI_WORKER_BODY;
    return status >= 200 && status < 600 ? (int)status : 0;
}

bool
cli_worker_poll(struct cli_worker *worker, int *status, size_t *size,
                char error[CLI_WORKER_ERROR_MAX])
{
    int end;

    *status = 0;
    *size = 0;
    snprintf(error, CLI_WORKER_ERROR_MAX, "its reader has ended early");
    if (worker->pid) {
        pid_t ended = waitpid(worker->pid, &end, WNOHANG);
        if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
        worker->pid = 0;
        if (ended > 0 && WIFSIGNALED(end)) {
            snprintf(error, CLI_WORKER_ERROR_MAX, "its reader has ended: %s",
                     strsignal(WTERMSIG(end)));
        }
        if (ended > 0 && WIFEXITED(end) && WEXITSTATUS(end) == 0)
            *status = take_result(worker, size);
    }
    return true;
}

void
cli_worker_free(struct cli_worker *worker)
{
    if (worker->fd >= 0) close(worker->fd);
    worker->fd = -1;
}
