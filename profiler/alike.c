/* alike.c - which copied sites a reader of the profile could not tell apart.
 *
 * Two functions may have one name and path: a block that ran for two classes of one name, or code
 * that was evaluated twice. Two classes may have one name. A frame is shown by its name, path and
 * line:
 *
 *     stacks      1  run a.rb:3                          sites   1  stack 2, String
 *                 2   `- block in run a.rb:4                     2  stack 3, String
 *                 3   `- block in run a.rb:4  (another)          3  stack 3, Array
 *
 *     same stack  1   2   2           site 1 has what 1 and 2 had; 2 is not a site
 *
 * Of several stacks that look alike, the first visited stands for all of them. Of several sites
 * that look alike, the one with the lowest number does. The stacks stay as they are. Each has its
 * own frames, and the frames of the first show what all of them show.
 *
 *   I1  Two stacks have the same number here if and only if their frames look the same, from the
 *       innermost to the outermost. A stack is visited after its parent.
 *   I2  Totals, live samples and pieces are at the site that stands for theirs. The sums stay.
 *
 * Most stacks have no twin, because no other function looks like theirs (twins.h). Such a stack is
 * not looked up. Neither is a site of such a stack, if no other class has the name of its class.
 *
 * Each node and site is looked at once. This file allocates from the snapshot's account and gives
 * all of it back. It reads and writes only the copies, so it takes no lock.
 */
#include "profiler/alike.h"

#include "profiler/twins.h"

/* What is shown of a stack's innermost frame, except its name; and which stack stands for the
 * stack. */
struct alike_shown {
    uint32_t stack;           /* 0: the stack has not been visited */
    uint32_t path;
    uint32_t line  : 31;
    uint32_t apart : 1;       /* no other stack looks like it */
};

struct alike_merging {
    struct heapprof_copies *copies;
    struct heapprof_mem *mem;
    struct alike_shown *shown;      /* by stack */
    size_t   shown_capacity;
    struct heapprof_twins twins;
    uint32_t *path;           /* scratch: stacks from a leaf outwards */
    size_t   path_capacity;
    struct heapprof_index stacks;
    uint32_t *identity_of;    /* by identity: which one stands for it, and whether there are two */
    size_t   identity_of_capacity;
    struct heapprof_index identities;
    uint32_t identity_count;
    uint32_t *site_of;        /* by site: which one stands for it */
    size_t   site_of_capacity;
    struct heapprof_index sites;
    uint32_t site_count;
    bool     sites_merged;
};

static uint64_t
hash_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint64_t first = (uint64_t)a << 32 | b, second = (uint64_t)c << 32 | d;

    return rb_heapprof_index_hash(rb_heapprof_index_hash(first) + second);
}

/* ---- classes and callers ---- */

/* Returns the name that a row has. */
static uint32_t
name_of(const struct alike_merging *merging, uint32_t id)
{
    uint32_t name = merging->copies->identities[id].name;

    return name == HEAPPROF_UNNAMED ? merging->copies->anonymous : name;
}

static uint64_t
identity_hash_i(const void *owner, uint32_t id)
{
    const struct alike_merging *merging = owner;

    return hash_of(name_of(merging, id), merging->copies->identities[id].library, 0, 0);
}

static uint32_t
find_identity(const struct alike_merging *merging, uint32_t id)
{
    const struct heapprof_identity *identities = merging->copies->identities;
    uint64_t probe = identity_hash_i(merging, id);
    uint32_t number;

    for (; (number = rb_heapprof_index_at(&merging->identities, probe)) != 0; probe++) {
        if (name_of(merging, number) == name_of(merging, id) &&
            identities[number].library == identities[id].library) break;
    }
    return number;
}

static bool
nameless_p(const struct alike_merging *merging, uint32_t id)
{
    return name_of(merging, id) == 0 && merging->copies->identities[id].library == 0;
}

#define TWO (UINT32_C(1) << 31) /* set if two identities have one name */

static uint32_t
same_identity(const struct alike_merging *merging, uint32_t id)
{
    return merging->identity_of[id] & ~TWO;
}

/* Identity 0 is not a class. In a snapshot it also stands for a class of which nothing is shown. */
static bool
identity_apart_p(const struct alike_merging *merging, uint32_t id)
{
    return id && merging->identity_of[id] == id;
}

static bool
merge_identities(struct alike_merging *merging)
{
    const struct heapprof_copies *copies = merging->copies;

    if (!HEAPPROF_MEM_GROW(merging->mem, merging->identity_of, merging->identity_of_capacity,
                           copies->identities_end)) return false;
    for (uint32_t id = 1; id < copies->identities_end; id++) {
        if (!copies->identities[id].used || nameless_p(merging, id)) continue;
        uint32_t same = find_identity(merging, id);
        if (same) {
            merging->identity_of[same] |= TWO;
            merging->identity_of[id] = same | TWO;
            continue;
        }
        if (!rb_heapprof_index_reserve(&merging->identities, merging->mem, merging->identity_count,
                                       identity_hash_i, merging)) return false;
        rb_heapprof_index_insert(&merging->identities, identity_hash_i(merging, id), id);
        merging->identity_of[id] = id;
        merging->identity_count++;
    }
    return true;
}

