/* calls.c - how often the process reads, writes, connects, waits and asks for memory, and how
 * long that takes.
 *
 *     call *slot ---> ours: clock, real function, clock, add ---> read of libc
 *
 * interpose.c fills the slots and empties them again. While counting is off, nothing is different.
 * All threads add to the counters without a lock. A call inside libc, such as read by fread, does
 * not use a slot, so it is not counted.
 *
 * Our functions may run in any thread, with any lock held. They call only the real function and the
 * clock, and they keep errno.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* ppoll */
#endif
#include "os/calls.h"
#include "os/clock.h"
#include "os/interpose.h"
#include <errno.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    READ,
    WRITE,
    WRITEV,
    RECV,
    RECVFROM,
    RECVMSG,
    SEND,
    SENDTO,
    SENDMSG,
    CONNECT,
    SELECT,
    POLL,
    PPOLL,
    MALLOC,
    CALLOC,
    REALLOC,
    FREE,
    COUNTED,
    USABLE_SIZE = COUNTED,
    TABLE_END
};

static struct heapprof_interposed interposed[TABLE_END + 1];

#define REAL(index, result, ...) \
    ((result (*)(__VA_ARGS__))interposed[index].real)

/* ---- counting ---- */

static struct {
    uint64_t calls, time_ns, bytes, actual_bytes; /* all threads add to them atomically */
} counters[COUNTED];

static void
add(uint64_t *counter, uint64_t value)
{
    __atomic_fetch_add(counter, value, __ATOMIC_RELAXED);
}

/* Passes on the result of a function that was called at begin_ns. The function has moved so
 * many bytes, or none. */
static ssize_t
returned(int index, int64_t begin_ns, ssize_t result, ssize_t bytes)
{
    int saved_errno = errno;

    add(&counters[index].calls, 1);
    add(&counters[index].time_ns, (uint64_t)(rb_heapprof_clock_ns(CLOCK_MONOTONIC) - begin_ns));
    if (bytes > 0) add(&counters[index].bytes, (uint64_t)bytes);
    errno = saved_errno;
    return result;
}

static size_t
usable_size(void *mem)
{
    return mem ? REAL(USABLE_SIZE, size_t, void *)(mem) : 0;
}

static void
count_memory(int index, size_t requested, size_t actual)
{
    add(&counters[index].calls, 1);
    add(&counters[index].bytes, requested);
    add(&counters[index].actual_bytes, actual);
}

/* ---- in place of the C library's functions ---- */

/* Defines a function whose result is a number. moved is the number of bytes it has moved if the
 * function returns that, and 0 if not. */
#define TIMED(type, moved, index, name, parameters, types, ...) \
    static type \
    name parameters \
    { \
        int64_t begin_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC); \
        type result = ((type (*)types)interposed[index].real)(__VA_ARGS__); \
        return (type)returned(index, begin_ns, result, moved); \
    }
#define MOVES_BYTES(...) TIMED(ssize_t, result, __VA_ARGS__)
#define WAITS(...) TIMED(int, 0, __VA_ARGS__)

MOVES_BYTES(READ, ours_read, (int fd, void *data, size_t size), (int, void *, size_t), fd, data,
            size)
MOVES_BYTES(WRITE, ours_write, (int fd, const void *data, size_t size), (int, const void *, size_t),
            fd, data, size)
MOVES_BYTES(WRITEV, ours_writev, (int fd, const struct iovec *parts, int count),
            (int, const struct iovec *, int), fd, parts, count)
MOVES_BYTES(RECV, ours_recv, (int fd, void *data, size_t size, int flags),
            (int, void *, size_t, int), fd, data, size, flags)
MOVES_BYTES(RECVFROM, ours_recvfrom,
            (int fd, void *data, size_t size, int flags, struct sockaddr *from, socklen_t *length),
            (int, void *, size_t, int, struct sockaddr *, socklen_t *), fd, data, size, flags, from,
            length)
MOVES_BYTES(RECVMSG, ours_recvmsg, (int fd, struct msghdr *message, int flags),
            (int, struct msghdr *, int), fd, message, flags)
MOVES_BYTES(SEND, ours_send, (int fd, const void *data, size_t size, int flags),
            (int, const void *, size_t, int), fd, data, size, flags)
MOVES_BYTES(SENDTO, ours_sendto,
            (int fd, const void *data, size_t size, int flags, const struct sockaddr *to,
             socklen_t length),
            (int, const void *, size_t, int, const struct sockaddr *, socklen_t), fd, data, size,
            flags, to, length)
