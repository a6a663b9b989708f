#ifndef HEAPPROF_REPORT_TABLE_H
#define HEAPPROF_REPORT_TABLE_H
/* Writes groups as a table. One profile: the largest rows. Two: the rows that grew most. Three or
 * more: first the rows that kept growing, then those that grew most from the first profile to the
 * last. A row that is too small to be a finding is only counted, unless all rows are asked for.
 * It is written to a stream, whose errors stay in it. */
#include <stdio.h>

#include "report/groups.h"

struct report_look {
    size_t   limit;   /* rows; 0: all */
    unsigned width;   /* columns; 0: lines are as long as they are */
    bool     colour;
    bool     ruby;    /* options are named as in Ruby's API */
    const char *const *names; /* the files' names: one a column; all of them if some are added up */
    uint32_t files;   /* if files are added up: how many names there are; otherwise 0 */
    const char *sum;  /* what these are called together */
    const char *title; /* a line above the table; NULL: none */
    bool     headless; /* without the line that says what the files add up to */
    bool brief;        /* without rows that are noise and without the remarks below; what is not the
                          application's is last */
};

/* Writes groups in a form. Returns false if there is no memory. */
typedef bool report_table_i(FILE *out, const struct report_groups *groups,
                            const struct report_look *look);
report_table_i report_table_text, report_table_json, report_table_markdown;

#endif
