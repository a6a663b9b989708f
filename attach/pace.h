#ifndef ATTACH_PACE_H
#define ATTACH_PACE_H
/* When looks are due, and how many came too late. The caller has the clock, and looks. */
#include <stdbool.h>
#include <stdint.h>

struct attach_pace {
    int64_t  period_ns;     /* from one look to the next */
    int64_t  next_ns;       /* when the next look is due */
    uint64_t asked;         /* looks that were due */
    uint64_t taken;         /* looks that saw all processes */
    uint64_t late;          /* looks that were due while another was taken: they are left out, and
                               the next one stands for their time, too */
};

void attach_pace_begin(struct attach_pace *pace, int64_t period_ns, int64_t now_ns);

/* To be called after a look, or instead of one if there was nothing to look at (looked is false).
 * all says whether the look saw all processes. Returns when the next look is due, which is not
 * before now_ns. */
int64_t attach_pace_next(struct attach_pace *pace, int64_t now_ns, bool looked, bool all);

#endif
