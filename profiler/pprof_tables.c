/* pprof_tables.c - numbers a snapshot's rows the way pprof wants them.
 *
 *     snapshot                                tables
 *     row -> stack                            sample
 *              | parent ... parent               v
 *              +----------- location_of ----> location -> function
 *
 * Two of this folder's own tables do the numbering. Functions are entered under name and path.
 * A location is a function and a line, which is a stack of one frame.
 *
 * Samples are in the order of their first rows. As long as no number of a site is used again, this
 * is the order of the sites' first allocations. Some viewers draw samples side by side as if time
 * had passed. With this order they are not far from the truth, and neighbours share their outer
 * frames.
 *
 * A 64-bit hash of the locations says whether two stacks may look alike. Rows are sorted by it.
 * Neighbours with one hash are compared for certain before they are added up. If two different
 * stacks have one hash, rows that could have been merged may stay apart. Rows are never merged
 * wrongly.
 *
 *  I1  Functions and locations are numbered from 1 without gaps, because none is ever taken out.
 *  I2  A value is the rounded sum of the rows it was made of, never a sum of rounded ones.
 *  I3  A snapshot that was taken has a sample for each row: nothing is sorted then.
 *
 * A frame is resolved once for each node of the snapshot's trie, however many rows share it. So
 * the work is proportional to nodes and rows, not to rows times depth.
 *
 * Reads the snapshot only; may run on any thread, without the GVL.
 */
#include "profiler/pprof_tables.h"

#include "base/check.h"
#include "pprof/digest.h"

#include <math.h>
#include <stdlib.h>

struct entry {
    uint64_t stack_hash;
    uint32_t location;
    uint32_t outer;
    const struct heapprof_row *row;
    double   values[HEAPPROF_PPROF_VALUES];
};

struct builder {
    struct heapprof_pprof_tables   *tables;
    const struct heapprof_snapshot *snapshot;
    uint64_t     *hash_of;          /* by the snapshot's stack: hash of all its locations */
    size_t        hash_of_capacity;
    uint32_t     *path;             /* scratch: stacks from a leaf outwards */
    size_t        path_capacity;
    struct entry *entries;          /* one for each row */
    size_t        entries_capacity;
};

/* ---- numbering: each function returns 0 if memory is refused ---- */

static uint32_t
function_number(struct builder *builder, const struct heapprof_frame *frame)
{
    struct heapprof_functions *functions = &builder->tables->functions;
    uint64_t origin = (uint64_t)frame->name << 32 | frame->path;
    uint32_t number = rb_heapprof_functions_find(functions, origin, 0);
    if (number) return number;

    struct heapprof_function function = {
        .origin = origin, .name = frame->name, .path = frame->path,
        .first_line = frame->first_line,
    };
    return rb_heapprof_functions_add(functions, &function);
}

static uint32_t
location_number(struct builder *builder, const struct heapprof_frame *frame)
{
    uint32_t function = function_number(builder, frame);
    if (!function) return 0;

    uint32_t location =
        rb_heapprof_stacks_push(&builder->tables->locations, 0, function, frame->line);
    return location == HEAPPROF_NO_STACK ? 0 : location;
}

static uint32_t
synthetic_location(struct builder *builder, uint32_t name)
{
    struct heapprof_frame frame = {.name = name};

    return location_number(builder, &frame);
}

/* Returns the frame of a node inside the location caller. rb_heapprof_snapshot_frames would
 * walk the whole stack for it. caller already says where a C function was called. */
static struct heapprof_frame
node_frame(const struct builder *builder, const struct heapprof_stack_node *node, uint32_t caller)
{
    const struct heapprof_pprof_tables *tables = builder->tables;
    const struct heapprof_function *function =
        rb_heapprof_functions_get(&builder->snapshot->functions, node->function);
    struct heapprof_frame frame = {.name = function->name, .first_line = function->first_line};

    if (!function->cfunc) {
        frame.path = function->path;
        frame.line = node->line;
    }
    else if (caller) {
        const struct heapprof_stack_node *location =
            rb_heapprof_stacks_node(&tables->locations, caller);
        frame.path = rb_heapprof_functions_get(&tables->functions, location->function)->path;
        frame.line = location->line;
    }
    return frame;
}

/* Puts the stacks that are not numbered yet into path, from leaf outwards. Returns how many. */
static size_t
unnumbered_path(struct builder *builder, uint32_t leaf)
{
    size_t count = 0;

    for (uint32_t stack = leaf; stack && !builder->tables->location_of[stack];) {
        builder->path[count++] = stack;
        stack = rb_heapprof_stacks_node(&builder->snapshot->stacks, stack)->parent;
    }
    return count;
}

