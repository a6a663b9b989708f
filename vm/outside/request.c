/* request.c - carries out what a process outside asks for, at a safe point.
 *
 *     asker          writes a request into rb_heapprof_request, and wakes the timer thread
 *     timer thread   hears it: gives our thread a duty, and makes that thread if need be
 *     our thread     borrows the GVL (vm/thread/borrow.c), takes the request, answers
 *
 * MRI's timer thread is the one thread that can be woken without the program noticing: it waits for
 * an eventfd of its own. It runs no Ruby code, so it may start a thread. No Ruby thread is woken.
 *
 *   I1  A request is taken once, with the GVL, and only if it is still wanted.
 *   I2  What was begun is finished, whatever becomes of the asker. A run that has a time ends then.
 *   I3  The timer thread answers only where it refuses; then our thread does not hear of it.
 */
#include "ruby/ruby.h"
#include "vm/outside/request.h"
#include "ruby/heapprof.h"
#include "gc/book/state.h"
#include "os/bell.h"
#include "os/clock.h"
#include "profiler/options.h"
#include "vm/graph/graph_signal.h"
#include "vm/run/environment.h"
#include "vm/run/flush.h"
#include "vm/run/marks.h"
#include "vm/run/run.h"
#include "vm/thread/own_thread.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS_NS INT64_C(1000000)

struct heapprof_request rb_heapprof_request;

/* The run that was asked for last. Only our thread changes it. */
static struct {
    int64_t until_ns;            /* when it ends by itself, of rb_heapprof_bell_now; 0: never */
    int64_t start_ns;            /* which run it is: rb_heapprof.run.start_ns; 0: there is none */
} term;

PRINTF_ARGS(static void answer(bool done, const char *format, ...), 2, 3);

static void
answer(bool done, const char *format, ...)
{
    struct heapprof_request *request = &rb_heapprof_request;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(request->answer, sizeof(request->answer), format, arguments);
    va_end(arguments);
    request->done = done;
}

bool
rb_heapprof_request_run_p(void)
{
    return rb_heapprof_on && rb_heapprof.run.start_ns == term.start_ns;
}

/* ---- what can be asked for ---- */

/* Why these settings cannot be those of a run that begins now; NULL if they can. A run that goes on
 * can get marks. */
static const char *
refusal_of(const struct heapprof_options *options)
{
    if (options->at[0] && rb_heapprof_marks_on_p())
        return "it writes at marks of its own already, and these stay";
    if (rb_heapprof_on && !options->at[0]) return "it is profiled already";
    if (term.until_ns && rb_heapprof_request_run_p())
        return "it is profiled for a time, which has to end first";
    if (rb_heapprof_options_periodic_p(options))
        return "every and signal have to be set when a program starts";
    if (options->memcheck) return "memcheck has to be set when a program starts";
    if (options->at[0] && !options->out[0]) return "out= has no file name, which at needs";
    bool shares = options->at[0] && !rb_heapprof_marks_size_p(options);
    const char *refusal = shares ? rb_heapprof_marks_remark(options) : NULL;
    if (refusal || rb_heapprof_on) return refusal;
    return options->malloc_all ? rb_heapprof_gc_malloc_all_refusal() : NULL;
}

/* Returns whether files can be written at its marks; if so, the answer is the first one. */
static bool
marks_possible_p(const struct heapprof_options *options)
{
    char path[PATH_MAX];
    int error = rb_heapprof_marks_check(options, rb_heapprof_environment_directory(), path);

    if (error) answer(false, "cannot write %.400s: %s", path, rb_heapprof_flush_explain(error));
    else answer(true, "%s", path);
    return error == 0;
}

static void
start_marks(const struct heapprof_options *options, bool begun)
{
    int error = rb_heapprof_marks_start(options, rb_heapprof_environment_directory(),
                                        rb_heapprof_graph_dump_beside);

    if (error == 0) return;
    answer(false, "nothing can be written at marks: %s", strerror(error));
    if (begun) rb_heapprof_stop();
}

static void
begin_term(void)
{
    uint64_t for_ms = rb_heapprof_request.for_ms;

    term.start_ns = rb_heapprof.run.start_ns;
    term.until_ns = for_ms && for_ms < INT64_MAX / MS_NS / 2 ?
        rb_heapprof_bell_now() + (int64_t)for_ms * MS_NS : 0;
}

