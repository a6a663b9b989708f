/* timed.c - a profile over time: RATE looks a second, added up. */
#include "cli/serve/timed.h"

#ifdef HEAPPROF_EVENT
#include <stdlib.h>
#include <time.h>

#include <event2/event.h>

#include "attach/record.h"
#include "cli/cli.h"
#include "os/clock.h"

#define SECOND_NS INT64_C(1000000000)

enum { RATE = 99 };

struct cli_timed {
    struct event *timer;
    struct attach_target *target;
    struct attach_record record;
    struct attach_looks *looks;
    struct attach_peer peer;
    bool     for_all;                /* the client has the token */
    int64_t  began_ns, end_ns, wall_ns;
    void   (*done)(void *data, struct cli_answer answer);
    void    *data;
};

void
cli_timed_free(struct cli_timed *timed)
{
    if (!timed) return;
    if (timed->timer) event_free(timed->timer);
    attach_look_close(timed->looks);
    attach_record_free(&timed->record);
    attach_target_close(timed->target);
    free(timed);
}

/* Checks the target's rights once more. A target that has ended cannot be checked. It had the
 * rights that it had at the beginning: only exec changes rights, and a target that has executed
 * is not looked at any more. */
static struct cli_answer
encode(struct cli_timed *timed)
{
    static const char *const none[] = {NULL};
    char error[ATTACH_TARGET_ERROR_MAX];
    size_t size = 0;

    if (attach_target_state(timed->target) != ATTACH_TARGET_ENDED &&
        !cli_answer_permitted_p(timed->for_all ? NULL : &timed->peer, timed->target->pid, error)) {
        return cli_answer_line(403, "%s", error);
    }
    struct heapprof_model *model =
        attach_record_model(&timed->record, none, timed->wall_ns,
                            rb_heapprof_clock_ns(CLOCK_MONOTONIC) - timed->began_ns);
    char *bytes = model ? cli_encode(model, &size) : NULL;
    rb_heapprof_model_free(model);
    return cli_answer_profile("profile.pb.gz", bytes, size);
}

static void
tick(int none, short events, void *data)
{
    struct cli_timed *timed = data;
    bool goes_on = attach_look(timed->looks) && attach_record_add(&timed->record, timed->looks, 1);

    (void)none;
    (void)events;
    if (!goes_on || rb_heapprof_clock_ns(CLOCK_MONOTONIC) >= timed->end_ns)
        timed->done(timed->data, encode(timed));
}

static bool
begin(struct cli_timed *timed, struct event_base *base, const struct cli_wanted *wanted,
      char *error)
{
    const struct timeval period = {0, 1000000 / RATE};
    const struct attach_record_options options = { .threads = true,
                                                   .period_ns = (uint64_t)(SECOND_NS / RATE) };

    attach_record_init(&timed->record, &options);
    timed->target = attach_target_open_pid(wanted->pid, error);
    if (!timed->target) return false;
    timed->looks = attach_look_open(timed->target, &timed->record.names, ATTACH_LOOK_AUTO, error);
    if (!timed->looks) return false;
    timed->wall_ns = rb_heapprof_clock_ns(CLOCK_REALTIME);
    timed->began_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    timed->end_ns = timed->began_ns + (int64_t)(wanted->seconds * 1e9);
    timed->timer = event_new(base, -1, EV_PERSIST, tick, timed);
    if (timed->timer && event_add(timed->timer, &period) == 0) return true;
    attach_target_say(timed->target, error, "no memory");
    return false;
}

struct cli_timed *
cli_timed_begin(struct event_base *base, const struct cli_wanted *wanted,
                const struct attach_peer *peer, void done(void *data, struct cli_answer answer),
                void *data, char error[ATTACH_TARGET_ERROR_MAX])
{
    struct cli_timed *timed = calloc(1, sizeof(*timed));

    snprintf(error, ATTACH_TARGET_ERROR_MAX, "no memory");
    if (!timed) return NULL;
    *timed = (struct cli_timed){.for_all = !peer, .done = done, .data = data};
    if (peer) timed->peer = *peer;
    if (begin(timed, base, wanted, error)) return timed;
    cli_timed_free(timed);
    return NULL;
}

#endif
