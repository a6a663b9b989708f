#ifndef HEAPPROF_CLI_BACKTRACES_H
#define HEAPPROF_CLI_BACKTRACES_H
/* Writes what all threads of a target are doing, as MRI prints backtraces, or as JSON. */
#include "attach/look.h"
#include "report/json.h"

struct cli_backtraces_options {
    enum attach_look_mode mode;
    enum attach_native_which native;
    bool fibers; /* also fibers that do not run */
    bool locals; /* also the local variables of frames, by name and class */
    bool values; /* and their values, if they are short */
};

/* Looks once. Writes to json, or to out if json is NULL. Returns false if nothing was written;
 * error says why. */
bool cli_backtraces(struct attach_target *target, const struct cli_backtraces_options *wanted,
                    FILE *out, struct report_json *json, char error[ATTACH_TARGET_ERROR_MAX]);

/* Writes where a stack is: its innermost frame of the application, or its innermost frame if none
 * is of the application: "app/cart.rb:12 in 'Cart#add'". */
void cli_backtraces_where(FILE *out, struct attach_looks *looks,
                          const struct attach_look_stack *stack);

#endif
