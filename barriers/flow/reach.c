/* reach.c - a search through calls and function addresses; a function that was reached has the
 * number of the search. */
#include "barriers/flow/reach.h"

#include <string.h>

struct wb_waiting {
    struct wb_function *function;
    struct wb_waiting  *next;
};

static void
mark_reached(struct wb_program *program, struct wb_waiting **waiting, struct wb_function *function)
{
    if (function->search == program->searches) return;
    function->search = program->searches;
    struct wb_waiting *first = WB_NEW(&program->arena, struct wb_waiting);
    *first = (struct wb_waiting){function, *waiting};
    *waiting = first;
}

static void
mark_reached_from(struct wb_program *program, struct wb_waiting **waiting,
                  const struct wb_node *first)
{
    for (const struct wb_node *node = first; node; node = node->next) {
        bool names = node->kind == WB_FUNCTION || node->kind == WB_CALL;
        if (names && node->function) mark_reached(program, waiting, node->function);
        mark_reached_from(program, waiting, node->child);
    }
}

static unsigned
mark_waiting(struct wb_program *program, struct wb_waiting *waiting)
{
    bool any = waiting != NULL;

    while (waiting) {
        const struct wb_function *function = waiting->function;
        waiting = waiting->next;
        mark_reached_from(program, &waiting, function->body);
    }
    return any ? program->searches : 0;
}

unsigned
wb_reach_from_method(struct wb_program *program, const char *name)
{
    struct wb_waiting *waiting = NULL;

    program->searches++;
    for (const struct wb_method *method = program->methods; method; method = method->next) {
        if (!strcmp(method->name, name)) mark_reached(program, &waiting, method->function);
    }
    return mark_waiting(program, waiting);
}

unsigned
wb_reach_from_function(struct wb_program *program, const char *name)
{
    struct wb_waiting *waiting = NULL;

    program->searches++;
    for (struct wb_function *function = program->functions; function; function = function->next) {
        if (function->body && !strcmp(function->name, name)) {
            mark_reached(program, &waiting, function);
        }
    }
    return mark_waiting(program, waiting);
}
