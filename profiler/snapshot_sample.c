/* snapshot_sample.c - the profile of one sample: its stack, class and age.
 *
 * Takes time in proportion to the sample's stack, and copies no table. The stack's nodes are
 * laid out anew, the innermost first, each with a function of its own:
 *
 *     node 1 -> node 2 -> ... -> node depth -> 0      function of node n: n
 *
 * Allocates as snapshot.c does. Reads the tables and takes no lock.
 */
#include "profiler/rows.h"

static bool
take_string(struct heapprof_strings *to, const struct heapprof_strings *from, uint32_t *number)
{
    size_t length;
    const char *text = rb_heapprof_strings_get(from, *number, &length);

    *number = rb_heapprof_strings_intern(to, text, length);
    return *number != UINT32_MAX;
}

static bool
take_function(struct heapprof_snapshot *snapshot, const struct heapprof_tables *tables,
              uint32_t from, uint32_t number)
{
    struct heapprof_functions *to = &snapshot->functions;
    struct heapprof_function function = *rb_heapprof_functions_get(&tables->functions, from);

    if (!take_string(&snapshot->strings, &tables->strings, &function.name) ||
        !take_string(&snapshot->strings, &tables->strings, &function.path) ||
        !HEAPPROF_NUMBERS_RESERVE(&to->numbers, to->mem, to->all)) {
        return false;
    }
    rb_heapprof_numbers_take(&to->numbers, &to->all[number].owner);
    to->all[number] = function;
    return true;
}

static bool
take_node(struct heapprof_stacks *to, struct heapprof_stack_node node, uint32_t number)
{
    if (!HEAPPROF_NUMBERS_RESERVE(&to->numbers, to->mem, to->nodes)) return false;
    rb_heapprof_numbers_take(&to->numbers, &to->nodes[number].holds);
    node.function = number;
    if (node.parent) node.parent = number + 1;
    to->nodes[number] = node;
    return true;
}

static bool
take_stack(struct heapprof_snapshot *snapshot, const struct heapprof_tables *tables,
           uint32_t stack)
{
    uint32_t number = 0;

    while (stack) {
        const struct heapprof_stack_node *node = rb_heapprof_stacks_node(&tables->stacks, stack);
        number++;
        if (!take_function(snapshot, tables, node->function, number) ||
            !take_node(&snapshot->stacks, *node, number)) {
            return false;
        }
        stack = node->parent;
    }
    return true;
}

static bool
take_class(struct heapprof_snapshot *snapshot, const struct heapprof_tables *tables,
           uint32_t class_id, uint32_t *name)
{
    static const char anonymous[] = "(anonymous)";

    *name = class_id ? tables->identities.all[class_id].name : 0;
    if (*name != HEAPPROF_UNNAMED) {
        return take_string(&snapshot->strings, &tables->strings, name);
    }
    *name = rb_heapprof_strings_intern(&snapshot->strings, anonymous, sizeof(anonymous) - 1);
    return *name != UINT32_MAX;
}

static bool
take_row(struct heapprof_snapshot *snapshot, const struct heapprof_tables *tables,
         const struct heapprof_sample *sample)
{
    const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, sample->site);
    struct heapprof_row row = {
        .kind = HEAPPROF_ROW_OBJECTS,
        .stack = site->stack ? 1 : 0,
        .label = site->label,
        .gc_age = rb_heapprof_rows_age(snapshot->facts.gc_count, sample->birth_gc),
        .alloc_objects = sample->weight,
        .alloc_slot_bytes = (double)sample->weight * sample->birth_bytes,
        .inuse_objects = sample->weight,
        .inuse_slot_bytes = (double)sample->weight * sample->slot_bytes,
        .inuse_variance = (double)sample->weight * (sample->weight - 1.0) * sample->slot_bytes *
                          sample->slot_bytes,
    };

    if (!take_class(snapshot, tables, site->class_id, &row.subject) ||
        !take_string(&snapshot->strings, &tables->strings, &row.label) ||
        !take_stack(snapshot, tables, site->stack) ||
        !HEAPPROF_MEM_GROW(&snapshot->mem, snapshot->rows, snapshot->rows_capacity, 1)) {
        return false;
    }
    snapshot->rows[0] = row;
    snapshot->row_count = 1;
    snapshot->facts.live_samples = 1;
    return true;
}

struct heapprof_snapshot *
rb_heapprof_snapshot_take_sample(const struct heapprof_tables *tables,
                                 const struct heapprof_facts *facts, uint32_t entry)
{
    struct heapprof_snapshot *snapshot = rb_heapprof_snapshot_new(facts);

    if (!snapshot) return NULL;
    snapshot->facts.folded = tables->sites.folded_count;
    if (!take_row(snapshot, tables, rb_heapprof_live_table_sample(&tables->live, entry))) {
        rb_heapprof_snapshot_free(snapshot);
        return NULL;
    }
    return snapshot;
}
