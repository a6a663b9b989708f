/* threads.c - the VM's list of Ractors, and each one's list of threads.
 *
 * Both are circular lists through nodes within their structures. They change while they are read, so
 * what is followed is bounded, and a list that does not come back to its head is cut. */
#include "attach/threads.h"

enum { RACTORS_MAX = 10000, THREADS_MAX = 100000 };

/* Where a list is: its head, and at which offset of its structures the nodes are. Next is a node's first word. */
struct list {
    uint64_t head, node;
    uint64_t offset;
};

static struct list
list_at(uint64_t head, const struct heapprof_field *node)
{
    return (struct list){head, head, node->offset};
}

/* The next structure; false at the end, or where it cannot be read (*cut). */
static bool
list_next(struct heapprof_vm *vm, struct list *list, uint64_t *structure, bool *cut)
{
    if (!rb_heapprof_vm_word(vm, list->node, &list->node) || list->node == 0) {
        *cut = true;
        return false;
    }
    *structure = list->node - list->offset;
    return list->node != list->head;
}

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
native_id(struct heapprof_vm *vm, const void *copy)
{
    uint64_t native = rb_heapprof_field_get(&vm->thread_native, copy), tid;

    return native && rb_heapprof_vm_get(vm, native, &vm->native_tid, &tid) ? (int)tid : 0;
}

/* What all threads of a Ractor have in common. */
struct ractor {
    uint64_t address, id, name, running;
};

static bool
read_ractor(struct heapprof_vm *vm, struct ractor *ractor)
{
    return rb_heapprof_vm_get(vm, ractor->address, &vm->ractor_id, &ractor->id) &&
           rb_heapprof_vm_get(vm, ractor->address, &vm->ractor_name, &ractor->name) &&
           rb_heapprof_vm_get(vm, ractor->address, &vm->ractor_running, &ractor->running);
}

static bool
read_thread(struct heapprof_vm *vm, const struct ractor *ractor, struct heapprof_thread *thread)
{
    unsigned char copy[HEAPPROF_LAYOUT_TYPE_MOST];

    if (!rb_heapprof_target_read(vm->target, thread->address, copy, vm->thread_bytes)) return false;
    thread->ec = rb_heapprof_field_get(&vm->thread_ec, copy);
    thread->name = rb_heapprof_field_get(&vm->thread_name, copy);
    thread->ractor = ractor->id;
    thread->ractor_name = ractor->name;
    thread->ractor_at = ractor->address;
    thread->tid = native_id(vm, copy);
    thread->state = state_of(vm, copy, ractor->running == thread->address);
    return true;
}

static bool
read_threads_of(struct heapprof_threads *threads, struct heapprof_vm *vm, struct heapprof_mem *mem,
                const struct ractor *ractor)
{
    struct list list = list_at(ractor->address + vm->ractor_threads.offset, &vm->thread_node);
    struct heapprof_thread thread = {0};

    while (threads->count < THREADS_MAX && list_next(vm, &list, &thread.address, &threads->cut)) {
        if (!HEAPPROF_MEM_GROW(mem, threads->all, threads->capacity, threads->count + 1)) return false;
        if (read_thread(vm, ractor, &thread)) threads->all[threads->count++] = thread;
        else threads->cut = true;
    }
    if (threads->count == THREADS_MAX) threads->cut = true;
    return true;
}

bool
rb_heapprof_threads_read(struct heapprof_threads *threads, struct heapprof_vm *vm, struct heapprof_mem *mem)
{
    uint64_t at;
    struct ractor ractor;

    threads->count = 0;
    threads->cut = false;
    if (!rb_heapprof_global_read(vm->target, &vm->current_vm, &at) || at == 0) return false;
    struct list list = list_at(at + vm->vm_ractors.offset, &vm->ractor_node);
    for (int i = 0; list_next(vm, &list, &ractor.address, &threads->cut); i++) {
        if (i == RACTORS_MAX || !read_ractor(vm, &ractor)) {
            threads->cut = true;
            break;
        }
        if (!read_threads_of(threads, vm, mem, &ractor)) return false;
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
}

const char *
rb_heapprof_thread_state_name(enum heapprof_thread_state state)
{
    static const char *const names[] = {
        "running", "waiting for the GVL", "blocked", "sleeping", "waiting for a Mutex", "ended", "suspended"
    };
    return names[state];
}
