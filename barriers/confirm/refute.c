/* refute.c - decides which findings had their barrier each time the store ran.
 *
 * The collector reports which references it was told of in time: type, field, and the function
 * that called the barrier. It does not see stores. A barrier belongs to the store of a finding
 * if
 *
 *     - it was called by the function that stores, or by one that reaches that function;
 *     - no other place that can be reached from there stores to the field. Otherwise the
 *       reference may come from that place;
 *     - all code is known: the type's data is passed to no function of the extension that is not
 *       read.
 *
 * A finding is refuted if there was such a barrier, and no reference was missed in the field.
 */
#include "barriers/confirm/refute.h"

#include <string.h>

#include "barriers/flow/reach.h"
#include "barriers/flow/stored.h"
#include "barriers/report/report.h"

static bool
at_field_p(const struct wb_finding *finding, const char *type, long offset)
{
    const char *own = finding->data_type->struct_name;

    if (finding->offset < 0 || !own || strcmp(own, type)) return false;
    return finding->offset <= offset && offset < finding->offset + finding->size;
}

static bool
missed_p(const struct wb_finding *finding, const struct wb_all_seen *all)
{
    for (size_t i = 0; i < all->count; i++) {
        if (at_field_p(finding, all->items[i].type, all->items[i].offset)) return true;
    }
    return false;
}

/* True if a reference in the finding's field comes from the finding's store. search: reached
 * the functions below the one that called the barrier. */
static bool
of_this_store_p(const struct wb_program *program, const struct wb_finding *finding, unsigned search)
{
    if (search == 0 || finding->function->search != search || finding->data_type->given) {
        return false;
    }
    for (const struct wb_function *function = program->functions; function;
         function = function->next) {
        if (function->search == search && wb_stores_besides_p(function, finding)) return false;
    }
    return true;
}

/* Once a barrier is known to belong to the finding, only such barriers count. */
static void
note_told(struct wb_finding *finding, const struct wb_told *told, bool own)
{
    if (finding->refuted && !own) return;
    if (!finding->told || own != finding->refuted) {
        finding->told = told;
        finding->told_count = 0;
    }
    finding->told_count += told->count;
    finding->refuted = own;
}

void
wb_refute(struct wb_program *program, struct wb_findings *findings, const struct wb_all_seen *all)
{
    for (size_t i = 0; i < all->told_count; i++) {
        const struct wb_told *told = &all->told[i];
        unsigned search = wb_reach_from_function(program, told->function);
        for (size_t j = 0; j < findings->count; j++) {
            struct wb_finding *finding = findings->all[j];
            if (!wb_missing_p(finding) || !at_field_p(finding, told->type, told->offset)) continue;
            note_told(finding, told, of_this_store_p(program, finding, search) &&
                      !missed_p(finding, all));
        }
    }
}
