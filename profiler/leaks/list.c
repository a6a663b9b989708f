/* list.c - what extensions have lost, as text. Has no state except its arguments. */
#ifndef _POSIX_C_SOURCE
# define _POSIX_C_SOURCE 200809L /* open_memstream */
#endif
#include "profiler/leaks/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiler/leaks/totals.h"

struct leak_list {
    FILE *out;
    const struct heapprof_tables *tables;
};

static void
put_string(const struct leak_list *list, uint32_t string)
{
    size_t length = 0;
    const char *text =
        string ? rb_heapprof_strings_get(&list->tables->strings, string, &length) : "";

    fwrite(text, 1, length, list->out);
}

static void
put_field(const struct leak_list *list, uint32_t string)
{
    put_string(list, string);
    putc('\0', list->out);
}

static void
put_number(const struct leak_list *list, int64_t number)
{
    fprintf(list->out, "%" PRId64, number);
    putc('\0', list->out);
}

/* A C method stands where it was called. */
static void
put_frame(const struct leak_list *list, uint32_t node)
{
    const struct heapprof_tables *tables = list->tables;
    uint32_t placed = rb_heapprof_leak_placed(tables, node);
    uint32_t name =
        rb_heapprof_functions_get(&tables->functions,
                                  rb_heapprof_stacks_node(&tables->stacks, node)->function)
            ->name;

    if (placed) {
        const struct heapprof_stack_node *one = rb_heapprof_stacks_node(&tables->stacks, placed);
        put_string(list, rb_heapprof_functions_get(&tables->functions, one->function)->path);
        fprintf(list->out, ":%" PRIu32 ":in '", one->line);
    }
    put_string(list, name);
    if (placed) putc('\'', list->out);
    putc('\0', list->out);
}

static void
put_frames(const struct leak_list *list, uint32_t stack)
{
    const struct heapprof_stacks *stacks = &list->tables->stacks;
    int64_t count = 0;

    for (uint32_t node = stack; node; node = rb_heapprof_stacks_node(stacks, node)->parent) count++;
    put_number(list, count);
    for (uint32_t node = stack; node; node = rb_heapprof_stacks_node(stacks, node)->parent)
        put_frame(list, node);
}

static void
put_leaks(const struct leak_list *list, const struct heapprof_leak_totals *totals, const char *core)
{
    for (uint32_t site = 1; site < list->tables->sites.numbers.end; site++) {
        const struct heapprof_leak_total *total = &totals[site].of[HEAPPROF_LOST];
        const struct heapprof_identity *caller = 
            rb_heapprof_leak_site_caller(list->tables, site).identity;
        if (total->values[HEAPPROF_LEAK_BLOCKS] == 0 ||
            rb_heapprof_leak_core_p(list->tables, caller, core))
            continue;
        for (int v = 0; v < HEAPPROF_LEAK_VALUES; v++) put_number(list, total->values[v]);
        put_field(list, caller->name);
        put_field(list, caller->library);
        put_frames(list, rb_heapprof_sites_get(&list->tables->sites, site)->stack);
    }
    fputs("end", list->out);
    putc('\0', list->out);
}

char *
rb_heapprof_leak_list(const struct heapprof_tables *tables, const struct heapprof_lost *lost,
                      const char *core, size_t *size)
{
    struct heapprof_leak_totals *totals = rb_heapprof_leak_totals(tables, lost);
    char *text = NULL;
    struct leak_list list = {totals ? open_memstream(&text, size) : NULL, tables};

    if (list.out) {
        put_leaks(&list, totals, core);
        if (fclose(list.out) != 0) {
            free(text);
            text = NULL;
        }
    }
    free(totals);
    return text;
}
