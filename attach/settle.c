/* settle.c - enters waiting samples into the copies, by the rules of gc/objects/newobj.c and
 * gc/blocks/waiting.c.
 *
 * Numbers are given out in the same order as inside, so rows come in the same order. But the
 * tables' indexes stay empty: filling them takes longer than all the rest. Instead the keys are
 * sorted, and the table is searched for all of them in one pass:
 *
 *     sought      key 0x7f..40 -> 7      key 0x7f..90 -> 0: the target has not seen it
 */
#include "attach/settle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/threads.h"

enum { WAITING_MOST = 65536 };

/* The last sample of a Ractor. */
struct attach_pending_sample {
    uint64_t object;
    uint32_t stack, birth_gc;
    uint64_t size_bytes;
    float    weight;
    uint32_t given;             /* what a site is told of its labels (profiler/sites.h) */
    struct attach_label label;
};

struct attach_waiting_sample {
    uint32_t piece;
    uint64_t key;               /* of the caller; 0: not known */
};

/* ---- where it is ---- */

bool
attach_settle_fill(struct attach_settling *settling, const struct attach_layout *layout,
                   char error[ATTACH_TARGET_ERROR_MAX])
{
#define WANT(kind, member, name) ATTACH_WANT_##kind(struct attach_settle_places, member, name)
    static const struct attach_want wants[] = {
        ATTACH_WANT_GLOBAL(struct attach_settle_places, waiting, "waiting", 1),
        ATTACH_WANT_GLOBAL(struct attach_settle_places, waiting_count, "waiting_count", 1),
        ATTACH_WANT_BYTES(struct attach_settle_places, pending,
                          "rb_ractor_newobj_cache_t.heapprof.pending", 1),
        ATTACH_WANT_BYTES(struct attach_settle_places, weight, "heapprof_pending.weight",
                          sizeof(float)),
        WANT(TYPE, pending_bytes, "heapprof_pending"),
        WANT(TYPE, waiting_bytes, "heapprof_waiting"),
        WANT(NUMBER, object, "heapprof_pending.object"),
        WANT(NUMBER, stack, "heapprof_pending.stack"),
        WANT(NUMBER, birth_gc, "heapprof_pending.birth_gc"),
        WANT(NUMBER, size_bytes, "heapprof_pending.size_bytes"),
        WANT(NUMBER, given, "heapprof_pending.label"),
        WANT(NUMBER, piece, "heapprof_waiting.piece"),
        WANT(NUMBER, caller, "heapprof_waiting.caller"),
    };
#undef WANT
    return attach_layout_fill(layout, wants, sizeof(wants) / sizeof(*wants), &settling->places,
                              error) &&
           attach_labels_fill(&settling->labels, layout, error);
}

/* ---- looking ---- */

struct settle_looking {
    struct attach_settling *settling;
    struct attach_vm *vm;
    struct heapprof_mem *mem;
};

static bool
look_at_ractor(uint64_t ractor, void *data)
{
    struct settle_looking *looking = data;
    struct attach_settling *settling = looking->settling;
    const struct attach_settle_places *places = &settling->places;
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];
    struct attach_pending_sample sample = {0};
    uint64_t cache;

    if (!attach_vm_get(looking->vm, ractor, &looking->vm->ractor_cache, &cache)) return false;
    if (!cache) return true;
    if (!attach_target_read(looking->vm->target, cache + places->pending.offset, copy,
                            places->pending_bytes)) {
        return false;
    }
    sample.object = attach_field_get(&places->object, copy);
    if (!sample.object) return true;
    sample.stack = (uint32_t)attach_field_get(&places->stack, copy);
    sample.birth_gc = (uint32_t)attach_field_get(&places->birth_gc, copy);
    sample.size_bytes = attach_field_get(&places->size_bytes, copy);
    sample.given = (uint32_t)attach_field_get(&places->given, copy);
    memcpy(&sample.weight, copy + places->weight.offset, sizeof(sample.weight));
    if (!attach_labels_find(&settling->labels, looking->vm, sample.object, &sample.label))
        return true;
    if (!HEAPPROF_MEM_GROW(looking->mem, settling->pending, settling->pending_capacity,
                           settling->pending_count + 1)) {
        return false;
    }
    settling->pending[settling->pending_count++] = sample;
    return true;
}

