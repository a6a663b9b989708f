/* pace.c - counts looks that are due. They are due at multiples of the period, as long as the time
 * goes on. */
#include "attach/pace.h"

void
attach_pace_begin(struct attach_pace *pace, int64_t period_ns, int64_t now_ns)
{
    *pace = (struct attach_pace){ .period_ns = period_ns, .next_ns = now_ns };
}

int64_t
attach_pace_next(struct attach_pace *pace, int64_t now_ns, bool looked, bool all)
{
    int64_t missed = 0;

    pace->next_ns += pace->period_ns;
    if (pace->next_ns < now_ns) missed = (now_ns - pace->next_ns) / pace->period_ns + 1;
    pace->next_ns += missed * pace->period_ns;
    if (looked) {
        pace->asked += 1 + (uint64_t)missed;
        pace->late += (uint64_t)missed;
        pace->taken += all;
    }
    return pace->next_ns;
}
