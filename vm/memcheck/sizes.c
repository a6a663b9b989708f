/* sizes.c - compares what dsize functions say with the blocks that objects lead to.
 *
 *     object A ---> struct ---> list ---> shared <--- struct <--- object B
 *                   |-- A's alone --|                |-- B's alone
 *
 * Blocks are given to the first object that leads to them; then, in a second search, to the last
 * one. Who has a block both times has it alone. What a variable of a library leads to is
 * nobody's, and so is what MRI has asked for itself.
 *
 *     too little   what all objects of the type have alone is more than twice what they say
 *     too much     one object says more than twice what it leads to, shared or not
 *
 * A difference of less than LEAST_BYTES is none: allocators round, and so do authors. A type
 * without a dsize function says nothing. ObjectSpace.memsize_of adds the struct of an embeddable
 * type that is not embedded, so its dsize leaves it out. */
#include "ruby/ruby.h"
#include "vm/memcheck/sizes.h"

#include <link.h>
#include <malloc.h>

#include "gc/book/state.h"
#include "profiler/leaks/totals.h"
#include "vm/memcheck/leak_search.h"

enum {
    LEAST_BYTES = 1024,
    TYPES_MOST = 1000,    /* more are not looked at */
    NOBODY = UINT32_MAX   /* as the leader of a block: no object */
};

struct sized {
    const rb_data_type_t *type;
    uintptr_t begin, end; /* where the search begins */
    uintptr_t data;
    uint64_t  said, own;
};

struct sized_type {
    const rb_data_type_t *type;
    uint32_t objects;
    uint32_t largest;     /* the place of the object that says most */
    uint64_t said, own;
};

struct sizes {
    struct heapprof_mem mem;
    struct sized *all;
    size_t    capacity, count;
    uint32_t *first;      /* by block: the first object that leads to it, or NOBODY */
    size_t    first_capacity, block_count;
    struct sized_type types[TYPES_MOST];
    size_t    type_count;
    const char *core;
    bool      incomplete;
};

static struct {
    struct heapprof_mem mem;
    struct heapprof_wrong_size *all;
    size_t capacity, count;
} wrong; /* written once, at the end of the process; the VM lock */

/* ---- the objects ---- */

static uint64_t
said_of(const struct sized *one, bool embedded)
{
    size_t more = one->type->function.dsize((void *)one->data);
    bool apart = (one->type->flags & RUBY_TYPED_EMBEDDABLE) && !embedded;

    return more + (apart ? malloc_usable_size((void *)one->data) : 0);
}

static void
add_object_i(VALUE object, uintptr_t begin, uintptr_t end, void *data)
{
    struct sizes *sizes = data;
    if (!RTYPEDDATA_P(object) || rb_heapprof_gc_gone_p(object, NULL)) return;
    struct sized one = { RTYPEDDATA_TYPE(object), begin, end,
                         (uintptr_t)RTYPEDDATA_GET_DATA(object), 0, 0 };

    if (!one.data || !one.type->function.dsize) return;
    if (sizes->count == NOBODY || !HEAPPROF_MEM_GROW(&sizes->mem, sizes->all, sizes->capacity,
                                                     sizes->count + 1)) {
        sizes->incomplete = true;
        return;
    }
    one.said = said_of(&one, RTYPEDDATA_EMBEDDED_P(object));
    sizes->all[sizes->count++] = one;
}

/* ---- whose blocks are ---- */

static int
lead_from_variables_i(struct dl_phdr_info *info, size_t size, void *lost)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        rb_heapprof_lost_root(lost, begin, begin + part->p_memsz);
    }
    return 0;
}

static void
begin_search(struct heapprof_leak_search *search, bool variables)
{
    const struct heapprof_root_stacks none = { .innermost = 0 };

    rb_heapprof_leak_search_begin(search, &none, NULL, 0);
    search->lost.leader = NOBODY;
    if (variables) dl_iterate_phdr(lead_from_variables_i, &search->lost);
}

static void
lead_from(struct heapprof_leak_search *search, const struct sizes *sizes, size_t place)
{
    search->lost.leader = (uint32_t)place;
    rb_heapprof_lost_root_of(&search->lost, sizes->all[place].begin, sizes->all[place].end);
}

static uint32_t
owner_of(const struct heapprof_lost_block *block)
{
    return block->fate >= HEAPPROF_POSSIBLE ? block->leader : NOBODY;
}

static void
find_first(struct sizes *sizes)
{
    struct heapprof_leak_search search;

    begin_search(&search, true);
    for (size_t i = 0; i < sizes->count; i++) lead_from(&search, sizes, i);
    sizes->block_count = search.lost.block_count;
    if (search.lost.incomplete || !HEAPPROF_MEM_GROW(&sizes->mem, sizes->first,
                                                     sizes->first_capacity,
                                                     sizes->block_count + 1))
        sizes->incomplete = true;
    for (size_t i = 0; i < sizes->block_count && !sizes->incomplete; i++)
        sizes->first[i] = owner_of(&search.lost.blocks[i]);
    rb_heapprof_leak_search_free(&search);
}

/* Whether an extension has asked for it, or a library. */
static bool
of_extension_p(const struct sizes *sizes, const struct heapprof_lost_block *block)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;

    if (block->site == 0) return false;
    return !rb_heapprof_leak_core_p(tables,
                                    rb_heapprof_leak_site_caller(tables, block->site).identity,
                                    sizes->core);
}

