/* touches.c - which dead objects were used, under Valgrind.
 *
 *     Valgrind's XML   <auxwhat>Address 0x4c81f0 is in a rw- anonymous segment</auxwhat>
 *                                   |
 *     quarantine       String, allocated at a.rb:3, freed by GC 12   --messages-->  Valgrind's XML
 *
 * Valgrind does not tell the process at which address an error was. But it writes each error to its
 * file at once, and the process has the directory: heapprof memcheck puts Valgrind's file and that
 * of the process into one (cli/memcheck/valgrind.c). So the process reads on in the file where it
 * has stopped, in whole lines. A child of fork goes on in the same file.
 */
#include "ruby/ruby.h"
#include "vm/memcheck/touches.h"

#ifdef HAVE_VALGRIND_MEMCHECK_H
# include "gc/book/state.h"
# include "vm/memcheck/message.h"
# include <fcntl.h>
# include <limits.h>
# include <unistd.h>

# define CHUNK_BYTES 16384 /* lines are shorter */

static struct {
    char  path[PATH_MAX]; /* "": there is no file */
    off_t seen;           /* so much of it has been read */
} touches;

bool
rb_heapprof_touches_start(void)
{
    const struct heapprof_options *options = &rb_heapprof.run.options;
    const char *slash = strrchr(options->out, '/');

    if (options->quarantine_bytes == 0 || !slash) return false;
    int length = snprintf(touches.path, sizeof(touches.path), "%.*s/%ld.xml",
                          (int)(slash - options->out), options->out, (long)getpid());
    if (length < (int)sizeof(touches.path) && access(touches.path, R_OK) == 0) return true;
    touches.path[0] = '\0';
    return false;
}

/* ---- one error ---- */

static const struct heapprof_dead_gc *
gc_of(const struct heapprof_dead_object *one)
{
    return &rb_heapprof.tables.dead_objects.gcs[one->gc];
}

static void
send_stack(const char *what, uint32_t stack)
{
    struct heapprof_message message;

    rb_heapprof_message_begin(&message, what);
    rb_heapprof_message_add_stack(&message, stack);
    rb_heapprof_message_send(&message);
}

static void
tell_dead(const char *address, const struct heapprof_dead_object *one)
{
    const struct heapprof_strings *strings = &rb_heapprof.tables.strings;
    const struct heapprof_dead_gc *gc = gc_of(one);
    struct heapprof_message message;
    char what[80];

    snprintf(what, sizeof(what), "%s by GC %llu (%s)", one->moved ? "moved" : "freed",
             (unsigned long long)gc->count, gc->major ? "full" : "minor");
    rb_heapprof_message_begin(&message, "dead object");
    rb_heapprof_message_add(
        &message, address,
        one->class_name ? rb_heapprof_strings_get(strings, one->class_name, NULL) : "object", what);
    rb_heapprof_message_send(&message);
    send_stack("allocated", one->stack);
    send_stack("collected", gc->stack);
}

static void
read_line(const char *line)
{
    const char *found = strstr(line, "Address 0x");
    char text[24], *end;

    if (!found) return;
    uintptr_t address = (uintptr_t)strtoull(found + strlen("Address "), &end, 16);
    const struct heapprof_dead_object *one =
        rb_heapprof_dead_objects_find(&rb_heapprof.tables.dead_objects, address);
    if (!one) return;
    snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
    tell_dead(text, one);
}

/* ---- the file ---- */

/* Reads the whole lines of a chunk, and returns their length. */
static size_t
read_lines(char *chunk, size_t length)
{
    size_t begin = 0;

    chunk[length] = '\0';
    for (char *end; (end = memchr(chunk + begin, '\n', length - begin)) != NULL; ) {
        *end = '\0';
        read_line(chunk + begin);
        begin = (size_t)(end - chunk) + 1;
    }
    return begin;
}

void
rb_heapprof_touches_tell(void)
{
    static char chunk[CHUNK_BYTES + 1];
    ssize_t length;

    if (!touches.path[0]) return;
    int fd = open(touches.path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (length = pread(fd, chunk, CHUNK_BYTES, touches.seen)) > 0) {
        size_t whole = read_lines(chunk, (size_t)length);
        if (whole == 0) break;
        touches.seen += (off_t)whole;
    }
    if (fd >= 0) close(fd);
}

#else

bool rb_heapprof_touches_start(void) { return false; }
void rb_heapprof_touches_tell(void) {}

#endif
