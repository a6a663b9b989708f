/* export_collapsed.c - writes stacks as lines. Each sample is a line, even if samples have the
 * same stack. The programs that read the lines add them up. */
#include "report/export.h"

#include <inttypes.h>

#include "report/stack.h"

bool
report_export_collapsed(FILE *out, const struct heapprof_model *model, uint32_t type)
{
    struct heapprof_samples samples;
    struct report_stacks stacks = report_stacks_of(model, false);
    bool room = rb_heapprof_samples_begin(&samples, model);

    while (room && rb_heapprof_samples_next(&samples)) {
        if (samples.values[type] <= 0 || samples.location_count == 0) continue;
        report_put_stack(out, &stacks, &samples);
        fprintf(out, " %"PRId64"\n", samples.values[type]);
    }
    rb_heapprof_samples_end(&samples);
    return room;
}
