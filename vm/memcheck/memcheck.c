/* memcheck.c - counts the glasses after the party: which of malloc's blocks are left when MRI has
 * freed everything, and whether anything leads to them.
 *
 *     at_exit blocks   sampled: each block is known, with its stack
 *     prepare          off: no new blocks, but frees are followed as before
 *     finalizers, dfree functions, ruby_vm_destruct: MRI frees all its own memory (RUBY_FREE_AT_EXIT)
 *     write            the blocks that are left, and the search for them (leak_search.h)
 *
 * No fiber is left then. But MRI keeps their stacks, with what these held when the fibers ended.
 *
 * What finalizers, functions that free objects, and ending threads allocate is not known.
 *
 * After prepare only write uses the tables, except for frees, which take the blocks' lock.
 */
#include "ruby/ruby.h"
#include "ruby/thread.h"
#include "vm/names/symbol_names.h"
#include "vm/run/flush.h"
#include "vm/memcheck/memcheck.h"
#include "vm/names/caller_names.h"
#include "vm/names/frames.h"
#include "gc/book/state.h"
#include "os/clock.h"
#include "vm/names/names.h"
#include "vm/run/origin.h"
#include "os/file.h"
#include "pprof/gzip.h"
#include "profiler/leaks/profile.h"
#include "profiler/leaks/totals.h"
#include "vm/run/run.h"
#include "vm/memcheck/sizes.h"
#include "vm/memcheck/valgrind.h"
#include "internal/vm.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <errno.h>
#include <link.h>

/* What can be found only while the VM exists. */
static struct {
    uint32_t origin;            /* a string: which process this is */
    size_t   fiber_stack_bytes; /* of each fiber stack that MRI has made */
} before;

/* Computed as in fiber_pool_initialize of cont.c. */
static size_t
fiber_stack_bytes(void)
{
    const rb_vm_t *vm = GET_VM();
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t asked =
        vm->default_params.fiber_machine_stack_size + vm->default_params.fiber_vm_stack_size;

    return (asked / page_bytes + 1) * page_bytes;
}

void
rb_heapprof_memcheck_settings(struct heapprof_options *options)
{
    options->malloc_all = true;
    options->malloc_interval_bytes = 1;
}

void
rb_heapprof_memcheck_note_process(void)
{
    before.origin = rb_heapprof_origin_intern(&rb_heapprof.tables.strings);
}

/* While all objects are there. */
static void
find_wrong_sizes(void)
{
    struct heapprof_symbol_name ruby;
    bool own_work = rb_heapprof_gc_begin_own_work();

    rb_heapprof_caller_names_find();
    rb_heapprof_sizes_find(rb_heapprof_memcheck_core(&ruby));
    rb_heapprof_gc_end_own_work(own_work);
}

void
rb_heapprof_memcheck_prepare(void)
{
    rb_heapprof_valgrind_stop();
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    rb_heapprof_gc_resolve_all();
    rb_heapprof_names_refresh();
    if (rb_heapprof.run.options.sizes) find_wrong_sizes();
    rb_heapprof_gc_begin_change();
    before.fiber_stack_bytes = fiber_stack_bytes();
    rb_heapprof_memcheck_note_process();
    rb_heapprof.run.ending = true;
    rb_heapprof_gc_stop();
    rb_heapprof_frames_free();
    rb_heapprof_gc_end_change();
    RB_VM_LOCK_LEAVE();
}

const char *
rb_heapprof_memcheck_core(struct heapprof_symbol_name *name)
{
    rb_heapprof_symbols_name_from_memory((uintptr_t)ruby_xmalloc + 1, name);
    return name->library;
}

bool
rb_heapprof_memcheck_search(struct heapprof_leak_search *search, uintptr_t stack,
                            const struct heapprof_held *held, uint32_t since_gc)
{
    const struct heapprof_root_stacks stacks = { stack, before.fiber_stack_bytes };
    struct heapprof_symbol_name ruby;

    rb_heapprof_leak_search_begin(search, &stacks, held, since_gc);
    bool decided = rb_heapprof_leak_search_settle(search, held);
    rb_heapprof_caller_names_find();
    return decided && rb_heapprof_leak_uncover(&rb_heapprof.tables, &search->lost,
                                               rb_heapprof_memcheck_core(&ruby));
}

