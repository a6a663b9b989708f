#ifndef HEAPPROF_REPORT_SARIF_H
#define HEAPPROF_REPORT_SARIF_H
/* Writes the parts of SARIF 2.1.0 (OASIS) that all kinds of findings share. A function writes
 * members of an object that is open, or whole elements of an array. */
#include "report/json.h"

/* The beginning and the end of the file. The runs stand between them. */
#define REPORT_SARIF_BEGIN \
    "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\"," \
    "\"version\":\"2.1.0\",\"runs\":["
#define REPORT_SARIF_END   "]}\n"

struct report_sarif_rule {
    const char *id, *description;
};

/* Writes a member of a run: the tool that made it, and its rules. */
void report_sarif_tool(struct report_json *json, const char *name,
                       const struct report_sarif_rule *rules, size_t count);

/* Writes the first members of a result. The caller writes its message next. */
void report_sarif_begin_result(struct report_json *json, const char *rule, const char *level);

/* Writes a member {text}. */
void report_sarif_message(struct report_json *json, const char *key, const char *text);

struct report_sarif_place {
    const char *file; /* not written if NULL or longer than 4096 bytes; an absolute path becomes a
                         URI file://... */
    int64_t  line, column; /* from 1; 0: not known */
    const char *function; /* NULL: not written */
    const char *message;  /* what is at this place; NULL: not written */
};

/* Writes an element of an array, or a value. */
void report_sarif_location(struct report_json *json, const struct report_sarif_place *place);

/* Writes a member of a result: a user has accepted the finding, in a comment in the source or
 * elsewhere. */
void report_sarif_suppression(struct report_json *json, bool in_source, const char *why);

#endif
