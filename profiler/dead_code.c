/* dead_code.c - makes one entry of all that looks the same in what dead code leaves in the tables.
 *
 *   1  of dead classes of one name, and of dead functions of one name, path and first line, the
 *      first stands for all
 *   2  a site with a live sample keeps its stack, as it is shown
 *   3  if too many names are left, some are given up (dead_names.c)
 *   4  stacks, then sites, then what is alive get the numbers of what stands for them. What nothing
 *      names is freed
 *
 *   I1  a frame that is running is of living code. So is the stack of a sample that waits for its
 *       site (gc/objects/newobj.c). A stack of living code is equal to no other stack, before and
 *       after, so its number stays.
 *   I2  totals, live samples and pieces are at the site that stands for theirs.
 *   I3  if memory is refused, entries stay unmerged, or keep their names. Nothing else differs.
 *
 * The caller serialises.
 */
#include "profiler/dead_code.h"

#include "profiler/dead_names.h"

struct dead_merging {
    struct heapprof_tables *tables;
    struct heapprof_index index; /* scratch: of what stands for others */
    uint32_t count;              /* in it */
    struct heapprof_nameless nameless;
};

static struct heapprof_function *
function_at(const struct heapprof_tables *tables, uint32_t number)
{
    return rb_heapprof_functions_get(&tables->functions, number);
}

/* ---- classes and functions that look the same ---- */

static uint64_t
class_hash_i(const void *owner, uint32_t id)
{
    const struct heapprof_tables *tables = owner;
    const struct heapprof_identity *identity = &tables->identities.all[id];

    return rb_heapprof_index_hash((uint64_t)identity->name << 32 | identity->library);
}

static bool
same_class_p(const struct heapprof_tables *tables, uint32_t a, uint32_t b)
{
    const struct heapprof_identity *all = tables->identities.all;

    return all[a].name == all[b].name && all[a].library == all[b].library;
}

static uint64_t
function_hash_i(const void *owner, uint32_t number)
{
    const struct heapprof_tables *tables = owner;
    const struct heapprof_function *function = function_at(tables, number);
    uint64_t name = (uint64_t)function->name << 32 | function->path;

    return rb_heapprof_index_hash(rb_heapprof_index_hash(name) + function->first_line);
}

static bool
same_function_p(const struct heapprof_tables *tables, uint32_t a, uint32_t b)
{
    const struct heapprof_function *one = function_at(tables, a), *other = function_at(tables, b);

    return one->name == other->name && one->path == other->path &&
           one->first_line == other->first_line && one->cfunc == other->cfunc;
}

/* The entry that stands for it. Returns 0 if it stands for later ones, or if there is no memory. */
static uint32_t
find_or_enter(struct dead_merging *merging, uint32_t number, heapprof_hash_i *hash_i,
              bool (*same_p)(const struct heapprof_tables *tables, uint32_t a, uint32_t b))
{
    uint64_t probe, hash = hash_i(merging->tables, number);
    uint32_t other;

    for (probe = hash; (other = rb_heapprof_index_at(&merging->index, probe)) != 0; probe++) {
        if (same_p(merging->tables, other, number)) return other;
    }
    struct heapprof_mem *mem = merging->tables->strings.mem;
    if (rb_heapprof_index_reserve(&merging->index, mem, merging->count, hash_i, merging->tables)) {
        rb_heapprof_index_insert(&merging->index, hash, number);
        merging->count++;
    }
    return 0;
}

static void
empty_index(struct dead_merging *merging)
{
    rb_heapprof_index_release(&merging->index, merging->tables->strings.mem);
    merging->count = 0;
}

static void
merge_classes(struct dead_merging *merging)
{
    struct heapprof_identities *identities = &merging->tables->identities;

    for (uint32_t id = 1; id < identities->numbers.end; id++) {
        struct heapprof_identity *identity = &identities->all[id];
        if (!identity->used || !identity->dead) continue;
        identity->next_free = find_or_enter(merging, id, class_hash_i, same_class_p);
    }
    empty_index(merging);
}

static void
merge_functions(struct dead_merging *merging)
{
    const struct heapprof_tables *tables = merging->tables;

    for (uint32_t number = 1; number < tables->functions.numbers.end; number++) {
        if (!rb_heapprof_dead_function_p(tables, number)) continue;
        uint32_t same = find_or_enter(merging, number, function_hash_i, same_function_p);
        function_at(tables, number)->same = same;
    }
    empty_index(merging);
}

/* ---- new numbers ---- */

static void
keep_living(struct heapprof_tables *tables)
{
    for (uint32_t number = 1; number < tables->sites.numbers.end; number++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, number);
        if (!site->used || site->live_samples == 0) continue;
        rb_heapprof_stacks_keep(&tables->stacks, site->stack);
    }
}

