/* attach.c - opens processes and cores that the command line names. */
#include "cli/live/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/heap.h"
#include "attach/origin.h"
#include "attach/rights.h"
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

struct attach_target *
cli_attach_open(const struct cli *cli, const char *name, enum cli_attach_to to)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct attach_target *target;
    int64_t pid;

    if (to == CLI_ATTACH_CORE) target = attach_target_open_core(name, error);
    else if (!parse_pid(name, &pid)) {
        char advice[CLI_KIND_ADVICE_MAX];
        bool file = cli_kind_advise(advice, cli_kind_of_file(name), cli->command, name);
        cli_wrong(cli, "%s: %s", name,
                  file ? advice : "is not a PID; give the number of a process");
        return NULL;
    }
    else target = attach_target_open_pid(pid, error);
    if (!target) cli_wrong(cli, "%s", error);
    else attach_rights_drop(to == CLI_ATTACH_AND_SIGNAL);
    return target;
}

enum attach_look_mode
cli_attach_mode(const char *stop)
{
    if (!stop || !strcmp(stop, "auto")) return ATTACH_LOOK_AUTO;
    return strcmp(stop, "always") ? ATTACH_LOOK_NEVER : ATTACH_LOOK_ALWAYS;
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
