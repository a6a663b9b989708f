#ifndef HEAPPROF_CLI_SOURCES_H
#define HEAPPROF_CLI_SOURCES_H
/* The lines of source that the frames of a profile or of a dump are at, in the form that the page
 * takes (cli/page/README.md).
 *
 * A profile or a dump may come from somebody else, and the page may be given on. So a file is
 * read only if it is below the roots (source_roots.h) and looks like source. Such a file is a
 * regular file; it has a suffix of source code, or begins with "#!". Of each file, only a few
 * lines around each used line are put. Of all files together, at most a few megabytes are put. */
#include "cli/source_roots.h"
#include "report/page.h"

/* A line that a frame is at. */
struct cli_source_place {
    const char *path;     /* of the file; whoever adds the place keeps it */
    uint32_t file;        /* its number in the page */
    uint32_t line;
};

struct cli_sources {
    struct cli_source_place *places;
    size_t  count, capacity; /* of places */
    struct cli_source_roots roots;
    int64_t time_ns;      /* when the file was written; 0 if not known */
    size_t  files, lines; /* how many were put */
    size_t  outside;      /* source files, by their names, that are below no root */
};

/* Adds a place. Returns false if there is no memory. The caller frees the places with
 * cli_sources_free, which also frees the roots. */
bool cli_sources_add(struct cli_sources *sources, const char *path, uint32_t file, uint32_t line);
void cli_sources_free(struct cli_sources *sources);

/* data is a struct cli_sources, which counts what was put. A file that cannot be read is left
 * out. */
report_page_sources_i cli_put_sources;

/* Tells the user on stderr what the page has that FILE does not have: the user may give the page
 * on. command is "heapprof view". */
void cli_sources_say(const struct cli_sources *sources, const char *command);

/* Puts no sources. */
report_page_sources_i cli_put_no_sources;

#endif
