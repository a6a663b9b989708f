#ifndef HEAPPROF_CLI_BACKTRACES_H
#define HEAPPROF_CLI_BACKTRACES_H
/* What all threads of a target are doing: as MRI prints backtraces, or as JSON. */
#include "attach/look.h"
#include "report/json.h"

/* Looks once; with fibers at those, too, that do not run. Writes to json, unless that is NULL, or else to out. False: error says why nothing was written. */
bool cli_backtraces(struct attach_target *target, enum attach_look_mode mode, bool fibers, FILE *out,
                    struct report_json *json, char error[ATTACH_TARGET_ERROR_MAX]);

#endif
