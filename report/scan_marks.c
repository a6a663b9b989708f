/* scan_marks.c - which samples the question wants, by the names of their functions, C functions and
 * libraries; and which functions are the application's. */
#include "report/scan.h"

#include <stdlib.h>
#include <string.h>

#include "report/own.h"

static unsigned
marks_for(const struct report_question *question, const char *text)
{
    unsigned marks = 0;

    if (question->focus && !regexec(question->focus, text, 0, NULL, 0)) marks |= REPORT_FOCUS;
    if (question->ignore && !regexec(question->ignore, text, 0, NULL, 0)) marks |= REPORT_IGNORE;
    return marks;
}

/* Returns the marks of a label's text: of the C function and library that asked for memory, or of
 * a table of the VM. */
static unsigned
marks_of_label(const struct report_scan *scan, const struct heapprof_model_label *label)
{
    char buffer[REPORT_LABEL_MAX];

    if (!label || !label->str) return 0;
    if (!scan->text_marks[label->str]) {
        const char *text = report_label_text(scan->model, label, buffer);
        scan->text_marks[label->str] =
            (unsigned char)(REPORT_SEEN | marks_for(&scan->groups->question, text));
    }
    return scan->text_marks[label->str];
}

/* Whether the sample has the label, with a value that matches. */
static bool
label_wanted_p(const struct report_scan *scan, const struct heapprof_samples *samples)
{
    const struct report_question *question = &scan->groups->question;
    char buffer[REPORT_LABEL_MAX];
    size_t key_length = strcspn(question->label_focus_text, "=");

    for (uint32_t i = 0; i < samples->label_count; i++) {
        const struct heapprof_model_label *label = &samples->labels[i];
        const char *key = rb_heapprof_model_string(scan->model, label->key, NULL);
        if (strncmp(key, question->label_focus_text, key_length) || key[key_length]) continue;
        const char *text = report_label_text(scan->model, label, buffer);
        if (!regexec(question->label_focus, text, 0, NULL, 0)) return true;
    }
    return false;
}

bool
report_scan_wanted_p(const struct report_scan *scan, const struct heapprof_samples *samples,
                     const char *vm)
{
    const struct report_question *question = &scan->groups->question;
    unsigned marks;

    if (question->label_focus && !label_wanted_p(scan, samples)) return false;
    if (!question->focus && !question->ignore) return true;
    marks = marks_of_label(scan, report_find_label(samples, "caller"));
    if (vm) marks |= marks_of_label(scan, report_find_label(samples, "owner"));
    REPORT_EACH_FRAME(samples, frame, marks |= report_scan_marks(scan, frame));
    return (!question->focus || marks & REPORT_FOCUS) && !(marks & REPORT_IGNORE);
}

static unsigned
marks_of_name(const char *name)
{
    static const char *const loads[] = {"Kernel#require", "Kernel#require_relative", "Kernel#load"};

    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
        if (!strcmp(name, loads[i])) return REPORT_LOADS;
    return strcmp(name, "ObjectSpace::HeapProfile.label") ? 0 : REPORT_LABELS;
}

bool
report_scan_loading_p(const struct report_scan *scan, const struct heapprof_samples *samples)
{
    bool loads = false;

    REPORT_EACH_FRAME(samples, frame, {
        unsigned marks = report_scan_marks(scan, frame);
        if (marks & REPORT_LOADS) loads = true;
        if (marks & REPORT_LABELS) return loads;
    })
    return false;
}

bool
report_scan_functions(struct report_scan *scan)
{
    const struct heapprof_model *model = scan->model;
    const struct report_question *question = &scan->groups->question;
    uint32_t count = rb_heapprof_model_functions(model);

    scan->defined = report_definitions_p(model);
    scan->marks = malloc((size_t)count + 1);
    if (question->focus || question->ignore)
        scan->text_marks = calloc((size_t)model->string_count + 1, 1);
    if (!scan->marks || (!scan->text_marks && (question->focus || question->ignore))) return false;
    for (uint32_t place = 0; place < count; place++) {
        const struct heapprof_model_function *function = &model->functions[place];
        const char *file = rb_heapprof_model_string(model, function->filename, NULL);
        const char *name = rb_heapprof_model_string(model, function->name, NULL);
        unsigned marks =
            marks_for(question, name) | marks_for(question, file) | marks_of_name(name);
        if (report_own_p(file, scan->directory)) marks |= REPORT_OWN;
        scan->marks[place] = (unsigned char)marks;
    }
    return true;
}
