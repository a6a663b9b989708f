#ifndef HEAPPROF_BARRIERS_EXTENSION_H
#define HEAPPROF_BARRIERS_EXTENSION_H
/* Which files are an extension's, and how they are compiled.
 *
 *     a directory   each extension in it: where there is a Makefile of mkmf's, or a compile_commands.json
 *     files         one extension; compiled as the Makefile beside them says, if there is one
 */
#include "barriers/read/source.h"

struct wb_extension {
    const char          *name;       /* its directory */
    struct wb_command   *commands;   /* one a file */
    size_t               count, capacity;
    struct wb_extension *next;
};

struct wb_search {
    struct wb_arena      arena;
    const char         **flags;      /* behind those of each file, up to NULL */
    bool                 extconf;    /* an extconf.rb without a Makefile is run */
    wb_problem_i        *problem_i;
    void                *data;
    struct wb_extension *extensions, **end;
    size_t               left;       /* directories that may still be looked into */
};

void wb_search_init(struct wb_search *search);

/* Flags for all files; relative paths in them are of the current directory. */
void wb_search_flags(struct wb_search *search, const char *text);

/* Adds the extensions in a directory. False: there is none; it was told why. */
bool wb_search_directory(struct wb_search *search, const char *path);

/* Adds an extension of those files. False: it was told what is wrong. */
bool wb_search_files(struct wb_search *search, char **paths, size_t count);

#endif
