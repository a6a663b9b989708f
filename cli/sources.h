#ifndef HEAPPROF_CLI_SOURCES_H
#define HEAPPROF_CLI_SOURCES_H
/* The lines of source that a profile's frames are at, as the page takes them (cli/page/README.md).
 *
 * A profile may be somebody else's, and the page may be given on. So only what is below the roots
 * (source_roots.h) and looks like source is read: regular files with a suffix of source code, or that begin with
 * "#!"; of those a few lines around each that is used, and not more than a few megabytes of all. */
#include "cli/source_roots.h"
#include "report/page.h"

struct cli_sources {
    const struct report_page_tables *tables;
    struct cli_source_roots roots;
    int64_t time_ns;      /* of the profile; 0: not known */
    size_t  files, lines; /* that were put */
    size_t  outside;      /* files of source, by their names, that are below no root */
};

/* data: a struct cli_sources, which counts. What cannot be read is left out. */
report_page_sources_i cli_put_sources;

/* No sources at all. */
report_page_sources_i cli_put_no_sources;

#endif
