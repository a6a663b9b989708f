/* record_table.c - what `record --group` prints: how much of the time each row takes. */
#include "cli/live/record.h"

#include <stdio.h>

#include "report/table.h"

int
record_show(const struct record_session *session, const struct heapprof_model *model)
{
    const struct cli *cli = session->cli;
    struct report_question question = { 0 };
    struct report_groups groups;
    char name[48];
    const char *const names[] = { name };
    const uint32_t type = rb_heapprof_model_default_type(model);
    const struct report_look look = {
        .limit = (size_t)session->rows, .width = cli_width(), .colour = cli_colour(),
        .names = names
    };

    if (session->processes.count > 1)
        snprintf(name, sizeof(name), "%zu processes", session->processes.count);
    else snprintf(name, sizeof(name), "process %d", (int)session->processes.all[0].pid);
    report_question_group(&question, cli->values[CLI_GROUP]);
    bool shown = report_groups_make(&groups, &question, &model, &type, 1) &&
                 report_table_text(stdout, &groups, &look);
    report_groups_free(&groups);
    return shown ? cli_finish(cli) : cli_wrong(cli, "no memory");
}
