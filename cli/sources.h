#ifndef HEAPPROF_CLI_SOURCES_H
#define HEAPPROF_CLI_SOURCES_H
/* The lines of source that a profile's frames are at, in the form that the page takes
 * (cli/page/README.md).
 *
 * A profile may come from somebody else, and the page may be given on. So a file is read only if
 * it is below the roots (source_roots.h) and looks like source. Such a file is a regular file;
 * it has a suffix of source code, or begins with "#!". Of each file, only a few lines around
 * each used line are put. Of all files together, at most a few megabytes are put. */
#include "cli/source_roots.h"
#include "report/page.h"

struct cli_sources {
    const struct report_page_tables *tables;
    struct cli_source_roots roots;
    int64_t time_ns;      /* when the profile was taken; 0 if not known */
    size_t  files, lines; /* how many were put */
    size_t  outside;      /* source files, by their names, that are below no root */
};

/* data is a struct cli_sources, which counts what was put. A file that cannot be read is left
 * out. */
report_page_sources_i cli_put_sources;

/* Puts no sources. */
report_page_sources_i cli_put_no_sources;

#endif
