/* threads.c - the VM's list of Ractors, and each one's list of threads.
 *
 * Both are circular lists through nodes within their structures. They change while they are read. A
 * node that has left its list still leads on, to other nodes that have left, and their threads have
 * ended. So each node must point back to the node from which it was reached. Otherwise the list is
 * read anew, and cut off if that does not help. The number of nodes is bounded. */
#include "attach/threads.h"

#include <string.h>

enum {
    RACTORS_MAX = 10000,
    THREADS_MAX = 100000,
    TRIES = 4,
    FURTHER_ON = 16 /* at most so many threads of the last look may have ended side by side */
};

static uint64_t
next_of(const unsigned char *node)
{
    uint64_t next;

    memcpy(&next, node, sizeof(next));
    return next;
}

/* True if the node is still behind the one that led to it. In a core nothing changes. */
static bool
linked_p(const struct attach_vm *vm, const unsigned char *node, uint64_t from)
{
    uint64_t previous;

    memcpy(&previous, node + ATTACH_WORD, sizeof(previous));
    return previous == from || !vm->target->runs;
}

/* ---- a thread ---- */

static enum attach_thread_state
state_of(const struct attach_vm *vm, const void *copy, bool running)
{
    uint64_t status = attach_field_get(&vm->thread_status, copy);
    uint64_t mutex = attach_field_get(&vm->thread_mutex, copy);

    if (status == vm->status_killed) return ATTACH_THREAD_ENDED;
    if (running) return ATTACH_THREAD_RUNNING;
    if (mutex >= 4096) return ATTACH_THREAD_LOCKING; /* not false */
    if (attach_field_get(&vm->thread_blocking, copy)) return ATTACH_THREAD_BLOCKED;
    if (status == vm->status_stopped || status == vm->status_forever) return ATTACH_THREAD_SLEEPING;
    return ATTACH_THREAD_READY;
}

static int
native_id(struct attach_vm *vm, uint64_t native)
{
    uint64_t tid;

    return native && attach_vm_get(vm, native, &vm->native_tid, &tid) ? (int)tid : 0;
}

/* A thread as the last look saw it; NULL if it is new. The lists are in about the same order. */
static const struct attach_thread *
find_before(struct attach_threads *threads, const struct attach_thread *thread)
{
    for (size_t i = threads->next; i < threads->before_count && i < threads->next + FURTHER_ON;
         i++) {
        const struct attach_thread *before = &threads->before[i];
        if (before->address != thread->address || before->serial != thread->serial) continue;
        threads->next = i + 1;
        return before;
    }
    return NULL;
}

/* A thread that waits keeps its native thread, and the number of that needs no reading. One that
 * runs may have taken another native thread at the same address. */
static int
tid_of(struct attach_threads *threads, struct attach_vm *vm, const struct attach_thread *thread)
{
    const struct attach_thread *before = find_before(threads, thread);

    if (before && before->tid && before->native == thread->native &&
        thread->state != ATTACH_THREAD_RUNNING)
        return before->tid;
    return native_id(vm, thread->native);
}

static void
read_thread(struct attach_threads *threads, struct attach_vm *vm,
            const struct attach_ractor *ractor, const unsigned char *copy,
            struct attach_thread *thread)
{
    thread->serial = attach_field_get(&vm->thread_serial, copy);
    thread->main = thread->address == threads->main_thread;
    thread->ec = attach_field_get(&vm->thread_ec, copy);
    thread->name = attach_field_get(&vm->thread_name, copy);
    thread->ractor = ractor->id;
    thread->ractor_name = ractor->name;
    thread->ractor_at = ractor->address;
    thread->native = attach_field_get(&vm->thread_native, copy);
    thread->state = state_of(vm, copy, ractor->running == thread->address);
    thread->tid = tid_of(threads, vm, thread);
}

/* ---- the lists ---- */

