/* ps_read.c - reads one process after the other, in a copy of this program.
 *
 *     parent   pids ---------------------> rows
 *                 \                     /          no row within SECONDS_MOST: the copy is killed,
 *     copy         reads pid, pid, ... ---         and the next one begins behind that process
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* pipe2 */
#endif
#include "cli/live/ps_read.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/heap.h"
#include "attach/heap_size.h"
#include "attach/status.h"
#include "base/array.h"
#include "cli/live/backtraces.h"

enum { SECONDS_MOST = 5, NAMES_BYTES_MOST = 64 << 20, LOOKS_MOST = 16 };

struct ps_pids {
    pid_t *all;
    size_t count, capacity;
};

/* ---- one process ---- */

static uint64_t
number_of(const char *status, const char *name)
{
    const char *line = attach_status_line(status, name);
    return line ? strtoull(line, NULL, 10) : 0;
}

/* The stack that says what the process is doing: that of the thread that runs, or else of one that
 * waits for its turn, a lock or a disk. NULL if all are idle. */
static const struct attach_look_stack *
busiest(const struct attach_looks *looks)
{
    const struct attach_look_stack *found = NULL;

    for (size_t i = 0; i < looks->stack_count; i++) {
        const struct attach_look_stack *stack = &looks->stacks[i];
        if (stack->idle || !stack->wanted || stack->failed) continue;
        if (stack->thread.state == ATTACH_THREAD_RUNNING) return stack;
        if (!found) found = stack;
    }
    return found;
}

/* A stack may change while it is read, because nothing is stopped. Then it is looked at again. */
static bool
look(struct attach_looks *looks)
{
    for (int i = 0; i < LOOKS_MOST; i++) {
        if (!attach_look(looks)) return false;
        const struct attach_look_stack *stack = busiest(looks);
        if (!stack || !stack->torn) break;
    }
    return true;
}

static void
read_now(struct ps_row *row, struct attach_looks *looks)
{
    const struct attach_look_stack *stack = busiest(looks);
    FILE *out = fmemopen(row->now, sizeof(row->now) - 1, "w");
    char stopped[ATTACH_STOPPED_MAX];

    if (!out) return;
    if (attach_status_stopped(row->process.pid, stopped)) fputs(stopped, out);
    else if (!stack) fputs("idle", out);
    else if (stack->collecting) fputs("garbage collection", out);
    else cli_backtraces_where(out, looks, stack);
    fclose(out);
}

static void
read_memory(struct ps_row *row, struct attach_vm *vm)
{
    if (!attach_heap_size(vm, &row->heap_bytes)) row->heap_bytes = 0;
    row->profiled = attach_heap_profiled_p(vm);
}

/* Nothing is stopped. Returns false if it is no Ruby; the reason says more. */
static bool
read_ruby(struct ps_row *row, struct attach_target *target)
{
    struct heapprof_mem mem;
    struct attach_names names;

    rb_heapprof_mem_init(&mem, NAMES_BYTES_MOST);
    attach_names_init(&names, &mem);
    struct attach_looks *looks =
        attach_look_open(target, &names, ATTACH_LOOK_NEVER, row->reason);
    if (looks) {
        looks->wanted = ATTACH_LOOK_BUSY;
        read_memory(row, looks->vm);
        if (look(looks)) {
            row->threads = looks->threads.count;
            read_now(row, looks);
        }
    }
    bool ruby = looks != NULL;
    attach_look_close(looks);
    attach_names_free(&names);
    return ruby;
}

/* "process 12: not permitted": the reason without the name, which has a column of its own. */
static void
shorten(char *reason)
{
    const char *colon = strstr(reason, ": ");
    if (colon) memmove(reason, colon + 2, strlen(colon + 2) + 1);
}

static void
read_row(struct ps_row *row, pid_t pid)
{
    char status[ATTACH_STATUS_MAX];

    *row = (struct ps_row){ .process.pid = pid };
    if (!attach_status_read(pid, pid, status)) return;
    row->rss_bytes = number_of(status, "\nVmRSS:") << 10;
    row->threads = number_of(status, "\nThreads:");
    if (!attach_status_line(status, "\nVmRSS:")) return; /* it has ended, or is the kernel's */

    struct attach_target *target = attach_target_open_pid(pid, row->reason);
    attach_host_read_names(&row->process);
    if (target && read_ruby(row, target)) row->kind = PS_RUBY;
    else if (attach_host_looks_like_ruby_p(&row->process)) row->kind = PS_UNREADABLE;
    else row->kind = target ? PS_OTHER : PS_HIDDEN;
    attach_target_close(target);
    shorten(row->reason);
}

