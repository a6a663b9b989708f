/* seen.c - runs the command of --confirm, and reads what RUBY_WBCHECK wrote.
 *
 * Each process of the command appends to one file, in a temporary directory. For each place
 * where a barrier was missed it writes a paragraph, of which only the first line is read:
 *
 *     ruby: write barrier missed: Date (Date+0x8) -> Integer, in Date#initialize_copy
 *         copy.rb:4:in 'Array#each'
 *
 * At its end it writes a line for each C function whose barriers told of references in time, by
 * type and field:
 *
 *     ruby: write barrier told: 12 of Date+0x8, in d_simple_new_internal() of date_core.so
 *
 * Only a ruby that knows RUBY_WBCHECK makes the file.
 */
#include "barriers/confirm/seen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barriers/arena.h"
#include "report/text.h"

#define START "ruby: write barrier missed: "
#define TOLD  "ruby: write barrier told: "
#define IN    ", in "
#define EARLY "; a barrier came before the store"

/* ---- lines ---- */

static void
copy_text(char *to, const char *from, size_t length)
{
    memcpy(to, from, length);
    to[length] = '\0';
}

/* Reads "Date+0x8". Copies the name of the type, and returns the offset, which is negative if
 * there is none. */
static long
parse_field(char *type, const char *text, const char *end)
{
    const char *plus = NULL;

    for (const char *at = text; at < end; at++) {
        if (!strncmp(at, "+0x", strlen("+0x"))) plus = at;
    }
    copy_text(type, text, (size_t)((plus ? plus : end) - text));
    return plus ? strtol(plus + 1, NULL, 16) : -1;
}

/* Reads "Date (Date+0x8)". Only typed data has the part in parentheses. */
static void
parse_parent(struct wb_seen *seen, const char *text, const char *end)
{
    const char *open = strstr(text, " (");

    seen->offset = -1;
    if (open && open < end && end[-1] == ')') {
        seen->offset = parse_field(seen->type, open + strlen(" ("), end - 1);
    }
}

/* Reads "JSON::State#configure": the name behind the last "#" or "." that is followed by
 * something. */
static void
parse_method(struct wb_seen *seen, const char *text)
{
    size_t end = strlen(text), at = end;

    while (at > 0 && !strchr("#.", text[at - 1])) at--;
    if (at == end) at = 0;
    copy_text(seen->method, text + at, end - at);
}

static void
parse_missed(struct wb_seen *seen, const char *text)
{
    char *early, *in = NULL;
    const char *arrow = strstr(text, " -> ");

    memset(seen, 0, sizeof(*seen));
    copy_text(seen->text, text, strlen(text));
    if (arrow) parse_parent(seen, text, arrow);
    else seen->offset = -1;
    early = strstr(seen->text, EARLY);
    seen->early = early != NULL;
    if (early) *early = '\0';
    for (char *at = seen->text; (at = strstr(at, IN)) != NULL; at++) in = at;
    if (in) parse_method(seen, in + strlen(IN));
}

/* Several processes may miss the same barrier. */
static void
add_seen(struct wb_all_seen *all, const char *text)
{
    struct wb_seen *seen = &all->items[all->count];

    if (all->count == WB_SEEN_MOST) {
        all->truncated = true;
        return;
    }
    parse_missed(seen, text);
    for (size_t i = 0; i < all->count; i++) {
        if (!strcmp(all->items[i].text, seen->text)) return;
    }
    all->count++;
}

/* Reads "12 of Date+0x8, in d_simple_new_internal() of date_core.so". Returns false if the
 * line has another form. */