MOVES_BYTES(SENDMSG, ours_sendmsg, (int fd, const struct msghdr *message, int flags),
            (int, const struct msghdr *, int), fd, message, flags)

WAITS(CONNECT, ours_connect, (int fd, const struct sockaddr *to, socklen_t length),
      (int, const struct sockaddr *, socklen_t), fd, to, length)
WAITS(SELECT, ours_select,
      (int count, fd_set *read, fd_set *write, fd_set *except, struct timeval *timeout),
      (int, fd_set *, fd_set *, fd_set *, struct timeval *), count, read, write, except, timeout)
WAITS(POLL, ours_poll, (struct pollfd * fds, nfds_t count, int timeout),
      (struct pollfd *, nfds_t, int), fds, count, timeout)
WAITS(PPOLL, ours_ppoll,
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
      (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *), fds, count, timeout,
      mask)

static void *
ours_malloc(size_t size)
{
    void *mem = REAL(MALLOC, void *, size_t)(size);
    count_memory(MALLOC, size, usable_size(mem));
    return mem;
}

static void *
ours_calloc(size_t count, size_t size)
{
    void *mem = REAL(CALLOC, void *, size_t, size_t)(count, size);
    /* the product may be too large for a block */
    count_memory(CALLOC, mem ? count * size : 0, usable_size(mem));
    return mem;
}

static void *
ours_realloc(void *was, size_t size)
{
    void *mem = REAL(REALLOC, void *, void *, size_t)(was, size);
    count_memory(REALLOC, size, usable_size(mem));
    return mem;
}

static void
ours_free(void *mem)
{
    count_memory(FREE, 0, usable_size(mem));
    REAL(FREE, void, void *)(mem);
}

#define STANDS_FOR(name) { #name, (heapprof_function *)ours_##name, NULL }

static struct heapprof_interposed interposed[TABLE_END + 1] = {
    [READ] = STANDS_FOR(read),
    [WRITE] = STANDS_FOR(write),
    [WRITEV] = STANDS_FOR(writev),
    [RECV] = STANDS_FOR(recv),
    [RECVFROM] = STANDS_FOR(recvfrom),
    [RECVMSG] = STANDS_FOR(recvmsg),
    [SEND] = STANDS_FOR(send),
    [SENDTO] = STANDS_FOR(sendto),
    [SENDMSG] = STANDS_FOR(sendmsg),
    [CONNECT] = STANDS_FOR(connect),
    [SELECT] = STANDS_FOR(select),
    [POLL] = STANDS_FOR(poll),
    [PPOLL] = STANDS_FOR(ppoll),
    [MALLOC] = STANDS_FOR(malloc),
    [CALLOC] = STANDS_FOR(calloc),
    [REALLOC] = STANDS_FOR(realloc),
    [FREE] = STANDS_FOR(free),
    [USABLE_SIZE] = { "malloc_usable_size", NULL, NULL }, /* called, not replaced */
    [TABLE_END] = { NULL, NULL, NULL }
};

/* ---- on and off ---- */

static unsigned int runs; /* how often counting was started */

const char *
rb_heapprof_calls_refusal(void)
{
    return rb_heapprof_interpose_refusal(interposed);
}

void
rb_heapprof_calls_start(void)
{
    if (rb_heapprof_interpose_on_p(interposed)) return;
    runs++;
    rb_heapprof_interpose_start(interposed);
}

void
rb_heapprof_calls_stop(void)
{
    if (rb_heapprof_interpose_on_p(interposed)) rb_heapprof_interpose_stop();
}

unsigned int
rb_heapprof_calls_run(void)
{
    return rb_heapprof_interpose_on_p(interposed) ? runs : 0;
}

bool
rb_heapprof_calls_read(size_t number, struct heapprof_call_counts *counts)
{
    if (number >= COUNTED) return false;
    *counts = (struct heapprof_call_counts){
        .name = interposed[number].name,
        .calls = __atomic_load_n(&counters[number].calls, __ATOMIC_RELAXED),
        .time_ns = __atomic_load_n(&counters[number].time_ns, __ATOMIC_RELAXED),
        .bytes = __atomic_load_n(&counters[number].bytes, __ATOMIC_RELAXED),
        .actual_bytes = __atomic_load_n(&counters[number].actual_bytes, __ATOMIC_RELAXED)
    };
    return true;
}