/* ---- stacks ---- */

static const struct heapprof_function *
function_of(const struct alike_merging *merging, uint32_t stack)
{
    const struct heapprof_snapshot *snapshot = merging->copies->snapshot;

    uint32_t function = rb_heapprof_stacks_node(&snapshot->stacks, stack)->function;

    return rb_heapprof_functions_get(&snapshot->functions, function);
}

static const struct heapprof_stack_node *
node_of(const struct alike_merging *merging, uint32_t stack)
{
    return rb_heapprof_stacks_node(&merging->copies->snapshot->stacks, stack);
}

static uint32_t
frame_name(const struct alike_merging *merging, uint32_t stack)
{
    return function_of(merging, stack)->name;
}

static uint32_t
same_parent(const struct alike_merging *merging, uint32_t stack)
{
    return merging->shown[node_of(merging, stack)->parent].stack;
}

static uint64_t
stack_hash_i(const void *owner, uint32_t stack)
{
    const struct alike_merging *merging = owner;
    const struct alike_shown *shown = &merging->shown[stack];

    return hash_of(same_parent(merging, stack), frame_name(merging, stack), shown->path,
                   shown->line);
}

static uint32_t
find_stack(const struct alike_merging *merging, uint32_t stack, uint64_t probe)
{
    const struct alike_shown *shown = merging->shown;
    uint32_t number;

    for (; (number = rb_heapprof_index_at(&merging->stacks, probe)) != 0; probe++) {
        if (same_parent(merging, number) == same_parent(merging, stack) &&
            frame_name(merging, number) == frame_name(merging, stack) &&
            shown[number].path == shown[stack].path &&
            shown[number].line == shown[stack].line) break;
    }
    return number;
}

/* A C function has the path and line of its caller, which has been visited. */
static void
note_shown(struct alike_merging *merging, uint32_t stack)
{
    const struct heapprof_stack_node *node = node_of(merging, stack);
    const struct heapprof_function *function = function_of(merging, stack);
    const struct alike_shown *caller = &merging->shown[node->parent];
    struct alike_shown *shown = &merging->shown[stack];

    *shown = (struct alike_shown){.path = function->path, .line = node->line};
    if (function->cfunc) *shown = *caller;
    shown->apart = !merging->twins.all[stack] && (node->parent == 0 || caller->apart);
}

/* Makes room for all stacks at once: room for a few is rarely enough. */
static bool
reserve_stacks(struct alike_merging *merging)
{
    size_t count = merging->copies->snapshot->stacks.numbers.count;

    while (!rb_heapprof_index_room_p(&merging->stacks, count)) {
        if (!rb_heapprof_index_grow(&merging->stacks, merging->mem, 0, stack_hash_i, merging)) {
            return false;
        }
    }
    return true;
}

static bool
merge_stack(struct alike_merging *merging, uint32_t stack)
{
    note_shown(merging, stack);
    if (merging->shown[stack].apart) {
        merging->shown[stack].stack = stack;
        return true;
    }
    uint64_t hash = stack_hash_i(merging, stack);
    uint32_t same = find_stack(merging, stack, hash);

    if (!same) {
        if (merging->stacks.capacity == 0 && !reserve_stacks(merging)) return false;
        rb_heapprof_index_insert(&merging->stacks, hash, stack);
        same = stack;
    }
    merging->shown[stack].stack = same;
    return true;
}

/* Merges a stack and all the stacks that it lies in. */
static bool
merge_stacks_of(struct alike_merging *merging, uint32_t leaf)
{
    uint32_t stack, depth;
    size_t count = 0;

    if (leaf == 0 || merging->shown[leaf].stack) return true;
    depth = node_of(merging, leaf)->depth;
    if (!HEAPPROF_MEM_GROW(merging->mem, merging->path, merging->path_capacity, depth))
        return false;
    for (stack = leaf; stack && !merging->shown[stack].stack; ) {
        merging->path[count++] = stack;
        stack = node_of(merging, stack)->parent;
    }
    while (count > 0) {
        if (!merge_stack(merging, merging->path[--count])) return false;
    }
    return true;
}

/* ---- sites ---- */

static uint64_t
site_hash_i(const void *owner, uint32_t number)
{
    const struct heapprof_site *site =
        &((const struct alike_merging *)owner)->copies->sites[number];

    return hash_of(site->stack, site->class_id, site->label, 0);
}

