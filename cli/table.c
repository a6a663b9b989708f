/* table.c - from a command line to a table of groups. */
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>

#include "cli/processes.h"
#include "cli/several.h"
#include "report/findings.h"
#include "report/overview.h"
#include "report/pattern.h"
#include "report/ranking.h"
#include "report/text.h"

/* The question, and what has to be freed after it. */
struct asked {
    struct report_question question;
    struct report_look look;
    regex_t focus, ignore, label_focus;
    size_t most; /* growth that --fail-over allows */
};

/* What is shown, as report_groups_make takes it. */
struct table_models {
    const struct heapprof_model *const *models;
    const uint32_t *types;
    uint32_t count;
};

/* Compiles the option's pattern, if it has one. Returns false after telling the user what is
 * wrong. */
static bool
compile(const struct cli *cli, enum cli_option_id option, regex_t *regex, const regex_t **where)
{
    const char *pattern = cli->values[option];
    char error[REPORT_PATTERN_ERROR_MAX];

    if (report_pattern_compile(pattern, regex, where, error)) return true;
    cli_usage(cli, "%s=%s: %s", cli_option_words[option].name, pattern, error);
    return false;
}

/* The same for KEY=RE of --focus-label. */
static bool
compile_label(const struct cli *cli, struct asked *asked)
{
    const char *text = cli->values[CLI_FOCUS_LABEL];
    const char *pattern = text ? report_pattern_behind_key(text) : NULL;
    char error[REPORT_PATTERN_ERROR_MAX];

    if (!text) return true;
    if (!pattern) {
        cli_usage(cli, "%s: " REPORT_PATTERN_KEY_MISSING, cli_option_words[CLI_FOCUS_LABEL].name,
                  text);
        return false;
    }
    asked->question.label_focus_text = text;
    if (report_pattern_compile(pattern, &asked->label_focus, &asked->question.label_focus,
                               error)) return true;
    cli_usage(cli, "%s=%s: %s", cli_option_words[CLI_FOCUS_LABEL].name, text, error);
    return false;
}

/* Returns false after telling the user that the answer has only one form. */
static bool
one_form_p(const struct cli *cli)
{
    static const enum cli_option_id all[] = {CLI_JSON, CLI_MARKDOWN, CLI_SARIF, CLI_GITHUB};
    const char *first = NULL;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const char *name = cli_option_words[all[i]].name;
        if (!cli->values[all[i]]) continue;
        if (first) {
            cli_usage(cli, "%s and %s: give one of them", first, name);
            return false;
        }
        first = name;
    }
    return true;
}

static bool
ask(const struct cli *cli, struct asked *asked)
{
    long count, frames;

    /* parse.c has checked the names. */
    report_question_group(&asked->question,
                          cli->values[CLI_GROUP] ? cli->values[CLI_GROUP] : "site");
    report_question_sort(&asked->question, cli->values[CLI_SORT]);
    if (!report_sort_p(&asked->question, cli->values[CLI_GROUP] != NULL)) {
        cli_usage(cli, "--sort=cum: " REPORT_SORT_REFUSED);
        return false;
    }
    asked->question.directory = cli->values[CLI_APP];
    asked->question.focus_text = cli->values[CLI_FOCUS];
    asked->question.ignore_text = cli->values[CLI_IGNORE];
    if (!cli_number(cli, CLI_COUNT, 0, cli->values[CLI_GITHUB] ? 10 : 20, &count) ||
        !cli_number(cli, CLI_FRAMES, 0, 3, &frames) ||
        !cli_size(cli, CLI_FAIL_OVER, 0, &asked->most) || !one_form_p(cli))
        return false;
    asked->look.limit = (size_t)count;
    asked->question.frames = cli->values[CLI_JSON] ? REPORT_WHOLE_STACKS : (size_t)frames;
    return compile(cli, CLI_FOCUS, &asked->focus, &asked->question.focus) &&
           compile(cli, CLI_IGNORE, &asked->ignore, &asked->question.ignore) &&
           compile_label(cli, asked);
}

