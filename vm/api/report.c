/* report.c - from a snapshot to a text. report/ writes it from a model, as the program heapprof
 * does from a file.
 *
 *     snapshot -> encode (pprof) -> read -> model -> answer
 *
 * So Ruby prints the same of a profile as heapprof prints of its file. Needs no GVL.
 */
#include "vm/api/report.h"
#include "pprof/reader.h"
#include "profiler/difference.h"
#include "profiler/pprof.h"
#include <stdlib.h>

/* Returns NULL if there is no memory. */
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

/* Drops owners and the like if `other` does not have them, or rows of the same memory would
 * differ. */
static struct heapprof_model *
model_beside(const struct heapprof_snapshot *snapshot, const struct heapprof_snapshot *other)
{
    const struct heapprof_facts *facts = &snapshot->facts;
    struct heapprof_snapshot *copy;
    struct heapprof_model *model;

    if (facts->owners == other->facts.owners && facts->owner_frames == other->facts.owner_frames &&
        facts->peak_kept == other->facts.peak_kept && facts->lifetimes == other->facts.lifetimes &&
        !snapshot->ladder.rss == !other->ladder.rss) return model_of(snapshot);
    copy = rb_heapprof_snapshot_comparable(snapshot, other);
    model = copy ? model_of(copy) : NULL;
    rb_heapprof_snapshot_free(copy);
    return model;
}

void *
rb_heapprof_report_table(void *data)
{
    struct heapprof_report *report = data;
    const struct heapprof_snapshot *now = report->snapshot, *before = report->earlier;
    struct heapprof_model *first = before ? model_beside(before, now) : model_of(now);
    struct heapprof_model *second = before && first ? model_beside(now, before) : NULL;
    const struct heapprof_model *const models[] = { first, second };

    report->ask.by = report->by;
    if (first && (second || !before)) {
        report->text = rb_heapprof_answer_table(&report->ask, models, before ? 2 : 1, &report->size,
                                                report->error);
    }
    rb_heapprof_model_free(first);
    rb_heapprof_model_free(second);
    report->done = true;
    return NULL;
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
