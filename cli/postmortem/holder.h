#ifndef HEAPPROF_CLI_HOLDER_H
#define HEAPPROF_CLI_HOLDER_H
/* Who keeps alive what grew: of the dumps of all objects that stand beside profiles. */
#include "cli/cli.h"

struct cli_holder {
    char *first, *last;          /* paths of dumps; NULL: no dump; equal: one dump */
};

/* Finds the dumps beside these profiles, the oldest first. Returns false if there is no memory. The
 * caller frees it either way. */
bool cli_holder_find(struct cli_holder *holder, const char *const *profiles, size_t count);
void cli_holder_free(struct cli_holder *holder);

/* Writes to stdout which holder grew most between the two; nothing if none grew, if there are no
 * two, or, after telling the user, if they cannot be read. Returns false if there is no memory. */
bool cli_holder_put(const struct cli_holder *holder, const struct cli *cli);

#endif
