/* fork.c - the child of a fork. It keeps the live samples, which are alive there, too. It draws
 * new random numbers, or parent and child would sample the same. It writes files of its own.
 */
#include "ruby/ruby.h"
#include "vm/fork.h"
#include "vm/boot.h"
#include "gc/book/state.h"
#include "vm/outside/request.h"
#include "vm/thread/own_thread.h"
#include "vm/run/marks.h"
#include "vm/run/periodic.h"
#include "vm/run/run.h"

void
rb_heapprof_after_fork(rb_pid_t pid)
{
    if (pid != 0) return;
    rb_heapprof_boot_after_fork();
    rb_heapprof_periodic_after_fork();
    rb_heapprof_own_thread_after_fork();
    rb_heapprof_request_after_fork();
    rb_heapprof_marks_after_fork();
    if (!rb_heapprof_on) return;
    rb_heapprof_gc_copy_rest_alone(); /* the thread that takes the snapshot may not exist here */

    const struct heapprof_options *options = &rb_heapprof.run.options;
    uint64_t seed = options->seeded ? options->seed ^ (uint64_t)getpid() << 32
                                    : rb_heapprof_random_seed();
    rb_heapprof_seed(seed);
    rb_heapprof_gc_redraw();
}
