/* overview.c - writes two tables of the same profiles, and then the growth that is in neither. */
#include "report/overview.h"

#include <string.h>

#include "report/table_json.h"
#include "report/unsampled.h"

#define OWN_LINES 10

/* Both tables, and how they are shown. */
struct overview {
    struct report_groups own, sites;
    struct report_look own_look, sites_look;
    bool own_shown;
    struct report_unsampled unsampled;
};

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

    return groups->columns > 1 && !report_question_narrow_p(&groups->question) &&
           !strcmp(type, "inuse_space");
}

/* Returns false if there is no memory. The caller frees the overview either way. */
static bool
make(struct overview *overview, const struct report_question *question,
     const struct heapprof_model *const *models, const uint32_t *types, uint32_t profiles,
     const struct report_look *look)
{
    struct report_question own = *question, sites = *question;
    bool room = true;

    *overview = (struct overview){.own_look = *look, .sites_look = *look};
    own.group = REPORT_APP;
    sites.group = question->sort == REPORT_SORT_CUMULATIVE ? REPORT_FUNCTION : REPORT_SITE;
    if (own_known_p(question, models[profiles - 1])) {
        overview->own_look.limit =
            look->limit > 0 && look->limit < OWN_LINES ? look->limit : OWN_LINES;
        overview->own_look.brief = true;
        room = report_groups_make(&overview->own, &own, models, types, profiles);
        overview->own_shown = room && report_any_own_p(&overview->own);
    }
    room = room && report_groups_make(&overview->sites, &sites, models, types, profiles);
    if (room && growth_of_all_p(&overview->sites))
        room = report_unsampled_find(&overview->unsampled, question, models, profiles);
    return room;
}

static void
free_overview(struct overview *overview)
{
    if (overview->own.models) report_groups_free(&overview->own);
    if (overview->sites.models) report_groups_free(&overview->sites);
}

static bool
put(FILE *out, struct overview *overview, report_table_i *table, const struct report_look *look)
{
    if (overview->own_shown) {
        overview->own_look.title = look->ruby ? "by line of the application (group: :app):"
                                              : "by line of the application (--group app):";
        if (!table(out, &overview->own, &overview->own_look)) return false;
        overview->sites_look.title = overview->sites.question.group == REPORT_SITE
                                         ? "by call site:" : "by function:";
        overview->sites_look.headless = true;
        putc('\n', out);
    }
    if (!table(out, &overview->sites, &overview->sites_look)) return false;
    if (overview->unsampled.growth > 0) {
        putc('\n', out);
        report_unsampled_put(out, &overview->unsampled);
    }
    return true;
}

bool
report_overview(FILE *out, const struct report_question *question,
                const struct heapprof_model *const *models, const uint32_t *types,
                uint32_t profiles, const struct report_look *look, report_table_i *table)
{
    struct overview overview;
    bool room = make(&overview, question, models, types, profiles, look) &&
                put(out, &overview, table, look);

    free_overview(&overview);
    return room;
}

static bool
put_json(FILE *out, struct overview *overview)
{
    struct report_json json = {.out = out};
    bool room;

    report_json_begin(&json, '{');
    room = report_table_json_members(&json, &overview->sites, &overview->sites_look);
    if (room && overview->own_shown) {
        overview->own_look.headless = true;
        report_json_member_begin(&json, "application", '{');
        room = report_table_json_members(&json, &overview->own, &overview->own_look);
        report_json_end(&json, '}');
    }
    if (overview->unsampled.growth > 0) {
        report_json_member_begin(&json, "unsampled", '{');
        report_json_member_number(&json, "growth", overview->unsampled.growth);
        report_json_member_number(&json, "error", overview->unsampled.error);
        report_json_end(&json, '}');
    }
    report_json_end(&json, '}');
    putc('\n', out);
    return room;
}

bool
report_overview_json(FILE *out, const struct report_question *question,
                     const struct heapprof_model *const *models, const uint32_t *types,
                     uint32_t profiles, const struct report_look *look)
{
    struct overview overview;
    bool room = make(&overview, question, models, types, profiles, look) &&
                put_json(out, &overview);

    free_overview(&overview);
    return room;
}
