/* backtraces.c - looks once, and writes what the look has seen. */
#include "cli/live/backtraces.h"

#include <inttypes.h>
#include <stdlib.h>

#include "attach/origin.h"
#include "attach/status.h"
#include "cli/live/attach.h"
#include "cli/live/locals.h"
#include "report/own.h"
#include "report/text.h"

#define NAMES_BYTES_MOST ((size_t)1 << 30)
#define PATIENCE_NS (UINT64_C(3) * 1000 * 1000 * 1000) /* on a busy machine, too */

/* ---- the application's frame ---- */

static const char *
get(const struct attach_looks *looks, uint32_t string, size_t *length)
{
    return attach_names_text(looks->names, string, length);
}

static const char *
path_of(const struct attach_looks *looks, const struct attach_look_frame *frame)
{
    uint32_t path = attach_names_get(looks->names, frame->function)->path;

    return path ? get(looks, path, NULL) : "";
}

/* Returns which of the stack's frames is the innermost of the application; or count if none is.
 * "(torn)", the first of a torn stack, is no frame. */
static size_t
find_own(const struct attach_looks *looks, const struct attach_look_stack *stack,
         const char *directory)
{
    for (size_t i = stack->torn; i < stack->count; i++) {
        const struct attach_look_frame *frame = &looks->frames[stack->first + i];
        if (!frame->native && report_own_p(path_of(looks, frame), directory)) return i;
    }
    return stack->count;
}

/* The directory of the program, which is where the application's files are, in a block from malloc;
 * or NULL if it is not known, or if no file is below it, as with "ruby ../app.rb". */
static char *
directory_of(const struct attach_looks *looks)
{
    char text[ATTACH_ORIGIN_TEXT_MAX];

    attach_origin_text(looks->target, text);
    char *directory = attach_origin_value(text, "directory");
    for (size_t i = 0; i < looks->stack_count; i++) {
        const struct attach_look_stack *stack = &looks->stacks[i];
        size_t own = find_own(looks, stack, directory);
        if (own < stack->count &&
            report_below_p(path_of(looks, &looks->frames[stack->first + own]), directory))
            return directory;
    }
    free(directory);
    return NULL;
}

/* ---- as text: what MRI prints of a backtrace, below a line for the thread ---- */

static void
put_frame(FILE *out, const struct attach_looks *looks, const struct attach_look_frame *frame)
{
    const struct heapprof_function *function = attach_names_get(looks->names, frame->function);
    char line[REPORT_LINE_MAX];

    fputs("    ", out);
    if (function->path) {
        report_put(out, get(looks, function->path, NULL), 0, false);
        report_line(line, frame->line);
        fprintf(out, "%s:in ", line);
    }
    putc('\'', out);
    report_put(out, get(looks, function->name, NULL), 0, false);
    fputs("'\n", out);
}

static void
put_name(FILE *out, struct attach_looks *looks, uint64_t string)
{
    struct attach_text text;

    attach_look_name(looks, string, &text);
    if (!text.length) return;
    text.bytes[text.length < sizeof(text.bytes) ? text.length : sizeof(text.bytes) - 1] = 0;
    fputs(" \"", out);
    report_put(out, text.bytes, 0, false);
    putc('"', out);
}

/* Writes what the thread is labelled with, if it is. */
static void
put_labels(FILE *out, const struct attach_looks *looks, const struct attach_look_stack *stack)
{
    size_t length;
    const char *at = attach_label_sets_text(&looks->label_sets, stack->label_set, &length);
    const char *end = at + length, *before = "  labels: ";
    struct heapprof_label label;

    if (!length) return;
    for (; rb_heapprof_label_next(&at, end, &label); before = ", ")
        report_print(out, "%s%s=%s", before, label.key, label.value);
    putc('\n', out);
}

static void
put_place(FILE *out, const struct attach_looks *looks, const struct attach_look_frame *frame,
          const char *directory)
{
    const struct heapprof_function *function = attach_names_get(looks->names, frame->function);

    if (function->path) {
        report_print(out, "%s:%" PRIu32 " in ",
                     report_short_path(get(looks, function->path, NULL), directory), frame->line);
    }
    report_print(out, "'%s'", get(looks, function->name, NULL));
}

/* Writes where in the application the thread is, if that is not its first frame. */
static void
put_own(FILE *out, const struct attach_looks *looks, const struct attach_look_stack *stack,
        const char *directory)
{
    size_t own = find_own(looks, stack, directory), first = 0;

    while (first < stack->count && looks->frames[stack->first + first].native) first++;
    if (own == first || own == stack->count) return;

    fputs(" at ", out);
    put_place(out, looks, &looks->frames[stack->first + own], directory);
}

static void
put_stack(FILE *out, struct attach_looks *looks, size_t number, bool ractors, const char *directory)
{
    const struct attach_look_stack *stack = &looks->stacks[number];

    bool fiber = stack->thread.state == ATTACH_THREAD_FIBER;

    fprintf(out, fiber ? "Fiber %zu of thread" : "Thread %zu",
            fiber ? number + 1 - looks->threads.count : number + 1);
    if (stack->thread.main && !fiber) fputs(" (main)", out);
    put_name(out, looks, stack->thread.name);
    fprintf(out, ": %s", attach_thread_state_name(stack->thread.state));
    put_own(out, looks, stack, directory);
    if (stack->collecting) fprintf(out, ", garbage collection");
    if (stack->thread.tid) fprintf(out, ", native thread %d", stack->thread.tid);
    if (ractors) {
        fprintf(out, ", Ractor %"PRIu64, stack->thread.ractor);
        put_name(out, looks, stack->thread.ractor_name);
    }
    fputs(stack->failed ? ", its stack cannot be read\n" : "\n", out);
    put_labels(out, looks, stack);
    for (size_t i = 0; i < stack->count; i++) {
        put_frame(out, looks, &looks->frames[stack->first + i]);
        cli_locals_text(out, looks, &looks->frames[stack->first + i]);
    }
}