/* ---- the copy ---- */

static void
read_from(const struct ps_pids *pids, size_t first, int to)
{
    struct ps_row row;

    for (size_t i = first; i < pids->count; i++) {
        read_row(&row, pids->all[i]);
        if (row.process.pid == getpid()) row.kind = PS_OTHER;
        const char *at = (const char *)&row, *end = at + sizeof(row);
        while (at < end) {
            ssize_t written = write(to, at, (size_t)(end - at));
            if (written <= 0) _exit(1);
            at += written;
        }
    }
    _exit(0);
}

static pid_t
start(const struct ps_pids *pids, size_t first, int *from)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    fflush(NULL);
    pid_t copy = fork();
    if (copy == 0) {
        close(ends[0]);
        read_from(pids, first, ends[1]);
    }
    close(ends[1]);
    *from = ends[0];
    if (copy < 0) close(ends[0]);
    return copy;
}

/* Returns false if no row comes in time, or the copy has failed. */
static bool
receive(int from, struct ps_row *row)
{
    struct pollfd ready = { .fd = from, .events = POLLIN };
    size_t got = 0;

    while (got < sizeof(*row)) {
        if (poll(&ready, 1, SECONDS_MOST * 1000) <= 0) return false;
        ssize_t more = read(from, (char *)row + got, sizeof(*row) - got);
        if (more <= 0) return false;
        got += (size_t)more;
    }
    return true;
}

/* A copy that waits for the kernel cannot be killed yet, and is not waited for. */
static void
end(pid_t copy, int from)
{
    close(from);
    kill(copy, SIGKILL);
    waitpid(copy, NULL, WNOHANG);
}

/* ---- all ---- */

static bool
add_pid_i(pid_t pid, void *data)
{
    struct ps_pids *pids = data;

    if (pid == getpid()) return true;
    if (!HEAPPROF_ARRAY_GROW(pids->all, pids->capacity, pids->count + 1)) return false;
    pids->all[pids->count++] = pid;
    return true;
}

static bool
add_row(struct ps_rows *rows, const struct ps_row *row)
{
    rows->hidden += row->kind == PS_HIDDEN;
    if (row->kind == PS_OTHER || row->kind == PS_HIDDEN) return true;
    if (!HEAPPROF_ARRAY_GROW(rows->all, rows->capacity, rows->count + 1)) return false;
    rows->all[rows->count++] = *row;
    return true;
}

/* Reads the processes behind the first ones. Returns how many there are rows of; *failed: without
 * memory. */
static size_t
read_some(struct ps_rows *rows, const struct ps_pids *pids, size_t first, bool *failed)
{
    struct ps_row row;
    size_t done = first;
    int from;
    pid_t copy = start(pids, first, &from);

    *failed = copy < 0;
    if (*failed) return first;
    while (!*failed && done < pids->count && receive(from, &row)) {
        *failed = !add_row(rows, &row);
        done++;
    }
    end(copy, from);
    return done;
}

static struct ps_row
silent_row(pid_t pid)
{
    struct ps_row row = { .process.pid = pid, .kind = PS_UNREADABLE };

    snprintf(row.reason, sizeof(row.reason), "it cannot be read within %d seconds", SECONDS_MOST);
    return row;
}

static int
compare_i(const void *one, const void *other)
{
    const struct ps_row *a = one, *b = other;

    if (a->rss_bytes != b->rss_bytes) return a->rss_bytes < b->rss_bytes ? 1 : -1;
    return a->process.pid < b->process.pid ? -1 : 1;
}

bool
ps_rows_read(struct ps_rows *rows)
{
    struct ps_pids pids = { 0 };
    bool failed = !attach_host_each(add_pid_i, &pids);

    *rows = (struct ps_rows){ 0 };
    for (size_t done = 0; !failed && done < pids.count;) {
        done = read_some(rows, &pids, done, &failed);
        if (failed || done == pids.count) break;
        struct ps_row row = silent_row(pids.all[done++]);
        failed = !add_row(rows, &row);
    }
    free(pids.all);
    if (rows->count) qsort(rows->all, rows->count, sizeof(*rows->all), compare_i);
    return !failed;
}

void
ps_rows_free(struct ps_rows *rows)
{
    free(rows->all);
}
