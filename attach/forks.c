/* forks.c - asks the kernel which processes have begun. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE
#endif
#include "attach/forks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/status.h"

enum {
    ASK_BYTES = NLMSG_HDRLEN + sizeof(struct cn_msg) + sizeof(enum proc_cn_mcast_op),
    RECEIVE_BYTES = 4 << 20, /* of the socket: some thousand events */
    NUMBERS_MOST = 4096      /* more new ones than that are not tried one by one */
};

/* ---- events ---- */

/* Asks for events. The socket's answer to that is one of them, without a meaning for us. */
static bool
listen_p(int fd)
{
    const struct nlmsghdr header = { .nlmsg_len = ASK_BYTES, .nlmsg_type = NLMSG_DONE };
    const enum proc_cn_mcast_op operation = PROC_CN_MCAST_LISTEN;
    const struct cn_msg message = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = sizeof(operation) };
    char ask[ASK_BYTES]; /* one after another: a message's text begins at its end */
    int bytes = RECEIVE_BYTES;

    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
    memcpy(ask, &header, sizeof(header));
    memcpy(ask + NLMSG_HDRLEN, &message, sizeof(message));
    memcpy(ask + NLMSG_HDRLEN + sizeof(message), &operation, sizeof(operation));
    return send(fd, ask, sizeof(ask), 0) == (ssize_t)sizeof(ask);
}

/* Returns the error of the kernel's answer: 0 if it will tell events. */
static int
answer_of(int fd)
{
    struct timeval most = { .tv_sec = 1 };
    char buffer[4096] __attribute__((aligned(8)));
    struct proc_event event;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
    if (got < (ssize_t)(NLMSG_HDRLEN + sizeof(struct cn_msg) + sizeof(event))) return EIO;
    memcpy(&event, buffer + NLMSG_HDRLEN + sizeof(struct cn_msg), sizeof(event));
    return event.what == PROC_EVENT_NONE ? (int)event.event_data.ack.err : 0;
}

/* The kernel tells processes in the numbers of its first pid namespace, and answers nobody else. */
static int
open_events(void)
{
    struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
    int fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen_p(fd) &&
        answer_of(fd) == 0)
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* Returns whether there is a message in the buffer. *lost: the socket was full. */
static bool
receive(struct attach_forks *forks, bool *lost)
{
    struct sockaddr_nl from;
    socklen_t size = sizeof(from);

    forks->used = forks->at = 0;
    ssize_t got = recvfrom(forks->fd, forks->buffer, sizeof(forks->buffer), MSG_DONTWAIT,
                           (struct sockaddr *)&from, &size);
    *lost = got < 0 && errno == ENOBUFS;
    if (got <= 0) return false;
    forks->used = from.nl_pid == 0 ? (size_t)got : 0; /* others may write to the socket, too */
    return true;
}

/* Returns whether the message tells that a process has begun, not a thread. */
static bool
take_message(const struct attach_forks *forks, struct attach_fork *fork)
{
    size_t at = forks->at + NLMSG_HDRLEN + sizeof(struct cn_msg);
    struct proc_event event;

    if (at + sizeof(event) > forks->used) return false;
    memcpy(&event, forks->buffer + at, sizeof(event));
    *fork = (struct attach_fork){ event.event_data.fork.child_tgid,
                                  event.event_data.fork.parent_tgid };
    return event.what == PROC_EVENT_FORK && event.event_data.fork.child_pid == fork->pid;
}

static bool
next_event(struct attach_forks *forks, struct attach_fork *fork)
{
    bool lost = false;

    for (;;) {
        while (forks->at + sizeof(struct nlmsghdr) <= forks->used) {
            struct nlmsghdr header;
            memcpy(&header, forks->buffer + forks->at, sizeof(header));
            if (header.nlmsg_len < sizeof(header)) break;
            bool taken = take_message(forks, fork);
            forks->at += NLMSG_ALIGN((size_t)header.nlmsg_len);
            if (taken) return true;
        }
        if (receive(forks, &lost)) continue;
        *fork = (struct attach_fork){ 0 };
        return lost;
    }
}

/* ---- numbers ---- */

/* The number that was given out last, in our pid namespace; 0 if it is unknown. */
static pid_t
last_number(int fd)
{
    char text[128];
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

    text[got > 0 ? got : 0] = '\0';
    const char *last = strrchr(text, ' ');
    return last ? (pid_t)atoi(last + 1) : 0;
}

pid_t
attach_forks_parent(pid_t pid)
{
    char status[ATTACH_STATUS_MAX];
    const char *process, *parent;

    if (!attach_status_read(pid, pid, status)) return 0;
    process = attach_status_line(status, "\nTgid:");
    parent = attach_status_line(status, "\nPPid:");
    return process && parent && atoi(process) == (int)pid ? (pid_t)atoi(parent) : 0;
}

/* Begins to try the numbers up to the present one. Returns false if that makes no sense: they have
 * begun again from below, or are too many. */
static bool
try_numbers(struct attach_forks *forks)
{
    forks->last = last_number(forks->fd);
    forks->next = forks->settled;
    forks->trying = forks->last >= forks->seen && forks->last - forks->settled <= NUMBERS_MOST;
    if (!forks->trying) forks->settled = forks->seen = forks->last;
    return forks->trying;
}

static bool
next_number(struct attach_forks *forks, struct attach_fork *fork)
{
    *fork = (struct attach_fork){ 0 };
    if (!forks->trying && !try_numbers(forks)) return true;
    while (forks->next < forks->last) {
        *fork = (struct attach_fork){ ++forks->next, attach_forks_parent(forks->next) };
        if (fork->parent) return true;
        forks->lost += fork->pid <= forks->seen && kill(fork->pid, 0) != 0 && errno == ESRCH;
    }
    forks->settled = forks->seen;
    forks->seen = forks->last;
    return forks->trying = false;
}

/* ---- either ---- */

void
attach_forks_open(struct attach_forks *forks, bool events)
{
    *forks = (struct attach_forks){ .way = ATTACH_FORKS_EVENTS };
    forks->fd = events ? open_events() : -1;
    if (forks->fd >= 0) return;
    forks->fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    forks->settled = forks->seen = forks->fd >= 0 ? last_number(forks->fd) : 0;
    forks->way = forks->seen ? ATTACH_FORKS_NUMBERS : ATTACH_FORKS_NOT;
}

void
attach_forks_close(struct attach_forks *forks)
{
    if (forks->fd >= 0) close(forks->fd);
    forks->fd = -1;
}

bool
attach_forks_next(struct attach_forks *forks, struct attach_fork *fork)
{
    switch (forks->way) {
      case ATTACH_FORKS_EVENTS: return next_event(forks, fork);
      case ATTACH_FORKS_NUMBERS: return next_number(forks, fork);
      case ATTACH_FORKS_NOT: break;
    }
    return false;
}
