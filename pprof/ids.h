#ifndef HEAPPROF_IDS_H
#define HEAPPROF_IDS_H
/* Finds places in an array by the ids that a profile gives its locations, functions or
 * mappings. Ids may be any numbers except 0. As a rule they count from 1, and then nothing is
 * kept. */
#include "base/index.h"

#define HEAPPROF_NO_PLACE UINT32_MAX

struct heapprof_ids {
    uint64_t *all;      /* the ids by place; NULL: they count from 1 */
    size_t    capacity;
    uint32_t  count;
    struct heapprof_index index; /* id -> place + 1, of all */
    uint64_t  secret;   /* a secret, so that no file can choose ids that collide */
};

enum heapprof_ids_result {HEAPPROF_IDS_ADDED, HEAPPROF_IDS_TWICE, HEAPPROF_IDS_NO_MEMORY};

/* Gives the id, which is not 0, the next place. A zero struct is empty. */
enum heapprof_ids_result
rb_heapprof_ids_add(struct heapprof_ids *ids, struct heapprof_mem *mem, uint64_t id);

/* Returns the place of that id. Returns HEAPPROF_NO_PLACE if the id has no place. */
uint32_t rb_heapprof_ids_find(const struct heapprof_ids *ids, uint64_t id);

/* Returns the id of a place. */
static inline uint64_t
rb_heapprof_ids_at(const struct heapprof_ids *ids, uint32_t place)
{
    return ids->all ? ids->all[place] : (uint64_t)place + 1;
}

void rb_heapprof_ids_free(struct heapprof_ids *ids, struct heapprof_mem *mem);

#endif
