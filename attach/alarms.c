/* alarms.c - alarms by the clocks of threads, from the kernel's events of type task-clock.
 *
 * An alarm is such an event, which overflows once a period. An event tells its reader only if it
 * has a buffer. So it has the smallest one, which nobody reads and which is written over.
 *
 * Periods differ, by chance, by up to a half. Otherwise an alarm would keep step with a program
 * that does the same again and again, and see the same place each time.
 *
 *   I1  all[fd] is of the event with that descriptor, while buffer is not NULL. */
#include "attach/alarms.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/index.h"

enum {
    NUMBERS = 1024,  /* descriptors below that may be alarms */
    MOST = 256,      /* alarms, so that descriptors are left for other purposes */
    RING_MOST = 64   /* alarms that are heard at once */
};

#define SECOND_NS INT64_C(1000000000)

struct attach_alarm {
    void *buffer;
    bool rang;
};

static size_t
buffer_bytes(void)
{
    return 2 * (size_t)sysconf(_SC_PAGESIZE); /* a page about the buffer, and one of records */
}

/* Between half of it and one and a half. */
static uint64_t
about(int64_t period_ns)
{
    static uint64_t drawn;
    return (uint64_t)period_ns / 2 + rb_heapprof_index_hash(++drawn) % (uint64_t)period_ns;
}

static int
open_event(pid_t tid, int64_t period_ns)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = about(period_ns), .wakeup_events = 1,
        .sample_type = PERF_SAMPLE_CPU,
    };

    return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The timer is for the end of a sleep. */
static bool
open_waiting(struct attach_alarms *alarms)
{
    struct epoll_event wanted = { .events = EPOLLIN };

    alarms->waiting = epoll_create1(EPOLL_CLOEXEC);
    alarms->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    alarms->all = calloc(NUMBERS, sizeof(*alarms->all));
    wanted.data.fd = alarms->timer;
    return alarms->all && alarms->timer >= 0 &&
           epoll_ctl(alarms->waiting, EPOLL_CTL_ADD, alarms->timer, &wanted) == 0;
}

void
attach_alarms_open(struct attach_alarms *alarms, int64_t period_ns)
{
    *alarms = (struct attach_alarms){ .period_ns = period_ns, .waiting = -1, .timer = -1 };
    int event = period_ns ? open_event(0, period_ns) : -1;
    if (event < 0) return;
    close(event);
    if (!open_waiting(alarms)) attach_alarms_close(alarms);
}

void
attach_alarms_close(struct attach_alarms *alarms)
{
    for (int alarm = 0; alarms->count > 0; alarm++) {
        if (alarms->all[alarm].buffer) attach_alarms_unset(alarms, alarm);
    }
    free(alarms->all);
    if (alarms->waiting >= 0) close(alarms->waiting);
    if (alarms->timer >= 0) close(alarms->timer);
    *alarms = (struct attach_alarms){ .waiting = -1, .timer = -1 };
}

int
attach_alarms_set(struct attach_alarms *alarms, pid_t tid)
{
    struct epoll_event wanted = { .events = EPOLLIN };

    if (alarms->waiting < 0 || alarms->count == MOST) return ATTACH_NO_ALARM;
    int event = open_event(tid, alarms->period_ns);
    if (event < 0) return ATTACH_NO_ALARM;
    void *buffer = event < NUMBERS ? mmap(NULL, buffer_bytes(), PROT_READ, MAP_SHARED, event, 0)
                                   : MAP_FAILED;
    wanted.data.fd = event;
    if (buffer == MAP_FAILED || epoll_ctl(alarms->waiting, EPOLL_CTL_ADD, event, &wanted) != 0) {
        if (buffer != MAP_FAILED) munmap(buffer, buffer_bytes());
        close(event);
        return ATTACH_NO_ALARM;
    }
    alarms->all[event] = (struct attach_alarm){ .buffer = buffer };
    alarms->count++;
    return event;
}

void
attach_alarms_unset(struct attach_alarms *alarms, int alarm)
{
    munmap(alarms->all[alarm].buffer, buffer_bytes());
    close(alarm); /* that also takes it from the descriptors that are waited for */
    alarms->all[alarm] = (struct attach_alarm){ 0 };
    alarms->count--;
}

/* The alarm of a thread that has ended is always ready, and is waited for no more. */
static bool
rings_p(struct attach_alarms *alarms, const struct epoll_event *ready)
{
    int alarm = ready->data.fd;

    if (!(ready->events & EPOLLHUP)) return alarms->all[alarm].rang = true;
    epoll_ctl(alarms->waiting, EPOLL_CTL_DEL, alarm, NULL);
    return false;
}

/* Waits until an alarm rings, the timer runs out, or a signal comes. Returns whether one rang. */
static bool
hear(struct attach_alarms *alarms)
{
    struct epoll_event ready[RING_MOST];
    bool rang = false, over = false;

    while (!rang && !over) {
        int count = epoll_wait(alarms->waiting, ready, RING_MOST, -1);
        over = count < 0;
        for (int i = 0; i < count; i++) {
            if (ready[i].data.fd == alarms->timer) over = true;
            else rang |= rings_p(alarms, &ready[i]);
        }
    }
    return rang;
}

bool
attach_alarms_sleep(struct attach_alarms *alarms, int64_t until_ns)
{
    struct itimerspec until = { .it_value = { until_ns / SECOND_NS, until_ns % SECOND_NS } };

    if (alarms->waiting >= 0 &&
        timerfd_settime(alarms->timer, TFD_TIMER_ABSTIME, &until, NULL) == 0)
        return hear(alarms);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until.it_value, NULL);
    return false;
}

bool
attach_alarms_rang_p(const struct attach_alarms *alarms, int alarm)
{
    return alarm >= 0 && alarms->all[alarm].rang;
}

void
attach_alarms_ring(struct attach_alarms *alarms)
{
    for (int alarm = 0; alarms->count > 0 && alarm < NUMBERS; alarm++)
        alarms->all[alarm].rang = alarms->all[alarm].buffer != NULL;
}

uint64_t
attach_alarms_ran_ns(int alarm)
{
    uint64_t ran_ns;

    return read(alarm, &ran_ns, sizeof(ran_ns)) == sizeof(ran_ns) ? ran_ns : 0;
}

/* What the kernel writes at each overflow, as sample_type says. */
struct overflow {
    struct perf_event_header header;
    uint32_t processor, unused;
};

int
attach_alarms_processor(const struct attach_alarms *alarms, int alarm)
{
    const struct perf_event_mmap_page *page = alarms->all[alarm].buffer;
    size_t bytes = buffer_bytes() / 2;
    uint64_t end = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    struct overflow last;

    if (end < sizeof(last)) return -1;
    memcpy(&last, (const char *)page + bytes + (end - sizeof(last)) % bytes, sizeof(last));
    bool whole = last.header.type == PERF_RECORD_SAMPLE && last.header.size == sizeof(last);
    return whole ? (int)last.processor : -1;
}

void
attach_alarms_set_again(struct attach_alarms *alarms, int alarm)
{
    uint64_t next_ns = about(alarms->period_ns);

    alarms->all[alarm].rang = false;
    ioctl(alarm, PERF_EVENT_IOC_PERIOD, &next_ns);
}
