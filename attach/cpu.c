/* cpu.c - reads the accounts of native threads.
 *
 *     /proc/PID/task/TID/schedstat    "8006458 27018249 3": nanoseconds on a processor, nanoseconds
 *                                     in a processor's queue, turns
 *     /proc/PID/task/TID/stat         state, ticks on a processor, and when the thread began
 *     clock of the process            nanoseconds that all threads have run, also ended ones
 *
 * As a rule the kernel adds the process's clock up from all threads when it is read: 140 us for
 * 500 threads. While a timer waits for such a clock, the kernel keeps the sum, and to read it takes
 * 8 us. So a timer is set, for a time that never comes. It ends with the reader.
 *
 *   I1  sum_ns is the sum of ran_ns of the accounts in the list.
 *   I2  A descriptor that is open belongs to one thread, also if its number is used again.
 *   I3  At most FDS_MOST descriptors are open between two looks. */
#include "attach/cpu.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/processor.h"
#include "os/clock.h"

enum {
    STAT_BYTES = 1024,
    FDS_MOST = 256,
    SLACK_NS = 2000, /* whoever wakes up runs longer than that */
    CROWD_MORE = 64   /* so many accounts more, and ended threads are looked for */
};

#define SECOND_NS INT64_C(1000000000)

/* ---- files ---- */

static int
open_file(const struct attach_target *target, pid_t tid, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)target->pid, (int)tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* What of a thread's stat is needed here. */
struct thread_stat {
    char     state;
    uint64_t ran_ticks, start_ticks;
};

static bool
read_stat(const struct attach_target *target, pid_t tid, struct thread_stat *stat)
{
    char text[STAT_BYTES + 1];
    uint64_t user, system;
    int fd = open_file(target, tid, "stat");

    if (fd < 0) return false;
    ssize_t got = read(fd, text, STAT_BYTES);
    close(fd);
    text[got > 0 ? got : 0] = 0;
    const char *end = strrchr(text, ')'); /* a name may have any bytes in it */
    if (!end || sscanf(end,
                       ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64
                       " %*s %*s %*s %*s %*s %*s %" SCNu64,
                       &stat->state, &user, &system, &stat->start_ticks) != 4)
        return false;
    stat->ran_ticks = user + system;
    return true;
}

static uint64_t
ticks_ns(uint64_t ticks)
{
    long rate = sysconf(_SC_CLK_TCK);

    return ticks * (uint64_t)(SECOND_NS / (rate > 0 ? rate : 100));
}

/* A tick is cut off: half of one is added. */
int64_t
attach_cpu_age_ns(const struct attach_target *target, pid_t tid)
{
    struct thread_stat stat;

    if (!target->runs || tid <= 0 || !read_stat(target, tid, &stat)) return -1;
    int64_t age = rb_heapprof_clock_ns(CLOCK_BOOTTIME) - (int64_t)ticks_ns(stat.start_ticks) -
                  (int64_t)ticks_ns(1) / 2;
    return age > 0 ? age : 0;
}

/* ---- the list ---- */

