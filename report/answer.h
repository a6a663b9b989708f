#ifndef HEAPPROF_REPORT_ANSWER_H
#define HEAPPROF_REPORT_ANSWER_H
/* The door of this room for ruby (vm/api/report.c), which has a question as texts and wants a
 * text. ruby links only the names of this header from this room (vm/heapprof.mk). */
#include <stdbool.h>
#include <stddef.h>

#include "pprof/model.h"

#define HEAPPROF_ANSWER_ERROR_MAX 256

struct heapprof_ask {
    const char *by;        /* type of the value; every profile has it */
    const char *group; /* "site", "label:KEY", as heapprof top --group has it; NULL: application,
                          then sites */
    const char *directory; /* where the application is (own.h); NULL: as the profile says */
    const char *sort;      /* "self", "cum", "objects"; NULL: self */
    const char *focus, *ignore; /* POSIX extended regular expressions; NULL: none */
    const char *focus_label;    /* KEY=RE, as heapprof top --focus-label has it; NULL: none */
    const char *const *names; /* what the profiles are called */
    size_t   limit;        /* rows; 0: all */
    size_t   frames;       /* the innermost frames of a site that are written */
    unsigned width;        /* columns; 0: lines are as long as they are */
    bool     colour;
};

/* Returns the table of one profile, or of what grew from the first of two to the second, in a
 * block from malloc; *size is its length. Returns NULL if it fails. error then says in a line
 * what is wrong with the question; it is "" if there was no memory. */
char *
rb_heapprof_answer_table(const struct heapprof_ask *ask, const struct heapprof_model *const *models,
                         size_t count, size_t *size, char error[HEAPPROF_ANSWER_ERROR_MAX]);

/* Returns stacks as lines (export.h), with that value. Returns NULL if there is no memory. */
char *
rb_heapprof_answer_collapsed(const struct heapprof_model *model, const char *by, size_t *size);

/* Writes an amount such as "41.4 MB" (text.h) into text, which has room for size bytes. */
void rb_heapprof_answer_bytes(char *text, size_t size, double bytes);

#endif
