#ifndef HEAPPROF_BARRIERS_REMARKS_H
#define HEAPPROF_BARRIERS_REMARKS_H
/* Remarks about types: references that their functions forget, and types that could be
 * WB_PROTECTED. And about global variables that the GC does not know. */
#include "barriers/flow/findings.h"

enum wb_rule {
    WB_MOVED,       /* a reference is marked as movable, and dcompact does not update it */
    WB_UNMARKED,    /* a reference is stored, and dmark does not mark it */
    WB_UNPROTECTED, /* the type could be WB_PROTECTED */
    WB_UNREGISTERED, /* a global variable holds a reference that the GC does not know */
    WB_OUTSIDE,      /* the same of memory of malloc */
    WB_RULES
};

enum wb_severity {
    WB_NOTE,        /* reported with --all only */
    WB_WARNING,     /* another place may hold the reference */
    WB_ERROR        /* certainly wrong */
};

/* The name and the description of a rule, for programs. worst: of what it finds. */
struct wb_rule_text {
    const char      *id, *description;
    enum wb_severity worst;
};
extern const struct wb_rule_text wb_rules[WB_RULES];

struct wb_remark {
    enum wb_rule               rule;
    struct wb_place            place;
    const struct wb_data_type *data_type; /* NULL if the remark is about a variable */
    const char                *field;   /* NULL if the remark is about the type */
    const char                *text;    /* the message */
    enum wb_severity           severity;
    struct wb_remark          *next;
};

/* True if the type could be WB_PROTECTED once its stores have barriers: it has no references,
 * or all of them are in fields whose stores are found. */
bool wb_could_be_protected_p(const struct wb_data_type *type);

/* True if that store would then need a barrier: it is into the data of this type, or into a
 * struct that this type shares with others. */
bool wb_lacking_p(const struct wb_data_type *type, const struct wb_finding *finding);

/* All remarks, ordered by type; those about variables come last. findings: those of the same
 * program. */
const struct wb_remark *wb_make_remarks(struct wb_program *program,
                                        const struct wb_findings *findings);

/* "error", "warning" or "note". */
const char *wb_severity_name(const struct wb_remark *remark);

/* The number of remarks that are no notes. */
size_t wb_count_faults(const struct wb_remark *remarks);

#endif