static uint64_t
growth(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

static uint64_t
hash_i(const void *owner, uint32_t number)
{
    const struct attach_cpus *cpus = owner;
    return rb_heapprof_index_hash((uint64_t)cpus->all[number].inner_tid);
}

void
attach_cpus_init(struct attach_cpus *cpus, struct attach_target *target, struct heapprof_mem *mem)
{
    *cpus = (struct attach_cpus){ .target = target, .mem = mem };
}

static void
close_account(struct attach_cpus *cpus, struct attach_cpu *cpu)
{
    if (cpu->alarm >= 0) attach_alarms_unset(cpus->alarms, cpu->alarm);
    cpu->alarm = ATTACH_NO_ALARM;
    if (cpu->fd < 0) return;
    close(cpu->fd);
    cpu->fd = -1;
    cpus->fds--;
}

void
attach_cpus_free(struct attach_cpus *cpus)
{
    if (cpus->timed) timer_delete(cpus->timer);
    for (uint32_t i = 1; i <= cpus->count; i++) close_account(cpus, &cpus->all[i]);
    HEAPPROF_MEM_RELEASE(cpus->mem, cpus->all, cpus->capacity);
    rb_heapprof_index_release(&cpus->index, cpus->mem);
}

struct attach_cpu *
attach_cpus_find(struct attach_cpus *cpus, pid_t inner_tid)
{
    uint64_t hash = rb_heapprof_index_hash((uint64_t)inner_tid);
    uint32_t number;

    for (uint64_t probe = hash; (number = rb_heapprof_index_at(&cpus->index, probe)) != 0;
         probe++) {
        if (cpus->all[number].inner_tid == inner_tid) return &cpus->all[number];
    }
    return NULL;
}

static struct attach_cpu *
add(struct attach_cpus *cpus, pid_t inner_tid, pid_t tid)
{
    uint32_t number = cpus->count + 1;

    if (!HEAPPROF_MEM_GROW(cpus->mem, cpus->all, cpus->capacity, (size_t)number + 1) ||
        !rb_heapprof_index_reserve(&cpus->index, cpus->mem, cpus->count, hash_i, cpus))
        return NULL;
    cpus->all[number] = (struct attach_cpu){ .inner_tid = inner_tid, .tid = tid, .fd = -1,
                                             .alarm = ATTACH_NO_ALARM };
    rb_heapprof_index_insert(&cpus->index, hash_i(cpus, number), number);
    cpus->count = number;
    return &cpus->all[number];
}

/* The last account gets the number that becomes free. */
static void
take_out(struct attach_cpus *cpus, uint32_t number)
{
    uint32_t last = cpus->count;

    cpus->sum_ns -= cpus->all[number].ran_ns;
    cpus->gone_ns += cpus->all[number].ran_ns;
    cpus->uncounted_ns += growth(cpus->all[number].counted_ns, cpus->all[number].ran_ns);
    close_account(cpus, &cpus->all[number]);
    rb_heapprof_index_erase(&cpus->index, number, hash_i, cpus);
    cpus->count--;
    if (number == last) return;
    rb_heapprof_index_erase(&cpus->index, last, hash_i, cpus);
    cpus->all[number] = cpus->all[last];
    rb_heapprof_index_insert(&cpus->index, hash_i(cpus, number), number);
}

/* ---- an account ---- */

/* Reads its schedstat, and keeps it open if there is room. Returns false if the thread has
 * ended. */
static bool
read_schedstat(struct attach_cpus *cpus, struct attach_cpu *cpu, uint64_t numbers[3])
{
    char text[80];
    int fd = cpu->fd >= 0 ? cpu->fd : open_file(cpus->target, cpu->tid, "schedstat");
    ssize_t got = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

    if (fd != cpu->fd && fd >= 0) {
        if (got > 0 && cpus->fds < FDS_MOST) {
            cpu->fd = fd;
            cpus->fds++;
        }
        else close(fd);
    }
    text[got > 0 ? got : 0] = 0;
    return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &numbers[0], &numbers[1],
                  &numbers[2]) == 3;
}

/* Without schedstat: ticks of some milliseconds, and no queue. The state is read on the way. */
static bool
read_ticks(const struct attach_cpus *cpus, struct attach_cpu *cpu, uint64_t numbers[3])
{
    struct thread_stat stat;

    if (!read_stat(cpus->target, cpu->tid, &stat)) return false;
    cpu->state = stat.state;
    cpu->state_turns = cpus->look;
    numbers[0] = ticks_ns(stat.ran_ticks);
    numbers[1] = 0;
    numbers[2] = cpus->look;
    return true;
}

/* A thread that has not run since the first look needs no alarm. */
static void
set_alarm(struct attach_cpus *cpus, struct attach_cpu *cpu)
{
    if (!cpus->alarms || cpus->no_schedstat || cpus->look == 1 || !cpu->ran_new_ns) return;
    cpu->alarm = attach_alarms_set(cpus->alarms, cpu->tid);
    cpu->alarm_ns = 0;
}

/* Adds what the thread has run since the last look. While it runs, its account is behind by up to a
 * tick of the kernel, unless it has just asked for its own time, say. So the places where a thread
 * does that would get more time than others. An alarm's time is of this moment. */
