/* findings.c - see findings.h. */
#include "barriers/findings.h"

#include <stdlib.h>
#include <string.h>

static int
order_of(const struct wb_finding *one, const struct wb_finding *other)
{
    int order = strcmp(one->place.file ? one->place.file : "", other->place.file ? other->place.file : "");

    if (order == 0) order = (one->place.line > other->place.line) - (one->place.line < other->place.line);
    if (order == 0) order = (one->place.column > other->place.column) - (one->place.column < other->place.column);
    return order ? order : strcmp(one->field, other->field);
}

void
wb_found(struct wb_findings *findings, const struct wb_finding *finding)
{
    struct wb_finding *copy;

    for (size_t i = 0; i < findings->count; i++) {
        if (order_of(findings->all[i], finding) != 0) continue;
        if (findings->all[i]->sure >= finding->sure) return;
        copy = WB_NEW(findings->arena, struct wb_finding);
        *copy = *finding;
        findings->all[i] = copy;
        return;
    }
    if (findings->count == WB_FINDINGS_MOST) {
        findings->left_out = true;
        return;
    }
    if (findings->count == findings->capacity) {
        findings->capacity = findings->capacity * 2 + 16;
        findings->all = realloc(findings->all, findings->capacity * sizeof(*findings->all));
        if (!findings->all) wb_out_of_memory();
    }
    copy = WB_NEW(findings->arena, struct wb_finding);
    *copy = *finding;
    findings->all[findings->count++] = copy;
}

static int
compare(const void *one, const void *other)
{
    return order_of(*(const struct wb_finding *const *)one, *(const struct wb_finding *const *)other);
}

void
wb_sort_findings(struct wb_findings *findings)
{
    if (findings->count) qsort(findings->all, findings->count, sizeof(*findings->all), compare);
}