static uint32_t
find_site(const struct alike_merging *merging, const struct heapprof_site *site)
{
    uint64_t probe = hash_of(site->stack, site->class_id, site->label, 0);
    uint32_t number;

    for (; (number = rb_heapprof_index_at(&merging->sites, probe)) != 0; probe++) {
        const struct heapprof_site *other = &merging->copies->sites[number];
        if (other->stack == site->stack && other->class_id == site->class_id &&
            other->label == site->label) break;
    }
    return number;
}

static void
add_past(struct heapprof_copies *copies, uint32_t sum, uint32_t number)
{
    if (copies->deaths) rb_heapprof_deaths_add(&copies->deaths[sum], &copies->deaths[number]);
    if (!copies->peaks) return;
    copies->peaks[sum].objects += copies->peaks[number].objects;
    copies->peaks[sum].bytes += copies->peaks[number].bytes;
}

static void
add_site(struct alike_merging *merging, struct heapprof_site *sum, struct heapprof_site *site)
{
    sum->live_samples += site->live_samples;
    sum->alloc_objects += site->alloc_objects;
    sum->alloc_bytes += site->alloc_bytes;
    site->used = false;
    merging->sites_merged = true;
}

static bool
merge_site(struct alike_merging *merging, uint32_t number)
{
    struct heapprof_site *site = &merging->copies->sites[number];
    uint32_t id = rb_heapprof_site_identity(site);

    merging->site_of[number] = number;
    if (!merge_stacks_of(merging, site->stack)) return false;
    if (merging->shown[site->stack].apart && identity_apart_p(merging, id)) return true;
    site->stack = merging->shown[site->stack].stack;
    site->class_id = same_identity(merging, id) | (site->class_id & HEAPPROF_SITE_OF_BLOCKS);
    uint32_t same = find_site(merging, site);

    if (same) {
        merging->site_of[number] = same;
        add_site(merging, &merging->copies->sites[same], site);
        add_past(merging->copies, same, number);
        return true;
    }
    if (!rb_heapprof_index_reserve(&merging->sites, merging->mem, merging->site_count,
                                   site_hash_i, merging)) return false;
    rb_heapprof_index_insert(&merging->sites, site_hash_i(merging, number), number);
    merging->site_count++;
    return true;
}

static bool
merge_sites(struct alike_merging *merging)
{
    const struct heapprof_copies *copies = merging->copies;
    uint32_t stacks_end = copies->snapshot->stacks.numbers.end;

    if (!HEAPPROF_MEM_GROW(merging->mem, merging->shown, merging->shown_capacity, stacks_end) ||
        !HEAPPROF_MEM_GROW(merging->mem, merging->site_of, merging->site_of_capacity,
                           copies->sites_end)) return false;
    for (uint32_t number = 1; number < copies->sites_end; number++) {
        if (copies->sites[number].used && !merge_site(merging, number)) return false;
    }
    return true;
}

/* ---- what is alive ---- */

static void
move_samples(const struct alike_merging *merging)
{
    struct heapprof_copies *copies = merging->copies;

    if (!merging->sites_merged) return;
    for (uint32_t entry = 1; entry < copies->samples_end; entry++) {
        struct heapprof_sample *sample = &copies->samples[entry];
        if (sample->weight != 0) sample->site = merging->site_of[sample->site];
    }
}

static void
move_pieces(const struct alike_merging *merging)
{
    struct heapprof_copies *copies = merging->copies;

    for (size_t i = 1; copies->pieces && i < copies->piece_count; i++) {
        struct heapprof_copied_piece *copy = &copies->pieces[i];
        if (!copy->piece.site) continue;
        copy->piece.site = merging->site_of[copy->piece.site];
        copy->owner_class = same_identity(merging, copy->owner_class);
    }
}

/* ---- all of it ---- */

bool
rb_heapprof_alike_merge(struct heapprof_copies *copies)
{
    struct alike_merging merging = {.copies = copies, .mem = &copies->snapshot->mem};
    bool merged = merge_identities(&merging) &&
                  rb_heapprof_twins_find(&merging.twins, merging.mem, copies->snapshot) &&
                  merge_sites(&merging);

    copies->snapshot->distinct = merged;
    if (merged) {
        move_samples(&merging);
        move_pieces(&merging);
    }
    rb_heapprof_index_release(&merging.stacks, merging.mem);
    rb_heapprof_index_release(&merging.identities, merging.mem);
    rb_heapprof_index_release(&merging.sites, merging.mem);
    HEAPPROF_MEM_RELEASE(merging.mem, merging.shown, merging.shown_capacity);
    rb_heapprof_twins_free(&merging.twins, merging.mem);
    HEAPPROF_MEM_RELEASE(merging.mem, merging.path, merging.path_capacity);
    HEAPPROF_MEM_RELEASE(merging.mem, merging.identity_of, merging.identity_of_capacity);
    HEAPPROF_MEM_RELEASE(merging.mem, merging.site_of, merging.site_of_capacity);
    return merged;
}