static bool
look_at_waiting(struct settle_looking *looking)
{
    struct attach_settling *settling = looking->settling;
    const struct attach_settle_places *places = &settling->places;
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];
    uint64_t count;

    if (!attach_global_read(looking->vm->target, &places->waiting_count, &count) ||
        count > WAITING_MOST || count * places->waiting_bytes > places->waiting.size ||
        !HEAPPROF_MEM_GROW(looking->mem, settling->waiting, settling->waiting_capacity, count + 1))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (!attach_target_read(looking->vm->target,
                                places->waiting.address + i * places->waiting_bytes, copy,
                                places->waiting_bytes))
            return false;
        uint64_t caller = attach_field_get(&places->caller, copy);
        settling->waiting[i] = (struct attach_waiting_sample){
            .piece = (uint32_t)attach_field_get(&places->piece, copy),
            .key = caller ? rb_heapprof_callers_key(caller) : 0,
        };
    }
    settling->waiting_count = count;
    return true;
}

bool
attach_settle_look(struct attach_settling *settling, struct attach_vm *vm, struct heapprof_mem *mem)
{
    struct settle_looking looking = {settling, vm, mem};

    settling->pending_count = settling->waiting_count = 0;
    return attach_ractors_each(vm, look_at_ractor, &looking) && look_at_waiting(&looking);
}

void
attach_settle_free(struct attach_settling *settling, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, settling->pending, settling->pending_capacity);
    HEAPPROF_MEM_RELEASE(mem, settling->waiting, settling->waiting_capacity);
}

/* ---- what the copies have of it ---- */

struct sought {
    uint64_t key;
    uint32_t given;  /* of a site: what it is told of its labels */
    uint32_t number; /* 0: not there yet */
};

struct settle_search {
    struct sought *all;  /* by key, each once */
    size_t count;
};

static int
compare_sought(const void *left, const void *right)
{
    const struct sought *a = left, *b = right;
    int order = (a->key > b->key) - (a->key < b->key);
    return order ? order : (a->given > b->given) - (a->given < b->given);
}

static struct sought *
find(const struct settle_search *search, uint64_t key, uint32_t given)
{
    struct sought sought = { .key = key, .given = given };
    return bsearch(&sought, search->all, search->count, sizeof(sought), compare_sought);
}

static void
put_in_order(struct settle_search *search)
{
    size_t kept = 0;

    if (search->count) qsort(search->all, search->count, sizeof(*search->all), compare_sought);
    for (size_t i = 0; i < search->count; i++) {
        if (kept == 0 || compare_sought(&search->all[kept - 1], &search->all[i]) != 0)
            search->all[kept++] = search->all[i];
    }
    search->count = kept;
}

/* The first number that is found stays. */
static void
note(const struct settle_search *search, uint64_t key, uint32_t given, uint32_t number)
{
    struct sought *sought = find(search, key, given);
    if (sought && !sought->number) sought->number = number;
}

/* ---- entering ---- */

struct entering {
    const struct attach_settling *settling;
    struct heapprof_tables *tables;
    struct heapprof_facts *facts;
    struct settle_search identities, sites;
};

static const char no_memory[] = "no memory", bad_samples[] = "its waiting samples are damaged",
                  bad_blocks[] = "its waiting blocks are damaged";

static size_t
sample_count(const struct attach_settling *settling)
{
    return settling->pending_count + settling->waiting_count;
}

