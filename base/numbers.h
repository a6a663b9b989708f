#ifndef HEAPPROF_NUMBERS_H
#define HEAPPROF_NUMBERS_H
/* The numbers of a table's entries: from 1 on, and a number given back is handed out again.
 *
 *     number     1      2      3      4      5     6
 *     array      used   free   used   free   used  .    end 6, count 3, free_head 4
 *     link              0             2
 *
 * The entries are in an array of the table that has them, which grows here; so is the link, a
 * member of every entry that means something only while the entry is free. An entry whose
 * number is handed out for the first time is zero.
 *
 * Only reserve and reserve_more allocate; the rest may run anywhere in the collector. The caller
 * serialises.
 */
#include "base/mem.h"
#include "base/still.h"

/* Numbers stay far from UINT32_MAX, which tables give a meaning: an array that is to have more
 * entries does not grow, and growth no more than doubles it. */
#define HEAPPROF_NUMBERS_MOST (UINT32_C(1) << 30)

struct heapprof_numbers {
    size_t   capacity;  /* of the array, in entries */
    uint32_t free_head; /* of the free entries, through their links; 0: none */
    uint32_t end;       /* numbers below this have been handed out; 0 never is */
    uint32_t count;     /* in use */
    struct heapprof_still *still; /* a copy of the entries is being made (still.h); NULL: none */
};

/* Of a free entry the link, of one in use HEAPPROF_NUMBER_USED. */
typedef uint32_t heapprof_link_i(const void *owner, uint32_t number);
#define HEAPPROF_NUMBER_USED UINT32_MAX

/* No entry, and no array: of that the owner's pointer is NULL. */
void rb_heapprof_numbers_init(struct heapprof_numbers *numbers);

/* The number that take will hand out. */
static inline uint32_t
rb_heapprof_numbers_next(const struct heapprof_numbers *numbers)
{
    return numbers->free_head ? numbers->free_head : numbers->end;
}

/* Whether the array has room for that one. */
static inline bool
rb_heapprof_numbers_room_p(const struct heapprof_numbers *numbers)
{
    return rb_heapprof_numbers_next(numbers) < numbers->capacity;
}

/* Makes the array larger, to have room for count numbers in use. */
bool rb_heapprof_numbers_grow(struct heapprof_numbers *numbers, struct heapprof_mem *mem,
                              void **array, size_t element_bytes, size_t count);

/* Makes sure of room for the next number; or for count more in use. False, with everything as it
 * was, when memory is refused. The array may move. */
static inline bool
rb_heapprof_numbers_reserve(struct heapprof_numbers *numbers, struct heapprof_mem *mem,
                            void **array, size_t element_bytes)
{
    return rb_heapprof_numbers_room_p(numbers) ||
           rb_heapprof_numbers_grow(numbers, mem, array, element_bytes, numbers->end);
}

static inline bool
rb_heapprof_numbers_reserve_more(struct heapprof_numbers *numbers, struct heapprof_mem *mem,
                                void **array, size_t element_bytes, uint32_t count)
{
    size_t most = (size_t)numbers->count + count;

    return most < numbers->capacity ||
           rb_heapprof_numbers_grow(numbers, mem, array, element_bytes, most);
}

/* The entries from 1 to count are in use now, and no others: so their owner has moved them. Gives
 * memory back that they do not need. The array may move. */
void rb_heapprof_numbers_pack(struct heapprof_numbers *numbers, struct heapprof_mem *mem,
                              void **array, size_t element_bytes, uint32_t count);

/* Gives the array back; the numbers are then as after init. */
void rb_heapprof_numbers_release(struct heapprof_numbers *numbers, struct heapprof_mem *mem,
                                 void **array, size_t element_bytes);

/* All four for an array of any type. */
#define HEAPPROF_NUMBERS_RESERVE(numbers, mem, array) \
    rb_heapprof_numbers_reserve((numbers), (mem), (void **)&(array), sizeof(*(array)))
#define HEAPPROF_NUMBERS_RESERVE_MORE(numbers, mem, array, count) \
    rb_heapprof_numbers_reserve_more((numbers), (mem), (void **)&(array), sizeof(*(array)), (count))
#define HEAPPROF_NUMBERS_PACK(numbers, mem, array, count) \
    rb_heapprof_numbers_pack((numbers), (mem), (void **)&(array), sizeof(*(array)), (count))
#define HEAPPROF_NUMBERS_RELEASE(numbers, mem, array) \
    rb_heapprof_numbers_release((numbers), (mem), (void **)&(array), sizeof(*(array)))

/* The entry of that number is about to change. Taking the number says so, too. */
static inline void
rb_heapprof_numbers_change(const struct heapprof_numbers *numbers, uint32_t number)
{
    if (numbers->still) rb_heapprof_still_keep(numbers->still, number);
}

/* Hands out the next number, for which there is room. link is that of its entry, which is still
 * as it was when it was free. */
static inline void
rb_heapprof_numbers_take(struct heapprof_numbers *numbers, const uint32_t *link)
{
    rb_heapprof_numbers_change(numbers, rb_heapprof_numbers_next(numbers));
    if (numbers->free_head) numbers->free_head = *link;
    else numbers->end++;
    numbers->count++;
}

/* The entry of that number is free now. Writes its link, and nothing else of it. */
static inline void
rb_heapprof_numbers_give_back(struct heapprof_numbers *numbers, uint32_t number, uint32_t *link)
{
    *link = numbers->free_head;
    numbers->free_head = number;
    numbers->count--;
}

/* Asserts I1 to I3 (numbers.c). */
void rb_heapprof_numbers_check(const struct heapprof_numbers *numbers, heapprof_link_i *link_i,
                               const void *owner);

#endif
