#ifndef HEAPPROF_CLI_SOURCE_ROOTS_H
#define HEAPPROF_CLI_SOURCE_ROOTS_H
/* The directories below which source is read for a page. A profile may come from somebody else,
 * and may name any path. So no directory is taken from the profile. They are what the user has
 * named, and where this machine has gems. */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct cli;

#define CLI_SOURCE_ROOTS_MOST 32

struct cli_source_root {
    char *path;          /* without links */
    char *given;         /* as the user named it, made absolute; it may have links */
    bool  application;   /* the program's own code may be there, under another path */
};

struct cli_source_roots {
    struct cli_source_root all[CLI_SOURCE_ROOTS_MOST];
    size_t      count;
    const char *recorded; /* where the application was then, as the profile says, or NULL */
};

/* Finds the directories. The first is the directory that the caller gives. If none is given, it
 * is the directory of the profile, unless that is the user's home or leads to it. In either case
 * this machine's gem directories are added, and the library of the ruby that this program is
 * installed with. If profile is "-", it is stdin, which has no directory. Returns false, after
 * an error message, if the given directory does not exist. */
bool cli_source_roots_find(struct cli_source_roots *roots, const struct cli *cli,
                           const char *directory, const char *profile, const char *recorded);
void cli_source_roots_free(struct cli_source_roots *roots);

/* Returns a descriptor of a regular file below one of the roots, or -1. A path below the
 * recorded directory is looked for at the same place below the user's directory. If the path is
 * below no root, *outside is set, and the file is not looked at. */
int cli_source_roots_open(const struct cli_source_roots *roots, const char *path, bool *outside);

#endif
