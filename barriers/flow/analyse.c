/* analyse.c - all functions, twice: first whose data a struct is has to be learnt.
 *
 * A function may store into a struct that only another one, perhaps of another file, takes out of an object. So all of them are
 * gone through until nothing more is learnt, and then once more to tell.
 */
#include "barriers/flow/analyse.h"

#include "barriers/flow/flow.h"

#define ROUNDS_MOST 4 /* each learns what is one call further away; more were never needed */

static void
forget_summaries(struct wb_program *program)
{
    for (struct wb_function *function = program->functions; function; function = function->next) {
        function->summary = NULL;
    }
}

/* Callers first ask for those they call. */
static void
visit_all(struct wb_flow *flow)
{
    forget_summaries(flow->program);
    for (struct wb_data_type *each = flow->program->data_types; each; each = each->next) wb_visit_gc_functions(flow, each);
    for (struct wb_function *function = flow->program->functions; function; function = function->next) {
        if (function->ours) wb_summary_of(flow, function);
    }
}

void
wb_analyse(struct wb_program *program, struct wb_findings *findings)
{
    struct wb_flow flow = {.program = program, .arena = &program->arena};
    size_t learnt;
    unsigned round = 0;

    flow.symbols.arena = flow.findings.arena = flow.arena;
    do {
        learnt = program->owner_count;
        visit_all(&flow);
    } while (program->owner_count > learnt && ++round < ROUNDS_MOST);
    flow.reporting = true;
    visit_all(&flow);
    wb_sort_findings(&flow.findings);
    *findings = flow.findings;
}
