/* estimate.c - variances, computed from what the file says about its sampling. */
#include "report/estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the type of the same group: for "inuse_slot_space" and "objects" that is
 * "inuse_objects". */
static uint32_t
sibling(const struct heapprof_model *model, const char *name, const char *rest)
{
    const char *end = strchr(name, '_');
    char other[64];

    if (!end || end - name > 16) return model->type_count;
    snprintf(other, sizeof(other), "%.*s_%s", (int)(end - name), name, rest);
    return rb_heapprof_model_type(model, other);
}

static double
interval_of(const struct heapprof_model *model, const char *comment)
{
    const char *text = rb_heapprof_model_comment(model, comment);
    const char *type = rb_heapprof_model_string(model, model->period_type.type, NULL);
    const char *unit = rb_heapprof_model_string(model, model->period_type.unit, NULL);

    if (text) return strtod(text, NULL);
    return !strcmp(type, "space") && !strcmp(unit, "bytes") ? (double)model->period : 0;
}

void
report_estimate_init(struct report_estimate *estimate, const struct heapprof_model *model,
                     uint32_t value)
{
    const char *name = rb_heapprof_model_string(model, model->types[value].type, NULL);

    *estimate = (struct report_estimate){.model = model, .value = value};
    estimate->objects = sibling(model, name, "objects");
    estimate->space = sibling(model, name, "space");
    estimate->variance = sibling(model, name, "variance");
    estimate->interval = interval_of(model, "interval: ");
    estimate->malloc_interval = interval_of(model, "malloc interval: ");
    estimate->known = estimate->interval > 0 && estimate->space < model->type_count &&
                      estimate->objects < model->type_count && value != estimate->variance;
}

/* Returns the variance of bytes in that many objects. If objects is 0, the bytes are in blocks of
 * any size. */
static double
variance_of_space(const struct report_estimate *estimate, double bytes, double objects)
{
    double size;

    if (objects <= 0) return estimate->malloc_interval > 1 ? bytes * estimate->malloc_interval : 0;
    if (estimate->interval <= 1) return 0;
    size = bytes / objects;
    return size > 0 ? objects * size * size / expm1(size / estimate->interval) : 0;
}

double
report_estimate_variance(const struct report_estimate *estimate, const int64_t *values)
{
    double value, space, objects, variance;

    if (!estimate->known) return 0;
    value = fabs((double)values[estimate->value]);
    space = fabs((double)values[estimate->space]);
    objects = fabs((double)values[estimate->objects]);
    if (value == 0 || space == 0) return 0;
    if (estimate->variance < estimate->model->type_count)
        variance = fabs((double)values[estimate->variance]);
    else variance = variance_of_space(estimate, space, objects);
    return variance * (value / space) * (value / space);
}
