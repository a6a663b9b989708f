/* overview.c - writes two tables of the same profiles, one under the other, and then the growth
 * that is in neither. */
#include "report/overview.h"

#include <string.h>

#include "report/unsampled.h"

#define OWN_LINES 10

/* Returns whether the profiles say which code is the application's. */
static bool
own_known_p(const struct report_question *question, const struct heapprof_model *model)
{
    return question->directory || rb_heapprof_model_comment(model, "directory: ");
}

/* Returns whether the question is about the growth of all memory in use. */
static bool
growth_of_all_p(const struct report_groups *groups)
{
    const struct heapprof_model *model = groups->models[0];
    const char *type = rb_heapprof_model_string(model, model->types[groups->types[0]].type, NULL);

    return groups->columns > 1 && !groups->question.focus && !groups->question.ignore &&
           !strcmp(type, "inuse_space");
}

bool
report_overview(FILE *out, const struct report_question *question,
                const struct heapprof_model *const *models, const uint32_t *types,
                uint32_t profiles, const struct report_look *look)
{
    struct report_question own = *question, sites = *question;
    struct report_look own_look = *look, sites_look = *look;
    struct report_groups groups;
    bool room = true, shown = false;

    own.group = REPORT_APP;
    sites.group = question->sort == REPORT_SORT_CUMULATIVE ? REPORT_FUNCTION : REPORT_SITE;
    if (own_known_p(question, models[profiles - 1])) {
        own_look.limit = look->limit > 0 && look->limit < OWN_LINES ? look->limit : OWN_LINES;
        own_look.title = look->ruby ? "by line of the application (group: :app):"
                                    : "by line of the application (--group app):";
        own_look.brief = true;
        room = report_groups_make(&groups, &own, models, types, profiles);
        shown = room && report_any_own_p(&groups);
        if (shown) room = report_table_text(out, &groups, &own_look);
        report_groups_free(&groups);
    }
    if (!room) return false;
    if (shown) {
        sites_look.title = sites.group == REPORT_SITE ? "by call site:" : "by function:";
        sites_look.headless = true;
        putc('\n', out);
    }
    room = report_groups_make(&groups, &sites, models, types, profiles) &&
           report_table_text(out, &groups, &sites_look) &&
           (!growth_of_all_p(&groups) || report_unsampled(out, question, models, profiles));
    report_groups_free(&groups);
    return room;
}
