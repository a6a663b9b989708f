/* findings.c - keeps one finding for each place and field, and orders them. */
#include "barriers/flow/findings.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static int
order_of(const struct wb_finding *one, const struct wb_finding *other)
{
    int order = strcmp(one->place.file ? one->place.file : "",
                       other->place.file ? other->place.file : "");

    if (order == 0) {
        order = (one->place.line > other->place.line) - (one->place.line < other->place.line);
    }
    if (order == 0) {
        order = (one->place.column > other->place.column) -
                (one->place.column < other->place.column);
    }
    return order ? order : strcmp(one->field, other->field);
}

static bool
same_call_site_p(const struct wb_call_site *one, const struct wb_call_site *other)
{
    return one->place.file == other->place.file && one->place.line == other->place.line &&
           one->place.column == other->place.column && one->object == other->object &&
           one->field == other->field;
}

/* Adds the call sites of another finding for the same store. */
static void
add_call_sites(struct wb_findings *findings, struct wb_finding *finding,
               const struct wb_call_site *call_sites)
{
    for (; call_sites; call_sites = call_sites->next) {
        const struct wb_call_site *same = finding->call_sites;
        struct wb_call_site *site;
        while (same && !same_call_site_p(same, call_sites)) same = same->next;
        if (same) continue;
        site = WB_NEW(findings->arena, struct wb_call_site);
        *site = *call_sites;
        site->next = finding->call_sites;
        finding->call_sites = site;
    }
}

/* True if the store may lack a barrier: objects of the type need one, and nothing makes up for
 * it. */
static bool
lacking_p(const struct wb_finding *finding)
{
    return finding->data_type->protected_p && finding->certainty != WB_HARMLESS;
}

/* Of two findings for the same store keeps the one that lacks a barrier, or else the more certain
 * one: a function may store into objects of several types. It gets the call sites of both if
 * neither is harmless, and they are alike. */
static struct wb_finding *
merge_findings(struct wb_findings *findings, struct wb_finding *was, const struct wb_finding *other)
{
    struct wb_finding *finding = was;
    bool alike = lacking_p(was) == lacking_p(other);

    if (alike ? other->certainty > was->certainty : lacking_p(other)) {
        finding = WB_NEW(findings->arena, struct wb_finding);
        *finding = *other;
    }
    if (!alike || was->certainty == WB_HARMLESS || other->certainty == WB_HARMLESS) return finding;
    add_call_sites(findings, finding, finding == was ? other->call_sites : was->call_sites);
    return finding;
}

void
wb_add_finding(struct wb_findings *findings, const struct wb_finding *finding)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (order_of(findings->all[i], finding) != 0) continue;
        findings->all[i] = merge_findings(findings, findings->all[i], finding);
        return;
    }
    if (findings->count == WB_FINDINGS_MOST) {
        findings->truncated = true;
        return;
    }
    if (!HEAPPROF_ARRAY_GROW(findings->all, findings->capacity, findings->count + 1)) {
        wb_out_of_memory();
    }
    struct wb_finding *copy = WB_NEW(findings->arena, struct wb_finding);
    *copy = *finding;
    findings->all[findings->count++] = copy;
}

static int
compare(const void *one, const void *other)
{
    return order_of(*(const struct wb_finding *const *)one,
                    *(const struct wb_finding *const *)other);
}

void
wb_sort_findings(struct wb_findings *findings)
{
    if (findings->count) qsort(findings->all, findings->count, sizeof(*findings->all), compare);
}
