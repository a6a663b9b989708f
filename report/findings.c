/* findings.c - writes rows as findings, in SARIF and as commands of GitHub's workflows. */
#include "report/findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "report/ranking.h"
#include "report/rows.h"
#include "report/sarif.h"
#include "report/text.h"

struct report_finding {
    const struct report_ranking *ranking;
    struct report_place place; /* file: NULL if it is at no place */
    char *message;
};

typedef void finding_i(void *data, const struct report_finding *finding);

/* Writes "inuse_space grew by 59.0 MB, from 1.95 MB to 61 MB, and kept growing: String". */
static void
put_message(FILE *out, const struct report_ranking *ranking, const struct report_ranked *ranked,
            const char *title)
{
    const struct report_groups *groups = ranking->groups;
    bool many = ranking->last > 0;
    char text[REPORT_AMOUNT_MAX];

    report_amount(text, ranked->value, ranking->unit);
    report_put(out, ranking->type, 0, false);
    fprintf(out, "%s%s", many ? " grew by " : " ", text);
    if (groups->has_errors) {
        report_amount(text, report_error_of(ranking, ranked->row), ranking->unit);
        fprintf(out, " \xc2\xb1 %s", text);
    }
    if (many) {
        report_amount(text, report_figures_of(groups, ranked->row, 0)->value, ranking->unit);
        fprintf(out, ", from %s", text);
        report_amount(text, report_figures_of(groups, ranked->row, ranking->last)->value,
                      ranking->unit);
        fprintf(out, " to %s%s", text, ranked->steady ? ", and kept growing" : "");
    }
    else {
        report_share(text, ranked->value, ranking->whole);
        fprintf(out, ", %s of all", text);
    }
    fputs(": ", out);
    report_put(out, title, 0, false);
}

/* Returns the message in a block from malloc, or NULL if there is no memory. */
static char *
message_of(const struct report_ranking *ranking, const struct report_ranked *ranked)
{
    char *title = report_row_title(ranking->groups, ranked->row), *message = NULL;
    size_t size;
    FILE *out = title ? open_memstream(&message, &size) : NULL;

    if (out) {
        put_message(out, ranking, ranked, title);
        fclose(out);
    }
    free(title);
    return message;
}

/* Calls back for each row that is a finding. */
static bool
each_finding(const struct report_groups *groups, const struct report_look *look, finding_i *each,
             void *data)
{
    struct report_ranking ranking;
    bool room = report_ranking_make(&ranking, groups, look);

    if (room) report_ranking_take_rest(&ranking);
    for (size_t i = 0; room && i < report_ranking_shown(&ranking); i++) {
        const struct report_ranked *ranked = &ranking.rows[i];
        struct report_finding finding = {.ranking = &ranking};
        if (ranked->value <= 0 || report_noise_p(&ranking, ranked->row)) continue;
        finding.message = message_of(&ranking, ranked);
        room = finding.message != NULL;
        report_row_place(groups, ranked->row, &finding.place);
        if (room) each(data, &finding);
        free(finding.message);
    }
    report_ranking_free(&ranking);
    return room;
}

/* ---- GitHub ---- */

/* Writes a text of a command. GitHub reads %25, %0D and %0A as '%' and the ends of a line; in a
 * property ':' and ',' are escaped, too. */
static void
put_escaped(FILE *out, const char *text, bool property)
{
    for (; *text; text++) {
        if (strchr(property ? "%\r\n:," : "%\r\n", *text))
            fprintf(out, "%%%02X", (unsigned char)*text);
        else putc(*text, out);
    }
}

static void
put_github(void *data, const struct report_finding *finding)
{
    const struct report_place *place = &finding->place;
    FILE *out = data;

    fputs("::warning ", out);
    if (place->file) {
        fputs("file=", out);
        put_escaped(out, place->file, true);
        if (place->line > 0) fprintf(out, ",line=%lld", (long long)place->line);
        putc(',', out);
    }
    fprintf(out, "title=%s::", finding->ranking->last > 0 ? "heapprof diff" : "heapprof top");
    put_escaped(out, finding->message, false);
    putc('\n', out);
}

bool
report_findings_github(FILE *out, const struct report_groups *groups,
                       const struct report_look *look)
{
    return each_finding(groups, look, put_github, out);
}

/* ---- SARIF ---- */

static const struct report_sarif_rule rules[] = {
    {"memory-growth", "Memory that grew from one profile to the next, by more than its error"},
    {"memory-in-use", "Memory of one profile, the largest first"},
};

static void
put_sarif(void *data, const struct report_finding *finding)
{
    const struct report_place *place = &finding->place;
    struct report_json *json = data;
    bool many = finding->ranking->last > 0;

    report_sarif_begin_result(json, rules[many ? 0 : 1].id, many ? "warning" : "note");
    report_sarif_message(json, "message", finding->message);
    report_json_member_begin(json, "locations", '[');
    if (place->file) {
        report_sarif_location(json, &(struct report_sarif_place){
            .file = place->file, .line = place->line,
            .function = place->function[0] ? place->function : NULL,
        });
    }
    report_json_end(json, ']');
    report_json_end(json, '}');
}

bool
report_findings_sarif(FILE *out, const struct report_groups *groups,
                      const struct report_look *look)
{
    struct report_json json = {.out = out};
    bool room;

    fputs(REPORT_SARIF_BEGIN, out);
    report_json_begin(&json, '{');
    report_sarif_tool(&json, "heapprof", rules, sizeof(rules) / sizeof(rules[0]));
    report_json_member_begin(&json, "results", '[');
    room = each_finding(groups, look, put_sarif, &json);
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    fputs(REPORT_SARIF_END, out);
    return room;
}
