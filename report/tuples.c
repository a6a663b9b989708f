/* tuples.c - keeps tuples end to end, and an index from their content to their number. */
#include "report/tuples.h"

#include "base/secret.h"

#include <string.h>

static uint64_t
hash(const struct report_tuples *tuples, const uint32_t *tuple)
{
    uint64_t sum = tuples->secret;

    for (uint32_t i = 0; i < tuples->width; i++) sum = rb_heapprof_index_hash(sum + tuple[i] + 1);
    return sum;
}

static uint64_t
hash_of(const void *owner, uint32_t number)
{
    const struct report_tuples *tuples = owner;
    return hash(tuples, report_tuples_get(tuples, number));
}

void
report_tuples_init(struct report_tuples *tuples, struct heapprof_mem *mem, uint32_t width)
{
    *tuples = (struct report_tuples){.mem = mem, .width = width, .secret = rb_heapprof_secret()};
}

void
report_tuples_free(struct report_tuples *tuples)
{
    HEAPPROF_MEM_RELEASE(tuples->mem, tuples->all, tuples->capacity);
    rb_heapprof_index_release(&tuples->index, tuples->mem);
    tuples->count = 0;
}

uint32_t
report_tuples_find(const struct report_tuples *tuples, const uint32_t *tuple)
{
    size_t bytes = tuples->width * sizeof(*tuple);
    uint32_t number;

    for (uint64_t probe = hash(tuples, tuple);
         (number = rb_heapprof_index_at(&tuples->index, probe)); probe++) {
        if (!memcmp(report_tuples_get(tuples, number), tuple, bytes)) return number;
    }
    return 0;
}

uint32_t
report_tuples_add(struct report_tuples *tuples, const uint32_t *tuple)
{
    size_t end = (size_t)tuples->count * tuples->width;
    uint32_t number = report_tuples_find(tuples, tuple);

    if (number) return number;
    if (!HEAPPROF_MEM_GROW(tuples->mem, tuples->all, tuples->capacity, end + tuples->width) ||
        !rb_heapprof_index_reserve(&tuples->index, tuples->mem, tuples->count, hash_of, tuples))
        return 0;
    memcpy(tuples->all + end, tuple, tuples->width * sizeof(*tuple));
    number = ++tuples->count;
    rb_heapprof_index_insert(&tuples->index, hash(tuples, tuple), number);
    return number;
}
