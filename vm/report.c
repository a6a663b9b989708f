/* report.c - from a snapshot to a text: report/ says it, of a model, as heapprof does of a file.
 *
 *     snapshot -> encode (pprof) -> read -> model -> answer
 *
 * So whatever is said of a profile in Ruby is what is said of its file. Needs no GVL.
 */
#include "report.h"
#include "pprof/reader.h"
#include "profiler/pprof.h"
#include <stdlib.h>

/* NULL: no memory. */
static struct heapprof_model *
model_of(const struct heapprof_snapshot *snapshot)
{
    char error[HEAPPROF_READER_ERROR_MAX];
    size_t size;
    char *bytes = rb_heapprof_pprof_encode(snapshot, "ruby", "", &size);
    struct heapprof_model *model = bytes ? rb_heapprof_reader_read_bytes(bytes, size, error) : NULL;

    free(bytes);
    return model;
}

void *
rb_heapprof_report_collapsed(void *data)
{
    struct heapprof_report *report = data;
    struct heapprof_model *model = model_of(report->snapshot);

    report->text = model ? rb_heapprof_answer_collapsed(model, report->by, &report->size) : NULL;
    report->done = true;
    rb_heapprof_model_free(model);
    return NULL;
}
