#ifndef HEAPPROF_REPORT_GROUPS_H
#define HEAPPROF_REPORT_GROUPS_H
/* The samples of one or more profiles, added up by what they have in common, like a table in a
 * spreadsheet. A row is a call site, a function, a class, a file, a gem, a library, a line of the
 * application, or a value of a label. A column is one profile, or several profiles that are added
 * up. Rows of different profiles are the same row if a reader sees the same of them.
 *
 * Memory of a table of the VM (report_vm_table) has a row of its own in each group. */
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "pprof/digest.h"
#include "report/names.h"

enum report_group {
    REPORT_SITE,      /* class (or caller and owner), and the stack */
    REPORT_FUNCTION,  /* the innermost function: its name, and the file that defines it */
    REPORT_CLASS, REPORT_FILE,
    REPORT_GEM,       /* of memory that an extension asked of malloc, the extension's gem */
    REPORT_LIBRARY,   /* the library that asked malloc */
    REPORT_APP,       /* the innermost line of the application's own code */
    REPORT_LABEL
};

enum report_sort {REPORT_SORT_SELF, REPORT_SORT_CUMULATIVE, REPORT_SORT_OBJECTS};

#define REPORT_WHOLE_STACKS SIZE_MAX

struct report_question {
    enum report_group group;
    const char    *label;      /* key, of REPORT_LABEL */
    const char    *type;       /* of the value; NULL: the first profile's default */
    const regex_t *focus; /* samples with a frame, caller or VM table that matches; NULL: all */
    const regex_t *ignore;     /* and without one that matches this; NULL: none */
    const regex_t *label_focus;  /* samples with a label of that key that matches; NULL: all */
    const char    *focus_text, *ignore_text; /* the same, as the user gave them */
    const char    *label_focus_text; /* KEY=RE */
    size_t frames; /* of SITE: how many of the innermost frames count; the rest is not shown */
    enum report_sort sort;     /* CUMULATIVE: of a group that has cumulative figures */
    const char    *directory;  /* where the application is; NULL: as the profile says */
    uint32_t       together;   /* profiles in a column, one of each process; 0 means 1 */
};

/* Returns whether the question leaves samples out. */
static inline bool
report_question_narrow_p(const struct report_question *question)
{
    return question->focus || question->ignore || question->label_focus;
}

/* Sets the group by its name: "site", "function", ..., "label:KEY". Returns false if no group has
 * that name. */
bool report_question_group(struct report_question *question, const char *name);

/* Sets the order by its name: "self", "cum", "objects". NULL is "self". Returns false if no order
 * has that name. */
bool report_question_sort(struct report_question *question, const char *name);

/* Returns whether the question's rows can have its order. grouped says whether the user has named
 * a group. */
bool report_sort_p(const struct report_question *question, bool grouped);
#define REPORT_SORT_REFUSED "cum is for the groups function, file, gem and app"

/* The figures of one row, or of all rows together, in one column. */
struct report_figures {
    double value;
    double cumulative; /* value, with what was called from there; if groups->cumulative is set */
    double objects;    /* number of objects that make up the value */
    double variance;   /* of value */
    double kept;       /* the part of variance whose samples the first column has, too; in
                          the first column, those that the last one has */
    double aged, age;  /* value whose age is known; the sum of value times GCs survived */
    double survived;   /* value without the part that is known to be younger than the last GC */
};

#define REPORT_NOTHING UINT64_MAX /* no example */

struct report_row {
    uint32_t profile;  /* the profile that the example is in */
    bool     vm;       /* the row is a table of the VM */
    uint64_t example;  /* a place in that profile, as groups.c says */
    const char *name;  /* its title, a text of that profile without a NUL behind it; NULL: the
                          example has the title */
    size_t   name_length;
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
    bool     *defined;              /* by profile: it says where functions are defined */
    bool      cumulative;           /* there are cumulative figures */
    bool      any_wanted;           /* a sample was not left out by focus and ignore */
    bool any_caller,
        any_owner; /* a sample of malloc's memory; and of memory whose owner is known */
    bool      any_label;            /* for LABEL and CLASS: a sample has the label */
    struct heapprof_digests digests;
    struct report_row *rows;        /* by the digest's number, from 1 */
    size_t    row_capacity;
    struct report_figures *figures; /* row r, column c: [r * columns + c]; row 0 is the total */
    size_t    figure_capacity;
    double *work; /* by column: bytes allocated since the start, of all samples; 0: not known */
    uint64_t  stamp;
    bool      has_objects, has_ages, has_errors; /* in any row */
};

static inline struct report_figures *
report_figures_of(const struct report_groups *groups, uint32_t row, uint32_t column)
{
    return &groups->figures[(size_t)row * groups->columns + column];
}

/* Returns the variance of the growth of a row from the first column to the last; of one column,
 * that of its value. Memory that both profiles of a run have is in the same samples, so it adds
 * nothing. It is at most what either has: by its age, some of it may have been allocated right
 * after the earlier one. */
double report_growth_variance(const struct report_groups *groups, uint32_t row);

/* Adds the profiles up. models are ordered column by column: each column has question->together
 * profiles, one per process, in the same order. An incomplete last column is ignored. types says
 * which value of each profile counts. The models and their array have to stay. Returns false if
 * there is no memory. Free the result either way. */
bool report_groups_make(struct report_groups *groups, const struct report_question *question,
                        const struct heapprof_model *const *models, const uint32_t *types,
                        uint32_t profiles);
void report_groups_free(struct report_groups *groups);

/* Returns whether the group can have cumulative figures. */
bool report_cumulative_p(enum report_group group);

/* For REPORT_APP: returns whether any row is a line of the application. */
bool report_any_own_p(const struct report_groups *groups);

#endif
