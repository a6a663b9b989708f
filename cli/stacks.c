/* stacks.c - heapprof stacks: what all threads of a running Ruby, or of one in a core, are doing. */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attach/look.h"
#include "attach/rights.h"
#include "cli/attach.h"
#include "report/json.h"
#include "report/text.h"

enum {CORE = 1, STOP, JSON};

#define NAMES_BYTES_MOST ((size_t)1 << 30)

/* ---- as text: what MRI prints of a backtrace, below a line for the thread ---- */

static const char *
get(const struct heapprof_looks *looks, uint32_t string, size_t *length)
{
    return rb_heapprof_names_text(looks->names, string, length);
}

static void
put_frame(const struct heapprof_looks *looks, const struct heapprof_look_frame *frame)
{
    const struct heapprof_function *function = rb_heapprof_names_get(looks->names, frame->function);

    fputs("    ", stdout);
    if (function->path) {
        report_put(stdout, get(looks, function->path, NULL), 0, false);
        if (frame->line) printf(":%"PRIu32, frame->line);
        fputs(":in ", stdout);
    }
    putchar('\'');
    report_put(stdout, get(looks, function->name, NULL), 0, false);
    fputs("'\n", stdout);
}

static void
put_name(struct heapprof_looks *looks, uint64_t string)
{
    struct heapprof_text text;

    rb_heapprof_look_name(looks, string, &text);
    if (!text.length) return;
    text.bytes[text.length < sizeof(text.bytes) ? text.length : sizeof(text.bytes) - 1] = 0;
    fputs(" \"", stdout);
    report_put(stdout, text.bytes, 0, false);
    putchar('"');
}

static void
put_stack(struct heapprof_looks *looks, size_t number, bool ractors)
{
    const struct heapprof_look_stack *stack = &looks->stacks[number];

    printf("Thread %zu", number + 1);
    put_name(looks, stack->thread.name);
    printf(": %s", rb_heapprof_thread_state_name(stack->thread.state));
    if (stack->collecting) printf(", garbage collection");
    if (stack->thread.tid) printf(", native thread %d", stack->thread.tid);
    if (ractors) {
        printf(", Ractor %"PRIu64, stack->thread.ractor);
        put_name(looks, stack->thread.ractor_name);
    }
    puts(stack->failed ? ", its stack cannot be read" : "");
    for (size_t i = 0; i < stack->count; i++) put_frame(looks, &looks->frames[stack->first + i]);
}

static bool
several_ractors_p(const struct heapprof_looks *looks)
{
    for (size_t i = 1; i < looks->stack_count; i++) {
        if (looks->stacks[i].thread.ractor_at != looks->stacks[0].thread.ractor_at) return true;
    }
    return false;
}

static void
put_all(struct heapprof_looks *looks)
{
    bool ractors = several_ractors_p(looks);

    cli_attach_put_heading(looks->target);
    for (size_t i = 0; i < looks->stack_count; i++) put_stack(looks, i, ractors);
}

/* ---- as JSON ---- */

static void
json_interned(struct report_json *json, const struct heapprof_looks *looks, const char *key, uint32_t string)
{
    size_t length;
    const char *text = get(looks, string, &length);

    report_json_key(json, key);
    report_json_string(json, text, length);
}

static void
json_name(struct report_json *json, struct heapprof_looks *looks, const char *key, uint64_t string)
{
    struct heapprof_text text;

    report_json_key(json, key);
    rb_heapprof_look_name(looks, string, &text);
    if (text.length) report_json_string(json, text.bytes, text.length);
    else report_json_null(json);
}

static void
json_frame(struct report_json *json, const struct heapprof_looks *looks, const struct heapprof_look_frame *frame)
{
    const struct heapprof_function *function = rb_heapprof_names_get(looks->names, frame->function);

    report_json_begin(json, '{');
    json_interned(json, looks, "label", function->name);
    json_interned(json, looks, "path", function->path);
    report_json_key(json, "line");
    if (frame->line) report_json_unsigned(json, frame->line);
    else report_json_null(json);
    report_json_end(json, '}');
}