static bool
several_ractors_p(const struct attach_looks *looks)
{
    for (size_t i = 1; i < looks->stack_count; i++) {
        if (looks->stacks[i].thread.ractor_at != looks->stacks[0].thread.ractor_at) return true;
    }
    return false;
}

/* stopped: by what, or "". */
static void
put_all(FILE *out, struct attach_looks *looks, const char *stopped)
{
    char *directory = directory_of(looks);
    bool ractors = several_ractors_p(looks);

    report_print(out, "%s%s%s\n", looks->target->name, *stopped ? ", " : "", stopped);
    for (size_t i = 0; i < looks->stack_count; i++) put_stack(out, looks, i, ractors, directory);
    free(directory);
}

/* ---- as JSON ---- */

static void
json_name(struct report_json *json, struct attach_looks *looks, const char *key, uint64_t string)
{
    struct attach_text text;

    report_json_key(json, key);
    attach_look_name(looks, string, &text);
    if (text.length) report_json_string(json, text.bytes, text.length);
    else report_json_null(json);
}

static void
json_labels(struct report_json *json, const struct attach_looks *looks,
            const struct attach_look_stack *stack)
{
    size_t length;
    const char *at = attach_label_sets_text(&looks->label_sets, stack->label_set, &length);
    const char *end = at + length;
    struct heapprof_label label;

    report_json_member_begin(json, "labels", '{');
    while (rb_heapprof_label_next(&at, end, &label))
        report_json_member_string(json, label.key, label.value, label.value_length);
    report_json_end(json, '}');
}

static void
json_frame(struct report_json *json, const struct attach_looks *looks,
           const struct attach_look_frame *frame)
{
    const struct heapprof_function *function = attach_names_get(looks->names, frame->function);

    report_json_begin(json, '{');
    cli_attach_json_name(json, "label", looks->names, function->name);
    cli_attach_json_name(json, "path", looks->names, function->path);
    report_json_key(json, "line");
    if (frame->line) report_json_unsigned(json, frame->line);
    else report_json_null(json);
    report_json_member_bool(json, "native", frame->native);
    if (looks->locals.wanted) cli_locals_json(json, looks, frame);
    report_json_end(json, '}');
}

static void
json_stack(struct report_json *json, struct attach_looks *looks,
           const struct attach_look_stack *stack, const char *directory)
{
    report_json_begin(json, '{');
    json_name(json, looks, "name", stack->thread.name);
    report_json_member_bool(json, "main", stack->thread.main);
    report_json_member_text(json, "state", attach_thread_state_name(stack->thread.state));
    report_json_member_bool(json, "garbage_collection", stack->collecting);
    report_json_member_integer(json, "native_id", stack->thread.tid);
    report_json_member_unsigned(json, "ractor", stack->thread.ractor);
    json_name(json, looks, "ractor_name", stack->thread.ractor_name);
    json_labels(json, looks, stack);
    report_json_member_bool(json, "torn", stack->torn);
    report_json_member_bool(json, "failed", stack->failed);
    size_t own = find_own(looks, stack, directory);
    report_json_key(json, "application_frame");
    if (own < stack->count) report_json_unsigned(json, own);
    else report_json_null(json);
    report_json_member_begin(json, "frames", '[');
    for (size_t i = 0; i < stack->count; i++)
        json_frame(json, looks, &looks->frames[stack->first + i]);
    report_json_end(json, ']');
    report_json_end(json, '}');
}

static void
json_all(struct report_json *json, struct attach_looks *looks, const char *stopped)
{
    char *directory = directory_of(looks);

    report_json_begin(json, '{');
    report_json_member_integer(json, "pid", looks->target->pid);
    report_json_member_bool(json, "stopped", *stopped);
    report_json_member_begin(json, "threads", '[');
    for (size_t i = 0; i < looks->stack_count; i++) {
        report_json_line(json);
        json_stack(json, looks, &looks->stacks[i], directory);
    }
    report_json_end(json, ']');
    report_json_end(json, '}');
    free(directory);
}

/* ---- either ---- */

void
cli_backtraces_where(FILE *out, struct attach_looks *looks, const struct attach_look_stack *stack)
{
    char *directory = directory_of(looks);
    size_t own = find_own(looks, stack, directory);

    if (own == stack->count) own = 0;
    if (stack->count) put_place(out, looks, &looks->frames[stack->first + own], directory);
    free(directory);
}

bool
cli_backtraces(struct attach_target *target, const struct cli_backtraces_options *wanted,
               FILE *out, struct report_json *json, char error[ATTACH_TARGET_ERROR_MAX])
{
    struct heapprof_mem mem;
    struct attach_names names;
    char stopped[ATTACH_STOPPED_MAX] = "";
    bool looked = false;

    if (target->runs) attach_status_stopped(target->pid, stopped);
    rb_heapprof_mem_init(&mem, NAMES_BYTES_MOST);
    attach_names_init(&names, &mem);
    struct attach_looks *looks = attach_look_open(target, &names, wanted->mode, error);
    if (looks) {
        looks->with_fibers = wanted->fibers;
        looks->patience_ns = PATIENCE_NS;
        looks->locals.wanted = wanted->locals;
        looks->locals.with_values = wanted->values;
        looked = attach_look_native(looks, wanted->native) && attach_look(looks);
        attach_target_say(target, error, "it ended meanwhile");
    }
    if (looked && json) json_all(json, looks, stopped);
    else if (looked) put_all(out, looks, stopped);
    attach_look_close(looks);
    attach_names_free(&names);
    return looked;
}
