#ifndef HEAPPROF_REPORT_RANKING_H
#define HEAPPROF_REPORT_RANKING_H
/* The rows of groups in order, with the figures that are shown of them. Every way of writing them
 * begins with it. Row 0 is all rows together. */
#include "report/table.h"

struct report_ranked {
    uint32_t row;
    bool     last;      /* the row is not the application's */
    bool     steady;    /* the row kept growing */
    double   value, cumulative, objects; /* of several profiles, their growth */
};

struct report_ranking {
    const struct report_groups *groups;
    const struct report_look *look;
    const char *type, *unit;        /* of the value */
    uint32_t last;                  /* the last column; 0: nothing is compared */
    double   whole;                 /* 100 % of the shares */
    uint32_t middle; /* with three columns and more, where half of the work was done */
    struct report_ranked *rows;     /* what comes first is first */
    size_t count;
    size_t small_count; /* rows that are left out, because they are too small */
    double small;       /* the sum of their values */
    char  *why_empty;   /* why there are no rows; "": there are */
};

/* Returns false if there is no memory. Free it either way. */
bool report_ranking_make(struct report_ranking *ranking, const struct report_groups *groups,
                         const struct report_look *look);
void report_ranking_free(struct report_ranking *ranking);

/* Takes out the row that has to come last, if there is one. */
const struct report_ranked *report_ranking_take_rest(struct report_ranking *ranking);

/* Returns how many rows are shown. */
size_t report_ranking_shown(const struct report_ranking *ranking);

/* Return the figure of a row, or its growth if profiles are compared. */
double report_value_of(const struct report_ranking *ranking, uint32_t row);
double report_cumulative_of(const struct report_ranking *ranking, uint32_t row);
double report_objects_of(const struct report_ranking *ranking, uint32_t row);

/* Returns how far the value may be off, in 19 of 20 cases. */
double report_error_of(const struct report_ranking *ranking, uint32_t row);

/* Returns whether the value is no more than its error. */
bool report_noise_p(const struct report_ranking *ranking, uint32_t row);

/* Returns whether the row kept growing. */
bool report_steady_p(const struct report_ranking *ranking, uint32_t row);

/* Writes what all rows add up to: "inuse_space grew by 273 kB ± 9.21 kB". */
void report_put_sum(FILE *out, const struct report_ranking *ranking);

/* Returns the value of the rows that are not shown. *count is how many they are. */
double report_rest(const struct report_ranking *ranking, size_t *count);

/* Collects what has to be known of the rows that are shown, a line each. Returns how many. */
#define REPORT_REMARKS_MOST 4
size_t report_remarks(const struct report_ranking *ranking,
                      const char *remarks[REPORT_REMARKS_MOST]);

/* By how much the last profile has more than the first. */
struct report_growth {
    const char *type, *unit;
    double value, error;
};

/* Finds the growth of all samples that the question wants. Returns false if there is no memory. */
bool report_growth_find(struct report_growth *growth, const struct report_question *question,
                        const struct heapprof_model *const *models, const uint32_t *types,
                        uint32_t profiles);

#endif
