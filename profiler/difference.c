/* difference.c - one snapshot minus another.
 *
 * Each snapshot numbers its own strings, functions and stacks. So both get new numbers, by content:
 *
 *     later    row +  stack 7 --> function 3 --> "Foo#bar"        the difference
 *                                                                 stack 2 --> function 1 ...
 *     earlier  row -  stack 4 --> function 9 --> "Foo#bar"
 *
 * Rows that then have the same numbers are added up. If only one of the two has owners with
 * memsizes, the difference has no owners and no memsizes. If only one has the rungs of RSS, the
 * difference has no rungs. A key that one side cannot have would turn what has not changed into a
 * row of growth and a row of shrinkage.
 *
 * Two snapshots are equal if nothing is left of their difference with owners, rungs and ages.
 *
 *   I1  Nothing in the difference points outside it.
 *
 * Allocates as snapshot.c does. Changes neither of the two.
 */
#include "profiler/difference.h"
#include "profiler/sampler.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* This stands in place of an age until the rows are merged. It says whose row it is, for the
 * variance. */
enum {NEW, KEPT, EARLIER, SHARES};

/* One of the two snapshots, while it is brought over. */
struct part {
    struct heapprof_snapshot *to;
    const struct heapprof_snapshot *from;
    double    sign;
    bool      owners;         /* both snapshots have owners */
    bool      owner_frames;   /* one of the two has only a frame of each owner's stack */
    bool      resident;       /* both have rungs */
    bool      peak, lifetimes; /* both have what was alive at the peak; how old the dead were */
    bool      ages;           /* rows of different ages are different */
    bool      shown;          /* libraries and first lines of functions, which no row shows, do not
                                 count. A file has one first line for all functions of a name */
    uint32_t  kept_age;       /* samples of this age or older were sampled in the other, too;
                                 HEAPPROF_AGE_DEAD: no sample was */
    uint32_t *stacks;         /* new numbers by old; 0: not known yet */
    size_t    stacks_capacity;
    uint32_t *path;           /* scratch: stacks from a leaf outwards */
    size_t    path_capacity;
};

/* ---- new numbers ---- */

static bool
bring_string(const struct part *part, uint32_t old, uint32_t *number)
{
    size_t length;
    const char *text = rb_heapprof_strings_get(&part->from->strings, old, &length);

    *number = rb_heapprof_strings_intern(&part->to->strings, text, length);
    return *number != UINT32_MAX;
}

/* Finds or adds a function by name, path and first line. Returns 0 if memory is refused. */
static uint32_t
enter_function(struct heapprof_snapshot *to, struct heapprof_function function)
{
    uint32_t number;

    function.origin = (uint64_t)function.name << 32 | function.path;
    if (function.origin == 0) function.origin = UINT64_MAX; /* 0 marks a free function */
    function.owner = function.first_line;
    number = rb_heapprof_functions_find(&to->functions, function.origin, function.owner);
    return number ? number : rb_heapprof_functions_add(&to->functions, &function);
}

/* Brings the function and line of a node as they are shown. A C function has the path and line
 * of its caller, a stack that has been brought. In a file that was loaded, C functions have
 * these, too. Returns 0 if memory is refused. */
static uint32_t
bring_function(const struct part *part, const struct heapprof_stack_node *node, uint32_t caller,
               uint32_t *line)
{
    struct heapprof_functions *functions = &part->to->functions;
    struct heapprof_function function =
        *rb_heapprof_functions_get(&part->from->functions, node->function);

    if (!bring_string(part, function.name, &function.name) ||
        !bring_string(part, function.path, &function.path)) return 0;
    *line = node->line;
    if (part->shown) function.first_line = 0;
    if (function.cfunc) {
        const struct heapprof_stack_node *outer =
            rb_heapprof_stacks_node(&part->to->stacks, caller);
        function.path = caller ? rb_heapprof_functions_get(functions, outer->function)->path : 0;
        *line = caller ? outer->line : 0;
        function.cfunc = false;
    }
    return enter_function(part->to, function);
}

