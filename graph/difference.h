#ifndef GRAPH_DIFFERENCE_H
#define GRAPH_DIFFERENCE_H
/* What has grown between dumps of one process, and where, as a bank statement explains a balance:
 * each byte of the growth is in exactly one row.
 *
 *     first dump    last dump
 *        40 B          40 B      an object that both have: a survivor. Its own growth is in the row
 *                                of its place
 *         -            40 B      a new object: in the row of its holder, the nearest survivor that
 *                                dominates it in the last dump
 *        40 B           -        an object that is gone: in the row of the nearest survivor that
 *                                dominated it
 *
 * Survivors are the same objects, not objects with the same name: a reference that is added or
 * goes away changes no row. A queue whose elements come and go is one row, whose new and freed
 * bytes cancel out. A row stands for all holders of one pattern in the last dump. Where the
 * holder is a part of the program's structure (a class, a thread, a root), each name and class
 * below it has a row of its own. Names that hold little each, of one kind, have one together. */
#include "base/strings.h"
#include "graph/patterns.h"

#define GRAPH_DUMPS_MOST 8

struct graph_dump {
    struct graph *graph;
    const struct graph_dominators *dominators;
    const struct graph_tree *tree; /* the dominator tree */
};

struct graph_growth {
    uint64_t bytes[GRAPH_DUMPS_MOST];   /* by dump: of all that is in this row */
    uint64_t new_objects, new_bytes;    /* in the last dump, but not in the first */
    uint64_t freed_objects, freed_bytes; /* in the first dump, but not in the last */
    int64_t  grown;              /* bytes that survivors became larger; negative: smaller */
    uint32_t holder;             /* its pattern in the last dump; 0 for the roots */
    uint32_t kind, class_name, name; /* below a holder of the program's structure: the kind of
                                        label, the class and the label's name (in strings). Of
                                        threads also where they were started. Otherwise 0 */
    uint32_t names;              /* how many were gathered in it; 0 or 1 if it has one */
    bool     structure;
    uint32_t survivor; /* a holder in the last dump, the one that grew most; 0 if no object of the
                          row is a survivor */
    int64_t  survivor_grown;     /* bytes that it became larger */
    uint32_t grown_survivors;    /* how many holders became larger */
    uint32_t
        fresh; /* the new object directly below a holder that retains most; 0 if there is none */
    uint64_t fresh_retained;
    uint32_t fresh_count;        /* new objects directly below a holder */
};

struct graph_difference {
    struct heapprof_mem mem;
    struct heapprof_strings strings;
    struct graph_patterns patterns; /* of the last dump */
    struct graph_growth *all;
    size_t   capacity;
    uint32_t count;
    struct heapprof_index index;
    size_t   dump_count;
    uint32_t *rows;              /* by object of the last dump: row + 1 */
    uint8_t  *survived;          /* by object of the last dump: it was in the first one */
    uint32_t *last;              /* by object of the first dump: the same one in the last dump; 0 if
                                    it is gone */
    uint64_t alive[GRAPH_DUMPS_MOST]; /* bytes, by dump */
    int64_t  least;              /* bytes; a row that grew or shrank less is not worth telling */
    const char *inexact;         /* why objects were paired by their places; NULL if the dumps say
                                    which is which */
};

/* Compares 2 to GRAPH_DUMPS_MOST dumps, one taken after the other. Returns false if there is no
 * memory; the caller frees the difference either way, before the graphs. */
bool graph_difference_make(struct graph_difference *difference, const struct graph_dump *dumps,
                           size_t count);
void graph_difference_free(struct graph_difference *difference);

/* Bytes from the first dump to the last; the row number of the difference. */
int64_t graph_growth_bytes(const struct graph_difference *difference, uint32_t row);

/* Bytes from the last dump but one to the last. */
int64_t graph_growth_later(const struct graph_difference *difference, uint32_t row);

/* True if the row grew from each dump to the next. */
bool graph_growth_each_time_p(const struct graph_difference *difference, uint32_t row);

#endif