static bool
parse_told(struct wb_told *told, const char *text)
{
    char *type;
    const char *in = NULL, *name, *end;

    told->count = strtoull(text, &type, 10);
    if (strncmp(type, " of ", strlen(" of "))) return false;
    type += strlen(" of ");
    for (const char *at = type; (at = strstr(at, IN)) != NULL; at++) in = at;
    if (!in) return false;
    name = in + strlen(IN);
    end = name + strcspn(name, ".(");
    if (*end == '\0' || end - name >= WB_TOLD_TEXT || in - type >= WB_TOLD_TEXT) return false;
    told->offset = parse_field(told->type, type, in);
    copy_text(told->function, name, (size_t)(end - name));
    return true;
}

/* Several processes may report the same field, and so may several calls in one function. */
static void
add_told(struct wb_all_seen *all, const char *text)
{
    struct wb_told told = {0};

    if (!parse_told(&told, text)) return;
    for (size_t i = 0; i < all->told_count; i++) {
        struct wb_told *same = &all->told[i];
        if (same->offset != told.offset || strcmp(same->type, told.type) ||
            strcmp(same->function, told.function)) {
            continue;
        }
        same->count += told.count;
        return;
    }
    if (all->told_count < WB_TOLD_MOST) all->told[all->told_count++] = told;
}

static void
read_line(struct wb_all_seen *all, const char *line)
{
    if (!strncmp(line, START, strlen(START))) add_seen(all, line + strlen(START));
    if (!strncmp(line, TOLD, strlen(TOLD))) add_told(all, line + strlen(TOLD));
}

static void
read_lines(struct wb_all_seen *all, FILE *file)
{
    char line[WB_SEEN_TEXT + sizeof(START)];
    bool whole = true; /* this is a line's start */

    while (fgets(line, sizeof(line), file)) {
        size_t length = strcspn(line, "\n");
        bool start = whole;
        whole = line[length] == '\n';
        line[length] = '\0';
        if (start && whole) read_line(all, line);
    }
}

/* ---- the command ---- */

static void
exec_command(char **command, const char *path)
{
    char setting[64];

    snprintf(setting, sizeof(setting), "told,out=%s", path);
    if (setenv("RUBY_WBCHECK", setting, 1) == 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
        execvp(command[0], command);
    }
    report_print(stderr, "heapprof barriers: %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

/* Returns false if the command did not run; a line said why. */
static bool
run_and_wait(char **command, const char *path)
{
    int ended = 0;

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) exec_command(command, path);
    if (child < 0) {
        report_print(stderr, "heapprof barriers: %s: %s\n", command[0], strerror(errno));
        return false;
    }
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(ended)) {
        report_print(stderr, "heapprof barriers: %s: ended by a signal (%s)\n", command[0],
                     strsignal(WTERMSIG(ended)));
    }
    else if (WEXITSTATUS(ended)) {
        report_print(stderr, "heapprof barriers: %s: ended with status %d\n", command[0],
                     WEXITSTATUS(ended));
    }
    return true;
}

static struct wb_all_seen *
read_file(const char *path, const char *command)
{
    struct wb_all_seen *all;
    FILE *file = fopen(path, "r");

    if (!file) {
        report_print(stderr,
                     "heapprof barriers: %s: none of its processes read RUBY_WBCHECK: it has to "
                     "run the ruby that "
                "heapprof came with\n", command);
        return NULL;
    }
    all = wb_shared_memory(sizeof(*all));
    read_lines(all, file);
    fclose(file);
    if (all->truncated) {
        fprintf(stderr, "heapprof barriers: more than %d places were seen: the rest is left out\n",
                WB_SEEN_MOST);
    }
    return all;
}

struct wb_all_seen *
wb_run_and_read(char **command)
{
    char directory[] = "/tmp/heapprof-barriers-XXXXXX", path[sizeof(directory) + sizeof("/seen")];
    struct wb_all_seen *all = NULL;

    if (!mkdtemp(directory)) {
        report_print(stderr, "heapprof barriers: a temporary directory: %s\n", strerror(errno));
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/seen", directory);
    if (run_and_wait(command, path)) all = read_file(path, command[0]);
    unlink(path);
    rmdir(directory);
    return all;
}
