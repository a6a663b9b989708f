/* array.c - how far an array of malloc grows: to what is asked for, to twice its size, or to 16
 * elements, whichever is most.
 *
 *   I1  capacity * element_bytes has a number: no multiplication overflows.
 */
#include "base/array.h"

#include "base/aside.h"

#include <stdint.h>
#include <string.h>

#define FIRST_CAPACITY 16

bool
rb_heapprof_array_grow(void **array, size_t *capacity, size_t count, size_t element_bytes)
{
    const size_t most = SIZE_MAX / element_bytes;

    if (count <= *capacity) return true;
    if (count > most) return false;
    size_t larger = *capacity <= most / 2 ? *capacity * 2 : most;
    if (larger < FIRST_CAPACITY && FIRST_CAPACITY <= most) larger = FIRST_CAPACITY;
    if (larger < count) larger = count;

    /* The owner's pointer has a type of its own. Aliasing rules forbid to read it as a void
     * pointer. */
    void *elements;
    memcpy(&elements, array, sizeof(elements));
    elements = rb_heapprof_aside_realloc(elements, larger * element_bytes);
    if (!elements) return false;
    memcpy(array, &elements, sizeof(elements));
    *capacity = larger;
    return true;
}
