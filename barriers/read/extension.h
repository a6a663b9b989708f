#ifndef HEAPPROF_BARRIERS_EXTENSION_H
#define HEAPPROF_BARRIERS_EXTENSION_H
/* Which files belong to an extension, and by which flags each is compiled.
 *
 *     a directory   each extension in it: it has a Makefile that mkmf made, or a
 *                   compile_commands.json
 *     files         one extension; the flags are those of the Makefile beside them, if there is
 *                   one, and else those that a ruby tells
 */
#include "barriers/read/source.h"

struct wb_extension {
    const char          *name;       /* the directory, as the user gave it */
    struct wb_command   *commands;   /* one for each file */
    size_t               count, capacity;
    struct wb_extension *next;
};

struct wb_search {
    struct wb_arena      arena;
    const char         **flags;      /* they follow the flags of each file; ends with NULL */
    bool                 extconf;    /* run an extconf.rb that has no Makefile */
    char *const         *arguments;  /* of extconf.rb; ends with NULL */
    unsigned             seconds;    /* that an extconf.rb may take */
    const char         **ruby_flags; /* where Ruby's headers are; NULL until it is asked */
    wb_problem_i        *problem_i;
    void                *data;
    struct wb_extension *extensions, **end;
    size_t               left;       /* directories that may still be searched */
};

void wb_search_init(struct wb_search *search);

/* Sets flags for all files. Relative paths in them begin at the current directory. */
void wb_search_flags(struct wb_search *search, const char *text);

/* Adds the extensions in a directory. Returns false if there is none; problem_i got the reason. */
bool wb_search_directory(struct wb_search *search, const char *path);

/* Adds one extension of those files. Returns false if something is wrong; problem_i got the
 * reason. */
bool wb_search_files(struct wb_search *search, char **paths, size_t count);

#endif