/* Brings a stack whose parent has been brought. */
static bool
bring_node(struct part *part, uint32_t old)
{
    const struct heapprof_stack_node *node = rb_heapprof_stacks_node(&part->from->stacks, old);
    uint32_t line, caller = part->stacks[node->parent];
    uint32_t function = bring_function(part, node, caller, &line);
    uint32_t stack = HEAPPROF_NO_STACK;

    if (function) stack = rb_heapprof_stacks_push(&part->to->stacks, caller, function, line);
    if (stack == HEAPPROF_NO_STACK) return false;
    part->stacks[old] = stack;
    return true;
}

static bool
bring_stack(struct part *part, uint32_t old, uint32_t *number)
{
    const struct heapprof_stacks *from = &part->from->stacks;
    uint32_t stack, depth = old ? rb_heapprof_stacks_node(from, old)->depth : 0;
    size_t count = 0;

    if (!HEAPPROF_MEM_GROW(&part->to->mem, part->path, part->path_capacity, depth)) return false;
    for (stack = old; stack && !part->stacks[stack];) {
        part->path[count++] = stack;
        stack = rb_heapprof_stacks_node(from, stack)->parent;
    }
    while (count > 0) {
        if (!bring_node(part, part->path[--count])) return false;
    }
    *number = part->stacks[old];
    return true;
}

/* Brings the innermost frame of a stack, as a file has it. */
static bool
bring_frame(struct part *part, uint32_t old, uint32_t *number)
{
    struct heapprof_frame frame;
    struct heapprof_function function = {0};

    *number = 0;
    if (old == 0) return true;
    rb_heapprof_snapshot_frames(part->from, old, &frame, 1);
    if (!bring_string(part, frame.name, &function.name) ||
        !bring_string(part, frame.path, &function.path))
        return false;
    uint32_t place = enter_function(part->to, function);
    if (place) *number = rb_heapprof_stacks_push(&part->to->stacks, 0, place, frame.line);
    return place && *number != HEAPPROF_NO_STACK;
}

/* ---- rows ---- */

static void
forget_owner(struct heapprof_row *row)
{
    row->owner = row->owner_stack = 0;
    row->native_leak = false;
    row->memsize_bytes = 0;
}

static bool
bring_row(struct part *part, struct heapprof_row row)
{
    struct heapprof_snapshot *to = part->to;

    if (!part->owners) forget_owner(&row);
    if (!part->resident && row.kind == HEAPPROF_ROW_RUNG) return true;
    if (!bring_stack(part, row.stack, &row.stack) ||
        !(part->owner_frames ? bring_frame : bring_stack)(part, row.owner_stack,
                                                          &row.owner_stack) ||
        !bring_string(part, row.subject, &row.subject) ||
        !bring_string(part, row.library, &row.library) ||
        !bring_string(part, row.label, &row.label) ||
        !bring_string(part, row.owner, &row.owner))
        return false;
    if (part->shown) row.library = 0;
    if (!part->peak) row.peak_objects = row.peak_bytes = 0;
    if (!part->lifetimes) {
        row.temp_objects = row.temp_bytes = 0;
        row.death_age = 0;
    }
    if (!part->ages) {
        row.gc_age = part->sign < 0                                                   ? EARLIER
                     : row.gc_age >= part->kept_age && row.gc_age < HEAPPROF_AGE_DEAD ? KEPT
                                                                                      : NEW;
        row.native_leak = row.native_leak && part->sign > 0;
    }
    row.alloc_objects *= part->sign;
    row.alloc_slot_bytes *= part->sign;
    row.alloc_malloc_bytes *= part->sign;
    row.inuse_objects *= part->sign;
    row.inuse_slot_bytes *= part->sign;
    row.inuse_malloc_bytes *= part->sign;
    row.temp_objects *= part->sign;
    row.temp_bytes *= part->sign;
    row.peak_objects *= part->sign;
    row.peak_bytes *= part->sign;
    row.resident_bytes *= part->sign;
    row.memsize_bytes *= part->sign;
    to->rows[to->row_count++] = row;
    return true;
}

