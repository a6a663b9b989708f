/* threads.c - the VM's list of Ractors, and each one's list of threads.
 *
 * Both are circular lists through nodes within their structures. They change while they are read. A
 * node that has left its list still leads on, to other nodes that have left, and their threads have
 * ended. So each node must point back to the node from which it was reached. Otherwise the list is
 * read anew, and cut off if that does not help. The number of nodes is bounded. */
#include "attach/threads.h"

#include <string.h>

enum { RACTORS_MAX = 10000, THREADS_MAX = 100000, TRIES = 4 };

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

/* Reads what all threads of a Ractor have in common. */
struct ractor {
    uint64_t address, id, name, running;
};

static void
read_thread(struct attach_vm *vm, const struct ractor *ractor, const unsigned char *copy,
            struct attach_thread *thread)
{
    thread->ec = attach_field_get(&vm->thread_ec, copy);
    thread->name = attach_field_get(&vm->thread_name, copy);
    thread->ractor = ractor->id;
    thread->ractor_name = ractor->name;
    thread->ractor_at = ractor->address;
    thread->native = attach_field_get(&vm->thread_native, copy);
    thread->tid = native_id(vm, thread->native);
    thread->state = state_of(vm, copy, ractor->running == thread->address);
}

/* ---- the lists ---- */

/* Reads the list from head on; the last next leads back to head. Returns false without memory. */
static bool
read_threads_of(struct attach_threads *threads, struct attach_vm *vm, struct heapprof_mem *mem,
                const struct ractor *ractor, uint64_t node)
{
    uint64_t head = ractor->address + vm->ractor_threads.offset, from = head;
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
        read_thread(vm, ractor, copy, &thread);
        from = node;
        node = next_of(copy + vm->thread_node.offset);
        threads->all[threads->count++] = thread;
    }
    return true;
}

/* Sets *node to the next Ractor's node; 0 if the list is broken there. Returns false without
 * memory. */
static bool
read_ractor(struct attach_threads *threads, struct attach_vm *vm, struct heapprof_mem *mem,
            uint64_t from, uint64_t *node)
{
    struct ractor ractor = {.address = *node - vm->ractor_node.offset};
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];

    *node = 0;
    if (!attach_target_read(vm->target, ractor.address, copy, vm->ractor_bytes) ||
        !linked_p(vm, copy + vm->ractor_node.offset, from)) return true;
    ractor.id = attach_field_get(&vm->ractor_id, copy);
    ractor.name = attach_field_get(&vm->ractor_name, copy);
    ractor.running = attach_field_get(&vm->ractor_running, copy);
    *node = next_of(copy + vm->ractor_node.offset);
    return read_threads_of(threads, vm, mem, &ractor, next_of(copy + vm->ractor_threads.offset));
}

static bool
read_all(struct attach_threads *threads, struct attach_vm *vm, struct heapprof_mem *mem)
{
    uint64_t node;

    if (!attach_vm_find(vm)) return false;
    uint64_t head = vm->at + vm->vm_ractors.offset, from = head;
    if (!attach_vm_word(vm, head, &node)) return false;
    for (int i = 0; node != head; i++) {
        if (node == 0 || i == RACTORS_MAX) {
            threads->cut = true;
            break;
        }
        uint64_t here = node;
        if (!read_ractor(threads, vm, mem, from, &node)) return false;
        from = here;
    }
    return true;
}

bool
attach_threads_read(struct attach_threads *threads, struct attach_vm *vm, struct heapprof_mem *mem)
{
    int tries = vm->target->runs ? TRIES : 1;

    while (tries-- > 0) {
        threads->count = 0;
        threads->cut = false;
        if (!read_all(threads, vm, mem)) return false;
        if (!threads->cut) break;
        attach_target_ahead_pause(vm->target); /* what was foreseen is of the first try's time */
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
    HEAPPROF_MEM_RELEASE(mem, threads->all, threads->capacity);
}

const char *
attach_thread_state_name(enum attach_thread_state state)
{
    static const char *const names[] = { "running",  "waiting for the GVL", "blocked",
                                         "sleeping", "waiting for a Mutex", "ended",
                                         "suspended" };
    return names[state];
}
