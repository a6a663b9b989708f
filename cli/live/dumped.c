/* dumped.c - asks a process for a dump of its objects, and waits for the file.
 *
 * A process with RUBY_HEAPGRAPH has its own place for dumps. Another one gets a place here: the
 * directory in which heapprof was started, if the process sees it and may write there; otherwise
 * /tmp. */
#include "cli/live/dumped.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/status.h"
#include "os/clock.h"
#include "os/signals.h"

#define LOOK_EVERY_MS 5
#define LOOK_FOR_COPY_NS INT64_C(250000000)
#define NAME "/heap-%p-%n.rbgraph"
#define ELSEWHERE "/tmp"

/* ---- where ---- */

/* Whether the process sees the same files under the same names. */
static bool
same_files_p(pid_t pid)
{
    static const char *const places[] = {"ns/mnt", "root"};

    for (int i = 0; i < 2; i++) {
        char theirs[64], ours[64];
        struct stat one, other;
        snprintf(theirs, sizeof(theirs), "/proc/%d/%s", (int)pid, places[i]);
        snprintf(ours, sizeof(ours), "/proc/self/%s", places[i]);
        if (stat(theirs, &one) != 0 || stat(ours, &other) != 0) return false;
        if (one.st_dev != other.st_dev || one.st_ino != other.st_ino) return false;
    }
    return true;
}

static bool
same_user_p(pid_t pid)
{
    char status[ATTACH_STATUS_MAX];
    const char *line =
        attach_status_read(pid, pid, status) ? attach_status_line(status, "\nUid:") : NULL;
    unsigned real, effective;

    return line && sscanf(line, "%u %u", &real, &effective) == 2 && effective == geteuid();
}

/* Writes the template of the file's name, in which "%%" stands for "%". */
static void
find_place(char *text, size_t size, pid_t pid)
{
    char directory[PATH_MAX];
    size_t length = 0;

    if (!same_files_p(pid) || !same_user_p(pid) || !getcwd(directory, sizeof(directory)) ||
        directory[0] != '/' || access(directory, W_OK) != 0 ||
        strlen(directory) * 2 + sizeof(NAME) > size)
        strcpy(directory, ELSEWHERE);
    if (!strcmp(directory, "/")) directory[0] = '\0';
    for (const char *c = directory; *c; c++) {
        if (*c == '%') text[length++] = '%';
        text[length++] = *c;
    }
    strcpy(text + length, NAME);
}

/* Whether a name can be made of that template. The process may be hostile: what it names is read,
 * and removed. */
static bool
made_of_p(const char *name, const char *template)
{
    for (; *template; template++) {
        if (template[0] != '%') {
            if (*name++ != *template) return false;
            continue;
        }
        template++;
        if (*template == '%') {
            if (*name++ != '%') return false;
            continue;
        }
        size_t digits = strspn(name, "0123456789");
        if (digits == 0) return false;
        name += digits;
    }
    return *name == '\0';
}

void
cli_dumped_path(char path[CLI_DUMPED_PATH_MAX], const struct attach_graph_request *request)
{
    pid_t pid = request->vm->target->pid;

    if (same_files_p(pid)) snprintf(path, CLI_DUMPED_PATH_MAX, "%s", request->answer);
    else snprintf(path, CLI_DUMPED_PATH_MAX, "/proc/%d/root%s", (int)pid, request->answer);
}

/* ---- asking and waiting ---- */

/* Waits until the file is complete or has failed. The timeout covers only the time until the
 * process begins. */
static void
follow(struct attach_graph_request *request, int64_t begin_ns)
{
    struct pollfd end = {.fd = request->vm->target->end_fd, .events = POLLIN};
    int64_t begin = rb_heapprof_clock_ns(CLOCK_MONOTONIC), next = begin;

    while (attach_graph_request_look(request) <= ATTACH_GRAPH_BEGUN) {
        int64_t now = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
        if (request->state == ATTACH_GRAPH_ASKED && now - begin > begin_ns) return;
        if (request->state == ATTACH_GRAPH_BEGUN && now >= next) {
            attach_graph_request_look_for_copy(request);
            next = now + LOOK_FOR_COPY_NS;
        }
        poll(&end, 1, LOOK_EVERY_MS);
    }
}

bool
cli_dumped_begin(const struct cli *cli, struct cli_dumped *dumped, struct attach_vm *vm,
                 struct cli_ask *ask)
{
    struct attach_graph_request *request = &dumped->request;
    char error[ATTACH_TARGET_ERROR_MAX];
    bool open = attach_graph_request_open(request, vm, error);

    dumped->text[0] = '\0';
    if (open && !request->signal_number) {
        find_place(dumped->text, sizeof(dumped->text), vm->target->pid);
        ask->what = ATTACH_REQUEST_DUMP;
        ask->text = dumped->text;
        ask->will = "it will write the file";
        return cli_ask(cli, vm, ask);
    }
    if (open && attach_graph_request_send(request, error)) return true;
    snprintf(ask->error, sizeof(ask->error), "%s", error);
    return false;
}

static int
say_wrong(const struct cli *cli, const struct attach_graph_request *request)
{
    const char *process = request->vm->target->name,
               *signal = rb_heapprof_signal_name(request->signal_number);
    char stopped[ATTACH_STOPPED_MAX];

    switch (request->state) {
      case ATTACH_GRAPH_REFUSED:
        return cli_wrong(cli, "%s: %s", process, request->answer);
      case ATTACH_GRAPH_FAILED:
        return cli_wrong(cli, "%s: cannot write %s: %s", process, request->answer,
                         strerror(request->error_number));
      case ATTACH_GRAPH_LOST:
        return cli_wrong(cli, "%s: its copy ended before %s was written", process, request->answer);
      case ATTACH_GRAPH_ENDED:
        return cli_wrong(cli, "%s: it has ended%s%s", process,
                         *request->answer ? "; a copy of it may still write " : "",
                         request->answer);
      case ATTACH_GRAPH_ASKED:
        if (attach_status_stopped(request->vm->target->pid, stopped)) {
            return cli_wrong(cli, "%s: it is %s; it will write the file when it continues",
                             process, stopped);
        }
        return cli_wrong(
            cli,
            "%s: it does not answer: it handles SIG%s itself, or is busy in C code; it will"
            " write the file when it can",
            process, signal);
      default:
        return CLI_WRONG;
    }
}

int
cli_dumped_wait(const struct cli *cli, struct cli_dumped *dumped, long seconds)
{
    struct attach_graph_request *request = &dumped->request;

    follow(request, seconds * INT64_C(1000000000));
    if (request->state != ATTACH_GRAPH_WRITTEN) return say_wrong(cli, request);
    if (!dumped->text[0] || made_of_p(request->answer, dumped->text)) return CLI_DONE;
    return cli_wrong(cli, "%s: has written another file than it was asked for",
                     request->vm->target->name);
}