static bool
bring_rows(struct part part)
{
    struct heapprof_mem *mem = &part.to->mem;
    bool brought = HEAPPROF_MEM_GROW(mem, part.stacks, part.stacks_capacity,
                                     (size_t)part.from->stacks.numbers.end + 1);
    size_t i;

    for (i = 0; brought && i < part.from->row_count; i++)
        brought = bring_row(&part, part.from->rows[i]);
    HEAPPROF_MEM_RELEASE(mem, part.stacks, part.stacks_capacity);
    HEAPPROF_MEM_RELEASE(mem, part.path, part.path_capacity);
    return brought;
}

static int
compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int
compare_rows(const void *left, const void *right)
{
    const struct heapprof_row *a = left, *b = right;
    int order = compare_numbers(a->stack, b->stack);

    if (order == 0) order = compare_numbers(a->kind, b->kind);
    if (order == 0) order = compare_numbers(a->folded, b->folded);
    if (order == 0) order = compare_numbers(a->subject, b->subject);
    if (order == 0) order = compare_numbers(a->library, b->library);
    if (order == 0) order = compare_numbers(a->label, b->label);
    if (order == 0) order = compare_numbers(a->owner, b->owner);
    if (order == 0) order = compare_numbers(a->owner_stack, b->owner_stack);
    return order;
}

static int
compare_aged_rows(const void *left, const void *right)
{
    const struct heapprof_row *a = left, *b = right;
    int order = compare_rows(left, right);

    if (order == 0) order = compare_numbers(a->gc_age, b->gc_age);
    if (order == 0) order = compare_numbers(a->death_age, b->death_age);
    if (order == 0) order = compare_numbers(a->native_leak, b->native_leak);
    return order;
}

static void
add_to_row(struct heapprof_row *sum, const struct heapprof_row *row)
{
    sum->native_leak |= row->native_leak;
    sum->alloc_objects += row->alloc_objects;
    sum->alloc_slot_bytes += row->alloc_slot_bytes;
    sum->alloc_malloc_bytes += row->alloc_malloc_bytes;
    sum->inuse_objects += row->inuse_objects;
    sum->inuse_slot_bytes += row->inuse_slot_bytes;
    sum->inuse_malloc_bytes += row->inuse_malloc_bytes;
    sum->temp_objects += row->temp_objects;
    sum->temp_bytes += row->temp_bytes;
    sum->peak_objects += row->peak_objects;
    sum->peak_bytes += row->peak_bytes;
    sum->resident_bytes += row->resident_bytes;
    sum->memsize_bytes += row->memsize_bytes;
}

/* The values of rows are whole numbers. */
static bool
unchanged_p(const struct heapprof_row *row)
{
    return row->alloc_objects == 0 && row->alloc_slot_bytes == 0 && row->alloc_malloc_bytes == 0 &&
           row->inuse_objects == 0 && row->inuse_slot_bytes == 0 && row->inuse_malloc_bytes == 0 &&
           row->temp_objects == 0 && row->temp_bytes == 0 && row->peak_objects == 0 &&
           row->peak_bytes == 0 && row->resident_bytes == 0 && row->memsize_bytes == 0;
}

/* Returns the variance of a difference. If both snapshots are of one run, the part that both
 * have comes from the same samples. That part is not an error of the difference. It is at most
 * what the earlier snapshot has. */
static double
variance_of(const double shares[SHARES])
{
    double kept = shares[KEPT] < shares[EARLIER] ? shares[KEPT] : shares[EARLIER];

    return shares[NEW] + shares[KEPT] + shares[EARLIER] - 2 * kept;
}

static void
merge_rows(struct heapprof_snapshot *difference)
{
    struct heapprof_row *rows = difference->rows;
    size_t i = 0, count = difference->row_count, kept = 0;

    if (count == 0) return;
    qsort(rows, count, sizeof(*rows), compare_rows);
    while (i < count) {
        struct heapprof_row sum = rows[i];
        double shares[SHARES] = {0};
        shares[rows[i].gc_age] = rows[i].inuse_variance;
        while (++i < count && compare_rows(&sum, &rows[i]) == 0) {
            add_to_row(&sum, &rows[i]);
            shares[rows[i].gc_age] += rows[i].inuse_variance;
        }
        sum.gc_age = HEAPPROF_AGE_DEAD;
        sum.death_age = 0;
        sum.inuse_variance = variance_of(shares);
        if (!unchanged_p(&sum)) rows[kept++] = sum;
    }
    difference->row_count = kept;
}

