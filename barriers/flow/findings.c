/* findings.c - see findings.h. */
#include "barriers/flow/findings.h"

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

static bool
same_way_p(const struct wb_way *one, const struct wb_way *other)
{
    return one->place.file == other->place.file && one->place.line == other->place.line &&
           one->place.column == other->place.column && one->object == other->object && one->field == other->field;
}

/* Those of one more finding of the same store are added. */
static void
add_ways(struct wb_findings *findings, struct wb_finding *finding, const struct wb_way *ways)
{
    for (; ways; ways = ways->next) {
        const struct wb_way *same = finding->ways;
        struct wb_way *way;
        while (same && !same_way_p(same, ways)) same = same->next;
        if (same) continue;
        way = WB_NEW(findings->arena, struct wb_way);
        *way = *ways;
        way->next = finding->ways;
        finding->ways = way;
    }
}

/* Of two of the same store the surer one; where neither is harmless, with the ways of both. */
static struct wb_finding *
surer(struct wb_findings *findings, struct wb_finding *was, const struct wb_finding *other)
{
    struct wb_finding *finding = was;

    if (other->sure > was->sure) {
        finding = WB_NEW(findings->arena, struct wb_finding);
        *finding = *other;
    }
    if (was->sure == WB_HARMLESS || other->sure == WB_HARMLESS) return finding;
    add_ways(findings, finding, finding == was ? other->ways : was->ways);
    return finding;
}

void
wb_found(struct wb_findings *findings, const struct wb_finding *finding)
{
    struct wb_finding *copy;

    for (size_t i = 0; i < findings->count; i++) {
        if (order_of(findings->all[i], finding) != 0) continue;
        findings->all[i] = surer(findings, findings->all[i], finding);
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
