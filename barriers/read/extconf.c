/* extconf.c - runs extconf.rb in a temporary directory, so that nothing is written beside the
 * source. */
#define _GNU_SOURCE /* nftw */
#include "barriers/read/extconf.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "barriers/read/process.h"
#include "report/text.h"

/* All temporary directories lie in this one, which is made first. */
static char root[] = "/tmp/heapprof-barriers-XXXXXX";
static unsigned runs;

static const char *
new_directory(struct wb_arena *arena)
{
    size_t size = sizeof(root) + 16;
    char *directory = wb_arena_take(arena, size);

    if (runs == 0 && !mkdtemp(root)) return NULL;
    snprintf(directory, size, "%s/%u", root, ++runs);
    return mkdir(directory, 0700) == 0 ? directory : NULL;
}

/* The words that run the script. */
static char *const *
command_of(struct wb_arena *arena, char *script, char *const *arguments)
{
    size_t count = 0;

    while (arguments[count]) count++;
    char **words = wb_arena_take(arena, (count + 3) * sizeof(*words));
    words[0] = (char *)wb_ruby();
    words[1] = script;
    for (size_t i = 0; i < count; i++) words[2 + i] = arguments[i];
    return words;
}

const char *
wb_extconf_run(struct wb_arena *arena, const char *directory, char *const *arguments,
               unsigned seconds, const char **problem)
{
    const char *made = new_directory(arena);
    size_t size = strlen(directory) + sizeof("/extconf.rb") + sizeof(root) + 32;
    char *path = wb_arena_take(arena, size), *too_long = wb_arena_take(arena, 100);
    struct stat status;

    *problem = "its extconf.rb made no Makefile";
    if (!made) return NULL;
    snprintf(path, size, "%s/extconf.rb", directory);
    if (!wb_run(command_of(arena, path, arguments), made, STDERR_FILENO, seconds)) {
        snprintf(too_long, 100, "its extconf.rb was ended after %u %s (--timeout)", seconds,
                 report_plural(seconds, "second", "seconds"));
        *problem = too_long;
        return NULL;
    }
    snprintf(path, size, "%s/Makefile", made);
    return stat(path, &status) == 0 ? made : NULL;
}

static int
remove_i(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

void
wb_extconf_clean(void)
{
    if (runs > 0) nftw(root, remove_i, 16, FTW_DEPTH | FTW_PHYS);
    runs = 0;
}
