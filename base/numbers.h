#ifndef HEAPPROF_NUMBERS_H
#define HEAPPROF_NUMBERS_H
/* The numbers of a table's entries: from 1 on, and a number given back is handed out again.
 *
 *     number     1      2      3      4      5     6
 *     array      used   free   used   free   used  .    end 6, count 3, free_head 4
 *     link              0             2
 *
 * The entries are in an array of their table, and that array grows here. Each entry has a link,
 * which means something only while the entry is free. An entry whose number is handed out for
 * the first time is zero.
 *
 * Only grow, reserve and reserve_more allocate. The rest may run anywhere in the collector. The
 * caller serialises.
 */
#include "base/mem.h"
#include "base/still.h"

/* The most numbers. An array for more does not grow, and growth at most doubles an array: so
 * numbers stay far from UINT32_MAX, to which tables give a meaning. */
#define HEAPPROF_NUMBERS_MOST (UINT32_C(1) << 30)

struct heapprof_numbers {
    size_t   capacity;  /* of the array, in entries */
    uint32_t free_head; /* first of the free entries, which their links chain; 0: none */
    uint32_t end;       /* numbers from 1 to below this have been handed out */
    uint32_t count;     /* in use */
    struct heapprof_still *still; /* the copy of the entries that is being made; NULL: none */
};

/* Returns the link of a free entry; HEAPPROF_NUMBER_USED for an entry in use. */
typedef uint32_t heapprof_link_i(const void *owner, uint32_t number);
#define HEAPPROF_NUMBER_USED UINT32_MAX

/* No entry, and no array: the owner's pointer to it is NULL. */
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

/* Makes sure that there is room for the next number; reserve_more, for count more numbers in
 * use. Returns false, with everything as it was, if memory is refused. The array may move. */
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

/* The owner has moved its entries: those from 1 to count are in use, and no others. Gives memory
 * back that they do not need. The array may move. */
void rb_heapprof_numbers_pack(struct heapprof_numbers *numbers, struct heapprof_mem *mem,
                              void **array, size_t element_bytes, uint32_t count);

/* Gives the array back; the numbers are then as after init. */
void rb_heapprof_numbers_release(struct heapprof_numbers *numbers, struct heapprof_mem *mem,
                                 void **array, size_t element_bytes);

/* The four functions above for an array of any type. */
#define HEAPPROF_NUMBERS_RESERVE(numbers, mem, array) \
    rb_heapprof_numbers_reserve((numbers), (mem), (void **)&(array), sizeof(*(array)))
#define HEAPPROF_NUMBERS_RESERVE_MORE(numbers, mem, array, count) \
    rb_heapprof_numbers_reserve_more((numbers), (mem), (void **)&(array), sizeof(*(array)), (count))
#define HEAPPROF_NUMBERS_PACK(numbers, mem, array, count) \
    rb_heapprof_numbers_pack((numbers), (mem), (void **)&(array), sizeof(*(array)), (count))
#define HEAPPROF_NUMBERS_RELEASE(numbers, mem, array) \
    rb_heapprof_numbers_release((numbers), (mem), (void **)&(array), sizeof(*(array)))

/* To be called before the entry of that number changes. take does it by itself. */
static inline void
rb_heapprof_numbers_change(const struct heapprof_numbers *numbers, uint32_t number)
{
    if (numbers->still) rb_heapprof_still_keep(numbers->still, number);
}

/* Hands out the next number, for which there is room. link is the link of its entry, which is
 * not changed yet. */
static inline void
rb_heapprof_numbers_take(struct heapprof_numbers *numbers, const uint32_t *link)
{
    rb_heapprof_numbers_change(numbers, rb_heapprof_numbers_next(numbers));
    if (numbers->free_head) numbers->free_head = *link;
    else numbers->end++;
    numbers->count++;
}

/* Frees the entry of that number. Writes its link, and nothing else of it. */
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
