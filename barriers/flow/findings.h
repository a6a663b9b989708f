#ifndef HEAPPROF_BARRIERS_FINDINGS_H
#define HEAPPROF_BARRIERS_FINDINGS_H
/* What is told: each place once, in the order of files and lines. */
#include "barriers/program.h"

struct wb_seen;
struct wb_told;

/* How sure it is that the store needs a barrier, from least to most. */
enum wb_certainty {
    WB_HARMLESS,   /* it needs none as long as the code around it stays as it is: the object is new, the value a root */
    WB_LIKELY,     /* which object it is stored into is not seen */
    WB_CERTAIN
};

/* How a function that knows the object comes to a store of one that does not: by a call. */
struct wb_call_site {
    const char          *object;          /* its name there; NULL: it has none */
    const char          *field;           /* "p->first": what is stored to, if no GC can be between that and the call's end */
    struct wb_place      place;           /* of the call */
    const struct wb_call_site *next;
};

struct wb_finding {
    struct wb_place            place;
    enum wb_certainty               certainty;
    const struct wb_function  *function;
    const struct wb_data_type *data_type;
    const struct wb_record    *record;    /* the struct that the field's name begins in; NULL: none is known */
    const char                *field;     /* "c.nth" */
    const char                *parent;    /* the variable that has the object; NULL: not seen */
    const char                *object;    /* the same, if it is a variable of the function that stores */
    const struct wb_call_site       *call_sites;      /* if object is NULL: all that are seen */
    const char                *rest;      /* of the field's name, in what is copied, if that is more than this VALUE: ".nth" */
    const char                *why;
    const char                *accepted;  /* the reason why it is held to be none; NULL: nobody said so */
    bool                       in_source; /* by a comment */
    int64_t                    offset, size; /* of the field in the object's data, bytes; offset negative: not known */
    const struct wb_seen      *seen;      /* what the collector saw of it; NULL: nothing */
    unsigned                   fits;      /* so many findings fit what it saw */
    const struct wb_told      *told;      /* a barrier that told of references there; NULL: none is known */
    uint64_t                   told_count; /* of how many, together with others of its kind */
    bool                       refuted;   /* those are of barriers of this store alone, and none was missed there */
};

struct wb_findings {
    struct wb_arena          *arena;
    struct wb_finding       **all;
    size_t                    count, capacity;
    bool                      truncated;  /* there is more than can be told */
};

/* More are not told. */
#define WB_FINDINGS_MOST 10000

/* Adds it, or raises how sure one of the same place and field is. */
void wb_add_finding(struct wb_findings *findings, const struct wb_finding *finding);

void wb_sort_findings(struct wb_findings *findings);

#endif
