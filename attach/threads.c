/* threads.c - the VM's list of Ractors, and each one's list of threads.
 *
 * Both are circular lists through nodes within their structures. They change while they are read, so
 * what is followed is bounded, and a list that does not come back to its head is cut. The threads of the last
 * time are read in one go, in the order of the list; those that have come since one by one. */
#include "attach/threads.h"

#include <string.h>

enum { RACTORS_MAX = 10000, THREADS_MAX = 100000 };

/* Next is the first word of a node. */
static uint64_t
next_of(const unsigned char *node)
{
    uint64_t next;

    memcpy(&next, node, sizeof(next));
    return next;
}

/* ---- copies ---- */

/* Bytes of one: rb_thread_t, and its native thread's id. */
static size_t
copy_bytes(const struct heapprof_vm *vm)
{
    return (vm->thread_bytes + sizeof(uint32_t) + 7) & ~(size_t)7;
}

static unsigned char *
copy_at(const struct heapprof_threads *threads, const struct heapprof_vm *vm, size_t number)
{
    return threads->copies + number * copy_bytes(vm);
}

/* Reads the threads of the last time in one go: most of them are still there. False: no memory. */
static bool
copy_known(struct heapprof_threads *threads, struct heapprof_vm *vm, struct heapprof_mem *mem)
{
    enum { most = 1024 };
    struct heapprof_range ranges[most];
    size_t count = 0;

    threads->copied = false;
    if (!HEAPPROF_MEM_GROW(mem, threads->copies, threads->copies_capacity, (threads->before_count + 1) * copy_bytes(vm))) {
        return false;
    }
    for (size_t i = 0; i < threads->before_count && count < most - 1; i++) {
        const struct heapprof_thread *thread = &threads->before[i];
        unsigned char *copy = copy_at(threads, vm, i);
        ranges[count++] = (struct heapprof_range){thread->address, copy, vm->thread_bytes};
        if (!thread->native) continue;
        ranges[count++] = (struct heapprof_range){
            thread->native + vm->native_tid.offset, copy + vm->thread_bytes, sizeof(uint32_t)
        };
    }
    threads->copied = count > 0 && count < most - 1 && rb_heapprof_target_read_all(vm->target, ranges, count);
    return true;
}

/* The thread at that address, probably the next of the last time; NULL: it cannot be read. *known: its native id is there, too. */
static const unsigned char *
find_copy(struct heapprof_threads *threads, struct heapprof_vm *vm, uint64_t address, bool *known)
{
    size_t number = threads->count;

    *known = threads->copied && number < threads->before_count && threads->before[number].address == address;
    if (*known) return copy_at(threads, vm, number);
    unsigned char *copy = copy_at(threads, vm, threads->before_count);
    return rb_heapprof_target_read(vm->target, address, copy, vm->thread_bytes) ? copy : NULL;
}

/* ---- a thread ---- */

static enum heapprof_thread_state
state_of(const struct heapprof_vm *vm, const void *copy, bool running)
{
    uint64_t status = rb_heapprof_field_get(&vm->thread_status, copy);
    uint64_t mutex = rb_heapprof_field_get(&vm->thread_mutex, copy);

    if (status == vm->status_killed) return HEAPPROF_THREAD_ENDED;
    if (running) return HEAPPROF_THREAD_RUNNING;
    if (mutex >= 4096) return HEAPPROF_THREAD_LOCKING; /* not false */
    if (rb_heapprof_field_get(&vm->thread_blocking, copy)) return HEAPPROF_THREAD_BLOCKED;
    if (status == vm->status_stopped || status == vm->status_forever) return HEAPPROF_THREAD_SLEEPING;
    return HEAPPROF_THREAD_READY;
}

static int
native_id(struct heapprof_threads *threads, struct heapprof_vm *vm, const unsigned char *copy, uint64_t native, bool known)
{
    uint64_t tid;
    uint32_t id;

    if (!native) return 0;
    if (!known || threads->before[threads->count].native != native || vm->native_tid.size != sizeof(id)) {
        return rb_heapprof_vm_get(vm, native, &vm->native_tid, &tid) ? (int)tid : 0;
    }
    memcpy(&id, copy + vm->thread_bytes, sizeof(id));
    return (int)id;
}

/* What all threads of a Ractor have in common. */
struct ractor {
    uint64_t address, id, name, running;
};

static void
read_thread(struct heapprof_threads *threads, struct heapprof_vm *vm, const struct ractor *ractor,
            const unsigned char *copy, bool known, struct heapprof_thread *thread)
{
    thread->ec = rb_heapprof_field_get(&vm->thread_ec, copy);
    thread->name = rb_heapprof_field_get(&vm->thread_name, copy);
    thread->ractor = ractor->id;
    thread->ractor_name = ractor->name;
    thread->ractor_at = ractor->address;
    thread->native = rb_heapprof_field_get(&vm->thread_native, copy);
    thread->tid = native_id(threads, vm, copy, thread->native, known);
    thread->state = state_of(vm, copy, ractor->running == thread->address);
}

