#ifndef HEAPPROF_BARRIERS_FINDINGS_H
#define HEAPPROF_BARRIERS_FINDINGS_H
/* Findings: stores without a barrier, each place once, ordered by file and line. */
#include "barriers/program.h"

struct wb_seen;
struct wb_told;

/* How certain it is that the store needs a barrier, from least to most. */
enum wb_certainty {
    WB_HARMLESS,   /* it needs none as long as the code around it stays: the object is new, or
                    * the value a root */
    WB_LIKELY,     /* it is not known into which object it stores */
    WB_CERTAIN
};

/* A call by which a function that has a name for the object reaches a store in one that has
 * none. */
struct wb_call_site {
    const char          *object;          /* the object's name at the call; NULL if it has none */
    const char          *field;           /* what is stored to, as "p->first"; NULL if a GC may
                                           * start before the call returns */
    struct wb_place      place;           /* of the call */
    const struct wb_call_site *next;
};

struct wb_finding {
    struct wb_place            place;
    enum wb_certainty               certainty;
    const struct wb_function  *function;
    const struct wb_data_type *data_type;
    const struct wb_record    *record;    /* the struct in which the field's name begins; NULL if
                                           * not known */
    const char                *field;     /* "c.nth" */
    const char                *parent;    /* the variable that holds the object; NULL if not
                                           * known */
    const char                *object;    /* the same, if it belongs to the function that stores */
    const struct wb_call_site *call_sites; /* if object is NULL: the known calls that lead here */
    const char                *rest;      /* of a copied struct: the end of the field's name, as
                                           * ".nth" */
    const char                *why;
    const char                *accepted;  /* the reason for which somebody accepted it; NULL if
                                           * nobody did */
    bool                       in_source; /* it was accepted by a comment */
    int64_t                    offset, size; /* of the field in the data, bytes; offset is
                                              * negative if not known */
    const struct wb_seen      *seen;      /* what the collector missed here; NULL if nothing */
    unsigned                   fits;      /* number of findings that fit what the collector
                                           * missed */
    const struct wb_told      *told;      /* a barrier that the collector saw for this field;
                                           * NULL if none */
    uint64_t                   told_count; /* references for which it and its like were called */
    bool                       refuted;   /* those barriers belong to this store alone, and none
                                           * was missed in the field */
};

struct wb_findings {
    struct wb_arena          *arena;
    struct wb_finding       **all;
    size_t                    count, capacity;
    bool                      truncated;  /* there were more findings than WB_FINDINGS_MOST, or a
                                           * limit of the analysis was hit */
};

/* The limit for one extension. */
#define WB_FINDINGS_MOST 10000

/* Adds a finding. If there is one for the same place and field, keeps the more certain one. */
void wb_add_finding(struct wb_findings *findings, const struct wb_finding *finding);

void wb_sort_findings(struct wb_findings *findings);

#endif
