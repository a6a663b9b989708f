/* ask.c - asks a process to do something, says what it waits for, and withdraws what nobody waits
 * for any more. */
#include "cli/live/ask.h"

#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/look.h"
#include "attach/status.h"
#include "cli/interrupt.h"
#include "cli/live/attach.h"
#include "os/clock.h"
#include "report/text.h"

#define LOOK_EVERY_MS 2
#define QUIET_NS   INT64_C(5000000000) /* after that, a line says what the process is doing */
#define SECOND_NS  INT64_C(1000000000)
#define NAMES_BYTES_MOST ((size_t)1 << 28)
#define DOING_MAX 512

/* ---- what the process is doing ---- */

/* Writes the innermost frame of the thread that has the GVL. */
static void
put_running(char doing[DOING_MAX], struct attach_looks *looks)
{
    for (size_t i = 0; i < looks->stack_count; i++) {
        const struct attach_look_stack *stack = &looks->stacks[i];
        if (stack->thread.state != ATTACH_THREAD_RUNNING || stack->count == 0) continue;
        const struct attach_look_frame *frame = &looks->frames[stack->first];
        const struct heapprof_function *function =
            attach_names_get(looks->names, frame->function);
        snprintf(doing, DOING_MAX, "is inside %s%s",
                 attach_names_text(looks->names, function->name, NULL),
                 function->cfunc ? " (C)" : "");
        return;
    }
}

static void
look_at_stacks(char doing[DOING_MAX], struct attach_target *target)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct heapprof_mem mem;
    struct attach_names names;

    rb_heapprof_mem_init(&mem, NAMES_BYTES_MOST);
    attach_names_init(&names, &mem);
    struct attach_looks *looks = attach_look_open(target, &names, ATTACH_LOOK_AUTO, error);
    if (looks && attach_look(looks)) put_running(doing, looks);
    attach_look_close(looks);
    attach_names_free(&names);
}

/* "is inside Integer#pow (C)", "is stopped by process 77 (gdb)". */
static void
find_doing(char doing[DOING_MAX], struct attach_target *target)
{
    char stopped[ATTACH_STOPPED_MAX];

    strcpy(doing, "does not come to a place where it can be interrupted");
    if (attach_status_stopped(target->pid, stopped)) snprintf(doing, DOING_MAX, "is %s", stopped);
    else look_at_stacks(doing, target);
}

/* ---- asking ---- */