/* Shows one table, of the groups that the question names. */
static bool
show_groups(const struct asked *asked, const struct report_question *question,
            const struct table_models *shown, report_table_i *table)
{
    struct report_groups groups;
    bool done = report_groups_make(&groups, question, shown->models, shown->types, shown->count) &&
                table(stdout, &groups, &asked->look);

    report_groups_free(&groups);
    return done;
}

/* Shows findings: by line of the application, unless the user names a group, or no line is the
 * application's. */
static bool
show_findings(struct asked *asked, const struct table_models *shown, bool grouped,
              report_table_i *table)
{
    struct report_question question = asked->question;
    struct report_groups groups;
    bool done, own;

    if (grouped) return show_groups(asked, &question, shown, table);
    question.group = REPORT_APP;
    done = report_groups_make(&groups, &question, shown->models, shown->types, shown->count);
    own = done && report_any_own_p(&groups);
    asked->look.brief = true; /* the row of what is not the application's is last */
    if (own) done = table(stdout, &groups, &asked->look);
    report_groups_free(&groups);
    return done && !own ? show_groups(asked, &asked->question, shown, table) : done;
}

/* The functions that write an answer in a form. */
static const struct {
    enum cli_option_id option;
    report_table_i *table;
    bool findings;
} forms[] = {
    {CLI_SARIF, report_findings_sarif, true},     {CLI_GITHUB, report_findings_github, true},
    {CLI_MARKDOWN, report_table_markdown, false}, {CLI_JSON, report_table_json, false},
    {CLI_NO_OPTION, report_table_text, false},
};

static size_t
form_of(const struct cli *cli)
{
    size_t form = 0;

    while (forms[form].option && !cli->values[forms[form].option]) form++;
    return form;
}

static bool
show_in_form(const struct cli *cli, struct asked *asked, const struct table_models *shown)
{
    size_t form = form_of(cli);
    report_table_i *table = forms[form].table;
    const struct report_question *question = &asked->question;

    if (forms[form].findings) return show_findings(asked, shown, cli->values[CLI_GROUP], table);
    if (cli->values[CLI_GROUP]) return show_groups(asked, question, shown, table);
    if (table == report_table_json) {
        return report_overview_json(stdout, question, shown->models, shown->types, shown->count,
                                    &asked->look);
    }
    return report_overview(stdout, question, shown->models, shown->types, shown->count,
                           &asked->look, table);
}

/* Returns CLI_OVER, after a line, if the growth of the values, less its error, is more than
 * --fail-over. */
static int
check_growth(const struct cli *cli, const struct asked *asked, const struct table_models *shown)
{
    struct report_growth growth;
    char sum[REPORT_AMOUNT_MAX], error[REPORT_AMOUNT_MAX], most[REPORT_AMOUNT_MAX];

    if (!cli->values[CLI_FAIL_OVER]) return CLI_DONE;
    if (!report_growth_find(&growth, &asked->question, shown->models, shown->types, shown->count))
        return cli_wrong(cli, "no memory");
    if (growth.value - growth.error <= (double)asked->most) return CLI_DONE;
    report_amount(sum, growth.value, growth.unit);
    report_amount(error, growth.error, growth.unit);
    report_amount(most, (double)asked->most, growth.unit);
    cli_wrong(cli, "%s grew by %s \xc2\xb1 %s: more than %s (--fail-over=%s)", growth.type, sum,
              error, most, cli->values[CLI_FAIL_OVER]);
    return CLI_OVER;
}

/* Shows the models. Returns a status. */
static int
show(const struct cli *cli, struct asked *asked, const struct table_models *shown)
{
    bool text = forms[form_of(cli)].table == report_table_text;
    int status, over;

    asked->look.width = cli_width();
    asked->look.colour = cli_colour();
    if (text) cli_page();
    status = show_in_form(cli, asked, shown) ? cli_finish(cli) : cli_wrong(cli, "no memory");
    over = status == CLI_DONE ? check_growth(cli, asked, shown) : CLI_DONE;
    return over == CLI_DONE ? status : over;
}

