/* origin.c - asks the kernel about a process. */
#include "attach/origin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VALUE_MAX = 1000 };

struct origin_text {
    char   bytes[ATTACH_ORIGIN_TEXT_MAX];
    size_t length;
};

static void
add(struct origin_text *text, const char *key, const char *value)
{
    char line[VALUE_MAX + 64];
    int length =
        snprintf(line, sizeof(line), "%s%s: %.*s", text->length ? "\n" : "", key, VALUE_MAX, value);

    if (!*value || length < 0 || (size_t)length > sizeof(text->bytes) - text->length) return;
    for (int i = text->length ? 1 : 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c < 0x20 || c == 0x7f) line[i] = '?';
    }
    memcpy(text->bytes + text->length, line, (size_t)length);
    text->length += (size_t)length;
}

/* Reads at most size - 1 bytes of a file of /proc/PID, and appends a NUL. Returns how many. */
static size_t
read_proc(const struct attach_target *target, const char *name, char *bytes, size_t size)
{
    char path[64];
    size_t length = 0;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)target->pid, name);
    int fd = target->runs ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    while (fd >= 0 && length < size - 1) {
        ssize_t got = read(fd, bytes + length, size - 1 - length);
        if (got <= 0) break;
        length += (size_t)got;
    }
    if (fd >= 0) close(fd);
    bytes[length] = 0;
    return length;
}

/* Puts spaces between the arguments of a command line. A title has one argument, with padding. */
static void
join(char *line, size_t length)
{
    while (length > 0 && (line[length - 1] == 0 || line[length - 1] == ' ')) line[--length] = 0;
    for (size_t i = 0; i < length; i++) {
        if (!line[i]) line[i] = ' ';
    }
}

static void
add_link(const struct attach_target *target, struct origin_text *text, const char *key,
         const char *name)
{
    char path[64], to[VALUE_MAX + 1];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)target->pid, name);
    ssize_t length = target->runs ? readlink(path, to, sizeof(to) - 1) : -1;
    to[length > 0 ? length : 0] = 0;
    add(text, key, to);
}

static void
add_parent(const struct attach_target *target, struct origin_text *text)
{
    char stat[512], number[24];
    int parent;

    read_proc(target, "stat", stat, sizeof(stat));
    const char *end = strrchr(stat, ')'); /* a name may have any bytes in it */
    if (!end || sscanf(end, ") %*c %d", &parent) != 1) return;
    snprintf(number, sizeof(number), "%d", parent);
    add(text, "parent", number);
}

static void
add_all(const struct attach_target *target, struct origin_text *text)
{
    char value[VALUE_MAX + 1];

    snprintf(value, sizeof(value), "%d", (int)target->pid);
    add(text, "pid", value);
    add_parent(target, text);
    join(value, read_proc(target, "cmdline", value, sizeof(value)));
    add(text, "title", value);
    if (gethostname(value, sizeof(value)) == 0) add(text, "host", value);
    add_link(target, text, "directory", "cwd");
}

size_t
attach_origin_text(const struct attach_target *target, char text[ATTACH_ORIGIN_TEXT_MAX])
{
    struct origin_text all = {.length = 0};

    add_all(target, &all);
    if (all.length == sizeof(all.bytes)) all.length--;
    memcpy(text, all.bytes, all.length);
    text[all.length] = 0;
    return all.length;
}

char *
attach_origin_value(const char *text, const char *key)
{
    size_t length = strlen(key);

    while (strncmp(text, key, length) || strncmp(text + length, ": ", 2)) {
        text += strcspn(text, "\n");
        if (!*text++) return NULL;
    }
    text += length + 2;
    return strndup(text, strcspn(text, "\n"));
}

void
attach_origin_of_target(const struct attach_target *target, struct heapprof_snapshot *snapshot)
{
    struct origin_text text = {.length = 0};

    add_all(target, &text);
    add(&text, "read", "from outside, as HeapProfile.snapshot has it: without a GC, owners, RSS");
    uint32_t origin = rb_heapprof_strings_intern(&snapshot->strings, text.bytes, text.length);
    snapshot->origin = origin == UINT32_MAX ? 0 : origin;
}

void
attach_origin_program(const struct attach_target *target, char *name, size_t size)
{
    char comm[64];

    read_proc(target, "comm", comm, sizeof(comm));
    comm[strcspn(comm, "\n")] = 0;
    snprintf(name, size, "%s", *comm ? comm : "ruby");
}
