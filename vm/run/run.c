/* run.c - a run of the profiler, from start to stop.
 *
 *     off --start--> on --set_interval--> on --stop--> off
 *
 * State changes with all ractors stopped, under the VM lock. No function here makes a Ruby object
 * or runs Ruby code. Work that takes time, or reads files, is done before the lock is taken.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "vm/run/run.h"
#include "vm/labels/late.h"
#include "vm/labels/sets.h"
#include "vm/names/caller_names.h"
#include "vm/names/frames.h"
#include "gc/book/state.h"
#include "os/allocator.h"
#include "os/clock.h"
#include "os/interpose.h"
#include "vm/run/rss.h"
#include "vm/thread/say.h"
#include "vm_sync.h"
#include <sys/random.h>
#include <time.h>

uint64_t
rb_heapprof_random_seed(void)
{
    uint64_t seed;
    struct timespec now;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed)) return seed;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^
           (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 32;
}

void
rb_heapprof_seed(uint64_t seed)
{
    const struct heapprof_options *options = &rb_heapprof.run.options;

    rb_heapprof_sampler_init(&rb_heapprof.sampler, options->interval_bytes, seed);
    rb_heapprof_sampler_init(&rb_heapprof.malloc_sampler,
                             rb_heapprof_options_malloc_interval(options), ~seed);
}

static void
say_of_labels(const char *line)
{
    rb_heapprof_say("labels", line);
}

bool
rb_heapprof_start_with(const struct heapprof_options *options)
{
    struct heapprof_mem mem;
    struct heapprof_callers roles;
    bool started = false;

    if (rb_heapprof_on || rb_heapprof.run.ending) return false;
    bool allocator_tells = rb_heapprof_allocator_read().known;
    rb_heapprof_mem_init(&mem, SIZE_MAX);
    rb_heapprof_callers_init(&roles, &mem);
    rb_heapprof_caller_names_find_roles(&roles, options->memcheck);
    if (rb_heapprof_options_malloc_interval(options) > 0) rb_heapprof_gc_load_unwinder();
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    if (!rb_heapprof_on) {
        uint64_t epoch = rb_heapprof.epoch;
        rb_heapprof_gc_begin_change();
        rb_heapprof_gc_lock_blocks();
        rb_heapprof = (struct heapprof){
            .run = { .options = *options, .start_ns = rb_heapprof_clock_ns(CLOCK_REALTIME) },
            .epoch = epoch
        };
        rb_heapprof.run.auto_interval = options->interval_bytes == HEAPPROF_AUTO_INTERVAL;
        if (rb_heapprof.run.auto_interval)
            rb_heapprof.run.options.interval_bytes = HEAPPROF_AUTO_LEAST_BYTES;
        rb_heapprof_mem_init(&rb_heapprof.mem, options->memory_bytes);
        rb_heapprof_tables_init(&rb_heapprof.tables, &rb_heapprof.mem, rb_heapprof_block_filter);
        rb_heapprof_tables_keep(&rb_heapprof.tables, options->peak, options->lifetimes);
        rb_heapprof_seed(options->seeded ? options->seed : rb_heapprof_random_seed());
        rb_heapprof_gc_unlock_blocks();
        rb_heapprof_caller_names_add_roles(&roles);
        rb_heapprof_label_limit(options->labels);
        rb_heapprof_late_settle = rb_heapprof_gc_settle_late;
        rb_heapprof_label_tell = say_of_labels;
        if (!allocator_tells) rb_heapprof.run.before = rb_heapprof_rss_code();
        rb_heapprof_gc_start();
        rb_heapprof_gc_end_change();
        if (options->malloc_all) rb_heapprof_gc_malloc_all_start();
        started = true;
    }
    RB_VM_LOCK_LEAVE();
    rb_heapprof_callers_free(&roles);
    return started;
}

int
rb_heapprof_set_interval(uint64_t interval_bytes)
{
    struct heapprof_options options;
    const char *expected;
    bool set;

    rb_heapprof_options_default(&options);
    options.interval_bytes = interval_bytes;
    if (rb_heapprof_options_out_of_range(&options, &expected)) return 0;

    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    set = rb_heapprof_on;
    if (set) {
        rb_heapprof_gc_begin_change();
        rb_heapprof_gc_lock_blocks(); /* threads without the GVL draw gaps between samples, too */
        rb_heapprof.run.auto_interval = interval_bytes == HEAPPROF_AUTO_INTERVAL;
        if (rb_heapprof.run.auto_interval) interval_bytes = rb_heapprof.run.options.interval_bytes;
        rb_heapprof.run.options.interval_bytes = interval_bytes;
        rb_heapprof.sampler.interval_bytes = interval_bytes;
        rb_heapprof.malloc_sampler.interval_bytes =
            rb_heapprof_options_malloc_interval(&rb_heapprof.run.options);
        rb_heapprof_gc_redraw();
        rb_heapprof_gc_unlock_blocks();
        rb_heapprof_gc_end_change();
    }
    RB_VM_LOCK_LEAVE();
    return set;
}

void
rb_heapprof_run_stop(void)
{
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    if (rb_heapprof_on) {
        rb_heapprof_label_tell = NULL;
        rb_heapprof_gc_begin_change();
        rb_heapprof_gc_stop();
        if (rb_heapprof.run.options.malloc_all) rb_heapprof_interpose_stop();
        rb_heapprof_frames_free();
        rb_heapprof_gc_lock_blocks();
        rb_heapprof_tables_free(&rb_heapprof.tables);
        rb_heapprof_gc_unlock_blocks();
        rb_heapprof_gc_end_change();
    }
    RB_VM_LOCK_LEAVE();
}

int
rb_heapprof_running_p(void)
{
    return rb_heapprof_on;
}