/* ---- the lists ---- */

/* From head on, which is where next leads when the list ends. False: no memory. */
static bool
read_threads_of(struct heapprof_threads *threads, struct heapprof_vm *vm, struct heapprof_mem *mem,
                const struct ractor *ractor, uint64_t node)
{
    uint64_t head = ractor->address + vm->ractor_threads.offset;
    bool known;

    while (node != head) {
        struct heapprof_thread thread = {.address = node - vm->thread_node.offset};
        const unsigned char *copy = find_copy(threads, vm, thread.address, &known);
        if (!copy || threads->count == THREADS_MAX) {
            threads->cut = true;
            break;
        }
        if (!HEAPPROF_MEM_GROW(mem, threads->all, threads->capacity, threads->count + 1)) return false;
        read_thread(threads, vm, ractor, copy, known, &thread);
        node = next_of(copy + vm->thread_node.offset);
        threads->all[threads->count++] = thread;
    }
    return true;
}

/* The next Ractor's node in *node; false: no memory. */
static bool
read_ractor(struct heapprof_threads *threads, struct heapprof_vm *vm, struct heapprof_mem *mem, uint64_t *node)
{
    struct ractor ractor = {.address = *node - vm->ractor_node.offset};
    unsigned char copy[HEAPPROF_LAYOUT_TYPE_MOST];

    *node = 0;
    if (!rb_heapprof_target_read(vm->target, ractor.address, copy, vm->ractor_bytes)) return true;
    ractor.id = rb_heapprof_field_get(&vm->ractor_id, copy);
    ractor.name = rb_heapprof_field_get(&vm->ractor_name, copy);
    ractor.running = rb_heapprof_field_get(&vm->ractor_running, copy);
    *node = next_of(copy + vm->ractor_node.offset);
    return read_threads_of(threads, vm, mem, &ractor, next_of(copy + vm->ractor_threads.offset));
}

static bool
read_all(struct heapprof_threads *threads, struct heapprof_vm *vm, struct heapprof_mem *mem)
{
    uint64_t node;

    if (!rb_heapprof_vm_find(vm)) return false;
    uint64_t head = vm->at + vm->vm_ractors.offset;
    if (!rb_heapprof_vm_word(vm, head, &node)) return false;
    for (int i = 0; node != head; i++) {
        if (node == 0 || i == RACTORS_MAX) {
            threads->cut = true;
            break;
        }
        if (!read_ractor(threads, vm, mem, &node)) return false;
    }
    return true;
}

/* What was all is before now. */
static void
turn_over(struct heapprof_threads *threads)
{
    struct heapprof_threads old = *threads;

    threads->before = old.all;
    threads->before_capacity = old.capacity;
    threads->before_count = old.count;
    threads->all = old.before;
    threads->capacity = old.before_capacity;
    threads->count = 0;
    threads->cut = false;
}

bool
rb_heapprof_threads_read(struct heapprof_threads *threads, struct heapprof_vm *vm, struct heapprof_mem *mem)
{
    turn_over(threads);
    return copy_known(threads, vm, mem) && read_all(threads, vm, mem);
}

bool
rb_heapprof_ractors_each(struct heapprof_vm *vm, bool (*each_i)(uint64_t ractor, void *data), void *data)
{
    uint64_t node;

    if (!rb_heapprof_vm_find(vm)) return false;
    uint64_t head = vm->at + vm->vm_ractors.offset;
    if (!rb_heapprof_vm_word(vm, head, &node)) return false;
    for (int i = 0; node != head; i++) {
        if (node == 0 || i == RACTORS_MAX || !each_i(node - vm->ractor_node.offset, data) ||
            !rb_heapprof_vm_word(vm, node, &node)) return false;
    }
    return true;
}

bool
rb_heapprof_thread_running_p(struct heapprof_vm *vm, const struct heapprof_thread *thread)
{
    uint64_t running;

    return !rb_heapprof_vm_get(vm, thread->ractor_at, &vm->ractor_running, &running) || running == thread->address;
}

void
rb_heapprof_threads_free(struct heapprof_threads *threads, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, threads->all, threads->capacity);
    HEAPPROF_MEM_RELEASE(mem, threads->before, threads->before_capacity);
    HEAPPROF_MEM_RELEASE(mem, threads->copies, threads->copies_capacity);
}

const char *
rb_heapprof_thread_state_name(enum heapprof_thread_state state)
{
    static const char *const names[] = {
        "running", "waiting for the GVL", "blocked", "sleeping", "waiting for a Mutex", "ended", "suspended"
    };
    return names[state];
}
