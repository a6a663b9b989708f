#ifndef HEAPPROF_ARRAY_H
#define HEAPPROF_ARRAY_H
/* Arrays that grow, in memory of malloc: for readers and commands, which have no budget.
 *
 *     capacity   |<------------------------------>|
 *     count      |<- elements ->|     not set     |     before an element is added:
 *                                                       HEAPPROF_ARRAY_GROW(all, capacity, count + 1)
 *
 * The tables of the profiler itself use HEAPPROF_MEM_GROW (base/mem.h) instead: it charges a
 * budget and may run inside the collector. An array of this file may not grow there.
 */
#include <stdbool.h>
#include <stddef.h>

/* Makes room for count elements in *array, which has room for *capacity of them. The first
 * array is NULL with capacity 0. What is added is not set. The array may move, and at least
 * doubles, so that n additions cost O(n). Returns false, with everything as it was, if memory
 * is refused or the size has no number. The caller frees the array with free. */
bool rb_heapprof_array_grow(void **array, size_t *capacity, size_t count, size_t element_bytes);

/* The same for an array of any type, given with the variable that has its capacity. As a rule
 * there is room, and nothing is called. */
#define HEAPPROF_ARRAY_GROW(array, capacity, count) \
    ((size_t)(count) <= (capacity) || \
     rb_heapprof_array_grow((void **)&(array), &(capacity), (count), sizeof(*(array))))

#endif