static void
add_own(struct sizes *sizes)
{
    struct heapprof_leak_search search;

    begin_search(&search, true);
    for (size_t i = sizes->count; i-- > 0;) lead_from(&search, sizes, i);
    if (search.lost.incomplete || search.lost.block_count != sizes->block_count)
        sizes->incomplete = true;
    for (size_t i = 0; i < sizes->block_count && !sizes->incomplete; i++) {
        const struct heapprof_lost_block *block = &search.lost.blocks[i];
        uint32_t owner = owner_of(block);
        if (owner == NOBODY || owner != sizes->first[i] || !of_extension_p(sizes, block)) continue;
        sizes->all[owner].own += block->bytes;
    }
    rb_heapprof_leak_search_free(&search);
}

/* ---- what they say ---- */

static struct sized_type *
type_of(struct sizes *sizes, const rb_data_type_t *type)
{
    size_t i = 0;

    while (i < sizes->type_count && sizes->types[i].type != type) i++;
    if (i == TYPES_MOST) return NULL;
    if (i == sizes->type_count)
        sizes->types[sizes->type_count++] = (struct sized_type){ .type = type };
    return &sizes->types[i];
}

static void
add_up(struct sizes *sizes)
{
    for (size_t i = 0; i < sizes->count; i++) {
        const struct sized *one = &sizes->all[i];
        struct sized_type *type = type_of(sizes, one->type);
        if (!type) continue;
        if (type->objects++ == 0 || one->said > sizes->all[type->largest].said)
            type->largest = (uint32_t)i;
        type->said += one->said;
        type->own += one->own;
    }
}

static bool
much_more_p(uint64_t bytes, uint64_t than)
{
    return bytes / 2 >= than && bytes - than >= LEAST_BYTES;
}

/* All that one object leads to, and who made it: the site of its first block. */
static uint64_t
held_by(const struct sizes *sizes, size_t place, uint32_t *site)
{
    struct heapprof_leak_search search;
    uint64_t bytes = 0;

    begin_search(&search, false);
    lead_from(&search, sizes, place);
    *site = 0;
    for (size_t i = 0; i < search.lost.block_count; i++) {
        const struct heapprof_lost_block *block = &search.lost.blocks[i];
        if (block->fate < HEAPPROF_POSSIBLE) continue;
        bytes += block->bytes;
        if (block->address == sizes->all[place].data || *site == 0) *site = block->site;
    }
    rb_heapprof_leak_search_free(&search);
    return bytes;
}

static void
add_wrong(const struct sized_type *type, struct heapprof_wrong_size one, uint32_t site)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    const char *name = type->type->wrap_struct_name ? type->type->wrap_struct_name : "";

    if (!HEAPPROF_MEM_GROW(&wrong.mem, wrong.all, wrong.capacity, wrong.count + 1)) return;
    rb_heapprof_gc_begin_change();
    uint32_t string = rb_heapprof_strings_intern(&tables->strings, name, strlen(name));
    if (string != UINT32_MAX) {
        one.type = string;
        one.code.c_path = rb_heapprof_gc_path_to((uintptr_t)type->type->function.dsize);
        one.code.stack = site ? rb_heapprof_sites_get(&tables->sites, site)->stack : 0;
        if (one.code.stack) rb_heapprof_stacks_hold(&tables->stacks, one.code.stack);
        wrong.all[wrong.count++] = one;
    }
    rb_heapprof_gc_end_change();
}

static void
judge(const struct sizes *sizes, const struct sized_type *type)
{
    const struct sized *largest = &sizes->all[type->largest];
    uint32_t site;

    if (much_more_p(type->own, type->said)) {
        held_by(sizes, type->largest, &site);
        add_wrong(type, (struct heapprof_wrong_size){ .objects = type->objects, .said = type->said,
                                                      .held = type->own }, site);
    }
    else if (much_more_p(largest->said, largest->own)) {
        uint64_t held = held_by(sizes, type->largest, &site);
        if (!much_more_p(largest->said, held)) return;
        add_wrong(type, (struct heapprof_wrong_size){ .objects = 1, .said = largest->said,
                                                      .held = held }, site);
    }
}

void
rb_heapprof_sizes_find(const char *core)
{
    static struct sizes sizes;

    sizes = (struct sizes){ .core = core };
    rb_heapprof_mem_init(&sizes.mem, SIZE_MAX);
    rb_heapprof_mem_init(&wrong.mem, SIZE_MAX);
    rb_heapprof_gc_each_foreign(add_object_i, &sizes);
    if (sizes.count > 0 && !sizes.incomplete) find_first(&sizes);
    if (sizes.count > 0 && !sizes.incomplete) add_own(&sizes);
    if (!sizes.incomplete) add_up(&sizes);
    for (size_t i = 0; i < sizes.type_count; i++) judge(&sizes, &sizes.types[i]);
    HEAPPROF_MEM_RELEASE(&sizes.mem, sizes.all, sizes.capacity);
    HEAPPROF_MEM_RELEASE(&sizes.mem, sizes.first, sizes.first_capacity);
}

const struct heapprof_wrong_size *
rb_heapprof_sizes_wrong(size_t *count)
{
    *count = wrong.count;
    return wrong.all;
}
