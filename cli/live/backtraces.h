#ifndef HEAPPROF_CLI_BACKTRACES_H
#define HEAPPROF_CLI_BACKTRACES_H
/* Writes what all threads of a target are doing, as MRI prints backtraces, or as JSON. */
#include "attach/look.h"
#include "report/json.h"

/* Looks once. If fibers is true, it also looks at fibers that do not run. Writes to json, or to
 * out if json is NULL. Returns false if nothing was written; error says why. */
bool cli_backtraces(struct attach_target *target, enum attach_look_mode mode, bool fibers,
                    FILE *out, struct report_json *json, char error[ATTACH_TARGET_ERROR_MAX]);

#endif
