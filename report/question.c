/* question.c - what is asked of profiles, by the names that a user gives. */
#include <string.h>

#include "report/groups.h"

bool
report_cumulative_p(enum report_group group)
{
    return group == REPORT_FUNCTION || group == REPORT_FILE || group == REPORT_GEM ||
           group == REPORT_APP;
}

bool
report_question_group(struct report_question *question, const char *name)
{
    static const char *const names[] = {
        [REPORT_SITE] = "site", [REPORT_FUNCTION] = "function", [REPORT_CLASS] = "class",
        [REPORT_FILE] = "file", [REPORT_GEM] = "gem",           [REPORT_LIBRARY] = "library",
        [REPORT_APP] = "app",
    };

    if (!strncmp(name, "label:", 6) && name[6]) {
        question->group = REPORT_LABEL;
        question->label = name + 6;
        return true;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name)) continue;
        question->group = (enum report_group)i;
        return true;
    }
    return false;
}

bool
report_question_sort(struct report_question *question, const char *name)
{
    static const char *const names[] = {
        [REPORT_SORT_SELF] = "self",
        [REPORT_SORT_CUMULATIVE] = "cum",
        [REPORT_SORT_OBJECTS] = "objects",
    };

    question->sort = REPORT_SORT_SELF;
    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name)) continue;
        question->sort = (enum report_sort)i;
        return true;
    }
    return !name;
}

bool
report_sort_p(const struct report_question *question, bool grouped)
{
    return question->sort != REPORT_SORT_CUMULATIVE || !grouped ||
           report_cumulative_p(question->group);
}