static void
json_stack(struct report_json *json, struct heapprof_looks *looks, const struct heapprof_look_stack *stack)
{
    report_json_begin(json, '{');
    json_name(json, looks, "name", stack->thread.name);
    report_json_key(json, "state");
    report_json_text(json, rb_heapprof_thread_state_name(stack->thread.state));
    report_json_key(json, "garbage_collection");
    report_json_bool(json, stack->collecting);
    report_json_key(json, "native_id");
    report_json_integer(json, stack->thread.tid);
    report_json_key(json, "ractor");
    report_json_unsigned(json, stack->thread.ractor);
    json_name(json, looks, "ractor_name", stack->thread.ractor_name);
    report_json_key(json, "torn");
    report_json_bool(json, stack->torn);
    report_json_key(json, "failed");
    report_json_bool(json, stack->failed);
    report_json_key(json, "frames");
    report_json_begin(json, '[');
    for (size_t i = 0; i < stack->count; i++) json_frame(json, looks, &looks->frames[stack->first + i]);
    report_json_end(json, ']');
    report_json_end(json, '}');
}

static void
json_all(struct report_json *json, struct heapprof_looks *looks)
{
    report_json_begin(json, '{');
    report_json_key(json, "pid");
    report_json_integer(json, looks->target->pid);
    report_json_key(json, "threads");
    report_json_begin(json, '[');
    for (size_t i = 0; i < looks->stack_count; i++) {
        report_json_line(json);
        json_stack(json, looks, &looks->stacks[i]);
    }
    report_json_end(json, ']');
    report_json_end(json, '}');
}

/* ---- the command ---- */

static int
show(struct cli *cli, struct heapprof_target *target, struct report_json *json)
{
    char error[HEAPPROF_TARGET_ERROR_MAX];
    struct heapprof_mem mem;
    struct heapprof_names names;
    bool looked = false;

    rb_heapprof_mem_init(&mem, NAMES_BYTES_MOST);
    rb_heapprof_names_init(&names, &mem);
    struct heapprof_looks *looks = rb_heapprof_look_open(target, &names, cli_attach_mode(cli->values[STOP]), error);
    if (looks) {
        looked = rb_heapprof_look(looks);
        rb_heapprof_target_say(target, error, "it ended meanwhile");
    }
    if (looked && json) json_all(json, looks);
    else if (looked) put_all(looks);
    rb_heapprof_look_close(looks);
    rb_heapprof_names_free(&names);
    return looked ? CLI_DONE : cli_wrong(cli, "%s", error);
}

static int
show_target(struct cli *cli, const char *name, bool core, struct report_json *json)
{
    struct heapprof_target *target = cli_attach_open(cli, name, core);
    if (!target) return CLI_WRONG;

    int status = show(cli, target, json);
    rb_heapprof_target_close(target);
    return status;
}

static int
show_targets(struct cli *cli, struct report_json *json)
{
    int status = cli->values[CORE] ? show_target(cli, cli->values[CORE], true, json) : CLI_DONE;

    for (size_t i = 0; i < cli->operand_count; i++) {
        if (!json && (i > 0 || cli->values[CORE])) putchar('\n');
        int one = show_target(cli, cli->operands[i], false, json);
        if (one != CLI_DONE) status = one;
    }
    return status;
}

static int
run(struct cli *cli)
{
    struct report_json json = {.out = stdout};
    int status;

    if (!cli->values[CORE] && cli->operand_count == 0) return cli_usage(cli, "a PID is missing");
    if (!cli->values[JSON]) {
        status = show_targets(cli, NULL);
    }
    else {
        report_json_begin(&json, '[');
        status = show_targets(cli, &json);
        report_json_end(&json, ']');
        putchar('\n');
    }
    int finished = cli_finish(cli);
    return status != CLI_DONE ? status : finished;
}

static const struct cli_option options[] = {
    {"--core", 'c', "FILE", "FILE", "Read a core file instead of a process"},
    {"--stop", 's', "WHOM", "auto always never", "Whom to stop for the moment of reading"},
    {"--json", 0, NULL, NULL, "Print JSON"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof stacks 4242", "what each thread of that process is doing, now"},
    {"heapprof stacks $(pgrep -f puma)", "of all of puma's processes"},
    {"heapprof stacks --core core.4242", "what each was doing when the process ended"},
    {0}
};

const struct cli_command cli_stacks_command = {
    .name = "stacks", .arguments = "[options] PID...",
    .summary = "Show what a running Ruby is doing",
    .description =
        "Prints the backtraces of all threads of all Ractors of a process, without its cooperation. It has to run this\n"
        "ruby, which says where its structures are; neither its files nor debug symbols are needed.\n"
        "\n"
        "--stop=auto stops a thread that runs for some microseconds, and no other: so no backtrace is a mixture of two\n"
        "moments. always stops all of them, so all backtraces are of one moment. never stops none: of a backtrace\n"
        "that changes while it is read the outer part is shown, below (torn).\n"
        "\n"
        "It needs the rights of a debugger: the same user where the system allows that, or root.",
    .options = options, .examples = examples, .least = 0, .most = 1000, .run = run,
};
