#ifndef HEAPPROF_REPORT_PAGE_TABLES_H
#define HEAPPROF_REPORT_PAGE_TABLES_H
/* What the page of `heapprof view` is given, in tables: one profile, or the difference of two.
 *
 * All numbers of things count from 1; 0 is none. Strings are those of base/strings.h: 0 is empty. */
#include "base/strings.h"
#include "pprof/model.h"
#include "report/tuples.h"

struct report_page_tables {
    struct heapprof_mem mem;          /* its own account */
    uint32_t type_count;
    struct heapprof_strings strings;
    const char *directory;            /* where the application is (own.h), or NULL */
    struct report_tuples files;       /* name, gem: strings (own.h); whether it is the application's own */
    struct report_tuples functions;   /* name: a string, file, the line it begins at or 0 */
    struct report_tuples nodes;       /* parent, function, line or 0; a parent comes before its children */
    struct report_tuples labels;      /* key, text: strings, number's upper and lower half, unit: a string */
    struct report_tuples sets;        /* the set without its last label, that label */
    struct report_tuples rows;        /* node, set */
    int64_t  *values;                 /* of a row's type: [(row - 1) * type_count + type] */
    size_t    values_capacity;
    struct report_tuples paths;       /* a node, and a location called there */
    uint32_t *path_ends;              /* by path: the location's innermost node */
    size_t    path_ends_capacity;
};

/* Empty tables for values of so many types. directory has to stay. */
void report_page_tables_init(struct report_page_tables *tables, uint32_t type_count, const char *directory);
void report_page_tables_free(struct report_page_tables *tables);

/* Adds the samples of a model times sign, 1 or -1. types: for each type of the model, which one of the
 * tables' it is; type_count: none. False: no memory. */
bool report_page_tables_add(struct report_page_tables *tables, const struct heapprof_model *model,
                            const uint32_t *types, int sign);

/* If there are more nodes than that, those go that are under a 50,000th of all in every type: their
 * rows then belong to who called them. If there are more rows than that, those that are under a
 * millionth in every type lose their labels, and so become one at each node. False: no memory. */
bool report_page_tables_fold(struct report_page_tables *tables, uint32_t most_nodes, uint32_t most_rows);

#endif
