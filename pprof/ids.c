/* ids.c - an array of ids and a hash index over it, once the ids do not count from 1.
 *
 *  I1  If all is NULL, place p has the id p + 1. If it is not, all[p] is the id of p, for each
 *      p < count.
 *  I2  If all is not NULL, index has the number p + 1 for each p.
 */
#include "pprof/ids.h"

#include "base/secret.h"

static uint64_t
hash(const struct heapprof_ids *ids, uint64_t id)
{
    return rb_heapprof_index_hash(id ^ ids->secret);
}

static uint64_t
hash_of(const void *owner, uint32_t number)
{
    const struct heapprof_ids *ids = owner;
    return hash(ids, ids->all[number - 1]);
}

static bool
add_kept(struct heapprof_ids *ids, struct heapprof_mem *mem, uint64_t id, uint32_t place)
{
    if (!HEAPPROF_MEM_GROW(mem, ids->all, ids->capacity, (size_t)place + 1) ||
        !rb_heapprof_index_reserve(&ids->index, mem, place, hash_of, ids)) return false;
    ids->all[place] = id;
    rb_heapprof_index_insert(&ids->index, hash(ids, id), place + 1);
    return true;
}

/* Changes from counting ids to keeping them. */
static bool
keep(struct heapprof_ids *ids, struct heapprof_mem *mem)
{
    ids->secret = rb_heapprof_secret();
    for (uint32_t place = 0; place < ids->count; place++) {
        if (!add_kept(ids, mem, (uint64_t)place + 1, place)) return false;
    }
    return true;
}

uint32_t
rb_heapprof_ids_find(const struct heapprof_ids *ids, uint64_t id)
{
    uint64_t probe;
    uint32_t number;

    if (!ids->all) return id - 1 < ids->count ? (uint32_t)(id - 1) : HEAPPROF_NO_PLACE;
    for (probe = hash(ids, id); (number = rb_heapprof_index_at(&ids->index, probe)); probe++) {
        if (ids->all[number - 1] == id) return number - 1;
    }
    return HEAPPROF_NO_PLACE;
}

enum heapprof_ids_result
rb_heapprof_ids_add(struct heapprof_ids *ids, struct heapprof_mem *mem, uint64_t id)
{
    bool counting = !ids->all;

    if (rb_heapprof_ids_find(ids, id) != HEAPPROF_NO_PLACE) return HEAPPROF_IDS_TWICE;
    if (ids->count >= INT32_MAX) return HEAPPROF_IDS_NO_MEMORY;
    if (counting && id == (uint64_t)ids->count + 1) {
        ids->count++;
        return HEAPPROF_IDS_ADDED;
    }
    if (counting && !keep(ids, mem)) return HEAPPROF_IDS_NO_MEMORY;
    if (!add_kept(ids, mem, id, ids->count)) return HEAPPROF_IDS_NO_MEMORY;
    ids->count++;
    return HEAPPROF_IDS_ADDED;
}

void
rb_heapprof_ids_free(struct heapprof_ids *ids, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, ids->all, ids->capacity);
    rb_heapprof_index_release(&ids->index, mem);
    ids->count = 0;
}