/* Reads the list from head on; the last next leads back to head. Returns false without memory. */
static bool
read_threads_of(struct attach_threads *threads, struct attach_vm *vm, struct heapprof_mem *mem,
                const struct attach_ractor *ractor)
{
    uint64_t node = ractor->first, head = ractor->address + vm->ractor_threads.offset, from = head;
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];

    while (node != head) {
        struct attach_thread thread = {.address = node - vm->thread_node.offset};
        if (threads->count == THREADS_MAX ||
            !attach_target_read(vm->target, thread.address, copy, vm->thread_bytes) ||
            !linked_p(vm, copy + vm->thread_node.offset, from)) {
            threads->cut = true;
            break;
        }
        if (!HEAPPROF_MEM_GROW(mem, threads->all, threads->capacity, threads->count + 1))
            return false;
        read_thread(threads, vm, ractor, copy, &thread);
        from = node;
        node = next_of(copy + vm->thread_node.offset);
        threads->all[threads->count++] = thread;
    }
    return true;
}

/* Reads what a Ractor says of its threads, and sets *node to the next Ractor's node, or to 0 if the
 * list is broken there. */
static void
read_ractor(struct attach_vm *vm, uint64_t from, uint64_t *node, struct attach_ractor *ractor)
{
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];
    const unsigned char *list = copy + vm->ractor_threads.offset;

    *ractor = (struct attach_ractor){ .address = *node - vm->ractor_node.offset };
    *node = 0;
    if (!attach_target_read(vm->target, ractor->address, copy, vm->ractor_bytes) ||
        !linked_p(vm, copy + vm->ractor_node.offset, from)) return;
    ractor->id = attach_field_get(&vm->ractor_id, copy);
    ractor->name = attach_field_get(&vm->ractor_name, copy);
    ractor->running = attach_field_get(&vm->ractor_running, copy);
    ractor->first = next_of(list);
    ractor->last = next_of(list + ATTACH_WORD);
    ractor->count = attach_field_get(&vm->ractor_count, copy);
    ractor->blocking = attach_field_get(&vm->ractor_blocking, copy);
    ractor->ready = attach_field_get(&vm->ractor_ready, copy);
    *node = next_of(copy + vm->ractor_node.offset);
}

static bool
read_all(struct attach_threads *threads, struct attach_vm *vm, struct heapprof_mem *mem)
{
    uint64_t node;

    if (!attach_vm_find(vm)) return false;
    uint64_t head = vm->at + vm->vm_ractors.offset, from = head;
    if (!attach_vm_word(vm, head, &node) ||
        !attach_vm_get(vm, vm->at, &vm->vm_main_thread, &threads->main_thread))
        return false;
    for (size_t i = 0; node != head; i++) {
        if (node == 0 || i == RACTORS_MAX) {
            threads->cut = true;
            break;
        }
        uint64_t here = node;
        if (!HEAPPROF_MEM_GROW(mem, threads->ractors, threads->ractor_capacity, i + 1))
            return false;
        read_ractor(vm, from, &node, &threads->ractors[i]);
        threads->ractor_count = i + 1;
        if (node && !read_threads_of(threads, vm, mem, &threads->ractors[i])) return false;
        from = here;
    }
    return true;
}

static bool
wake_all(struct attach_threads *threads, struct heapprof_mem *mem)
{
    if (!HEAPPROF_MEM_GROW(mem, threads->awake, threads->awake_capacity, threads->count))
        return false;
    for (uint32_t i = 0; i < threads->count; i++) threads->awake[i] = i;
    threads->awake_count = threads->count;
    return true;
}

