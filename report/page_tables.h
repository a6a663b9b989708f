#ifndef HEAPPROF_REPORT_PAGE_TABLES_H
#define HEAPPROF_REPORT_PAGE_TABLES_H
/* The tables behind the page of `heapprof view`: one profile, or the difference of two.
 *
 * Entries of every table are numbered from 1; 0 stands for no entry. Strings are those of
 * base/strings.h: 0 is the empty string. */
#include "base/strings.h"
#include "pprof/model.h"
#include "report/tuples.h"

struct report_page_tables {
    struct heapprof_mem mem;          /* the account of these tables */
    uint32_t type_count;
    struct heapprof_strings strings;
    const char *directory;            /* where the application is (own.h), or NULL */
    struct report_tuples files;       /* name, gem, 1 if own (own.h), short name */
    struct report_tuples functions;   /* name: a string, file, the line it begins at or 0 */
    struct report_tuples
        nodes; /* parent, function, line or 0; a parent comes before its children */
    struct report_tuples
        labels; /* key, text: strings, number's upper and lower half, unit: a string */
    struct report_tuples sets;        /* the set without its last label, that label */
    struct report_tuples rows;        /* node, set */
    int64_t  *values;                 /* by row and type: [(row - 1) * type_count + type] */
    size_t    values_capacity;
    struct report_tuples paths;       /* a node, and a location that was called there */
    uint32_t *path_ends;              /* by path: the innermost node of that location */
    size_t    path_ends_capacity;
};

/* Makes empty tables for values of type_count types. directory has to outlive them. */
void report_page_tables_init(struct report_page_tables *tables, uint32_t type_count,
                             const char *directory);
void report_page_tables_free(struct report_page_tables *tables);

/* Adds the samples of a model, multiplied by sign, which is 1 or -1. types says for each type of
 * the model which type of the tables it is; type_count means that the tables do not have it.
 * Returns false if there is no memory. */
bool report_page_tables_add(struct report_page_tables *tables, const struct heapprof_model *model,
                            const uint32_t *types, int sign);

/* Makes tables of one type of the model, and adds its samples. Returns false if there is no memory.
 * To be freed either way. */
bool report_page_tables_add_type(struct report_page_tables *tables,
                                 const struct heapprof_model *model, uint32_t type,
                                 const char *directory);

/* Whose code a function of the tables is (own.h). */
enum report_page_owner {REPORT_PAGE_OTHER, REPORT_PAGE_OWN, REPORT_PAGE_GEM};
enum report_page_owner report_page_tables_owner(const struct report_page_tables *tables,
                                                uint32_t function);

/* Makes large tables smaller. If there are too many nodes, each node goes that is under a
 * 50,000th of the total in every type. Its rows then belong to its caller. If there are too many
 * rows, each row loses its labels that is under a millionth in every type. Such rows of one node
 * become one row. Returns false if there is no memory. */
bool
report_page_tables_fold(struct report_page_tables *tables, uint32_t most_nodes, uint32_t most_rows);

#endif