/* Brings the origin of the later snapshot. The earlier one's may be another process's. */
static void
bring_origin(struct heapprof_snapshot *difference, const struct heapprof_snapshot *later)
{
    size_t length;

    if (later->origin == 0) return;
    const char *text = rb_heapprof_strings_get(&later->strings, later->origin, &length);
    uint32_t origin = rb_heapprof_strings_intern(&difference->strings, text, length);
    difference->origin = origin == UINT32_MAX ? 0 : origin;
}

/* Brings both snapshots into one, under new numbers. like says which parts of them are
 * compared. Returns NULL if there is no memory. */
static struct heapprof_snapshot *
bring_both(const struct heapprof_snapshot *later, const struct heapprof_snapshot *earlier,
           struct part like)
{
    struct part plus = like, minus = like;

    plus.to = minus.to = rb_heapprof_snapshot_new_salted(&later->facts);
    if (!plus.to) return NULL;
    plus.from = later;
    minus.from = earlier;
    plus.sign = 1;
    minus.sign = -1;
    minus.kept_age = HEAPPROF_AGE_DEAD;
    if (!HEAPPROF_MEM_GROW(&plus.to->mem, plus.to->rows, plus.to->rows_capacity,
                           later->row_count + earlier->row_count) ||
        !bring_rows(plus) || !bring_rows(minus)) {
        rb_heapprof_snapshot_free(plus.to);
        return NULL;
    }
    return plus.to;
}

/* Returns the parts that both snapshots have. */
static struct part
common(const struct heapprof_snapshot *one, const struct heapprof_snapshot *other)
{
    return (struct part){
        .owners = one->facts.owners && other->facts.owners,
        .owner_frames = one->facts.owner_frames || other->facts.owner_frames,
        .resident = one->ladder.rss && other->ladder.rss,
        .peak = one->facts.peak_kept && other->facts.peak_kept,
        .lifetimes = one->facts.lifetimes && other->facts.lifetimes,
        .kept_age = HEAPPROF_AGE_DEAD,
    };
}

/* Returns an age. Live samples of at least that age were samples, with the same weight, when
 * earlier was taken. Their error is the same in both snapshots, so it is no part of the error
 * of a difference. heapprof diff does the same (report/groups.c). */
static uint32_t
kept_age(const struct heapprof_facts *later, const struct heapprof_facts *earlier)
{
    uint64_t gcs = later->gc_count - earlier->gc_count;

    if (later->start_ns != earlier->start_ns || later->time_ns < earlier->time_ns ||
        later->gc_count < earlier->gc_count || later->doublings != earlier->doublings)
        return HEAPPROF_AGE_DEAD;
    return gcs < 1 ? 1 : gcs < HEAPPROF_AGE_DEAD ? (uint32_t)gcs : HEAPPROF_AGE_DEAD;
}

struct heapprof_snapshot *
rb_heapprof_snapshot_difference(const struct heapprof_snapshot *later,
                                const struct heapprof_snapshot *earlier)
{
    struct part like = common(later, earlier);
    struct heapprof_snapshot *difference;

    like.kept_age = kept_age(&later->facts, &earlier->facts);
    difference = bring_both(later, earlier, like);
    if (!difference) return NULL;
    bring_origin(difference, later);
    difference->facts.start_ns = earlier->facts.time_ns;
    difference->facts.difference = true;
    difference->facts.owners = like.owners;
    difference->facts.owner_frames = like.owner_frames;
    difference->facts.peak_kept = like.peak;
    difference->facts.lifetimes = like.lifetimes;
    difference->facts.peak_bytes = 0;
    merge_rows(difference);
    return difference;
}