/* Finds the type of the first file. In each other file it finds the type of the same name, which
 * must have the same unit. Returns false after telling the user what is wrong. */
static bool
find_types(const struct cli *cli, struct heapprof_model *const *models, const char *const *names,
           uint32_t *types)
{
    const char *first, *unit, *other;

    for (size_t i = 0; i < cli->operand_count; i++) {
        const char *name = i == 0 ? cli->values[CLI_BY] : first;
        if (!cli_type(cli, names[i], models[i], name, &types[i])) return false;
        other = rb_heapprof_model_string(models[i], models[i]->types[types[i]].unit, NULL);
        if (i == 0) {
            first = rb_heapprof_model_string(models[0], models[0]->types[types[0]].type, NULL);
            unit = other;
        }
        else if (strcmp(unit, other)) {
            cli_wrong(cli, "%s: %s is in %s, in %s it is in %s", names[i], first, other, names[0],
                      unit);
            return false;
        }
    }
    return true;
}

/* Sorts three or more files by their times, if they have times: a shell expands heapprof-*.pb.gz
 * with the tenth before the second. Two files stay in the order that the user gave. */
static bool
sort(const struct cli *cli, struct heapprof_model **models, const char **names)
{
    size_t count = cli->operand_count;

    for (size_t i = 0; i < count; i++) if (count < 3 || models[i]->time_ns == 0) return true;
    return cli_sort_by_time(models, names, count);
}

/* Shows the files, whose models are in the order of their times. Returns a status. */
static int
show_files(const struct cli *cli, struct asked *asked, struct heapprof_model *const *models,
           const uint32_t *types, const char **names, enum cli_table_of of)
{
    uint32_t count = (uint32_t)cli->operand_count;
    struct cli_processes processes;
    char sum[CLI_SUM_NAME_MAX];
    int status;
    bool room = of == CLI_TABLE_OF_SUM
                    ? cli_processes_last(&processes, models, types, names, count)
                    : cli_processes_find(&processes, models, types, names, count);

    if (!room) status = cli_wrong(cli, "no memory");
    else {
        asked->question.together = processes.together;
        asked->look.files = processes.together > 0 ? processes.files : 0;
        asked->look.sum = sum;
        if (of == CLI_TABLE_OF_SUM) cli_sum_name(sum, names[0], processes.files, count);
        else cli_processes_name(sum, &processes);
        status = show(cli, asked, &(struct table_models){
            .models = processes.models, .types = processes.types, .count = processes.count,
        });
    }
    cli_processes_free(&processes);
    return status;
}

int
cli_table(struct cli *cli, enum cli_table_of of)
{
    struct heapprof_model **models = calloc(cli->operand_count, sizeof(*models));
    uint32_t *types = calloc(cli->operand_count, sizeof(*types));
    const char **names = calloc(cli->operand_count, sizeof(*names));
    struct asked asked = {0};
    int status = CLI_WRONG;
    size_t read = 0;

    if (!models || !types || !names) status = cli_wrong(cli, "no memory");
    else if (!ask(cli, &asked)) status = CLI_USAGE;
    else {
        read = cli_read_operands(cli, models, names);
        asked.look.names = names;
        if (read == cli->operand_count && !sort(cli, models, names))
            status = cli_wrong(cli, "no memory");
        else if (read == cli->operand_count && find_types(cli, models, names, types)) {
            if (of == CLI_TABLE_OF_GROWTH)
                cli_check_order(cli, names[0], models[0], names[read - 1], models[read - 1]);
            status = show_files(cli, &asked, models, types, names, of);
        }
    }
    if (asked.question.focus) regfree(&asked.focus);
    if (asked.question.ignore) regfree(&asked.ignore);
    if (asked.question.label_focus) regfree(&asked.label_focus);
    while (read > 0) rb_heapprof_model_free(models[--read]);
    free(models);
    free(types);
    free(names);
    return status;
}
