/* dead_objects.c - a queue in one array. What has been let go at its beginning is given to new
 * objects when the array is full and at least half of it is free; else the array grows.
 *
 *   I1  first <= end <= capacity.
 *   I2  held_bytes is the sum of memory_bytes over all objects from first to end.
 *
 * The caller serialises. */
#include "profiler/dead_objects.h"

#include <string.h>

void
rb_heapprof_dead_objects_init(struct heapprof_dead_objects *dead, struct heapprof_mem *mem,
                              struct heapprof_stacks *stacks)
{
    *dead = (struct heapprof_dead_objects){ .mem = mem, .stacks = stacks };
}

void
rb_heapprof_dead_objects_free(struct heapprof_dead_objects *dead)
{
    HEAPPROF_MEM_RELEASE(dead->mem, dead->all, dead->capacity);
    HEAPPROF_MEM_RELEASE(dead->mem, dead->gcs, dead->gc_capacity);
    rb_heapprof_dead_objects_init(dead, dead->mem, dead->stacks);
}

void
rb_heapprof_dead_objects_begin_gc(struct heapprof_dead_objects *dead,
                                  const struct heapprof_dead_gc *gc)
{
    if (!HEAPPROF_MEM_GROW(dead->mem, dead->gcs, dead->gc_capacity, dead->gc_count + 1)) return;
    rb_heapprof_stacks_hold(dead->stacks, gc->stack);
    dead->gcs[dead->gc_count++] = *gc;
}

static bool
make_room(struct heapprof_dead_objects *dead)
{
    if (dead->end == dead->capacity && dead->first > dead->capacity / 2) {
        memmove(dead->all, dead->all + dead->first,
                (dead->end - dead->first) * sizeof(*dead->all));
        dead->end -= dead->first;
        dead->first = 0;
    }
    return HEAPPROF_MEM_GROW(dead->mem, dead->all, dead->capacity, dead->end + 1);
}

bool
rb_heapprof_dead_objects_add(struct heapprof_dead_objects *dead,
                             const struct heapprof_dead_object *one)
{
    if (dead->gc_count == 0 || !make_room(dead)) return false;
    rb_heapprof_stacks_hold(dead->stacks, one->stack);
    dead->all[dead->end] = *one;
    dead->all[dead->end++].gc = (uint32_t)(dead->gc_count - 1) & INT32_MAX;
    dead->held_bytes += one->memory_bytes;
    dead->died++;
    return true;
}

const struct heapprof_dead_object *
rb_heapprof_dead_objects_oldest(const struct heapprof_dead_objects *dead)
{
    return dead->first < dead->end ? &dead->all[dead->first] : NULL;
}

void
rb_heapprof_dead_objects_drop_oldest(struct heapprof_dead_objects *dead)
{
    const struct heapprof_dead_object *one = &dead->all[dead->first++];

    rb_heapprof_stacks_unhold(dead->stacks, one->stack);
    dead->held_bytes -= one->memory_bytes;
}

const struct heapprof_dead_object *
rb_heapprof_dead_objects_find(const struct heapprof_dead_objects *dead, uintptr_t address)
{
    for (size_t i = dead->end; i > dead->first; i--) {
        const struct heapprof_dead_object *one = &dead->all[i - 1];
        if (address >= one->address && address - one->address < one->bytes) return one;
    }
    return NULL;
}
