/* refute.c - see refute.h.
 *
 * The collector tells of which references barriers have told in time: type, field, and the function that called the barrier. It
 * sees no stores. So that a barrier is that of a finding's store,
 *
 *     its function is the one that stores, or one that calls that: then and only then the barrier may be the store's
 *     no other place in what that function calls stores to that field: else the reference may be of there
 *     all of it is seen: the type's data is given to no function of the extension that these sources do not have
 *
 * And the finding is refuted if there was such a one, and no reference at all was missed in that field.
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

/* Whether a reference in the finding's field, of which a barrier in the function that was searched from has told, is of the
 * finding's store. */
static bool
of_this_store_p(const struct wb_program *program, const struct wb_finding *finding, unsigned search)
{
    if (search == 0 || finding->function->search != search || finding->data_type->given) return false;
    for (const struct wb_function *function = program->functions; function; function = function->next) {
        if (function->search == search && wb_stores_besides_p(function, finding)) return false;
    }
    return true;
}

/* Of its own barriers alone, once there are any. */
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
            note_told(finding, told, of_this_store_p(program, finding, search) && !missed_p(finding, all));
        }
    }
}