static void say(struct cli_ask *ask, const struct attach_vm *vm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
say(struct cli_ask *ask, const struct attach_vm *vm, const char *format, ...)
{
    int bytes = snprintf(ask->error, sizeof(ask->error), "%s: ", vm->target->name);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(ask->error + bytes, sizeof(ask->error) - (size_t)bytes, format, arguments);
    va_end(arguments);
}

static void
pause_a_moment(const struct attach_target *target)
{
    struct pollfd end = {.fd = target->end_fd, .events = POLLIN};

    poll(&end, 1, LOOK_EVERY_MS);
}

static bool
given_up_p(const struct cli_ask *ask)
{
    return cli_interrupted && !ask->to_the_end;
}

/* Waits until it can be asked. */
static bool
open_request(struct attach_request *request, struct attach_vm *vm, struct cli_ask *ask,
             int64_t until)
{
    char error[ATTACH_TARGET_ERROR_MAX];

    for (;;) {
        enum attach_request_lock lock = attach_request_open(request, vm, error);
        if (lock == ATTACH_REQUEST_OPEN) return true;
        attach_request_close(request);
        if (lock == ATTACH_REQUEST_IMPOSSIBLE || given_up_p(ask) ||
            rb_heapprof_clock_ns(CLOCK_MONOTONIC) > until) {
            snprintf(ask->error, sizeof(ask->error), "%s", error);
            ask->refused = lock == ATTACH_REQUEST_IMPOSSIBLE;
            return false;
        }
        pause_a_moment(vm->target);
    }
}

static void
say_waiting(const struct cli *cli, const struct cli_ask *ask, struct attach_target *target,
            long seconds)
{
    char doing[DOING_MAX];

    find_doing(doing, target);
    report_print(stderr, "heapprof %s: %s %s and has not answered for %ld s; %s as soon as it "
                 "goes on\n", cli->command->name, target->name, doing, seconds, ask->will);
}

/* Returns true if nothing is done for the request. */
static bool
withdraw(struct attach_request *request, struct cli_ask *ask)
{
    char doing[DOING_MAX];

    if (!attach_request_withdraw(request)) return false;
    find_doing(doing, request->vm->target);
    if (given_up_p(ask))
        say(ask, request->vm, "it has not begun; the request was withdrawn");
    else
        say(ask, request->vm, "it %s and has not answered for %ld s; the request was withdrawn",
            doing, ask->seconds);
    return true;
}

/* Waits for the end of the request. Returns false if it was withdrawn. What was begun is waited for
 * to its end: it takes no longer than the same does inside. */
static bool
follow(const struct cli *cli, struct attach_request *request, struct cli_ask *ask)
{
    int64_t begin = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    bool told = false;

    while (attach_request_look(request) < ATTACH_REQUEST_DONE) {
        int64_t waited = rb_heapprof_clock_ns(CLOCK_MONOTONIC) - begin;
        bool begun = request->state == ATTACH_REQUEST_TAKEN;
        if (!begun && (given_up_p(ask) || waited > ask->seconds * SECOND_NS) &&
            withdraw(request, ask))
            return false;
        if (!begun && !told && waited > QUIET_NS) {
            say_waiting(cli, ask, request->vm->target, (long)(waited / SECOND_NS));
            told = true;
        }
        pause_a_moment(request->vm->target);
    }
    return true;
}

static bool
finish(struct attach_request *request, struct cli_ask *ask)
{
    strcpy(ask->answer, request->answer);
    ask->refused = request->state == ATTACH_REQUEST_REFUSED;
    if (request->state == ATTACH_REQUEST_DONE) return true;
    if (request->state == ATTACH_REQUEST_ENDED) say(ask, request->vm, "it has ended");
    else say(ask, request->vm, "%s", request->answer);
    return false;
}

bool
cli_ask(const struct cli *cli, struct attach_vm *vm, struct cli_ask *ask)
{
    struct attach_request request;
    char error[ATTACH_TARGET_ERROR_MAX];
    int64_t limit = ask->seconds * SECOND_NS;
    bool done = false;

    if (!open_request(&request, vm, ask, rb_heapprof_clock_ns(CLOCK_MONOTONIC) + limit))
        return false;
    if (!attach_request_send(&request, ask->what, ask->text, limit + SECOND_NS, ask->for_ms,
                             error))
        snprintf(ask->error, sizeof(ask->error), "%s", error);
    else done = follow(cli, &request, ask) && finish(&request, ask);
    attach_request_close(&request);
    return done;
}

/* ---- a command that asks ---- */

static int
ask_one(const struct cli *cli, struct attach_target *target, struct cli_ask ask,
        void (*say)(const struct cli_ask *ask, const struct attach_target *target))
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct attach_vm *vm = attach_vm_open(target, error);

    if (!vm) return cli_wrong(cli, "%s", error);
    bool done = cli_ask(cli, vm, &ask);
    attach_vm_close(vm);
    if (!done) return cli_wrong(cli, "%s", ask.error);
    say(&ask, target);
    return CLI_DONE;
}

int
cli_ask_each(struct cli *cli, const struct cli_ask *ask,
             void (*say)(const struct cli_ask *ask, const struct attach_target *target))
{
    int status = CLI_DONE;

    cli_interrupt_begin();
    for (size_t i = 0; i < cli->operand_count && !cli_interrupted; i++) {
        struct attach_target *target = cli_attach_open(cli, cli->operands[i], CLI_ATTACH_PROCESS);
        int one = target ? ask_one(cli, target, *ask, say) : CLI_WRONG;
        attach_target_close(target);
        if (one != CLI_DONE) status = one;
    }
    cli_interrupt_end();
    int finished = cli_finish(cli);
    return status != CLI_DONE ? status : finished;
}
