/* holder.c - "heapprof-42-at85-1.pb.gz" has its dump at "heapprof-42-at85-1.rbgraph", unless memory
 * was too short for one, or it was removed. The first and the last that are there are compared, as
 * `heapprof leak` compares two. */
#include "cli/postmortem/holder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/kinds.h"
#include "cli/leak/verdict.h"

#define PROFILE ".pb.gz"
#define DUMP ".rbgraph"

/* Returns false if there is no memory. *path is NULL if there is no dump. */
static bool
find_beside(const char *profile, char **path)
{
    size_t length = strlen(profile), suffix = strlen(PROFILE);

    *path = NULL;
    if (length > suffix && !strcmp(profile + length - suffix, PROFILE)) length -= suffix;
    char *name = malloc(length + sizeof(DUMP));
    if (!name) return false;
    memcpy(name, profile, length);
    strcpy(name + length, DUMP);
    if (access(name, R_OK) == 0 && cli_kind_of_file(name) == CLI_KIND_GRAPH) *path = name;
    else free(name);
    return true;
}

bool
cli_holder_find(struct cli_holder *holder, const char *const *profiles, size_t count)
{
    bool room = true;

    *holder = (struct cli_holder){ 0 };
    for (size_t i = 0; room && i < count && !holder->first; i++)
        room = find_beside(profiles[i], &holder->first);
    for (size_t i = count; room && i-- > 0 && !holder->last; )
        room = find_beside(profiles[i], &holder->last);
    return room;
}

void
cli_holder_free(struct cli_holder *holder)
{
    free(holder->first);
    free(holder->last);
}

bool
cli_holder_put(const struct cli_holder *holder, const struct cli *cli)
{
    char *paths[] = { holder->first, holder->last };
    struct cli_leak_verdict verdict;
    bool room = true;

    if (!holder->first || !holder->last || !strcmp(holder->first, holder->last)) return true;
    if (cli_leak_find(&verdict, cli, paths, 2) == CLI_DONE && verdict.row_count > 0) {
        verdict.outside = 0; /* the table of kinds has it */
        room = cli_leak_put_line(stdout, &verdict, "Who holds what grew");
    }
    cli_leak_free(&verdict);
    return room;
}