struct heapprof_snapshot *
rb_heapprof_snapshot_comparable(const struct heapprof_snapshot *snapshot,
                                const struct heapprof_snapshot *other)
{
    struct part part = common(snapshot, other);

    part.to = rb_heapprof_snapshot_new_salted(&snapshot->facts);
    part.from = snapshot;
    part.sign = 1;
    part.ages = true;
    if (!part.to) return NULL;
    part.to->facts.owners = part.owners;
    part.to->facts.peak_kept = part.peak;
    part.to->facts.lifetimes = part.lifetimes;
    bring_origin(part.to, snapshot);
    if (HEAPPROF_MEM_GROW(&part.to->mem, part.to->rows, part.to->rows_capacity,
                          snapshot->row_count) &&
        bring_rows(part))
        return part.to;
    rb_heapprof_snapshot_free(part.to);
    return NULL;
}

/* ---- the peak ---- */

/* How far bytes may be off that consist of so many objects. Of blocks nothing is known except that
 * each has a byte at least. */
static double
variance_at(const struct heapprof_facts *facts, const struct heapprof_row *row)
{
    if (row->kind == HEAPPROF_ROW_BLOCKS)
        return facts->malloc_interval_bytes > 1
                   ? row->peak_bytes * (double)facts->malloc_interval_bytes : 0;
    if (row->peak_objects <= 0 || facts->interval_bytes <= 1) return 0;
    double each = row->peak_bytes / row->peak_objects;
    return row->peak_bytes * each *
           (rb_heapprof_sampler_weight(facts->interval_bytes, (size_t)(each + 0.5)) - 1);
}

static struct heapprof_row
row_at_peak(const struct heapprof_facts *facts, const struct heapprof_row *row)
{
    bool blocks = row->kind == HEAPPROF_ROW_BLOCKS;
    struct heapprof_row peak = {
        .kind = row->kind, .folded = row->folded, .stack = row->stack, .subject = row->subject,
        .library = row->library, .label = row->label, .gc_age = HEAPPROF_AGE_DEAD,
        .inuse_objects = row->peak_objects, .inuse_slot_bytes = blocks ? 0 : row->peak_bytes,
        .inuse_malloc_bytes = blocks ? row->peak_bytes : 0,
        .inuse_variance = variance_at(facts, row),
    };

    peak.alloc_objects = peak.inuse_objects;
    peak.alloc_slot_bytes = peak.inuse_slot_bytes;
    peak.alloc_malloc_bytes = peak.inuse_malloc_bytes;
    return peak;
}

struct heapprof_snapshot *
rb_heapprof_snapshot_at_peak(const struct heapprof_snapshot *snapshot)
{
    struct heapprof_snapshot *peak = rb_heapprof_snapshot_comparable(snapshot, snapshot);
    size_t kept = 0;

    if (!peak) return NULL;
    for (size_t i = 0; i < peak->row_count; i++) {
        const struct heapprof_row *row = &peak->rows[i];
        if (row->peak_objects == 0 && row->peak_bytes == 0) continue;
        peak->rows[kept++] = row_at_peak(&snapshot->facts, row);
    }
    peak->row_count = kept;
    peak->facts.time_ns = snapshot->facts.peak_ns;
    peak->facts.gc_count = snapshot->facts.peak_gc;
    peak->facts.live_samples = 0;
    peak->facts.peak_bytes = 0;
    peak->facts.peak_kept = peak->facts.lifetimes = peak->facts.owners = false;
    return peak;
}

/* ---- equality ---- */

static bool
all_cancel_p(struct heapprof_snapshot *both)
{
    size_t i = 0, count = both->row_count;

    if (count > 0) qsort(both->rows, count, sizeof(*both->rows), compare_aged_rows);
    while (i < count) {
        struct heapprof_row sum = both->rows[i++];
        while (i < count && compare_aged_rows(&sum, &both->rows[i]) == 0)
            add_to_row(&sum, &both->rows[i++]);
        if (!unchanged_p(&sum)) return false;
    }
    return true;
}

bool
rb_heapprof_snapshot_equal_p(const struct heapprof_snapshot *one,
                             const struct heapprof_snapshot *other, bool *equal)
{
    struct part like = {
        .owners = true, .owner_frames = true, .resident = true, .peak = true, .lifetimes = true,
        .ages = true, .shown = true,
        .kept_age = HEAPPROF_AGE_DEAD,
    };
    struct heapprof_snapshot *both = bring_both(one, other, like);

    if (!both) return false;
    *equal = all_cancel_p(both);
    rb_heapprof_snapshot_free(both);
    return true;
}
