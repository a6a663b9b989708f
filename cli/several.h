#ifndef HEAPPROF_CLI_SEVERAL_H
#define HEAPPROF_CLI_SEVERAL_H
/* The operands as one profile: the sum of all processes, as a server with workers leaves them. */
#include "cli/cli.h"

#define CLI_SUM_NAME_MAX 4200

/* For the description of a command that adds its files up. */
#define CLI_SUM_HELP \
    "Several files are added up, as those of a server's workers. If a process has written\n" \
    "several of them, its last one counts: it has all that is alive."

/* Writes what `used` of the given files are called together. The first of their names is
 * `name`. */
void cli_sum_name(char text[CLI_SUM_NAME_MAX], const char *name, size_t used, size_t given);

struct cli_sum {
    struct heapprof_model *model;
    char   name[CLI_SUM_NAME_MAX];
    size_t given, used; /* files; a file that is not used is an earlier one of its process */
};

/* Returns the sum of models. Returns NULL after telling the user what is wrong. */
struct heapprof_model *cli_add_up(const struct cli *cli,
                                  const struct heapprof_model *const *models,
                                  const char *const *names, size_t count);

/* Reads all operands, and adds up the last file of each process. Returns false after telling the
 * user what is wrong. The caller frees the sum either way. */
bool cli_sum_read(struct cli_sum *sum, struct cli *cli);
void cli_sum_free(struct cli_sum *sum);

/* Puts the files in the order of their times. Returns false if there is no memory. */
bool cli_sort_by_time(struct heapprof_model **models, const char **names, size_t count);

/* Says so if the profile that stands for OLD was taken after the other one. */
void cli_check_order(const struct cli *cli, const char *old_name, const struct heapprof_model *old,
                     const char *name, const struct heapprof_model *model);

#endif
