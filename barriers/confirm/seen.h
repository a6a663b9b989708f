#ifndef HEAPPROF_BARRIERS_SEEN_H
#define HEAPPROF_BARRIERS_SEEN_H
/* What the collector saw while a command ran under RUBY_WBCHECK. Missed: references that no
 * barrier told it of, by type, field and method. Told: references that a barrier told it of in
 * time, by type, field and the function that called the barrier. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WB_SEEN_MOST 2000 /* the rest is left out, and a line says so */
#define WB_SEEN_TEXT 800  /* RUBY_WBCHECK writes no longer line */
#define WB_TOLD_MOST 4000 /* the rest is left out: it could only have refuted a finding */
#define WB_TOLD_TEXT 256

struct wb_seen {
    char text[WB_SEEN_TEXT];   /* "Date (Date+0x8) -> Integer, in Date#initialize_copy" */
    char type[WB_SEEN_TEXT];   /* wrap_struct_name; "" if the parent is no typed data */
    char method[WB_SEEN_TEXT]; /* "initialize_copy"; "" if not known */
    long offset;               /* of the field in the data, bytes; negative if the field is not
                                * in the data */
    char field[WB_SEEN_TEXT];  /* its name in the source; "" if not known */
    bool early;                /* a barrier was called, but before the store */
    bool explained;            /* a finding fits it */
};

struct wb_told {
    char     type[WB_TOLD_TEXT];     /* wrap_struct_name */
    char     function[WB_TOLD_TEXT]; /* the C function that called the barrier, without suffixes
                                      * of the compiler (".isra.0") */
    long     offset;                 /* as above */
    uint64_t count;                  /* references that were new in the field */
};

/* Lies in memory that this process shares with its children. */
struct wb_all_seen {
    size_t         count, told_count;
    bool           truncated;
    struct wb_seen items[WB_SEEN_MOST];
    struct wb_told told[WB_TOLD_MOST];
};

/* Runs the command, with its stdout sent to stderr, and reads what the collector saw. Returns
 * NULL if that failed; a line said why. If the command ends with an error, a line says so, and
 * what was seen until then is read. */
struct wb_all_seen *wb_run_and_read(char **command);

#endif
