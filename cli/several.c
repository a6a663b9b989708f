/* several.c - adds the operands up, and checks that the older of two profiles comes first. */
#include "cli/several.h"

#include <stdlib.h>
#include <string.h>

#include "cli/processes.h"
#include "pprof/combine.h"

void
cli_sum_name(char text[CLI_SUM_NAME_MAX], const char *name, size_t used, size_t given)
{
    if (given == 1) snprintf(text, CLI_SUM_NAME_MAX, "%s", name);
    else if (used == given) snprintf(text, CLI_SUM_NAME_MAX, "%zu files added up", given);
    else if (used == 1)
        snprintf(text, CLI_SUM_NAME_MAX, "%s (the last of %zu files of its process)", name, given);
    else
        snprintf(text, CLI_SUM_NAME_MAX,
                 "%zu processes added up (the last file of each, of %zu files)", used, given);
}

struct heapprof_model *
cli_add_up(const struct cli *cli, const struct heapprof_model *const *models,
           const char *const *names, size_t count)
{
    char error[HEAPPROF_COMBINE_ERROR_MAX];
    int *signs = malloc(count * sizeof(*signs));
    struct heapprof_model *model;

    if (!signs) {
        cli_wrong(cli, "no memory");
        return NULL;
    }
    for (size_t i = 0; i < count; i++) signs[i] = 1;
    model = rb_heapprof_combine(models, signs, names, count, error);
    if (!model) cli_wrong(cli, "%s", error);
    free(signs);
    return model;
}

/* Makes the sum of the models that were read. A model that is the sum itself is taken out of
 * models. */
static bool
make_sum(struct cli_sum *sum, const struct cli *cli, struct heapprof_model **models,
         const char **names, size_t count)
{
    struct cli_processes last;
    uint32_t *types = calloc(count, sizeof(*types)); /* the sum has all types */
    bool room = types && cli_processes_last(&last, models, types, names, (uint32_t)count);

    if (!room) cli_wrong(cli, "no memory");
    else if (last.count == 1) {
        size_t at = 0;
        while (models[at] != last.models[0]) at++;
        sum->model = models[at];
        models[at] = NULL;
    }
    else sum->model = cli_add_up(cli, last.models, names, last.count);
    if (sum->model) {
        sum->given = count;
        sum->used = last.count;
        cli_sum_name(sum->name, names[0], last.count, count);
    }
    if (types) cli_processes_free(&last);
    free(types);
    return sum->model != NULL;
}

bool
cli_sum_read(struct cli_sum *sum, struct cli *cli)
{
    size_t count = cli->operand_count, read = 0;
    struct heapprof_model **models = calloc(count, sizeof(*models));
    const char **names = calloc(count, sizeof(*names));
    bool done = false;

    *sum = (struct cli_sum){0};
    if (!models || !names) cli_wrong(cli, "no memory");
    else {
        read = cli_read_operands(cli, models, names);
        done = read == cli->operand_count && make_sum(sum, cli, models, names, read);
    }
    while (read > 0) rb_heapprof_model_free(models[--read]);
    free(models);
    free(names);
    return done;
}

void
cli_sum_free(struct cli_sum *sum)
{
    rb_heapprof_model_free(sum->model);
}

static int
by_time(const void *a, const void *b)
{
    const struct heapprof_model *const *one = a, *const *other = b;

    return ((*one)->time_ns > (*other)->time_ns) - ((*one)->time_ns < (*other)->time_ns);
}

bool
cli_sort_by_time(struct heapprof_model **models, const char **names, size_t count)
{
    struct heapprof_model **sorted = malloc((count + 1) * sizeof(*sorted));
    const char **sorted_names = malloc((count + 1) * sizeof(*sorted_names));
    bool room = sorted && sorted_names;

    if (room && count > 0) {
        memcpy(sorted, models, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), by_time);
        for (size_t i = 0; i < count; i++) {
            size_t from = 0;
            while (models[from] != sorted[i]) from++;
            sorted_names[i] = names[from];
        }
        memcpy(models, sorted, count * sizeof(*models));
        memcpy(names, sorted_names, count * sizeof(*names));
    }
    free(sorted);
    free(sorted_names);
    return room;
}

void
cli_check_order(const struct cli *cli, const char *old_name, const struct heapprof_model *old,
                const char *name, const struct heapprof_model *model)
{
    if (model->time_ns == 0 || old->time_ns <= model->time_ns) return;
    cli_wrong(cli, "%s was taken after %s: OLD comes before NEW", old_name, name);
}
