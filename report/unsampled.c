/* unsampled.c - finds growth of the allocator's blocks that no sample shows.
 *
 *     rungs of RSS     malloc, iseqs, method tables, symbol table     measured
 *   - samples          inuse_malloc_space                             estimated
 *     = asked of malloc by extensions and libraries, and what each block costs the allocator
 *
 * Growth is compared, because memory from before the start is in no sample either. A small growth
 * is not reported, because of the last term: the allocator adds up to a half to a small block.
 */
#include "report/unsampled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/rows.h"
#include "report/text.h"

#define SIGMAS 4      /* the user has not asked for it, so it has to be certain */
#define PART 0.25     /* of the growth of the samples */
#define LEAST 1048576 /* bytes */

static const char *const rungs[] = { "[VM] malloc", "[VM] iseqs", "[VM] method tables",
                                     "[VM] symbol table" };

/* Finds the type of that name in each profile. Returns false if a profile does not have it. */
static bool
find_types(const struct heapprof_model *const *models, uint32_t profiles, const char *name,
           uint32_t *types)
{
    for (uint32_t i = 0; i < profiles; i++) {
        types[i] = rb_heapprof_model_type(models[i], name);
        if (types[i] == models[i]->type_count) return false;
    }
    return true;
}

static double
growth_of(const struct report_groups *groups, uint32_t row)
{
    return report_figures_of(groups, row, groups->columns - 1)->value -
           report_figures_of(groups, row, 0)->value;
}

static bool
rung_p(const char *title)
{
    for (size_t i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++)
        if (!strcmp(title, rungs[i])) return true;
    return false;
}

/* Computes the growth of those rungs. Returns false if there is no memory. */
static bool
growth_of_rungs(const struct report_groups *groups, double *growth)
{
    for (uint32_t row = 1; row <= groups->digests.count; row++) {
        char *title = report_row_title(groups, row);
        if (!title) return false;
        if (rung_p(title)) *growth += growth_of(groups, row);
        free(title);
    }
    return true;
}

/* Adds up the values of that type. Sets found to whether all profiles have the type. The caller
 * may free groups in either case. */
static bool
add_up(struct report_groups *groups, struct report_question question, const char *type,
       const struct heapprof_model *const *models, uint32_t profiles, bool *found)
{
    uint32_t *types = malloc(profiles * sizeof(*types));
    bool room = types != NULL;

    *found = room && find_types(models, profiles, type, types);
    room = report_groups_make(groups, &question, models, types, *found ? profiles : 0) && room;
    free(types);
    return room;
}

bool
report_unsampled_find(struct report_unsampled *unsampled, const struct report_question *question,
                      const struct heapprof_model *const *models, uint32_t profiles)
{
    struct report_question blocks = *question, resident = *question;
    struct report_groups sampled, measured;
    double growth = 0, deviation;
    bool have_blocks, have_rss, room;

    *unsampled = (struct report_unsampled){0};
    blocks.group = REPORT_CLASS;
    resident.group = REPORT_FUNCTION;
    room = add_up(&sampled, blocks, "inuse_malloc_space", models, profiles, &have_blocks);
    room = add_up(&measured, resident, "rss_space", models, profiles, &have_rss) && room;
    room = room && growth_of_rungs(&measured, &growth);
    if (room && have_blocks && have_rss) {
        deviation = sqrt(report_growth_variance(&sampled, 0));
        growth -= growth_of(&sampled, 0);
        if (growth > LEAST && growth > SIGMAS * deviation &&
            growth > PART * growth_of(&sampled, 0)) {
            *unsampled = (struct report_unsampled){growth, 2 * deviation};
        }
    }
    report_groups_free(&sampled);
    report_groups_free(&measured);
    return room;
}

void
report_unsampled_put(FILE *out, const struct report_unsampled *unsampled)
{
    char amount[REPORT_AMOUNT_MAX], off[REPORT_AMOUNT_MAX];

    report_amount(amount, unsampled->growth, "bytes");
    report_amount(off, unsampled->error, "bytes");
    fprintf(out,
            "Besides, C code holds %s \xc2\xb1 %s more that no sample is of: extensions or "
            "libraries that call malloc\n"
            "themselves. Profiles with malloc=all (heapprof run --malloc=all) show where.\n",
            amount, off);
}
