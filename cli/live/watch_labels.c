/* watch_labels.c - the page of labels: which part of the time each value takes. A stack counts for
 * each of its labels, so the rows of a key add up to at most 100 %. */
#include "cli/live/watch.h"

#include <stdlib.h>
#include <string.h>

#include "report/text.h"

struct watch_label {
    const char *key, *value;    /* with a NUL behind them */
    uint64_t total, total_marked;
};

struct watch_labels {
    struct watch_label *all;
    size_t count;
};

static int
by_text(const void *a, const void *b)
{
    const struct watch_label *one = a, *other = b;
    int order = strcmp(one->key, other->key);

    return order ? order : strcmp(one->value, other->value);
}

/* By key, and of a key the largest first. */
static int
larger(const void *a, const void *b)
{
    const struct watch_label *one = a, *other = b;
    int order = strcmp(one->key, other->key);

    if (order) return order;
    if (one->total != other->total) return one->total < other->total ? 1 : -1;
    return strcmp(one->value, other->value);
}

/* Adds the labels of a set, with what was counted for it; labels.all has room. */
static void
add_set(struct watch_labels *labels, const struct watch_session *session, uint32_t set)
{
    const struct attach_tally_labels *counts = &session->tally.sets[set];
    size_t length;
    const char *at = attach_label_sets_text(&session->looks->label_sets, set, &length);
    struct heapprof_label label;

    for (const char *end = at + length; rb_heapprof_label_next(&at, end, &label); ) {
        labels->all[labels->count++] = (struct watch_label){
            label.key, label.value, counts->total, counts->total_marked
        };
    }
}

/* Makes one row of those that are of the same label. */
static void
add_up(struct watch_labels *labels)
{
    size_t kept = 0;

    if (labels->count) qsort(labels->all, labels->count, sizeof(*labels->all), by_text);
    for (size_t i = 0; i < labels->count; i++) {
        struct watch_label *row = &labels->all[i], *last = &labels->all[kept ? kept - 1 : 0];
        if (kept && by_text(last, row) == 0) {
            last->total += row->total;
            last->total_marked += row->total_marked;
        }
        else labels->all[kept++] = *row;
    }
    labels->count = kept;
    if (kept) qsort(labels->all, kept, sizeof(*labels->all), larger);
}

static double
share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void
put_label(FILE *out, const struct watch_session *session, const struct watch_label *row,
          unsigned width)
{
    const struct attach_tally *tally = &session->tally;
    unsigned left = width > 26 ? width - 26 : 1;

    fprintf(out, "%5.1f%%         %6.1f%%   ",
            share(row->total - row->total_marked, tally->stacks - tally->stacks_marked),
            share(row->total, tally->stacks));
    left -= report_put(out, row->key, left, false);
    if (left < 4) return;
    putc('=', out);
    report_put(out, row->value, left - 1, false);
}

void
watch_put_labels(FILE *out, const struct watch_session *session, unsigned width)
{
    const struct attach_tally *tally = &session->tally;
    struct watch_labels labels = {
        .all = calloc((size_t)tally->set_end * HEAPPROF_LABEL_KEYS + 1, sizeof(*labels.all))
    };

    for (uint32_t set = 1; labels.all && set < tally->set_end; set++) {
        if (tally->sets[set].total) add_set(&labels, session, set);
    }
    if (labels.all) add_up(&labels);
    for (size_t i = 0; i < labels.count; i++) {
        put_label(out, session, &labels.all[i], width);
        putc('\n', out);
    }
    if (!labels.count)
        fputs("No thread that was seen has labels (ObjectSpace::HeapProfile.label).\n", out);
    free(labels.all);
}
