#ifndef HEAPPROF_BARRIERS_REMARKS_H
#define HEAPPROF_BARRIERS_REMARKS_H
/* What is told of types: references that their functions forget, and whether they could be WB_PROTECTED. */
#include "barriers/flow/findings.h"

enum wb_rule {
    WB_MOVED,       /* a reference is marked as one that may move, and dcompact does not update it */
    WB_UNMARKED,    /* a reference is stored, and dmark does not mark it */
    WB_UNPROTECTED, /* the type could be WB_PROTECTED */
    WB_RULES
};

/* A rule's name and what it is, for programs; whether what it tells is surely wrong: then it is told without --all. */
struct wb_rule_text {
    const char *id, *description;
    bool        error;
};
extern const struct wb_rule_text wb_rules[WB_RULES];

struct wb_remark {
    enum wb_rule               rule;
    const struct wb_data_type *data_type;
    const char                *field;   /* NULL: it is of the type */
    const char                *text;    /* for people */
    struct wb_remark          *next;
};

/* Whether all references of that type are in fields whose stores are seen, or there are none: it could be WB_PROTECTED, if
 * its stores have barriers. */
bool wb_could_be_protected_p(const struct wb_data_type *type);

/* Whether that is a store that would have to have one: into what objects of the type have, perhaps with those of others. */
bool wb_lacking_p(const struct wb_data_type *type, const struct wb_finding *finding);

/* In the order of types; findings: of the same program. */
const struct wb_remark *wb_make_remarks(struct wb_program *program,
                                        const struct wb_findings *findings);

/* How many of them are errors. */
size_t wb_count_remark_errors(const struct wb_remark *remarks);

#endif