static void
find_identities(struct entering *entering)
{
    const struct attach_settling *settling = entering->settling;
    const struct heapprof_identities *identities = &entering->tables->identities;
    const struct heapprof_address_table *addresses = &identities->addresses;
    struct settle_search *search = &entering->identities;

    for (size_t i = 0; i < settling->pending_count; i++)
        search->all[search->count++].key = settling->pending[i].label.key;
    for (size_t i = 0; i < settling->waiting_count; i++)
        search->all[search->count++].key = settling->waiting[i].key;
    put_in_order(search);
    for (uint32_t entry = 1; entry < addresses->numbers.end; entry++) {
        uint32_t id = identities->ids[entry];
        uintptr_t key = rb_heapprof_address_table_address(addresses, entry);
        if (key && id > 0 && id < identities->numbers.end && identities->all[id].used)
            note(search, key, 0, id);
    }
}

/* As rb_heapprof_identities_add, without the index. Returns 0 without memory. */
static uint32_t
add_identity(struct heapprof_identities *identities, uint64_t key)
{
    struct heapprof_address_table *addresses = &identities->addresses;
    struct heapprof_mem *mem = addresses->mem;
    uint32_t entry = rb_heapprof_numbers_next(&addresses->numbers),
             id = rb_heapprof_numbers_next(&identities->numbers);

    if (!HEAPPROF_NUMBERS_RESERVE(&addresses->numbers, mem, addresses->entries) ||
        !HEAPPROF_MEM_GROW(mem, identities->ids, identities->ids_capacity, (size_t)entry + 1) ||
        !HEAPPROF_NUMBERS_RESERVE(&identities->numbers, mem, identities->all)) return 0;
    rb_heapprof_numbers_take(&addresses->numbers, &addresses->entries[entry].next);
    rb_heapprof_numbers_take(&identities->numbers, &identities->all[id].next_free);
    addresses->entries[entry] = (struct heapprof_address_entry){.address = (uintptr_t)key};
    identities->all[id] = (struct heapprof_identity){.name = HEAPPROF_UNNAMED, .used = true};
    identities->ids[entry] = id;
    return id;
}

/* The identity of that key, with that name; name is NULL for callers. Returns 0 without memory. */
static uint32_t
identify(struct entering *entering, uint64_t key, const struct attach_text *name)
{
    struct heapprof_tables *tables = entering->tables;
    struct sought *sought = find(&entering->identities, key, 0);

    if (!sought->number) sought->number = add_identity(&tables->identities, key);
    if (!sought->number || !name) return sought->number;
    struct heapprof_identity *identity = &tables->identities.all[sought->number];
    if (identity->name == HEAPPROF_UNNAMED) {
        identity->name = rb_heapprof_strings_intern(&tables->strings, name->bytes, name->length);
    }
    return sought->number;
}

static uint64_t
site_key(uint32_t stack, uint32_t class_id)
{
    return (uint64_t)stack << 32 | class_id;
}

/* A site's key is known once its class or caller has an identity. Returns false without memory. */
static bool
find_sites(struct entering *entering)
{
    const struct attach_settling *settling = entering->settling;
    const struct heapprof_sites *sites = &entering->tables->sites;
    struct settle_search *search = &entering->sites;

    for (size_t i = 0; i < settling->pending_count; i++) {
        const struct attach_pending_sample *sample = &settling->pending[i];
        uint32_t id =
            sample->label.key ? identify(entering, sample->label.key, &sample->label.name) : 0;
        if (sample->label.key && !id) return false;
        search->all[search->count++] = (struct sought){ .key = site_key(sample->stack, id),
                                                        .given = sample->given };
    }
    for (size_t i = 0; i < settling->waiting_count; i++) {
        uint64_t key = settling->waiting[i].key;
        uint32_t id = key ? identify(entering, key, NULL) : 0;
        if (key && !id) return false;
        search->all[search->count++].key = site_key(0, id | HEAPPROF_SITE_OF_BLOCKS);
    }
    put_in_order(search);
    for (uint32_t number = 1; number < sites->numbers.end; number++) {
        const struct heapprof_site *site = &sites->all[number];
        if (site->used)
            note(search, site_key(site->stack, site->class_id), rb_heapprof_site_label(site),
                 number);
    }
    return true;
}

