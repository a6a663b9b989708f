#ifndef HEAPPROF_REPORT_GROUPS_H
#define HEAPPROF_REPORT_GROUPS_H
/* The samples of one or more profiles, added up by what they have in common, like a table in a spreadsheet.
 * A row is a call site, a function, a class, a file, a gem, a line of the application, or a value of a label.
 * A column is one profile, or several profiles that are added up. Rows of different profiles are the same
 * row if their content is the same. */
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "pprof/digest.h"
#include "pprof/model.h"

enum report_group {
    REPORT_SITE,      /* class (or caller and owner), and the whole stack */
    REPORT_FUNCTION,  /* name and file of the innermost function */
    REPORT_CLASS, REPORT_FILE, REPORT_GEM,
    REPORT_APP,       /* the innermost line of the application's own code */
    REPORT_LABEL
};

struct report_question {
    enum report_group group;
    const char    *label;      /* key, of REPORT_LABEL */
    const char    *type;       /* of the value; NULL: the first profile's default */
    const regex_t *focus;      /* samples with a frame whose function or file matches; NULL: all */
    const regex_t *ignore;     /* and without one that matches this; NULL: none */
    const char    *directory;  /* where the application is; NULL: as the profile says */
    uint32_t       together;   /* profiles in a column, one of each process; 0 means 1 */
};

/* Sets the group by its name: "site", "function", ..., "label:KEY". Returns false if no group has that name. */
bool report_question_group(struct report_question *question, const char *name);

/* The figures of one row, or of all rows together, in one column. */
struct report_figures {
    double value;
    double cumulative; /* value, with what was called from there; for functions, files and gems */
    double objects;    /* number of objects that make up the value */
    double variance;   /* of value */
    double kept;       /* the part of variance whose samples the first column has, too */
    double aged, age;  /* value whose age is known; the sum of value times GCs survived */
    double survived;   /* value without the part that is known to be younger than the last GC */
};

struct report_row {
    uint32_t profile;  /* the profile that the example is in */
    uint64_t example;  /* a place in that profile, as groups.c says */
    double   largest;  /* for APP: the largest value of one sample; the example is that sample's */
    uint64_t stamp;    /* number of the last sample that was added to cumulative */
};

struct report_groups {
    struct heapprof_mem mem;
    struct report_question question;
    const struct heapprof_model *const *models;
    uint32_t  profiles, columns;
    uint32_t *types;                /* by profile: the type whose values count */
    const char **directories;       /* by profile: where the application is; NULL: not known */
    struct heapprof_digests digests;
    struct report_row *rows;        /* by the digest's number, from 1 */
    size_t    row_capacity;
    struct report_figures *figures; /* row r, column c: [r * columns + c]; row 0 is the total */
    size_t    figure_capacity;
    double   *work;                 /* by column: bytes allocated since the start, of all samples; 0: not known */
    uint64_t  stamp;
    bool      has_objects, has_ages, has_errors; /* in any row */
};

static inline struct report_figures *
report_figures_of(const struct report_groups *groups, uint32_t row, uint32_t column)
{
    return &groups->figures[(size_t)row * groups->columns + column];
}

/* Adds the profiles up. models are ordered column by column: each column has question->together profiles, one
 * per process, in the same order. An incomplete last column is ignored. types says which value of each profile
 * counts. The models and their array have to stay. Returns false if there is no memory. Free the result either
 * way. */
bool report_groups_make(struct report_groups *groups, const struct report_question *question,
                        const struct heapprof_model *const *models, const uint32_t *types, uint32_t profiles);
void report_groups_free(struct report_groups *groups);

/* Whether the group has cumulative figures. */
bool report_cumulative_p(enum report_group group);

/* For REPORT_APP: returns whether any row is a line of the application. */
bool report_any_own_p(const struct report_groups *groups);

/* ---- what a row stands for ---- */

/* For REPORT_APP: returns whether this is the row of the stacks without a line of the application. */
bool report_row_of_others_p(const struct report_groups *groups, uint32_t row);

struct report_frame {
    const char *name, *file;  /* "" if not known */
    int64_t  line;            /* 0: not known */
    uint64_t address;         /* of a frame that has no name */
};

/* Returns the row's title in a block from malloc: "String", "Cart#load  /srv/cart.rb",
 * "app/cart.rb:7:in 'Cart#load'". Returns NULL if there is no memory. */
char *report_row_title(const struct report_groups *groups, uint32_t row);

/* Returns the directory of the application that the row's example is from, or NULL if it is not known. */
const char *report_row_directory(const struct report_groups *groups, uint32_t row);

/* For a call site: calls back for each frame, the innermost first. own says whether the frame is the
 * application's. Returns false if there is no memory. */
typedef void report_frame_i(void *data, const struct report_frame *frame, bool own);
bool report_row_frames(const struct report_groups *groups, uint32_t row, report_frame_i *each, void *data);

#endif
