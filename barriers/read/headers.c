/* headers.c - asks a ruby for its headers. */
#include "barriers/read/headers.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "barriers/read/process.h"

#define SECONDS_MOST 30

/* Reads a directory from a line, and adds a flag for it. */
static bool
read_directory(struct wb_arena *arena, FILE *file, const char **flag)
{
    char line[PATH_MAX + sizeof("-I")] = "-I";
    struct stat status;

    if (!fgets(line + 2, sizeof(line) - 2, file)) return false;
    line[strcspn(line, "\n")] = '\0';
    *flag = wb_arena_text(arena, line, strlen(line));
    return line[2] == '/' && stat(line + 2, &status) == 0;
}

const char **
wb_ruby_flags(struct wb_arena *arena)
{
    char script[] = "puts RbConfig::CONFIG.values_at('rubyhdrdir', 'rubyarchhdrdir')";
    char *words[] = {(char *)wb_ruby(), "--disable-gems", "-rrbconfig", "-e", script, NULL};
    const char **flags = wb_arena_take(arena, 3 * sizeof(*flags));
    FILE *out = tmpfile();

    if (!out) return flags;
    bool ended = wb_run(words, "/", fileno(out), SECONDS_MOST);
    rewind(out);
    if (!ended || !read_directory(arena, out, &flags[0]) || !read_directory(arena, out, &flags[1]))
        flags[0] = NULL;
    fclose(out);
    return flags;
}
