/* fibers.c - searches the heap for objects whose data is a fiber. */
#include "attach/fibers.h"

enum { FIBERS_MAX = 100000, PAGES_MAX = 1 << 24, PAGE_BYTES_MAX = 1 << 20 };

struct fibers_places {
    struct attach_field sorted, page_count, page_start, page_slots, page_slot_bytes;
    struct attach_field flags, data_type, data;
    struct attach_field ec, status, root_fiber, thread;
    struct attach_global fiber_type;
    int64_t  t_data, suspended, resumed;
    uint32_t array_bytes, data_bytes, fiber_bytes;
};

static const struct attach_want wants[] = {
    ATTACH_WANT_NUMBER(struct fibers_places, sorted, "rb_objspace_t.heap_pages.sorted"),
    ATTACH_WANT_NUMBER(struct fibers_places, page_count, "rb_darray_meta_t.size"),
    ATTACH_WANT_TYPE(struct fibers_places, array_bytes, "rb_darray_meta_t"),
    ATTACH_WANT_NUMBER(struct fibers_places, page_start, "heap_page.start"),
    ATTACH_WANT_NUMBER(struct fibers_places, page_slots, "heap_page.total_slots"),
    ATTACH_WANT_NUMBER(struct fibers_places, page_slot_bytes, "heap_page.slot_size"),
    ATTACH_WANT_NUMBER(struct fibers_places, flags, "RBasic.flags"),
    ATTACH_WANT_NUMBER(struct fibers_places, data_type, "RTypedData.type"),
    ATTACH_WANT_NUMBER(struct fibers_places, data, "RTypedData.data"),
    ATTACH_WANT_TYPE(struct fibers_places, data_bytes, "RTypedData"),
    ATTACH_WANT_BYTES(struct fibers_places, ec, "rb_fiber_t.cont.saved_ec", 1),
    ATTACH_WANT_NUMBER(struct fibers_places, status, "rb_fiber_t.status"),
    ATTACH_WANT_TYPE(struct fibers_places, fiber_bytes, "rb_fiber_t"),
    ATTACH_WANT_NUMBER(struct fibers_places, root_fiber, "rb_thread_t.root_fiber"),
    ATTACH_WANT_NUMBER(struct fibers_places, thread, "rb_execution_context_t.thread_ptr"),
    ATTACH_WANT_GLOBAL(struct fibers_places, fiber_type, "fiber_data_type", 1),
    ATTACH_WANT_CONSTANT(struct fibers_places, t_data, "T_DATA"),
    ATTACH_WANT_CONSTANT(struct fibers_places, suspended, "FIBER_SUSPENDED"),
    ATTACH_WANT_CONSTANT(struct fibers_places, resumed, "FIBER_RESUMED"),
};

struct fibers_reading {
    struct attach_fibers *fibers;
    struct attach_vm *vm;
    const struct attach_threads *threads;
    struct heapprof_mem *mem;
    struct fibers_places places;
    unsigned char *page;
    size_t   page_capacity;
};

/* The thread that has this address. NULL if there is none: then the fiber has ended meanwhile. */
static const struct attach_thread *
find_thread(const struct fibers_reading *reading, uint64_t address)
{
    for (size_t i = 0; i < reading->threads->count; i++) {
        if (reading->threads->all[i].address == address) return &reading->threads->all[i];
    }
    return NULL;
}

static bool
known_p(const struct attach_fibers *fibers, uint64_t ec)
{
    for (size_t i = fibers->count; i-- > 0; ) {
        if (fibers->all[i].ec == ec) return true;
    }
    return false;
}