/* A new site has nothing besides its totals. There may be something left of an earlier copy. */
static bool
forget_past(struct heapprof_sites *sites, uint32_t number)
{
    if (sites->lifetimes) {
        if (!HEAPPROF_MEM_GROW(sites->mem, sites->deaths, sites->deaths_capacity,
                               (size_t)number + 1)) return false;
        sites->deaths[number] = (struct heapprof_deaths){0};
    }
    if (number < sites->object_sums.peak_capacity)
        sites->object_sums.peak[number] = (struct heapprof_sum){0};
    if (number < sites->block_sums.peak_capacity)
        sites->block_sums.peak[number] = (struct heapprof_sum){0};
    return true;
}

/* As rb_heapprof_sites_intern, without the index, and without holds, which a copy does not need.
 * Returns 0 without memory. */
static uint32_t
enter_site(struct entering *entering, uint32_t stack, uint32_t class_id, uint32_t given)
{
    struct heapprof_sites *sites = &entering->tables->sites;
    struct sought *sought = find(&entering->sites, site_key(stack, class_id), given);

    if (sought->number) return sought->number;
    if (!HEAPPROF_NUMBERS_RESERVE(&sites->numbers, sites->mem, sites->all)) return 0;
    sought->number = rb_heapprof_numbers_next(&sites->numbers);
    if (!forget_past(sites, sought->number)) return 0;
    rb_heapprof_numbers_take(&sites->numbers, &sites->all[sought->number].next_free);
    struct heapprof_site *site = &sites->all[sought->number];
    *site = (struct heapprof_site){ .used = true, .stack = stack, .class_id = class_id };
    rb_heapprof_site_set_label(site, given);
    return sought->number;
}

static bool
amounts_good_p(float weight, uint64_t bytes)
{
    return isfinite(weight) && weight > 0 && bytes > 0;
}

static bool
pending_good_p(const struct heapprof_tables *tables, const struct attach_pending_sample *sample)
{
    const struct heapprof_stacks *stacks = &tables->stacks;
    uint32_t given = sample->given & (HEAPPROF_LABEL_STRINGS - 1);

    if (sample->stack &&
        (sample->stack >= stacks->numbers.end || !stacks->nodes[sample->stack].function))
        return false;
    if (given &&
        (given >= tables->strings.numbers.end || !tables->strings.all[given].length))
        return false;
    return amounts_good_p(sample->weight, sample->size_bytes) && sample->size_bytes <= UINT16_MAX;
}

/* As rb_heapprof_live_table_add, without the index. Returns false without memory. */
static bool
add_sample(struct heapprof_live_table *live, uint64_t object, const struct heapprof_sample *sample)
{
    struct heapprof_address_table *addresses = &live->addresses;
    uint32_t entry = rb_heapprof_numbers_next(&addresses->numbers);

    if (!HEAPPROF_NUMBERS_RESERVE(&addresses->numbers, addresses->mem, addresses->entries) ||
        !HEAPPROF_MEM_GROW(addresses->mem, live->samples, live->samples_capacity,
                           (size_t)entry + 1))
        return false;
    rb_heapprof_numbers_take(&addresses->numbers, &addresses->entries[entry].next);
    addresses->entries[entry] = (struct heapprof_address_entry){.address = (uintptr_t)object};
    live->samples[entry] = *sample;
    return true;
}

