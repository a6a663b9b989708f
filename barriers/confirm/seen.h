#ifndef HEAPPROF_BARRIERS_SEEN_H
#define HEAPPROF_BARRIERS_SEEN_H
/* What the collector saw while a command ran under RUBY_WBCHECK: barriers that were missed, by type, field and method; and
 * references that barriers have told of in time, by type, field and the function that called the barrier. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WB_SEEN_MOST 2000 /* more are left out, and a line says so */
#define WB_SEEN_TEXT 800  /* longer lines are none of RUBY_WBCHECK's */
#define WB_TOLD_MOST 4000 /* more are left out: they could only have refuted something */
#define WB_TOLD_TEXT 256

struct wb_seen {
    char text[WB_SEEN_TEXT];   /* "Date (Date+0x8) -> Integer, in Date#initialize_copy" */
    char type[WB_SEEN_TEXT];   /* wrap_struct_name; "": the parent is no typed data */
    char method[WB_SEEN_TEXT]; /* "initialize_copy"; "": not known */
    long offset;               /* of the field in the data, bytes; negative: not in it */
    char field[WB_SEEN_TEXT];  /* its name in the source; "": not in these sources, or not in the data */
    bool early;                /* a barrier came before the store */
    bool explained;            /* the source has a store that fits */
};

struct wb_told {
    char     type[WB_TOLD_TEXT];     /* wrap_struct_name */
    char     function[WB_TOLD_TEXT]; /* of C, that called the barrier: what the compiler made of it (".isra.0") is cut off */
    long     offset;                 /* as above */
    uint64_t count;                  /* of references that were new there */
};

/* Memory that this process shares with those it makes. */
struct wb_all_seen {
    size_t         count, told_count;
    bool           truncated;
    struct wb_seen items[WB_SEEN_MOST];
    struct wb_told told[WB_TOLD_MOST];
};

/* Runs the command, its stdout as our stderr, and reads what was missed. NULL: it was told why not. What the command's end
 * was is told, if it was no good one, and what was seen until then is read. */
struct wb_all_seen *wb_run_and_read(char **command);

#endif