/* ---- the file ---- */

#define LIBRARIES "libraries: "

/* A comment of the file. Names that do not fit in are left out. */
struct libraries {
    size_t length;
    char   text[16384];
};

static int
add_library_i(struct dl_phdr_info *info, size_t size, void *data)
{
    struct libraries *libraries = data;
    const char *slash = strrchr(info->dlpi_name, '/');
    size_t room = sizeof(libraries->text) - libraries->length;

    if (!slash) return 0; /* the program, or the kernel's own */
    int added = snprintf(libraries->text + libraries->length, room, "%s/", slash + 1);
    if ((size_t)added >= room) libraries->text[libraries->length] = '\0';
    else libraries->length += (size_t)added;
    return 0;
}

static char *
encode(const struct heapprof_lost *lost, enum heapprof_leaks_known known, size_t *size)
{
    struct heapprof_symbol_name ruby;
    size_t wrong;
    struct libraries libraries = { .length = strlen(LIBRARIES), .text = LIBRARIES };
    const struct heapprof_leak_profile profile = {
        .tables = &rb_heapprof.tables, .lost = lost, .origin = before.origin, .known = known,
        .build = rb_heapprof_description, .core = rb_heapprof_memcheck_core(&ruby),
        .libraries = libraries.text,
        .wrong_sizes = rb_heapprof_sizes_wrong(&wrong), .wrong_size_count = wrong,
        .dropped = rb_heapprof_gc_account().dropped, .each_block = rb_heapprof_valgrind_p(),
        .interval_bytes = rb_heapprof_options_malloc_interval(&rb_heapprof.run.options),
        .start_ns = rb_heapprof.run.start_ns, .time_ns = rb_heapprof_clock_ns(CLOCK_REALTIME),
    };
    size_t plain_size;

    dl_iterate_phdr(add_library_i, &libraries);
    char *plain = rb_heapprof_leak_profile_encode(&profile, &plain_size);
    char *packed = plain ? rb_heapprof_gzip(plain, plain_size, size) : NULL;
    free(plain);
    return packed;
}

static int
write_file(const char *path, const struct heapprof_lost *lost, enum heapprof_leaks_known known)
{
    size_t size;
    char *bytes = encode(lost, known, &size);
    int error = bytes ? rb_heapprof_file_write_whole(path, bytes, size, true) : ENOMEM;

    free(bytes);
    return error;
}

int
rb_heapprof_memcheck_write_uses(const char *path)
{
    const struct heapprof_lost none = { .block_count = 0 };

    rb_heapprof_caller_names_find();
    return write_file(path, &none, HEAPPROF_LEAKS_CRASHED);
}

int
rb_heapprof_memcheck_write(const char *path, uintptr_t stack)
{
    bool own_work = rb_heapprof_gc_begin_own_work();
    struct heapprof_leak_search search;

    bool decided = rb_heapprof_memcheck_search(&search, stack, NULL, 0);
    int error = write_file(path, &search.lost,
                           decided ? HEAPPROF_LEAKS_DECIDED : HEAPPROF_LEAKS_NOT_DECIDED);
    rb_heapprof_leak_search_free(&search);
    rb_heapprof_valgrind_find_lost();
    rb_heapprof_gc_end_own_work(own_work);
    return error;
}

/* ---- a run to the end ---- */

static bool to_the_end; /* RUBY_HEAPPROF has begun a run with memcheck=1; written once, at boot */

static void
resumed_i(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    rb_heapprof_gc_settle_own();
}

void
rb_heapprof_memcheck_follow_threads(void)
{
    static bool followed;

    if (followed) return;
    followed = true;
    rb_internal_thread_add_event_hook(resumed_i, RUBY_INTERNAL_THREAD_EVENT_RESUMED, NULL);
}

void
rb_heapprof_memcheck_begin(void)
{
    to_the_end = true;
    rb_free_at_exit = true;
    rb_heapprof_memcheck_follow_threads();
}

bool
rb_heapprof_memcheck_to_end_p(void)
{
    return to_the_end && rb_heapprof_on && rb_heapprof.run.options.memcheck;
}
