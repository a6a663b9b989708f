/* numbers.c - which entries of a table are in use, and room for more.
 *
 *   I1  each number below end is in use or on the chain of free ones, once; 0 is neither.
 *   I2  count is how many are in use.
 *   I3  the array has room for every number below end.
 *
 * Where in its entry the link is, the owner says at each call. An entry in use needs none, so it
 * may share its place with something that only such an entry has.
 */
#include "base/numbers.h"

#include <string.h>

#include "base/check.h"

void
rb_heapprof_numbers_init(struct heapprof_numbers *numbers)
{
    *numbers = (struct heapprof_numbers){.end = 1};
}

bool
rb_heapprof_numbers_grow(struct heapprof_numbers *numbers, struct heapprof_mem *mem,
                         void **array, size_t element_bytes, size_t count)
{
    if (count >= HEAPPROF_NUMBERS_MOST) {
        mem->refused++;
        return false;
    }
    if (numbers->still) rb_heapprof_still_hold(numbers->still);
    bool grown = rb_heapprof_mem_grow(mem, array, &numbers->capacity, count + 1, element_bytes);
    if (numbers->still) rb_heapprof_still_release(numbers->still);
    return grown;
}

/* An entry whose number is handed out for the first time is zero. */
void
rb_heapprof_numbers_pack(struct heapprof_numbers *numbers, struct heapprof_mem *mem,
                         void **array, size_t element_bytes, uint32_t count)
{
    char *entries;

    memcpy(&entries, array, sizeof(entries));
    memset(entries + (count + 1) * element_bytes, 0, (numbers->end - count - 1) * element_bytes);
    numbers->free_head = 0;
    numbers->end = count + 1;
    numbers->count = count;
    rb_heapprof_mem_shrink(mem, array, &numbers->capacity, numbers->end, element_bytes);
}

void
rb_heapprof_numbers_release(struct heapprof_numbers *numbers, struct heapprof_mem *mem,
                            void **array, size_t element_bytes)
{
    rb_heapprof_mem_release(mem, array, &numbers->capacity, element_bytes);
    rb_heapprof_numbers_init(numbers);
}

void
rb_heapprof_numbers_check(const struct heapprof_numbers *numbers, heapprof_link_i *link_i,
                          const void *owner)
{
    uint32_t number, used = 0, free_count = 0;

    HEAPPROF_ASSERT(numbers->end == 1 || numbers->end <= numbers->capacity);
    for (number = 1; number < numbers->end; number++) {
        if (link_i(owner, number) == HEAPPROF_NUMBER_USED) used++;
    }
    for (number = numbers->free_head; number; number = link_i(owner, number)) {
        HEAPPROF_ASSERT(number < numbers->end);
        free_count++;
        HEAPPROF_ASSERT(free_count < numbers->end);
    }
    HEAPPROF_ASSERT(used == numbers->count && used + free_count + 1 == numbers->end);
}