/* Numbers a stack whose parent is numbered. */
static bool
number_stack(struct builder *builder, uint32_t stack)
{
    uint32_t *location_of = builder->tables->location_of;
    const struct heapprof_stack_node *node =
        rb_heapprof_stacks_node(&builder->snapshot->stacks, stack);
    struct heapprof_frame frame = node_frame(builder, node, location_of[node->parent]);

    location_of[stack] = location_number(builder, &frame);
    builder->hash_of[stack] =
        rb_heapprof_index_hash(builder->hash_of[node->parent] + location_of[stack]);
    return location_of[stack] != 0;
}

static bool
number_frames(struct builder *builder, uint32_t leaf)
{
    uint32_t depth = rb_heapprof_stacks_node(&builder->snapshot->stacks, leaf)->depth;
    if (!HEAPPROF_MEM_GROW(&builder->tables->mem, builder->path, builder->path_capacity, depth)) {
        return false;
    }
    for (size_t count = unnumbered_path(builder, leaf); count > 0; count--) {
        if (!number_stack(builder, builder->path[count - 1])) return false;
    }
    return true;
}

/* ---- merging ---- */

static bool
enter_synthetic(struct builder *builder, struct entry *entry, uint32_t name)
{
    entry->location = synthetic_location(builder, name);
    entry->stack_hash = rb_heapprof_index_hash(entry->location);
    return entry->location != 0;
}

static bool
enter_stack(struct builder *builder, struct entry *entry, const struct heapprof_row *row)
{
    if (row->folded) return enter_synthetic(builder, entry, HEAPPROF_PPROF_NAME_FOLDED);
    if (row->stack == 0) return enter_synthetic(builder, entry, HEAPPROF_PPROF_NAME_NO_FRAME);
    if (!number_frames(builder, row->stack)) return false;

    entry->location = builder->tables->location_of[row->stack];
    entry->outer = rb_heapprof_stacks_node(&builder->snapshot->stacks, row->stack)->parent;
    entry->stack_hash = builder->hash_of[row->stack];
    return true;
}

static void
enter_values(double *values, const struct heapprof_row *row)
{
    values[0] = row->alloc_objects;
    values[1] = row->alloc_slot_bytes;
    values[2] = row->alloc_malloc_bytes;
    values[3] = row->alloc_slot_bytes + row->alloc_malloc_bytes;
    values[4] = row->inuse_objects;
    values[5] = row->inuse_slot_bytes;
    values[6] = row->inuse_malloc_bytes;
    values[7] = row->inuse_slot_bytes + row->inuse_malloc_bytes;
    values[8] = row->resident_bytes;
    values[9] = row->inuse_variance;
    values[10] = row->peak_objects;
    values[11] = row->peak_bytes;
    values[12] = row->temp_objects;
    values[13] = row->temp_bytes;
}

bool
rb_heapprof_pprof_value_p(const struct heapprof_facts *facts, int value)
{
    enum { peak = HEAPPROF_PPROF_ALWAYS, young = peak + 2 };

    if (value < peak) return true;
    return value < young ? facts->peak_kept : facts->lifetimes;
}

static bool
enter_rows(struct builder *builder)
{
    const struct heapprof_snapshot *snapshot = builder->snapshot;

    for (size_t i = 0; i < snapshot->row_count; i++) {
        const struct heapprof_row *row = &snapshot->rows[i];
        struct entry *entry = &builder->entries[i];
        if (!enter_stack(builder, entry, row)) return false;
        entry->row = row;
        enter_values(entry->values, row);
    }
    return true;
}

static bool
same_stack_p(const struct builder *builder, const struct entry *a, const struct entry *b)
{
    const uint32_t *location_of = builder->tables->location_of;
    uint32_t x = a->outer, y = b->outer;

    if (a->location != b->location) return false;
    while (x != y && location_of[x] == location_of[y]) {
        x = rb_heapprof_stacks_node(&builder->snapshot->stacks, x)->parent;
        y = rb_heapprof_stacks_node(&builder->snapshot->stacks, y)->parent;
    }
    return x == y;
}

static int
compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* Compares the fields that a sample's labels are made of. */
static int
compare_labels(const struct heapprof_row *a, const struct heapprof_row *b)
{
    int order = compare_numbers(a->subject, b->subject);

    if (order == 0) order = compare_numbers(a->library, b->library);
    if (order == 0) order = compare_numbers(a->kind, b->kind);
    if (order == 0) order = compare_numbers(a->owner, b->owner);
    if (order == 0) order = compare_numbers(a->owner_stack, b->owner_stack);
    if (order == 0) order = compare_numbers(a->native_leak, b->native_leak);
    if (order == 0) order = compare_numbers(a->label, b->label);
    if (order == 0) order = compare_numbers(a->gc_age, b->gc_age);
    if (order == 0) order = compare_numbers(a->death_age, b->death_age);
    return order;
}

static int
compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order;

    if (a->stack_hash != b->stack_hash) return a->stack_hash < b->stack_hash ? -1 : 1;
    order = compare_labels(a->row, b->row);
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

