/* origin.c - which process a profile is of, in lines "key: value".
 *
 * program is the name that the process was started with; title is what it calls itself ($0). A
 * server that names its workers does so in the title. directory is where the program began; by it
 * a reader recognises the application's own code. library, a line for each, is where a library of
 * a gem lies; by it a reader knows whose the C function is that asked for memory. A line ends a
 * value, so line ends in values are replaced.
 */
#include "ruby/ruby.h"
#include "vm/run/environment.h"
#include "vm/run/origin.h"
#include "ractor_core.h"
#include "vm_core.h"
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VALUE_MAX_BYTES 1000
#define LINES 7
#define LINES_MAX_BYTES 16384      /* of those that are added */
#define LIBRARIES_MAX_BYTES 16384 /* libraries beyond that are left out */

struct origin_words {
    char bytes[LINES * (VALUE_MAX_BYTES + 32) + LIBRARIES_MAX_BYTES];
    size_t length;
};

static void
add(struct origin_words *text, const char *key, const char *value, size_t length)
{
    if (length == 0) return;
    if (length > VALUE_MAX_BYTES) length = VALUE_MAX_BYTES;
    text->length += (size_t)snprintf(text->bytes + text->length, sizeof(text->bytes) - text->length,
                                     "%s%s: ", text->length ? "\n" : "", key);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        text->bytes[text->length++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
}

static void
add_number(struct origin_words *text, const char *key, long number)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%ld", number);

    add(text, key, digits, (size_t)length);
}

static void
add_string(struct origin_words *text, const char *key, VALUE string)
{
    if (RB_TYPE_P(string, T_STRING))
        add(text, key, RSTRING_PTR(string), (size_t)RSTRING_LEN(string));
}

static void
add_system(struct origin_words *text)
{
    const char *directory = rb_heapprof_environment_directory();
    char host[256];

    if (gethostname(host, sizeof(host)) == 0) add(text, "host", host, strnlen(host, sizeof(host)));
    add(text, "directory", directory, strlen(directory));
}

/* The names of this ractor's threads. */
static void
add_threads(struct origin_words *text)
{
    char names[VALUE_MAX_BYTES + 1];
    size_t used = 0;
    rb_thread_t *thread = NULL;

    ccan_list_for_each(&GET_RACTOR()->threads.set, thread, lt_node) {
        if (!RB_TYPE_P(thread->name, T_STRING) || used >= sizeof(names) - 3) continue;
        size_t length = (size_t)RSTRING_LEN(thread->name), room = sizeof(names) - 3 - used;
        if (length > room) length = room;
        if (used) used += (size_t)snprintf(names + used, 3, ", ");
        memcpy(names + used, RSTRING_PTR(thread->name), length);
        used += length;
    }
    add(text, "threads", names, used);
}

static int
add_library_i(struct dl_phdr_info *info, size_t size, void *data)
{
    struct origin_words *text = data;
    size_t length = strlen(info->dlpi_name);

    if (!strstr(info->dlpi_name, "/gems/") && !strstr(info->dlpi_name, "/extensions/")) return 0;
    if (length <= VALUE_MAX_BYTES && text->length + length + 32 < sizeof(text->bytes)) {
        add(text, "library", info->dlpi_name, length);
    }
    return 0;
}

static pid_t copied_pid, copied_parent; /* 0: this is no copy */

void
rb_heapprof_origin_copied(pid_t pid, pid_t parent)
{
    copied_pid = pid;
    copied_parent = parent;
}

uint32_t
rb_heapprof_origin_intern(struct heapprof_strings *strings)
{
    struct origin_words text = { .length = 0 };

    add_number(&text, "pid", (long)(copied_pid ? copied_pid : getpid()));
    add_number(&text, "parent", (long)(copied_pid ? copied_parent : getppid()));
    add_string(&text, "program", GET_VM()->orig_progname);
    add_string(&text, "title", GET_VM()->progname);
    add_system(&text);
    add_threads(&text);
    dl_iterate_phdr(add_library_i, &text);
    uint32_t origin = rb_heapprof_strings_intern(strings, text.bytes, text.length);
    return origin == UINT32_MAX ? 0 : origin;
}

void
rb_heapprof_origin_note(struct heapprof_snapshot *snapshot)
{
    if (snapshot) snapshot->origin = rb_heapprof_origin_intern(&snapshot->strings);
}

bool
rb_heapprof_origin_add(struct heapprof_snapshot *snapshot, const char *lines)
{
    const struct heapprof_strings *strings = &snapshot->strings;
    size_t length = 0, more = strlen(lines);
    const char *origin = "";
    if (snapshot->origin) origin = rb_heapprof_strings_get(strings, snapshot->origin, &length);
    char text[sizeof(struct origin_words) + LINES_MAX_BYTES];

    if (more > 0 && lines[more - 1] == '\n') more--;
    int used = snprintf(text, sizeof(text), "%.*s%s%.*s", (int)length, origin,
                        length && more ? "\n" : "", (int)(more < LINES_MAX_BYTES ? more
                                                                             : LINES_MAX_BYTES),
                        lines);
    uint32_t number = rb_heapprof_strings_intern(&snapshot->strings, text, (size_t)used);
    if (number == UINT32_MAX) return false;
    snapshot->origin = number;
    return true;
}