static void
add_ran(struct attach_cpus *cpus, struct attach_cpu *cpu, uint64_t account_ns)
{
    if (cpu->alarm < 0) {
        cpu->ran_new_ns += growth(cpu->ran_ns, account_ns);
        set_alarm(cpus, cpu);
    }
    else if (attach_alarms_rang_p(cpus->alarms, cpu->alarm)) {
        uint64_t now_ns = attach_alarms_ran_ns(cpu->alarm);
        cpu->ran_new_ns += growth(cpu->alarm_ns, now_ns);
        cpu->alarm_ns = now_ns;
    }
}

/* Returns false if the thread has ended. */
static bool
refresh(struct attach_cpus *cpus, struct attach_cpu *cpu)
{
    uint64_t numbers[3];

    if (cpu->look == cpus->look) return true;
    if (cpus->no_schedstat ? !read_ticks(cpus, cpu, numbers) : !read_schedstat(cpus, cpu, numbers))
        return false;
    cpu->look = cpus->look;
    add_ran(cpus, cpu, numbers[0]);
    cpu->queued_new_ns += growth(cpu->queued_ns, numbers[1]);
    cpus->sum_ns += numbers[0] - cpu->ran_ns;
    cpu->ran_ns = numbers[0];
    cpu->queued_ns = numbers[1];
    cpu->turns = numbers[2];
    return true;
}

/* The list of threads is made anew once a look at most, whatever numbers the target has. */
static pid_t
outer_tid(struct attach_cpus *cpus, pid_t inner_tid)
{
    pid_t tid = attach_target_tid(cpus->target, inner_tid);

    if (tid || cpus->listed == cpus->look) return tid;
    cpus->listed = cpus->look;
    return attach_target_threads(cpus->target) ? attach_target_tid(cpus->target, inner_tid) : 0;
}

struct attach_cpu *
attach_cpus_read(struct attach_cpus *cpus, pid_t inner_tid)
{
    struct attach_cpu *cpu = attach_cpus_find(cpus, inner_tid);

    if (cpu && refresh(cpus, cpu)) return cpu;
    if (cpu) take_out(cpus, (uint32_t)(cpu - cpus->all)); /* perhaps another has its number */
    pid_t tid = outer_tid(cpus, inner_tid);
    cpu = tid ? add(cpus, inner_tid, tid) : NULL;
    if (!cpu || refresh(cpus, cpu)) return cpu;
    take_out(cpus, (uint32_t)(cpu - cpus->all));
    return NULL;
}

/* ---- a look ---- */

static void
open_all(struct attach_cpus *cpus)
{
    cpus->listed = cpus->look;
    if (!attach_target_threads(cpus->target)) return;
    for (size_t i = 0; i < cpus->target->thread_count; i++) {
        struct attach_cpu *cpu = attach_cpus_read(cpus, cpus->target->threads[i].inner_tid);
        if (!cpu) continue;
        cpu->ran_new_ns = cpu->queued_new_ns = 0;
        cpu->counted_ns = cpu->ran_ns;
    }
}

/* Lets the kernel keep the sum of the process's threads, if it allows that. */
static void
keep_sum(struct attach_cpus *cpus, clockid_t clock)
{
    struct sigevent nothing = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG };
    const struct itimerspec never = { .it_value = { .tv_sec = 1000000000 } };

    if (cpus->timed || timer_create(clock, &nothing, &cpus->timer) != 0) return;
    if (timer_settime(cpus->timer, 0, &never, NULL) == 0) cpus->timed = true;
    else timer_delete(cpus->timer);
}

void
attach_cpus_begin(struct attach_cpus *cpus, bool all, bool many)
{
    clockid_t clock;
    struct timespec ran;

    if (cpus->look++ == 0) cpus->no_schedstat = access("/proc/self/schedstat", R_OK) != 0;
    cpus->process_ns = 0;
    if (clock_getcpuclockid(cpus->target->pid, &clock) == 0) {
        if (many) keep_sum(cpus, clock);
        if (clock_gettime(clock, &ran) == 0)
            cpus->process_ns = (uint64_t)(ran.tv_sec * SECOND_NS + ran.tv_nsec);
    }
    if (all && cpus->look == 1) open_all(cpus);
}

/* The clock of a process and the accounts of its threads are brought up to date together. So they
 * differ by what a thread runs in the moment between, if the kernel writes that down just then. */
