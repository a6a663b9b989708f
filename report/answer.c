/* answer.c - from a question in texts to a table, and to other text. */
#include "report/answer.h"

#include <stdlib.h>
#include <string.h>

#include "report/export.h"
#include "report/overview.h"
#include "report/pattern.h"
#include "report/text.h"

/* The question, and what has to be freed after it. */
struct answer_question {
    struct report_question question;
    struct report_look look;
    regex_t focus, ignore, label_focus;
    char *error;
};

static bool
set_group(struct answer_question *asked, const char *name)
{
    if (report_question_group(&asked->question, name)) return true;
    snprintf(asked->error, HEAPPROF_ANSWER_ERROR_MAX,
             "group: %.100s is not a group (give site, function, class, file, gem, library, app or "
             "label:KEY)",
             name);
    return false;
}

static bool
set_sort(struct answer_question *asked, const char *name, bool grouped)
{
    if (!report_question_sort(&asked->question, name)) {
        snprintf(asked->error, HEAPPROF_ANSWER_ERROR_MAX,
                 "sort: %.100s is no order (give self, cum or objects)", name);
        return false;
    }
    if (report_sort_p(&asked->question, grouped)) return true;
    snprintf(asked->error, HEAPPROF_ANSWER_ERROR_MAX, "sort: " REPORT_SORT_REFUSED);
    return false;
}

/* Compiles the pattern, if there is one. Returns false and sets the error if it is wrong. */
static bool
compile(struct answer_question *asked, const char *option, const char *pattern, regex_t *regex,
        const regex_t **where)
{
    char error[REPORT_PATTERN_ERROR_MAX];

    if (report_pattern_compile(pattern, regex, where, error)) return true;
    snprintf(asked->error, HEAPPROF_ANSWER_ERROR_MAX, "%s: %.60s: %s", option, pattern, error);
    return false;
}

/* The same for KEY=RE. */
static bool
compile_label(struct answer_question *asked, const char *text)
{
    const char *pattern = text ? report_pattern_behind_key(text) : NULL;

    if (text && !pattern) {
        snprintf(asked->error, HEAPPROF_ANSWER_ERROR_MAX,
                 "focus_label: " REPORT_PATTERN_KEY_MISSING, text);
        return false;
    }
    asked->question.label_focus_text = text;
    return compile(asked, "focus_label", pattern, &asked->label_focus,
                   &asked->question.label_focus);
}

static bool
ask_all(struct answer_question *asked, const struct heapprof_ask *ask)
{
    asked->question.directory = ask->directory;
    asked->question.frames = ask->frames;
    asked->question.focus_text = ask->focus;
    asked->question.ignore_text = ask->ignore;
    asked->look = (struct report_look){
        .limit = ask->limit, .width = ask->width, .colour = ask->colour,
        .names = ask->names, .ruby = true,
    };
    return (!ask->group || set_group(asked, ask->group)) &&
           set_sort(asked, ask->sort, ask->group != NULL) &&
           compile(asked, "focus", ask->focus, &asked->focus, &asked->question.focus) &&
           compile(asked, "ignore", ask->ignore, &asked->ignore, &asked->question.ignore) &&
           compile_label(asked, ask->focus_label);
}

static bool
write_table(FILE *out, const struct heapprof_ask *ask, const struct answer_question *asked,
            const struct heapprof_model *const *models, const uint32_t *types, uint32_t count)
{
    struct report_groups groups;
    bool room;

    if (!ask->group)
        return report_overview(out, &asked->question, models, types, count, &asked->look,
                               report_table_text);
    room = report_groups_make(&groups, &asked->question, models, types, count) &&
           report_table_text(out, &groups, &asked->look);
    report_groups_free(&groups);
    return room;
}

/* Returns what has been written, or NULL unless all of it has been. */
static char *
finish(FILE *out, char **text, bool room)
{
    bool failed = ferror(out);

    if (fclose(out) == 0 && room && !failed) return *text;
    free(*text);
    return NULL;
}

char *
rb_heapprof_answer_table(const struct heapprof_ask *ask, const struct heapprof_model *const *models,
                         size_t count, size_t *size, char error[HEAPPROF_ANSWER_ERROR_MAX])
{
    struct answer_question asked = {.error = error};
    uint32_t types[2] = {0};
    char *text = NULL;
    FILE *out;

    error[0] = '\0';
    for (size_t i = 0; i < count; i++) types[i] = rb_heapprof_model_type(models[i], ask->by);
    if (ask_all(&asked, ask) && (out = open_memstream(&text, size)) != NULL) {
        text = finish(out, &text, write_table(out, ask, &asked, models, types, (uint32_t)count));
    }
    if (asked.question.focus) regfree(&asked.focus);
    if (asked.question.ignore) regfree(&asked.ignore);
    if (asked.question.label_focus) regfree(&asked.label_focus);
    return text;
}

char *
rb_heapprof_answer_collapsed(const struct heapprof_model *model, const char *by, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);

    if (!out) return NULL;
    return finish(out, &text,
                  report_export_collapsed(out, model, rb_heapprof_model_type(model, by)));
}

void
rb_heapprof_answer_bytes(char *text, size_t size, double bytes)
{
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, bytes, "bytes");
    snprintf(text, size, "%s", amount);
}
