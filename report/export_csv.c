/* export_csv.c - writes a line for each sample:
 *
 *     alloc_space (bytes),inuse_space (bytes),labels,stack
 *     4096,40,"class=String gc_age=4","main;Cart#load"
 */
#include "report/export.h"

#include <inttypes.h>

#include "report/stack.h"

/* Writes a text within a field that is in quotes. */
static void
put_text(FILE *out, const struct heapprof_model *model, uint32_t string)
{
    report_put_line(out, rb_heapprof_model_string(model, string, NULL), ';', true);
}

static void
put_header(FILE *out, const struct heapprof_model *model)
{
    for (uint32_t i = 0; i < model->type_count; i++) {
        putc('"', out);
        put_text(out, model, model->types[i].type);
        fputs(" (", out);
        put_text(out, model, model->types[i].unit);
        fputs(")\",", out);
    }
    fputs("labels,stack\r\n", out);
}

static void
put_labels(FILE *out, const struct heapprof_samples *samples)
{
    for (uint32_t i = 0; i < samples->label_count; i++) {
        const struct heapprof_model_label *label = &samples->labels[i];
        if (i > 0) putc(' ', out);
        put_text(out, samples->model, label->key);
        putc('=', out);
        if (label->str) put_text(out, samples->model, label->str);
        else fprintf(out, "%"PRId64, label->num);
    }
}

bool
report_export_csv(FILE *out, const struct heapprof_model *model, uint32_t type)
{
    struct heapprof_samples samples;
    struct report_stacks stacks = report_stacks_of(model, true);
    bool room = rb_heapprof_samples_begin(&samples, model);

    (void)type; /* all types are written */
    if (room) put_header(out, model);
    while (room && rb_heapprof_samples_next(&samples)) {
        for (uint32_t i = 0; i < model->type_count; i++)
            fprintf(out, "%" PRId64 ",", samples.values[i]);
        putc('"', out);
        put_labels(out, &samples);
        fputs("\",\"", out);
        report_put_stack(out, &stacks, &samples);
        fputs("\"\r\n", out);
    }
    rb_heapprof_samples_end(&samples);
    return room;
}
