#ifndef HEAPPROF_REPORT_SARIF_H
#define HEAPPROF_REPORT_SARIF_H
/* Parts of SARIF 2.1.0 (OASIS) that findings of all kinds have alike: members of an object that is open, or whole elements of an
 * array. */
#include "report/json.h"

/* The file around its runs, which stand between these with commas. */
#define REPORT_SARIF_BEGIN "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":["
#define REPORT_SARIF_END   "]}\n"

struct report_sarif_rule {
    const char *id, *description;
};

/* A run's member: who it is by, and what it may say. */
void report_sarif_tool(struct report_json *json, const char *name, const struct report_sarif_rule *rules, size_t count);

/* The first members of a result; its message comes next. */
void report_sarif_begin_result(struct report_json *json, const char *rule, const char *level);

/* A member {text}. */
void report_sarif_message(struct report_json *json, const char *key, const char *text);

struct report_sarif_place {
    const char *file;     /* NULL, or of more than 4096 bytes: none is told. An absolute one becomes a URI file://... */
    int64_t  line, column; /* from 1; 0: not known */
    const char *function; /* NULL: none is told */
    const char *message;  /* what is there; NULL: nothing is said */
};

/* An element, or a value. */
void report_sarif_location(struct report_json *json, const struct report_sarif_place *place);

/* A result's member: somebody has said that it is none. By a comment in the source, or elsewhere. */
void report_sarif_suppression(struct report_json *json, bool in_source, const char *why);

#endif
