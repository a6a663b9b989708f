/* native_leaks.c - HeapProfile.native_leaks: what extensions have lost while a block of Ruby ran,
 * in a process that goes on.
 *
 *     parent   start ── the block ── full GC ── stacks are copied ── fork ── stop ── reads the list
 *     child                                                           └─ notes what objects of extensions lead to
 *                                                                        MRI frees all its own memory
 *                                                                        what is left, and the search for it
 *                                                                        the list ── _exit
 *
 * A search in the living process would find few leaks. MRI's tables, pools and unused ends of
 * buffers are full of old words, and only MRI knows which of its memory is in use. So memcheck
 * (memcheck.h) runs in a child, in which MRI frees all of it. The child notes before what MRI
 * takes along although the program still has it: stacks, because a child has only one, and what
 * objects lead to whose structs are freed.
 *
 * The child runs no Ruby code, so no at_exit blocks and no finalizers. It does run functions that
 * free objects. They cannot write to or close what belongs to the program, because all
 * descriptors lead to /dev/null there. The child frees fibers, even the one that asked, so it
 * goes on on a stack of its own.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "ruby/vm.h"
#include "vm/names/symbol_names.h"
#include "vm/memcheck/native_leaks.h"
#include "vm/names/caller_names.h"
#include "vm/run/child.h"
#include "gc/book/state.h"
#include "internal/cont.h"
#include "internal/gc.h"
#include "internal/thread.h"
#include "internal/vm.h"
#include "vm/memcheck/memcheck.h"
#include "os/file.h"
#include "profiler/leaks/list.h"
#include "vm/run/run.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#define INTERVAL_BYTES (UINT64_C(1) << 40) /* so large that no object is sampled */
#define MEMORY_BYTES (UINT64_C(1) << 30)
#define CHILD_STACK_BYTES ((size_t)64 << 20)
#define GUARD_BYTES ((size_t)64 << 10)
#define CHILD_SECONDS 120

rb_pid_t rb_fork_ruby(int *status); /* process.c: what Process.fork does */

static const char *
ractors_refusal(void)
{
    return GET_VM()->ractor.cnt > 1 ? "native leaks cannot be told while there are other Ractors"
                                    : NULL;
}

const char *
rb_heapprof_native_leaks_start(bool *started)
{
    const char *refusal = ractors_refusal();
    struct heapprof_options options;

    *started = false;
    if (refusal || rb_heapprof_memcheck_to_end_p()) return refusal;
    rb_heapprof_options_default(&options);
    rb_heapprof_memcheck_settings(&options);
    options.memcheck = true;
    options.interval_bytes = INTERVAL_BYTES;
    options.memory_bytes = MEMORY_BYTES;
    *started = rb_heapprof_start_with(&options);
    if (*started) rb_heapprof_memcheck_follow_threads();
    return *started ? NULL : "the heap profiler is running already";
}

/* ---- the child ---- */

static struct {
    int fd;                    /* where the list goes */
    uint32_t since_gc;         /* older blocks are not reported */
    char *stack;               /* the child's own: CHILD_STACK_BYTES */
    struct heapprof_held held;
} child;

/* This includes the descriptors that MRI has open for itself. */
static void
lead_descriptors_to_nowhere(void)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    DIR *list = opendir("/proc/self/fd");
    const struct dirent *entry;

    if (nowhere < 0 || !list) _exit(1);
    while ((entry = readdir(list))) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != nowhere && fd != child.fd && fd != dirfd(list))
            dup2(nowhere, fd);
    }
    closedir(list);
    close(nowhere);
}

/* Frees all of Ruby, as at the end of a process with RUBY_FREE_AT_EXIT. */
static void
free_all(void)
{
    rb_free_at_exit = true;
    rb_heapprof_gc_drop_finalizers();
    rb_objspace_call_finalizer();
    ruby_vm_destruct(GET_VM());
    rb_jit_cont_finish();
}

static void
note_what_objects_hold(void)
{
    bool own_work = rb_heapprof_gc_begin_own_work();

    rb_heapprof_held_add_blocks_of_objects(&child.held);
    rb_heapprof_gc_end_own_work(own_work);
}

static void
write_list(void)
{
    bool own_work = rb_heapprof_gc_begin_own_work();
    struct heapprof_leak_search search;
    struct heapprof_symbol_name ruby;
    size_t size = 0;
    char *list = NULL;

    bool decided = rb_heapprof_memcheck_search(
        &search, (uintptr_t)child.stack + CHILD_STACK_BYTES - 1, &child.held, child.since_gc);
    if (decided && !child.held.incomplete) {
        list = rb_heapprof_leak_list(&rb_heapprof.tables, &search.lost,
                                     rb_heapprof_memcheck_core(&ruby), &size);
    }
    if (list) rb_heapprof_file_write(child.fd, list, size);
    rb_heapprof_gc_end_own_work(own_work);
}

static void
run_child(void)
{
    rb_heapprof_memcheck_prepare();
    note_what_objects_hold();
    free_all();
    write_list();
    _exit(0);
}

/* Two guards make the stack a mapping of its own, which contains nothing of the program. */
static char *
make_stack(void)
{
    size_t bytes = CHILD_STACK_BYTES + 2 * GUARD_BYTES;
    char *stack = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (stack == MAP_FAILED ||
        mprotect(stack + GUARD_BYTES, CHILD_STACK_BYTES, PROT_READ | PROT_WRITE) != 0)
        _exit(1);
    return stack + GUARD_BYTES;
}

NORETURN(static void be_child(int fd));

static void
be_child(int fd)
{
    static ucontext_t context;
    const struct rlimit none = {0, 0};

    rb_thread_stop_timer_thread();
    child.fd =
        fcntl(fd, F_DUPFD_CLOEXEC, 3); /* `fd` belongs to an IO object, which is freed, too */
    rb_heapprof_child_take_no_signals();
    signal(SIGALRM, SIG_DFL);
    alarm(CHILD_SECONDS);
    setrlimit(RLIMIT_CORE, &none);
    lead_descriptors_to_nowhere();
    if (getcontext(&context) != 0) _exit(1);
    child.stack = make_stack();
    context.uc_stack.ss_sp = child.stack;
    context.uc_stack.ss_size = CHILD_STACK_BYTES;
    makecontext(&context, run_child, 0);
    setcontext(&context);
    _exit(1);
}

/* ---- the parent ---- */

static void
copy_stacks(uintptr_t innermost)
{
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    bool own_work = rb_heapprof_gc_begin_own_work();
    rb_heapprof_held_init(&child.held);
    rb_heapprof_held_add_stacks(&child.held, innermost);
    rb_heapprof_gc_end_own_work(own_work);
    RB_VM_LOCK_LEAVE();
}

const char *
rb_heapprof_native_leaks_refusal(void)
{
    if (!rb_heapprof_running_p() || !rb_heapprof.run.options.memcheck) {
        return "native leaks cannot be told: the heap profiler was stopped in the block";
    }
    return ractors_refusal();
}

rb_pid_t
rb_heapprof_native_leaks_fork(int fd, uintptr_t innermost, size_t since_gc)
{
    copy_stacks(innermost);
    child.since_gc = (uint32_t)since_gc;
    rb_pid_t pid = rb_fork_ruby(NULL);
    if (pid == 0) be_child(fd);
    int error = errno;
    rb_heapprof_held_free(&child.held);
    errno = error;
    return pid;
}
