/* attach.c - opens processes and cores that the command line names. */
#include "cli/live/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/heap.h"
#include "attach/origin.h"
#include "attach/rights.h"
#include "cli/live/named.h"
#include "pprof/reader.h"
#include "profiler/pprof.h"

/* Reads a PID. Returns false if the text is no number. A number that no process can have is told
 * when it is opened. */
static bool
parse_pid(const char *text, int64_t *pid)
{
    char *end;

    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!*text || *end) return false;
    *pid = errno ? INT64_MAX : number;
    return true;
}

bool
cli_attach_pid(const struct cli *cli, const char *name, int64_t *pid)
{
    char advice[CLI_KIND_ADVICE_MAX];

    if (parse_pid(name, pid)) return true;
    if (!cli_kind_advise(advice, cli_kind_of_file(name), cli->command, name))
        return (*pid = cli_named(cli, name)) != 0;
    cli_wrong(cli, "%s: %s", name, advice);
    return false;
}

static struct attach_target *
opened(const struct cli *cli, struct attach_target *target, const char *error,
       enum cli_attach_to to)
{
    static const enum attach_rights_kept kept[] = {
        [CLI_ATTACH_AND_SIGNAL] = ATTACH_RIGHTS_SIGNAL,
        [CLI_ATTACH_AND_ALARMS] = ATTACH_RIGHTS_ALARMS,
    };

    if (!target) cli_wrong(cli, "%s", error);
    else attach_rights_drop(kept[to]);
    return target;
}

struct attach_target *
cli_attach_open_pid(const struct cli *cli, int64_t pid, enum cli_attach_to to)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct attach_target *target = attach_target_open_pid(pid, error);

    return opened(cli, target, error, to);
}

struct attach_target *
cli_attach_open(const struct cli *cli, const char *name, enum cli_attach_to to)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct attach_target *target;
    int64_t pid;

    if (to != CLI_ATTACH_CORE)
        return cli_attach_pid(cli, name, &pid) ? cli_attach_open_pid(cli, pid, to) : NULL;
    target = attach_target_open_core(name, error);
    return opened(cli, target, error, to);
}

enum attach_look_mode
cli_attach_mode(const char *stop)
{
    if (!stop || !strcmp(stop, "auto")) return ATTACH_LOOK_AUTO;
    return strcmp(stop, "always") ? ATTACH_LOOK_NEVER : ATTACH_LOOK_ALWAYS;
}

enum attach_native_which
cli_attach_native(const struct cli *cli)
{
    if (cli->values[CLI_NATIVE_ALL]) return ATTACH_NATIVE_ALL;
    return cli->values[CLI_NATIVE] ? ATTACH_NATIVE_CALLED : ATTACH_NATIVE_NONE;
}

bool
cli_attach_native_usable_p(const struct cli *cli)
{
    if (cli_attach_native(cli) == ATTACH_NATIVE_NONE ||
        cli_attach_mode(cli->values[CLI_STOP]) != ATTACH_LOOK_NEVER)
        return true;
    cli_usage(cli, "%s: C functions can be read only while a thread stands still; leave out "
              "--stop=never", cli_option_words[cli->values[CLI_NATIVE] ? CLI_NATIVE
                                                                       : CLI_NATIVE_ALL].name);
    return false;
}

static struct heapprof_model *
model_of(struct attach_vm *vm, const struct heapprof_snapshot *snapshot, char *error)
{
    char reader_error[HEAPPROF_READER_ERROR_MAX] = "no memory", build[ATTACH_HEAP_BUILD_MAX];
    size_t size;

    attach_heap_build(vm, build);
    char *bytes = rb_heapprof_pprof_encode(snapshot, "ruby", build, &size);
    struct heapprof_model *model =
        bytes ? rb_heapprof_reader_read_bytes(bytes, size, reader_error) : NULL;

    free(bytes);
    if (!model) attach_target_say(vm->target, error, "%s", reader_error);
    return model;
}

struct heapprof_model *
cli_attach_heap(struct attach_vm *vm, struct attach_stop *stop, char error[ATTACH_TARGET_ERROR_MAX])
{
    struct attach_heap_counts counts = {0};
    struct heapprof_snapshot *snapshot = attach_heap_read(vm, stop, &counts, error);
    if (!snapshot) return NULL;

    attach_origin_of_target(vm->target, snapshot);
    struct heapprof_model *model = model_of(vm, snapshot, error);
    rb_heapprof_snapshot_free(snapshot);
    return model;
}

void
cli_attach_json_name(struct report_json *json, const char *key, const struct attach_names *names,
                     uint32_t string)
{
    size_t length;
    const char *text = attach_names_text(names, string, &length);

    report_json_member_string(json, key, text, length);
}
