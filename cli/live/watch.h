#ifndef HEAPPROF_CLI_WATCH_H
#define HEAPPROF_CLI_WATCH_H
/* What `watch` knows, and its pages as text. */
#include "attach/tally.h"
#include "cli/cli.h"

enum watch_page {
    WATCH_FUNCTIONS = '1', WATCH_THREADS, WATCH_HEAP, WATCH_GROWTH, WATCH_LABELS, WATCH_HELP = 'h'
};

enum watch_search {WATCH_STAY, WATCH_HERE, WATCH_NEXT}; /* a line that has the text */

#define WATCH_FIND_MAX 64

struct watch_session {
    struct cli *cli;
    struct attach_target *target;
    struct heapprof_mem mem;
    struct attach_names names;
    struct attach_looks *looks;
    struct attach_tally tally;
    struct heapprof_model *first, *now;   /* heap profiles; NULL if not read yet */
    char     heap_error[ATTACH_TARGET_ERROR_MAX];
    enum watch_page page, before_help;
    bool     by_total, idle, paused, ended, memory;
    size_t   scrolled;                  /* the first line that is shown */
    size_t   found;                     /* the line that was searched for and found last */
    bool     typing;                    /* what is typed is added to find */
    char     find[WATCH_FIND_MAX];      /* lines that have this text are marked; "": none */
    enum watch_search search;           /* where the next picture scrolls to */
    char     said[300];                 /* shown until the next key; "": nothing */
    int64_t  period_ns, refresh_ns, heap_ns; /* refresh, heap: when next */
};

/* Returns "functions", "heap", ... */
const char *watch_page_name(enum watch_page page);

/* Writes the heading of the page that is shown. */
void watch_put_heading(FILE *out, const struct watch_session *session);

/* Writes the page of labels (watch_labels.c). */
void watch_put_labels(FILE *out, const struct watch_session *session, unsigned width);

/* Writes all lines of that page. A line has at most that many columns; 0: it is as long as it
 * is. */
void watch_put_page(FILE *out, const struct watch_session *session, unsigned width);

#endif
