#ifndef HEAPPROF_REPORT_TABLE_JSON_H
#define HEAPPROF_REPORT_TABLE_JSON_H
/* A table as members of a JSON object. */
#include "report/json.h"
#include "report/table.h"

/* Writes members of an object that is open. A headless table has only its rows. Returns false if
 * there is no memory. */
bool report_table_json_members(struct report_json *json, const struct report_groups *groups,
                               const struct report_look *look);

#endif
