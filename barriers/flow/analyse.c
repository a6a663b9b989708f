/* analyse.c - visits all functions, first to learn, then to report.
 *
 * A function may store into a struct that only another function, perhaps in another file, takes
 * out of an object. So all functions are visited until a round learns no more owners, and then
 * once more to report.
 */
#include "barriers/flow/analyse.h"

#include "barriers/flow/flow.h"

/* Each round learns what is one call further away. No extension needed more. */
#define ROUNDS_MOST 4

static void
forget_summaries(struct wb_program *program)
{
    for (struct wb_function *function = program->functions; function; function = function->next) {
        function->summary = NULL;
    }
}

/* A caller asks for the summaries of the functions that it calls, so the order does not matter. */
static void
visit_all(struct wb_flow *flow)
{
    forget_summaries(flow->program);
    for (struct wb_data_type *each = flow->program->data_types; each; each = each->next) {
        wb_visit_gc_functions(flow, each);
    }
    for (struct wb_function *function = flow->program->functions; function;
         function = function->next) {
        if (function->ours) wb_summary_of(flow, function);
    }
}

void
wb_analyse(struct wb_program *program, struct wb_findings *findings)
{
    struct wb_flow flow = { .program = program, .arena = &program->arena };
    size_t learnt;
    unsigned round = 0;

    flow.symbols.arena = flow.findings.arena = flow.arena;
    do {
        learnt = program->owner_count;
        visit_all(&flow);
    } while (program->owner_count > learnt && ++round < ROUNDS_MOST);
    flow.last = true;
    visit_all(&flow);
    wb_sort_findings(&flow.findings);
    *findings = flow.findings;
}
