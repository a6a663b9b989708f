#ifndef HEAPPROF_CLI_SOURCE_ROOTS_H
#define HEAPPROF_CLI_SOURCE_ROOTS_H
/* The directories below which source is read for a page. A profile may be somebody else's, and names any path. So none of them
 * is taken from the profile: they are what the user has named, and where this machine has gems. */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct cli;

#define CLI_SOURCE_ROOTS_MOST 32

struct cli_source_root {
    char *path;          /* without links */
    char *given;         /* as it was named, absolute; links may be in it */
    bool  application;   /* the program's own code may be there, by another name */
};

struct cli_source_roots {
    struct cli_source_root all[CLI_SOURCE_ROOTS_MOST];
    size_t      count;
    const char *recorded; /* where the application was when it was profiled, as the profile says; NULL: not said */
};

/* The directory, if one is given; otherwise that in which the profile is, unless it is the user's home or leads to it; and in either
 * case this machine's gem directories and the library of the ruby that this program is installed with. profile "-": stdin,
 * which is nowhere. Returns false, after an error message, if the given directory is not there. */
bool cli_source_roots_find(struct cli_source_roots *roots, const struct cli *cli, const char *directory, const char *profile,
                           const char *recorded);
void cli_source_roots_free(struct cli_source_roots *roots);

/* A descriptor of a regular file below one of them, or -1. A path below the recorded directory is looked for at the same place below
 * the user's. *outside is set if the path is below no root; the file is not looked at then. */
int cli_source_roots_open(const struct cli_source_roots *roots, const char *path, bool *outside);

#endif
