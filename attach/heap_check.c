/* heap_check.c - checks copied tables, in one pass. */
#include "attach/heap_check.h"

#include <math.h>
#include <string.h>

/* Another byte than 0 or 1 must not even be looked at as a bool. */
static bool
bool_p(const bool *value)
{
    unsigned char byte;

    memcpy(&byte, value, sizeof(byte));
    return byte <= 1;
}

/* ---- which numbers are free ---- */

/* True if each number is either in use or in the list of free ones, once. So the next free one may
 * be given out (numbers.c). */
static bool
numbers_good_p(const struct heapprof_numbers *numbers, heapprof_link_i *link_i, const void *owner)
{
    uint32_t used = 0, free_count = 0;

    if (numbers->end == 0) return false;
    for (uint32_t number = 1; number < numbers->end; number++)
        used += link_i(owner, number) == HEAPPROF_NUMBER_USED;
    for (uint32_t number = numbers->free_head; number; number = link_i(owner, number)) {
        if (number >= numbers->end || ++free_count >= numbers->end) return false;
    }
    return used == numbers->count && used + free_count + 1 == numbers->end;
}

static uint32_t
string_link_i(const void *owner, uint32_t number)
{
    const struct heapprof_string *string = &((const struct heapprof_strings *)owner)->all[number];
    return string->length ? HEAPPROF_NUMBER_USED : string->offset;
}

static uint32_t
identity_link_i(const void *owner, uint32_t number)
{
    const struct heapprof_identity *identity =
        &((const struct heapprof_identities *)owner)->all[number];
    return identity->used ? HEAPPROF_NUMBER_USED : identity->next_free;
}

static uint32_t
site_link_i(const void *owner, uint32_t number)
{
    const struct heapprof_site *site = &((const struct heapprof_sites *)owner)->all[number];
    return site->used ? HEAPPROF_NUMBER_USED : site->next_free;
}

static uint32_t
address_link_i(const void *owner, uint32_t number)
{
    const struct heapprof_address_entry *entry =
        &((const struct heapprof_address_table *)owner)->entries[number];
    return entry->address ? HEAPPROF_NUMBER_USED : entry->next;
}

static bool
all_numbers_good_p(const struct heapprof_tables *tables)
{
    const struct heapprof_address_table *classes = &tables->identities.addresses,
                                        *live = &tables->live.addresses;

    return numbers_good_p(&tables->strings.numbers, string_link_i, &tables->strings) &&
           numbers_good_p(&tables->identities.numbers, identity_link_i, &tables->identities) &&
           numbers_good_p(&tables->sites.numbers, site_link_i, &tables->sites) &&
           numbers_good_p(&classes->numbers, address_link_i, classes) &&
           numbers_good_p(&live->numbers, address_link_i, live);
}

/* ---- what they name ---- */

static bool
text_good_p(const struct heapprof_strings *strings)
{
    for (uint32_t i = 1; i < strings->numbers.end; i++) {
        const struct heapprof_string *string = &strings->all[i];
        if (string->length == 0) continue; /* free */
        uint64_t end = (uint64_t)string->offset + string->length;
        if (end >= strings->bytes_used || strings->bytes[end]) return false;
    }
    return true;
}

static bool
string_p(const struct heapprof_tables *tables, uint32_t number)
{
    return number == 0 ||
           (number < tables->strings.numbers.end && tables->strings.all[number].length != 0);
}

static bool
functions_good_p(const struct heapprof_tables *tables)
{
    const struct heapprof_functions *functions = &tables->functions;

    for (uint32_t i = 1; i < functions->numbers.end; i++) {
        const struct heapprof_function *function = &functions->all[i];
        if (!bool_p(&function->cfunc) || !bool_p(&function->provisional) ||
            !bool_p(&function->needed) || !bool_p(&function->kept))
            return false;
        if (function->origin == 0) continue;
        if (!string_p(tables, function->name) || !string_p(tables, function->path)) return false;
    }
    return true;
}

static bool
function_p(const struct heapprof_tables *tables, uint32_t number)
{
    return number > 0 && number < tables->functions.numbers.end &&
           tables->functions.all[number].origin != 0;
}

/* A node is one deeper than its parent, so there are no circles. */
static bool
stacks_good_p(const struct heapprof_tables *tables)
{
    const struct heapprof_stacks *stacks = &tables->stacks;

    for (uint32_t i = 1; i < stacks->numbers.end; i++) {
        const struct heapprof_stack_node *node = &stacks->nodes[i];
        if (node->function == 0) continue;
        if (!function_p(tables, node->function) || node->parent >= stacks->numbers.end)
            return false;
        const struct heapprof_stack_node *parent = &stacks->nodes[node->parent];
        uint32_t outside = node->parent ? parent->depth : 0;
        if ((node->parent && parent->function == 0) || node->depth == 0 ||
            node->depth - 1 != outside)
            return false;
    }
    return true;
}

static bool
identities_good_p(const struct heapprof_tables *tables)
{
    const struct heapprof_identities *identities = &tables->identities;

    for (uint32_t i = 1; i < identities->numbers.end; i++) {
        const struct heapprof_identity *identity = &identities->all[i];
        if (!bool_p(&identity->used) || !bool_p(&identity->provisional) ||
            !bool_p(&identity->needed) || !bool_p(&identity->dead))
            return false;
        if (!identity->used) continue;
        if (identity->name != HEAPPROF_UNNAMED && !string_p(tables, identity->name)) return false;
        if (!string_p(tables, identity->library)) return false;
    }
    return true;
}