static void
start(const char *settings)
{
    struct heapprof_options options;
    char message[256];

    if (rb_heapprof_options_parse(*settings ? settings : "1", &options, message,
                                  sizeof(message)) != HEAPPROF_OPTIONS_ON) {
        answer(false, "%s", message);
        return;
    }
    const char *refusal = refusal_of(&options);
    bool begins = !rb_heapprof_on;
    answer(!refusal, "%s", refusal ? refusal : "");
    if (refusal || (options.at[0] && !marks_possible_p(&options))) return;
    if (begins && !rb_heapprof_start_with(&options)) answer(false, "it ends");
    else if (options.at[0]) start_marks(&options, begins);
    if (begins && rb_heapprof_on) begin_term();
}

static void
stop(void)
{
    bool on = rb_heapprof_on;

    term.until_ns = 0;
    if (on) rb_heapprof_stop();
    answer(on, "%s", on ? "" : "it is not profiled");
}

static void
carry_out(const struct heapprof_others *others)
{
    struct heapprof_request *request = &rb_heapprof_request;

    request->text[sizeof(request->text) - 1] = '\0';
    switch (request->what) {
      case HEAPPROF_REQUEST_START: start(request->text); break;
      case HEAPPROF_REQUEST_STOP: stop(); break;
      case HEAPPROF_REQUEST_DUMP: {
        bool begun = rb_heapprof_graph_dump_as_asked(request->text);
        answer(begun, "%.500s", rb_heapprof_graph_asked.answer);
        break;
      }
      default: answer(false, "its ruby does not know what was asked for");
    }
}

/* ---- our thread ---- */

static bool
term_over_p(void)
{
    return term.until_ns && rb_heapprof_bell_now() >= term.until_ns;
}

static bool
waits_p(uint32_t number)
{
    return number != __atomic_load_n(&rb_heapprof_request.answered, __ATOMIC_RELAXED);
}

/* Takes the request, and returns whether it is still wanted. */
static bool
take(uint32_t number)
{
    struct heapprof_request *request = &rb_heapprof_request;

    __atomic_store_n(&request->taken, number, __ATOMIC_SEQ_CST);
    return rb_heapprof_clock_ns(CLOCK_MONOTONIC) <=
           __atomic_load_n(&request->until_ns, __ATOMIC_SEQ_CST);
}

static void
serve(const struct heapprof_others *others, void *unused)
{
    struct heapprof_request *request = &rb_heapprof_request;
    uint32_t number = __atomic_load_n(&request->heard, __ATOMIC_ACQUIRE);

    if (term_over_p()) {
        term.until_ns = 0;
        if (rb_heapprof_request_run_p()) rb_heapprof_stop();
    }
    if (!waits_p(number)) return;
    if (take(number)) carry_out(others);
    else answer(false, "the request came too late, or was withdrawn");
    __atomic_store_n(&request->answered, number, __ATOMIC_RELEASE);
}

static bool
wanted_p(int64_t *until_ns)
{
    if (term.until_ns && term.until_ns < *until_ns) *until_ns = term.until_ns;
    return term_over_p() || waits_p(__atomic_load_n(&rb_heapprof_request.heard, __ATOMIC_ACQUIRE));
}

static void
work(void)
{
    rb_heapprof_own_thread_borrow(serve, NULL);
}

/* ---- the timer thread ---- */

void
rb_heapprof_request_hear(void)
{
    static const struct heapprof_duty duty = { .wanted_p = wanted_p, .work = work };
    struct heapprof_request *request = &rb_heapprof_request;
    uint32_t number = __atomic_load_n(&request->asked, __ATOMIC_ACQUIRE);

    __atomic_store_n(&request->heard, number, __ATOMIC_RELEASE);
    if (request->door != HEAPPROF_DOOR_OPEN || !rb_heapprof_own_thread_possible_p()) {
        answer(false, request->door == HEAPPROF_DOOR_OPEN ?
                          "all postponed jobs of MRI are taken" : "it takes no requests");
        __atomic_store_n(&request->answered, number, __ATOMIC_RELEASE);
        return;
    }
    rb_heapprof_own_thread_begin(HEAPPROF_DUTY_REQUEST, &duty);
}

/* ---- boot, fork ---- */

void
rb_heapprof_request_boot(bool locked)
{
    rb_heapprof_request.pid = (uint32_t)getpid();
    rb_heapprof_request.door = locked ? HEAPPROF_DOOR_LOCKED : HEAPPROF_DOOR_OPEN;
}

void
rb_heapprof_request_after_fork(void)
{
    struct heapprof_request *request = &rb_heapprof_request;

    request->heard = request->taken = request->answered = request->asked;
    __atomic_store_n(&request->pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
    if (!term.until_ns) rb_heapprof_own_thread_stop(HEAPPROF_DUTY_REQUEST);
}
