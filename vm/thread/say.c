/* say.c - the one way in which the profiler talks to the user: a line on stderr.
 *
 *     ruby: heap profiler: RUBY_HEAPPROF: intervall: unknown setting (running unprofiled)
 *     '------ prefix -----'  '- what --'  '--------------- detail --------------------'
 *
 * stderr may be a file at its size limit, or a terminal. The program decides what names contain, so
 * control characters are replaced before they reach a terminal.
 */
#include "vm/thread/say.h"
#include "base/utf8.h"
#include "os/file.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void
rb_heapprof_say(const char *what, const char *detail)
{
    char line[PATH_MAX + 512], plain[HEAPPROF_UTF8_MAX(sizeof(line))];

    snprintf(line, sizeof(line), "ruby: heap profiler: %s: %s", what, detail);
    size_t length = rb_heapprof_utf8_plain(plain, line, strlen(line), false);
    plain[length++] = '\n';
    rb_heapprof_file_write(STDERR_FILENO, plain, length);
}