bool
attach_threads_read(struct attach_threads *threads, struct attach_vm *vm, struct heapprof_mem *mem)
{
    struct attach_threads old = *threads;
    int tries = vm->target->runs ? TRIES : 1;

    *threads = (struct attach_threads){ .all = old.before, .capacity = old.before_capacity,
                                        .before = old.all, .before_capacity = old.capacity,
                                        .before_count = old.count, .ractors = old.ractors,
                                        .ractor_capacity = old.ractor_capacity,
                                        .awake = old.awake,
                                        .awake_capacity = old.awake_capacity };
    while (tries-- > 0) {
        threads->count = threads->next = threads->ractor_count = 0;
        threads->cut = false;
        if (!read_all(threads, vm, mem)) return false;
        if (!threads->cut) break;
        attach_target_ahead_pause(vm->target); /* what was foreseen is of the first try's time */
    }
    return wake_all(threads, mem);
}

void
attach_threads_let_sleep(struct attach_threads *threads)
{
    size_t kept = 0;

    for (size_t i = 0; i < threads->awake_count; i++) {
        uint32_t number = threads->awake[i];
        if (!threads->all[number].idle) threads->awake[kept++] = number;
    }
    threads->awake_count = kept;
}

static bool
ractors_same_p(const struct attach_threads *threads, struct attach_vm *vm)
{
    uint64_t node;

    if (!attach_vm_find(vm)) return false;
    uint64_t head = vm->at + vm->vm_ractors.offset, from = head;
    if (!attach_vm_word(vm, head, &node)) return false;
    for (size_t i = 0; i < threads->ractor_count; i++) {
        struct attach_ractor ractor;
        uint64_t here = node;
        if (node == head) return false;
        read_ractor(vm, from, &node, &ractor);
        if (!node || memcmp(&ractor, &threads->ractors[i], sizeof(ractor)) != 0) return false;
        from = here;
    }
    return node == head;
}

static const struct attach_ractor *
ractor_of(const struct attach_threads *threads, const struct attach_thread *thread)
{
    size_t i = 0;

    while (threads->ractors[i].address != thread->ractor_at) i++; /* it was read with its Ractor */
    return &threads->ractors[i];
}

bool
attach_threads_refresh(struct attach_threads *threads, struct attach_vm *vm)
{
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];

    if (threads->cut || !ractors_same_p(threads, vm)) return false;
    for (size_t i = 0; i < threads->awake_count; i++) {
        struct attach_thread *thread = &threads->all[threads->awake[i]], now = *thread;
        if (!attach_thread_at_work_p(thread)) continue;
        if (!attach_target_read(vm->target, thread->address, copy, vm->thread_bytes)) return false;
        read_thread(threads, vm, ractor_of(threads, thread), copy, &now);
        if (now.serial != thread->serial) return false;
        *thread = now;
    }
    return true;
}

bool
attach_ractors_each(struct attach_vm *vm, bool (*each_i)(uint64_t ractor, void *data), void *data)
{
    uint64_t node;

    if (!attach_vm_find(vm)) return false;
    uint64_t head = vm->at + vm->vm_ractors.offset;
    if (!attach_vm_word(vm, head, &node)) return false;
    for (int i = 0; node != head; i++) {
        if (node == 0 || i == RACTORS_MAX || !each_i(node - vm->ractor_node.offset, data) ||
            !attach_vm_word(vm, node, &node)) return false;
    }
    return true;
}

bool
attach_thread_running_p(struct attach_vm *vm, const struct attach_thread *thread)
{
    uint64_t running;

    return !attach_vm_get(vm, thread->ractor_at, &vm->ractor_running, &running) ||
           running == thread->address;
}

void
attach_threads_free(struct attach_threads *threads, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, threads->ractors, threads->ractor_capacity);
    HEAPPROF_MEM_RELEASE(mem, threads->all, threads->capacity);
    HEAPPROF_MEM_RELEASE(mem, threads->before, threads->before_capacity);
    HEAPPROF_MEM_RELEASE(mem, threads->awake, threads->awake_capacity);
}

const char *
attach_thread_state_name(enum attach_thread_state state)
{
    static const char *const names[] = { "running",  "waiting for the GVL", "blocked",
                                         "sleeping", "waiting for a Mutex", "ended",
                                         "suspended" };
    return names[state];
}
