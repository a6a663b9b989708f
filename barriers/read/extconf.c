/* extconf.c - runs extconf.rb in a temporary directory, so that nothing is written beside the
 * source. */
#define _GNU_SOURCE /* nftw */
#include "barriers/read/extconf.h"

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void
exec_extconf(const char *directory, const char *script)
{
    const char *ruby = getenv("RUBY");

    if (!ruby || !*ruby) ruby = "ruby";
    if (chdir(directory) == 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
        execlp(ruby, ruby, script, (char *)NULL);
    }
    report_print(stderr, "heapprof barriers: %s: %s\n", ruby, strerror(errno));
    _exit(127);
}

const char *
wb_extconf_run(struct wb_arena *arena, const char *directory)
{
    const char *made = new_directory(arena);
    size_t size = strlen(directory) + sizeof("/extconf.rb") + sizeof(root) + 32;
    char *path = wb_arena_take(arena, size);
    struct stat status;

    if (!made) return NULL;
    snprintf(path, size, "%s/extconf.rb", directory);
    pid_t child = fork();
    if (child == 0) exec_extconf(made, path);
    if (child < 0) return NULL;
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
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
