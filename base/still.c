/* still.c - which entries of a still are copied: all below next, and those whose bit is in early.
 *
 *   I1  an entry is copied once, before it changes.
 *   I2  next is a multiple of 64, or end: where no entry was copied early, one call copies 64.
 *   I3  next and early of a shared still are read and written by whose turn it is. All below next
 *       is copied, also if the process is copied in the midst of a step.
 *
 * Turns come in the order in which they were asked for. A mutex would be taken again by the thread
 * that makes step after step, before one that waits for it has woken up.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE
#endif
#include "base/still.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#define BITS 64

bool
rb_heapprof_still_begin(struct heapprof_still *still, struct heapprof_mem *mem, uint32_t end)
{
    still->end = end;
    still->next = 0;
    return HEAPPROF_MEM_GROW(mem, still->early, still->early_capacity, (size_t)end / BITS + 1);
}

void
rb_heapprof_still_free(struct heapprof_still *still, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, still->early, still->early_capacity);
    still->next = still->end = 0;
}

/* ---- turns ---- */

/* Yielding alone would not let a thread of lower priority run. The program may be about to look at
 * errno. */
static void
wait_a_moment(int tries)
{
    enum { yields = 100 };
    const struct timespec moment = { .tv_nsec = 50000 };
    int saved_errno = errno;

    if (tries < yields) sched_yield();
    else nanosleep(&moment, NULL);
    errno = saved_errno;
}

void
rb_heapprof_still_hold(struct heapprof_still *still)
{
    if (!still->shared) return;
    uint32_t mine = __atomic_fetch_add(&still->turns, 1, __ATOMIC_RELAXED);
    for (int tries = 0; __atomic_load_n(&still->turn, __ATOMIC_ACQUIRE) != mine; tries++) {
        wait_a_moment(tries);
    }
}

void
rb_heapprof_still_release(struct heapprof_still *still)
{
    if (still->shared) __atomic_store_n(&still->turn, still->turn + 1, __ATOMIC_RELEASE);
}

void
rb_heapprof_still_alone(struct heapprof_still *still)
{
    still->turn = still->turns;
}

/* ---- copying ---- */

static bool
early_p(const struct heapprof_still *still, uint32_t number)
{
    return still->early[number / BITS] >> number % BITS & 1;
}

static void
copy_others(struct heapprof_still *still, uint32_t first, uint32_t end)
{
    for (uint32_t number = first; number < end; number++) {
        if (!early_p(still, number)) still->copy(still, number, number + 1);
    }
}

/* The copy function of one that is not shared may itself announce a change of an entry that it is
 * about to copy. */
static void
copy_next(struct heapprof_still *still)
{
    for (int i = 0; i < HEAPPROF_STILL_STEP / BITS && still->next < still->end; i++) {
        uint32_t first = still->next, end = still->end - first < BITS ? still->end : first + BITS;
        if (!still->shared) still->next = end;
        if (still->early[first / BITS]) copy_others(still, first, end);
        else still->copy(still, first, end);
        still->next = end;
    }
}

bool
rb_heapprof_still_step(struct heapprof_still *still)
{
    rb_heapprof_still_hold(still);
    copy_next(still);
    bool left = still->next < still->end;
    rb_heapprof_still_release(still);
    return left;
}

bool
rb_heapprof_still_left_p(struct heapprof_still *still)
{
    rb_heapprof_still_hold(still);
    bool left = still->next < still->end;
    rb_heapprof_still_release(still);
    return left;
}

void
rb_heapprof_still_keep(struct heapprof_still *still, uint32_t number)
{
    if (number >= still->end) return;
    rb_heapprof_still_hold(still);
    if (number >= still->next && !early_p(still, number)) {
        still->early[number / BITS] |= UINT64_C(1) << number % BITS;
        still->copy(still, number, number + 1);
    }
    rb_heapprof_still_release(still);
}