/* pending_enter in gc/objects/newobj.c. */
static const char *
enter_pending(struct entering *entering, const struct attach_pending_sample *pending)
{
    struct heapprof_tables *tables = entering->tables;

    if (!pending->label.key) {
        entering->facts->dropped++;
        return NULL;
    }
    if (!pending_good_p(tables, pending)) return bad_samples;
    uint32_t id = identify(entering, pending->label.key, &pending->label.name);
    uint32_t site = enter_site(entering, pending->stack, id, pending->given);
    struct heapprof_sample sample = {
        .site = site, .birth_gc = pending->birth_gc, .weight = pending->weight,
        .birth_bytes = (uint16_t)pending->size_bytes, .slot_bytes = (uint16_t)pending->size_bytes,
    };
    if (!site || !add_sample(&tables->live, pending->object, &sample)) return no_memory;
    rb_heapprof_sites_count_alloc(&tables->sites, site, pending->weight, pending->size_bytes);
    return NULL;
}

/* settle_one in gc/blocks/waiting.c. The block may have been freed since. */
static const char *
enter_waiting(struct entering *entering, const struct attach_waiting_sample *waiting)
{
    struct heapprof_blocks *blocks = &entering->tables->blocks;

    if (waiting->piece == 0 || waiting->piece >= blocks->numbers.end) return bad_blocks;
    struct heapprof_piece *piece = &blocks->pieces[waiting->piece];
    if (piece->site != HEAPPROF_SITE_WAITING || !amounts_good_p(piece->weight, piece->asked_bytes))
        return bad_blocks;
    uint32_t id = waiting->key ? identify(entering, waiting->key, NULL) : 0;
    piece->site = enter_site(entering, 0, id | HEAPPROF_SITE_OF_BLOCKS, 0);
    if (!piece->site) return no_memory;
    entering->facts->total_samples++;
    rb_heapprof_sites_count_alloc(&entering->tables->sites, piece->site, piece->weight,
                                  piece->asked_bytes);
    return NULL;
}

/* settle_blocks in gc/blocks/malloc.c: what has died, and no site knows yet how old. */
static const char *
enter_retired(struct heapprof_tables *tables)
{
    const struct heapprof_blocks *blocks = &tables->blocks;
    uint32_t left = blocks->numbers.end;

    if (!tables->sites.lifetimes) return NULL;
    for (uint32_t number = blocks->retired_head; number; number = blocks->pieces[number].next) {
        if (number >= blocks->numbers.end || left-- == 0) return bad_blocks;
        const struct heapprof_piece *piece = &blocks->pieces[number];
        if (piece->site == 0 || piece->site == HEAPPROF_SITE_WAITING) continue;
        rb_heapprof_death_count(&tables->sites.deaths[piece->site], piece->birth_gc,
                                (uint32_t)piece->begin, piece->weight, piece->asked_bytes);
    }
    return NULL;
}

static const char *
enter_all(struct entering *entering)
{
    const struct attach_settling *settling = entering->settling;
    const char *wrong = NULL;

    find_identities(entering);
    if (!find_sites(entering)) return no_memory;
    for (size_t i = 0; i < settling->pending_count && !wrong; i++) {
        wrong = enter_pending(entering, &settling->pending[i]);
    }
    for (size_t i = 0; i < settling->waiting_count && !wrong; i++) {
        wrong = enter_waiting(entering, &settling->waiting[i]);
    }
    return wrong ? wrong : enter_retired(entering->tables);
}

const char *
attach_settle_enter(struct attach_settling *settling, struct heapprof_tables *tables,
                    struct heapprof_facts *facts)
{
    struct entering entering = {.settling = settling, .tables = tables, .facts = facts};
    size_t count = sample_count(settling);

    entering.identities.all = calloc(count + 1, sizeof(struct sought));
    entering.sites.all = calloc(count + 1, sizeof(struct sought));
    const char *wrong =
        entering.identities.all && entering.sites.all ? enter_all(&entering) : no_memory;
    free(entering.identities.all);
    free(entering.sites.all);
    return wrong;
}
