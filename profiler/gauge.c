/* gauge.c - the gauge of a river: a bell at each mark rings when the water rises over it.
 *
 *                 rings               rings again: it was 5 % below the mark, and
 *     mark    ------x--------------x--  a minute has passed
 *     memory  ___-'  '-_-'-__   _-'
 *                            '-'
 *
 *   I1  A mark that has rung is armed again only when memory is below it by a twentieth of what the
 *       mark is a part of. Otherwise memory that goes up and down with each GC would ring each
 *       time.
 *   I2  A mark rings at most once a minute. What it has missed rings at the end of the minute, if
 *       memory is still above.
 *
 * How long one may look away: memory grows by at most FASTEST bytes in a nanosecond, because
 * somebody has to zero the pages. Far from all marks a second is soon enough. Pure. */
#include "profiler/gauge.h"

#include <string.h>

#define SECOND_NS INT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)
#define SOONEST_NS (SECOND_NS / 100)
#define FASTEST 2
#define STEP 20                  /* 1/20 below the mark arms it */

void
rb_heapprof_gauge_init(struct heapprof_gauge *gauge, const uint64_t values[HEAPPROF_MARKS])
{
    memset(gauge, 0, sizeof(*gauge));
    for (int i = 0; i < HEAPPROF_MARKS; i++)
        gauge->marks[i] = (struct heapprof_gauge_mark){ .value = values[i], .armed = true };
}

void
rb_heapprof_gauge_fork(struct heapprof_gauge *gauge)
{
    for (int i = 0; i < HEAPPROF_MARKS; i++) gauge->marks[i].next_ns = 0;
}

/* Where the mark is, in bytes; 0: nowhere, because there is no limit. */
static uint64_t
place_of(uint64_t value, const struct heapprof_level *level)
{
    return value > 100 ? value : level->limit / 100 * value + level->limit % 100 * value / 100;
}

static bool
rings_p(struct heapprof_gauge_mark *mark, const struct heapprof_level *level, int64_t now_ns,
        int64_t *wait_ns)
{
    bool share = mark->value <= 100;
    uint64_t place = place_of(mark->value, level);
    uint64_t at = share ? level->used : level->resident;
    uint64_t step = (share ? level->limit : mark->value) / STEP;

    if (place == 0) return false;
    if (at < place) {
        int64_t soon_ns = place - at < SECOND_NS ? (int64_t)(place - at) / FASTEST : SECOND_NS;
        if (at + step <= place) mark->armed = true;
        if (mark->armed && soon_ns < *wait_ns) *wait_ns = soon_ns;
        return false;
    }
    if (!mark->armed || now_ns < mark->next_ns) return false;
    mark->armed = false;
    mark->next_ns = now_ns + MINUTE_NS;
    return true;
}

uint64_t
rb_heapprof_gauge_look(struct heapprof_gauge *gauge, const struct heapprof_level *level,
                       int64_t now_ns, int64_t *wait_ns)
{
    uint64_t highest = 0;

    *wait_ns = SECOND_NS;
    for (int i = 0; i < HEAPPROF_MARKS; i++) {
        struct heapprof_gauge_mark *mark = &gauge->marks[i];
        if (mark->value == 0 || !rings_p(mark, level, now_ns, wait_ns)) continue;
        if (!highest || place_of(mark->value, level) > place_of(highest, level))
            highest = mark->value;
    }
    if (*wait_ns < SOONEST_NS) *wait_ns = SOONEST_NS;
    return highest;
}