static bool
stack_p(const struct heapprof_tables *tables, uint32_t number)
{
    return number == 0 ||
           (number < tables->stacks.numbers.end && tables->stacks.nodes[number].function != 0);
}

static bool
amount_p(double amount)
{
    return isfinite(amount) && fabs(amount) < 1e300;
}

static bool
site_good_p(const struct heapprof_tables *tables, const struct heapprof_site *site)
{
    uint32_t identity = rb_heapprof_site_identity(site);

    if (!site->used) return true;
    if (!stack_p(tables, site->stack) || !string_p(tables, site->label)) return false;
    if (identity &&
        (identity >= tables->identities.numbers.end || !tables->identities.all[identity].used))
        return false;
    return amount_p(site->alloc_objects) && amount_p(site->alloc_bytes);
}

static bool
sum_p(struct heapprof_sum sum)
{
    return amount_p(sum.objects) && amount_p(sum.bytes);
}

static bool
deaths_p(const struct heapprof_deaths *deaths)
{
    for (int age = 0; age < HEAPPROF_COUNTED_AGES; age++) {
        if (!sum_p(deaths->of_age[age])) return false;
    }
    return true;
}

/* What sites have besides their totals. */
static bool
past_good_p(const struct heapprof_tables *tables)
{
    const struct heapprof_sites *sites = &tables->sites;
    uint32_t end = sites->numbers.end;

    if (sites->lifetimes && end > 1 && sites->deaths_capacity < end) return false;
    for (uint32_t i = 1; i < end; i++) {
        if (sites->lifetimes && !deaths_p(&sites->deaths[i])) return false;
        if (!sum_p(rb_heapprof_sums_peak(&sites->object_sums, i)) ||
            !sum_p(rb_heapprof_sums_peak(&sites->block_sums, i))) return false;
    }
    return deaths_p(&sites->folded_deaths) && deaths_p(&sites->folded_block_deaths) &&
           sum_p(sites->object_sums.gone) && sum_p(sites->block_sums.gone) &&
           amount_p(tables->peak.bytes);
}

static bool
sites_good_p(const struct heapprof_tables *tables)
{
    const struct heapprof_sites *sites = &tables->sites;

    for (uint32_t i = 1; i < sites->numbers.end; i++) {
        if (!site_good_p(tables, &sites->all[i])) return false;
    }
    return amount_p(sites->folded.alloc_objects) && amount_p(sites->folded.alloc_bytes) &&
           amount_p(sites->folded_blocks.alloc_objects) &&
           amount_p(sites->folded_blocks.alloc_bytes);
}

static bool
site_p(const struct heapprof_tables *tables, uint32_t number)
{
    return number > 0 && number < tables->sites.numbers.end && tables->sites.all[number].used;
}

static bool
samples_good_p(const struct heapprof_tables *tables)
{
    const struct heapprof_live_table *live = &tables->live;

    for (uint32_t i = 1; i < live->addresses.numbers.end; i++) {
        const struct heapprof_sample *sample = &live->samples[i];
        if (rb_heapprof_address_table_address(&live->addresses, i) == 0) continue;
        if (!site_p(tables, sample->site) || sample->birth_bytes == 0 || !(sample->weight > 0) ||
            !amount_p(sample->weight))
            return false;
    }
    return true;
}

static bool
pieces_good_p(const struct heapprof_tables *tables)
{
    const struct heapprof_blocks *blocks = &tables->blocks;

    for (uint32_t i = 1; i < blocks->numbers.end; i++) {
        const struct heapprof_piece *piece = &blocks->pieces[i];
        if (piece->site == 0) continue;
        if (piece->next >= blocks->numbers.end) return false;
        if (piece->site == HEAPPROF_SITE_WAITING) continue;
        if (!site_p(tables, piece->site) || piece->asked_bytes == 0 || !(piece->weight > 0) ||
            !amount_p(piece->weight))
            return false;
    }
    return true;
}

/* The list of each block's pieces ends: all lists together have at most as many pieces as there
 * are. */
static bool
blocks_good_p(const struct heapprof_tables *tables)
{
    const struct heapprof_blocks *blocks = &tables->blocks;
    uint64_t left = blocks->numbers.end;

    for (uint32_t entry = 1; entry < blocks->addresses.numbers.end; entry++) {
        uint32_t piece = blocks->pieces_of[entry];
        for (; piece; piece = blocks->pieces[piece].next) {
            if (piece >= blocks->numbers.end || left-- == 0) return false;
        }
    }
    return true;
}

const char *
attach_heap_check(const struct heapprof_tables *tables)
{
    if (!text_good_p(&tables->strings)) return "its strings";
    if (!functions_good_p(tables)) return "its functions";
    if (!stacks_good_p(tables)) return "its stacks";
    if (!identities_good_p(tables)) return "its classes";
    if (!sites_good_p(tables) || !past_good_p(tables)) return "its sites";
    if (!samples_good_p(tables)) return "its samples";
    if (!all_numbers_good_p(tables)) return "its free entries";
    if (!pieces_good_p(tables) || !blocks_good_p(tables)) return "its blocks";
    return NULL;
}