static int
compare_rows(const void *left, const void *right)
{
    const struct heapprof_pprof_sample *a = left, *b = right;

    return (a->row > b->row) - (a->row < b->row);
}

static bool
alike_p(const struct builder *builder, const struct entry *a, const struct entry *b)
{
    return a->stack_hash == b->stack_hash && compare_labels(a->row, b->row) == 0 &&
           same_stack_p(builder, a, b);
}

/* Variances are squares, and may be larger than a file can hold. So may sums of values that
 * were loaded. */
static int64_t
whole(double value)
{
    if (value >= (double)INT64_MAX) return INT64_MAX;
    return value <= (double)INT64_MIN ? INT64_MIN : llround(value);
}

/* Adds up the entries that look like the first. Returns how many. */
static size_t
add_sample(struct builder *builder, const struct entry *first, const struct entry *end)
{
    struct heapprof_pprof_tables *tables = builder->tables;
    struct heapprof_pprof_sample *sample = &tables->samples[tables->sample_count++];
    double sums[HEAPPROF_PPROF_VALUES] = {0}, memsize_bytes = 0;
    const struct entry *entry = first;

    do {
        for (int v = 0; v < HEAPPROF_PPROF_VALUES; v++) sums[v] += entry->values[v];
        memsize_bytes += entry->row->memsize_bytes;
        entry++;
    } while (entry < end && alike_p(builder, first, entry));

    sample->location = first->location;
    sample->outer = first->outer;
    sample->row = (uint32_t)(first->row - builder->snapshot->rows);
    sample->memsize_bytes = whole(memsize_bytes);
    for (int v = 0; v < HEAPPROF_PPROF_VALUES; v++) sample->values[v] = whole(sums[v]);
    return (size_t)(entry - first);
}

static void
merge_entries(struct builder *builder, size_t count)
{
    struct heapprof_pprof_tables *tables = builder->tables;

    if (count == 0) return;
    if (builder->snapshot->distinct) {
        for (size_t i = 0; i < count; i++)
            add_sample(builder, &builder->entries[i], &builder->entries[i + 1]);
        return;
    }
    qsort(builder->entries, count, sizeof(struct entry), compare_entries);
    for (size_t i = 0; i < count; ) {
        i += add_sample(builder, &builder->entries[i], &builder->entries[count]);
    }
    qsort(tables->samples, tables->sample_count, sizeof(*tables->samples), compare_rows);
}

/* ---- lifecycle ---- */

/* Gives all arrays their final size. location_of and hash_of of stack 0 are 0. */
static bool
reserve(struct builder *builder)
{
    struct heapprof_pprof_tables *tables = builder->tables;
    struct heapprof_mem *mem = &tables->mem;
    size_t rows = builder->snapshot->row_count;
    size_t stacks = (size_t)builder->snapshot->stacks.numbers.end + 1;

    return HEAPPROF_MEM_GROW(mem, tables->location_of, tables->location_of_capacity, stacks) &&
           HEAPPROF_MEM_GROW(mem, builder->hash_of, builder->hash_of_capacity, stacks) &&
           HEAPPROF_MEM_GROW(mem, builder->entries, builder->entries_capacity, rows) &&
           HEAPPROF_MEM_GROW(mem, tables->samples, tables->samples_capacity, rows);
}

bool
rb_heapprof_pprof_tables_build(struct heapprof_pprof_tables *tables,
                               const struct heapprof_snapshot *snapshot)
{
    struct builder builder = {.tables = tables, .snapshot = snapshot};

    *tables = (struct heapprof_pprof_tables){0};
    rb_heapprof_mem_init(&tables->mem, SIZE_MAX);
    rb_heapprof_functions_init(&tables->functions, &tables->mem);
    rb_heapprof_stacks_init(&tables->locations, &tables->mem);
    /* the snapshot may have been loaded */
    tables->functions.salt = tables->locations.salt = rb_heapprof_digest_begin().a;

    bool built = reserve(&builder) && enter_rows(&builder);
    if (built) merge_entries(&builder, snapshot->row_count);

    HEAPPROF_MEM_RELEASE(&tables->mem, builder.hash_of, builder.hash_of_capacity);
    HEAPPROF_MEM_RELEASE(&tables->mem, builder.path, builder.path_capacity);
    HEAPPROF_MEM_RELEASE(&tables->mem, builder.entries, builder.entries_capacity);
    return built;
}

void
rb_heapprof_pprof_tables_free(struct heapprof_pprof_tables *tables)
{
    rb_heapprof_stacks_free(&tables->locations);
    rb_heapprof_functions_free(&tables->functions);
    HEAPPROF_MEM_RELEASE(&tables->mem, tables->location_of, tables->location_of_capacity);
    HEAPPROF_MEM_RELEASE(&tables->mem, tables->samples, tables->samples_capacity);
    HEAPPROF_ASSERT(tables->mem.used_bytes == 0);
}