static void
rename_node(struct heapprof_stack_node *node, bool kept, void *data)
{
    const struct dead_merging *merging = data;
    const struct heapprof_tables *tables = merging->tables;

    if (merging->nameless.code && !kept && rb_heapprof_dead_function_p(tables, node->function)) {
        node->function = merging->nameless.code;
        node->line = 0;
    }
    else {
        node->function = rb_heapprof_dead_function_same(tables, node->function);
    }
}

static uint32_t
rename_class(const struct heapprof_site *site, void *data)
{
    const struct dead_merging *merging = data;
    uint32_t id = rb_heapprof_site_identity(site);

    if (merging->nameless.class_id && site->live_samples == 0 &&
        rb_heapprof_dead_class_nameless_p(merging->tables, id)) return merging->nameless.class_id;
    id = rb_heapprof_dead_class_same(merging->tables, id);
    return id | (site->class_id & HEAPPROF_SITE_OF_BLOCKS);
}

static void
move_owners(struct heapprof_tables *tables)
{
    for (uint32_t number = 0; (number = rb_heapprof_blocks_next(&tables->blocks, number)) != 0; ) {
        uint32_t *class_id = &tables->blocks.owners[number].class_id;
        *class_id = rb_heapprof_dead_class_same(tables, *class_id);
    }
}

/* Takes all marks away. Nothing names an entry any more that another one stands for. */
static void
forget_same(struct heapprof_tables *tables)
{
    for (uint32_t number = 1; number < tables->functions.numbers.end; number++) {
        function_at(tables, number)->same = 0;
    }
    for (uint32_t id = 1; id < tables->identities.numbers.end; id++) {
        struct heapprof_identity *identity = &tables->identities.all[id];
        if (identity->used) identity->next_free = 0;
        identity->needed = false;
    }
}

/* ---- all of it ---- */

void
rb_heapprof_dead_code_merge(struct heapprof_tables *tables)
{
    struct dead_merging merging = {.tables = tables};
    struct heapprof_renaming renaming = {.rename = rename_node, .data = &merging};
    bool alive;

    tables->identities.deaths = 0;
    if (!rb_heapprof_stacks_mergeable_p(&tables->stacks)) return;
    merge_classes(&merging);
    merge_functions(&merging);
    keep_living(tables);
    merging.nameless = rb_heapprof_dead_names_choose(tables);
    renaming.once = merging.nameless.code;
    rb_heapprof_stacks_merge(&tables->stacks, &renaming);
    tables->merged_sites += rb_heapprof_sites_merge(&tables->sites, rename_class, &merging, &alive);
    if (alive) rb_heapprof_tables_follow_sites(tables);
    move_owners(tables);
    rb_heapprof_sites_end_merging(&tables->sites);
    rb_heapprof_stacks_end_merging(&tables->stacks);
    forget_same(tables);
    rb_heapprof_tables_trim(tables, NULL);
}

/* ---- how much there is ---- */

/* The function of the line: the innermost one that is not written in C. Returns 0 if there is
 * none. */
static uint32_t
function_of_line(const struct heapprof_tables *tables, uint32_t stack)
{
    while (stack) {
        const struct heapprof_stack_node *node = rb_heapprof_stacks_node(&tables->stacks, stack);
        if (!function_at(tables, node->function)->cfunc) return node->function;
        stack = node->parent;
    }
    return 0;
}

static bool
of_dead_code_p(const struct heapprof_tables *tables, const struct heapprof_nameless *nameless,
               uint32_t function)
{
    if (function == 0) return false;
    return function == nameless->code || rb_heapprof_dead_function_p(tables, function);
}

struct heapprof_dead_code_share
rb_heapprof_dead_code_share(const struct heapprof_tables *tables)
{
    struct heapprof_dead_code_share share = {0};
    const struct heapprof_nameless nameless = rb_heapprof_dead_names_find(tables);
    uint32_t number;

    for (number = 1; number < tables->functions.numbers.end; number++) {
        share.functions += of_dead_code_p(tables, &nameless, number);
    }
    for (number = 1; number < tables->stacks.numbers.end; number++) {
        uint32_t function = rb_heapprof_stacks_node(&tables->stacks, number)->function;
        share.stack_nodes += of_dead_code_p(tables, &nameless, function);
    }
    for (number = 1; number < tables->sites.numbers.end; number++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, number);
        uint32_t id = rb_heapprof_site_identity(site);
        if (!site->used) continue;
        share.sites += of_dead_code_p(tables, &nameless, function_of_line(tables, site->stack)) ||
                       rb_heapprof_dead_class_p(tables, id) || (id && id == nameless.class_id);
    }
    return share;
}
