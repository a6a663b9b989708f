/* timed.c - a profile over time: RATE looks a second, added up. */
#include "cli/serve/timed.h"

#include <stdlib.h>
#include <time.h>

#include "attach/record.h"
#include "cli/cli.h"
#include "cli/serve/answers.h"
#include "os/clock.h"

#define SECOND_NS INT64_C(1000000000)

enum { RATE = 99 };
enum { OK = 200, FORBIDDEN = 403, NOT_FOUND = 404, NO_MEMORY = 500 };

struct timed {
    struct attach_target *target;
    struct attach_record record;
    struct attach_looks *looks;
    int64_t wall_ns;
};

void
cli_timed_sleep_until(int64_t monotonic_ns)
{
    struct timespec until = {monotonic_ns / SECOND_NS, monotonic_ns % SECOND_NS};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) continue;
}

/* Takes a look at each tick, and one at the end, so that all of the time is seen. */
static void
look_until(struct timed *timed, int64_t end_ns)
{
    bool last = false, goes_on = true;

    while (goes_on && !last) {
        int64_t now = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
        last = now >= end_ns;
        goes_on =
            attach_look(timed->looks) && attach_record_add(&timed->record, timed->looks, now);
        int64_t next = attach_pace_next(&timed->record.pace, rb_heapprof_clock_ns(CLOCK_MONOTONIC),
                                        true, goes_on);
        if (goes_on && !last) cli_timed_sleep_until(next < end_ns ? next : end_ns);
    }
}

/* Checks the target's rights once more. A target that has ended cannot be checked. It had the
 * rights that it had at the beginning: only exec changes rights, and a target that has executed
 * is not looked at any more. */
static int
put(struct timed *timed, const struct attach_peer *peer, FILE *out, char *error)
{
    size_t size = 0;

    if (attach_target_state(timed->target) != ATTACH_TARGET_ENDED &&
        !cli_answer_permitted_p(peer, timed->target->pid, error))
        return FORBIDDEN;
    timed->record.counts = timed->looks->counts;
    struct heapprof_model *model = attach_record_model(&timed->record, timed->wall_ns);
    char *bytes = model ? cli_encode(model, &size) : NULL;
    bool put = bytes && fwrite(bytes, 1, size, out) == size;
    if (!put) snprintf(error, CLI_WORKER_ERROR_MAX, "no memory");
    free(bytes);
    rb_heapprof_model_free(model);
    return put ? OK : NO_MEMORY;
}

static void
open_target(struct timed *timed, pid_t pid, const struct attach_record_options *options,
            char *error)
{
    timed->target = attach_target_open_pid(pid, error);
    if (!timed->target) return;
    attach_origin_text(timed->target, timed->record.origin);
    timed->looks = attach_look_open(timed->target, &timed->record.names, ATTACH_LOOK_AUTO, error);
    if (timed->looks) timed->looks->wanted = attach_record_wanted(options);
}

int
cli_timed_record(pid_t pid, double seconds, const struct attach_peer *peer, FILE *out,
                 char error[CLI_WORKER_ERROR_MAX])
{
    const struct attach_record_options options = { .threads = true,
                                                   .period_ns = SECOND_NS / RATE };
    struct timed timed = {0};
    int status = NOT_FOUND;

    attach_record_init(&timed.record, &options, rb_heapprof_clock_ns(CLOCK_MONOTONIC));
    open_target(&timed, pid, &options, error);
    if (timed.looks) {
        timed.wall_ns = rb_heapprof_clock_ns(CLOCK_REALTIME);
        attach_pace_begin(&timed.record.pace, options.period_ns, timed.record.began_ns);
        look_until(&timed, timed.record.began_ns + (int64_t)(seconds * 1e9));
        status = put(&timed, peer, out, error);
    }
    attach_look_close(timed.looks);
    attach_record_free(&timed.record);
    attach_target_close(timed.target);
    return status;
}