/* Adds the fiber at that address if it has begun, has not ended, and does not run. */
static bool
add_fiber(struct fibers_reading *reading, uint64_t fiber)
{
    struct attach_fibers *fibers = reading->fibers;
    const struct fibers_places *places = &reading->places;
    uint64_t status, thread_at, ec = fiber + places->ec.offset;

    if (!fiber || !attach_vm_get(reading->vm, fiber, &places->status, &status) ||
        (status != (uint64_t)places->suspended && status != (uint64_t)places->resumed) ||
        !attach_vm_get(reading->vm, ec, &places->thread, &thread_at)) return true;
    const struct attach_thread *thread = find_thread(reading, thread_at);
    if (!thread || thread->ec == ec || fibers->count == FIBERS_MAX || known_p(fibers, ec))
        return true;
    if (!HEAPPROF_MEM_GROW(reading->mem, fibers->all, fibers->capacity, fibers->count + 1))
        return false;
    fibers->all[fibers->count] = *thread;
    fibers->all[fibers->count].ec = ec;
    fibers->all[fibers->count++].state = ATTACH_THREAD_FIBER;
    return true;
}

static bool
scan_slots(struct fibers_reading *reading, size_t slots, size_t slot_bytes)
{
    const struct fibers_places *places = &reading->places;

    for (size_t i = 0; i < slots; i++) {
        const unsigned char *slot = reading->page + i * slot_bytes;
        uint64_t flags = attach_field_get(&places->flags, slot);
        if ((flags & reading->vm->type_mask) != (uint64_t)places->t_data) continue;
        if (attach_field_get(&places->data_type, slot) != places->fiber_type.address) continue;
        if (!add_fiber(reading, attach_field_get(&places->data, slot))) return false;
    }
    return true;
}

static bool
scan_page(struct fibers_reading *reading, uint64_t page)
{
    const struct fibers_places *places = &reading->places;
    uint64_t start, slots, slot_bytes;

    if (!attach_vm_get(reading->vm, page, &places->page_start, &start) ||
        !attach_vm_get(reading->vm, page, &places->page_slots, &slots) ||
        !attach_vm_get(reading->vm, page, &places->page_slot_bytes, &slot_bytes) ||
        slot_bytes < places->data_bytes || slots > PAGE_BYTES_MAX / slot_bytes) {
        reading->fibers->cut = true;
        return true;
    }
    size_t bytes = slots * slot_bytes;
    if (bytes == 0) return true;
    if (!HEAPPROF_MEM_GROW(reading->mem, reading->page, reading->page_capacity, bytes))
        return false;
    if (attach_target_read(reading->vm->target, start, reading->page, bytes)) {
        return scan_slots(reading, slots, slot_bytes);
    }
    reading->fibers->cut = true;
    return true;
}

/* A thread's first fiber has an object only if Ruby code has asked for it. */
static bool
add_root_fibers(struct fibers_reading *reading)
{
    for (size_t i = 0; i < reading->threads->count; i++) {
        uint64_t root;
        if (!attach_vm_get(reading->vm, reading->threads->all[i].address,
                           &reading->places.root_fiber, &root))
            continue;
        if (!add_fiber(reading, root)) return false;
    }
    return true;
}

static bool
scan_heap(struct fibers_reading *reading)
{
    uint64_t objspace = attach_vm_objspace(reading->vm), sorted, count, page;

    if (!attach_vm_get(reading->vm, objspace, &reading->places.sorted, &sorted) || !sorted ||
        !attach_vm_get(reading->vm, sorted, &reading->places.page_count, &count) ||
        count > PAGES_MAX)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (!attach_vm_word(reading->vm, sorted + reading->places.array_bytes + i * ATTACH_WORD,
                            &page)) {
            reading->fibers->cut = true;
            break;
        }
        if (!scan_page(reading, page)) return false;
    }
    return true;
}

bool
attach_fibers_read(struct attach_fibers *fibers, struct attach_vm *vm,
                   const struct attach_threads *threads, struct heapprof_mem *mem)
{
    struct fibers_reading reading = {.fibers = fibers, .vm = vm, .threads = threads, .mem = mem};
    char error[ATTACH_TARGET_ERROR_MAX];

    fibers->count = 0;
    fibers->cut = false;
    bool read = attach_layout_fill(vm->layout, wants, sizeof(wants) / sizeof(*wants),
                                   &reading.places, error) &&
                add_root_fibers(&reading) && scan_heap(&reading);
    HEAPPROF_MEM_RELEASE(mem, reading.page, reading.page_capacity);
    return read;
}

void
attach_fibers_free(struct attach_fibers *fibers, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, fibers->all, fibers->capacity);
}
