/* heap_size.c - adds up the heaps of the collector, one for each size of slot. The process goes on
 * meanwhile, so a sum may be of two moments. */
#include "attach/heap_size.h"

enum { HEAPS_MOST = 64, HEAP_BYTES_MOST = 4096 };

struct heap_size_places {
    struct attach_field heaps, slot_bytes, allocated, freed, waiting;
    uint32_t heap_bytes;
};

static const struct attach_want wants[] = {
    ATTACH_WANT_BYTES(struct heap_size_places, heaps, "rb_objspace_t.heaps", 1),
    ATTACH_WANT_TYPE(struct heap_size_places, heap_bytes, "rb_heap_t"),
    ATTACH_WANT_NUMBER(struct heap_size_places, slot_bytes, "rb_heap_t.slot_size"),
    ATTACH_WANT_NUMBER(struct heap_size_places, allocated, "rb_heap_t.total_allocated_objects"),
    ATTACH_WANT_NUMBER(struct heap_size_places, freed, "rb_heap_t.total_freed_objects"),
    ATTACH_WANT_NUMBER(struct heap_size_places, waiting, "rb_heap_t.final_slots_count"),
};

/* An object whose finalizer has not run yet has a slot, but is dead. */
static uint64_t
live_bytes(const struct heap_size_places *places, const unsigned char *heap)
{
    uint64_t allocated = attach_field_get(&places->allocated, heap);
    uint64_t dead = attach_field_get(&places->freed, heap) +
                    attach_field_get(&places->waiting, heap);

    return allocated > dead ? (allocated - dead) * attach_field_get(&places->slot_bytes, heap) : 0;
}

bool
attach_heap_size(struct attach_vm *vm, uint64_t *bytes)
{
    unsigned char heap[HEAP_BYTES_MOST];
    char error[ATTACH_TARGET_ERROR_MAX];
    struct heap_size_places places;
    uint64_t objspace = attach_vm_objspace(vm);

    *bytes = 0;
    if (!objspace || !attach_layout_fill(vm->layout, wants, sizeof(wants) / sizeof(*wants), &places,
                                         error) ||
        places.heap_bytes == 0 || places.heap_bytes > sizeof(heap) ||
        places.heaps.size / places.heap_bytes > HEAPS_MOST)
        return false;
    for (uint32_t at = 0; at + places.heap_bytes <= places.heaps.size; at += places.heap_bytes) {
        if (!attach_target_read(vm->target, objspace + places.heaps.offset + at, heap,
                                places.heap_bytes))
            return false;
        *bytes += live_bytes(&places, heap);
    }
    return true;
}