bool
attach_cpus_rest_ran_p(const struct attach_cpus *cpus)
{
    int64_t rest = (int64_t)(cpus->process_ns - cpus->sum_ns);

    return cpus->process_ns == 0 || rest - (int64_t)cpus->known_rest_ns > SLACK_NS ||
           cpus->count > 2 * cpus->crowd + CROWD_MORE;
}

void
attach_cpus_read_rest(struct attach_cpus *cpus)
{
    if (!attach_cpus_rest_ran_p(cpus)) return;
    for (uint32_t i = cpus->count; i > 0; i--) {
        if (!refresh(cpus, &cpus->all[i])) take_out(cpus, i);
    }
    cpus->known_rest_ns = cpus->process_ns - cpus->sum_ns;
    cpus->crowd = cpus->count;
}

uint64_t
attach_cpus_unknown_ns(const struct attach_cpus *cpus)
{
    return growth(cpus->sum_ns + cpus->gone_ns, cpus->process_ns) + cpus->uncounted_ns;
}

/* A thread that left its processor after its account was read counts as one that waits. */
void
attach_cpus_ask(const struct attach_cpus *cpus, struct attach_cpu *cpu)
{
    cpu->queued = cpu->look == cpus->look && !cpus->no_schedstat &&
                  attach_processor_queued_p(cpus->target->pid, cpu->tid, cpu->turns);
}

bool
attach_cpus_rang_p(const struct attach_cpus *cpus)
{
    for (uint32_t i = 1; i <= cpus->count; i++) {
        if (attach_alarms_rang_p(cpus->alarms, cpus->all[i].alarm)) return true;
    }
    return false;
}

bool
attach_cpus_counts_p(const struct attach_cpus *cpus, const struct attach_cpu *cpu, bool computes)
{
    if (cpu->alarm >= 0) return attach_alarms_rang_p(cpus->alarms, cpu->alarm);
    return computes && !cpu->queued;
}

/* On a busy machine a thread waits for a processor now and then, between its alarm and the look. So
 * the reader goes to the thread's processor, and takes it when the alarm rings: then the thread
 * stands still at that place. Elsewhere this would only hold the thread up. */
static bool
waits_often_p(const struct attach_cpu *cpu)
{
    return cpu->queued_new_ns > cpu->ran_new_ns / 4;
}

void
attach_cpus_settle(struct attach_cpus *cpus, struct attach_cpu *cpu)
{
    if (cpu->alarm >= 0) {
        attach_processor_use(waits_often_p(cpu) ? attach_alarms_processor(cpus->alarms, cpu->alarm)
                                                : -1);
        attach_alarms_set_again(cpus->alarms, cpu->alarm);
    }
    cpu->counted_ns += cpu->ran_new_ns;
    cpu->ran_new_ns = cpu->queued_new_ns = 0;
}

bool
attach_cpus_turned_p(struct attach_cpus *cpus, struct attach_cpu *cpu)
{
    uint64_t numbers[3];

    return cpu->look == cpus->look && !cpus->no_schedstat &&
           read_schedstat(cpus, cpu, numbers) && numbers[2] != cpu->turns;
}

char
attach_cpus_state(struct attach_cpus *cpus, struct attach_cpu *cpu)
{
    struct thread_stat stat;
    bool sleeps = cpu->state == 'S' || cpu->state == 'D';

    if (cpu->state_turns == cpu->turns && (sleeps || cpus->no_schedstat)) return cpu->state;
    cpu->state = read_stat(cpus->target, cpu->tid, &stat) ? stat.state : 0;
    cpu->state_turns = cpu->turns;
    return cpu->state;
}

/* The file has the call's number, its arguments, sp and pc; or the word "running". */
uint64_t
attach_cpu_call(const struct attach_target *target, pid_t tid)
{
    char call[STAT_BYTES + 1];
    uint64_t number = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    int fd = target->runs && tid > 0 ? open_file(target, tid, "syscall") : -1;

    if (fd < 0) return 0;
    ssize_t got = read(fd, call, STAT_BYTES);
    close(fd);
    call[got > 0 ? got : 0] = 0;
    if (call[0] < '0' || call[0] > '9') return 0;
    for (const char *at = call; *at; at++)
        number = (number ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return number ? number : 1;
}
