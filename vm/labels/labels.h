#ifndef HEAPPROF_VM_LABELS_H
#define HEAPPROF_VM_LABELS_H
/* labels.h - which labels a fiber has (profiler/label_sets.h has the sets).
 *
 * Words in the execution context of a fiber, so a switch of fibers costs nothing:
 *
 *     heapprof_label   a set; or a lease, of a thread that was made in a block of `label`
 *     heapprof_scope   what threads that are made now get
 *     heapprof_late    the innermost block that names a label late (late.h); 0: none
 *
 * A lease is a set until the block ends in which the thread was made. Then it is what was outside
 * of the block. So a thread of a pool does not keep the name of the request that made it:
 *
 *     label(endpoint: "/cart") { Thread.new { work } }     work has "/cart" until the block ends
 *
 * Under the GVL; sets and leases under the VM lock. */
#include "ruby/ruby.h"
#include "vm_core.h"

/* heapprof_scope, which begins with what kind of block is open. */
enum { HEAPPROF_SCOPE_NONE, HEAPPROF_SCOPE_OPEN, HEAPPROF_SCOPE_KEEP };
#define HEAPPROF_SCOPE_BITS 29
#define HEAPPROF_STATE_LATE (UINT64_C(1) << 61) /* of a state: its block is late */

/* What a fiber had before a block of `label`, in a word. */
typedef uint64_t rb_heapprof_label_state;

/* The words of a fiber as one. */
static inline rb_heapprof_label_state
rb_heapprof_label_state_of(const rb_execution_context_t *ec)
{
    return (uint64_t)ec->heapprof_label << HEAPPROF_SCOPE_BITS | ec->heapprof_scope;
}

/* The label of a state: a set, or a lease. */
static inline uint32_t
rb_heapprof_label_state_label(rb_heapprof_label_state state)
{
    return (uint32_t)(state >> HEAPPROF_SCOPE_BITS);
}

/* How often a fiber without labels has begun a block of `label`: the requests, jobs and tests of
 * the program. Counted without a lock, so Ractors may lose one. */
extern uint64_t rb_heapprof_labelled;

/* The usual case: a fiber without labels. Begins a block as rb_heapprof_label_begin does. */
static inline bool
rb_heapprof_label_none_p(const rb_execution_context_t *ec)
{
    return !(ec->heapprof_label | ec->heapprof_late);
}

static inline rb_heapprof_label_state
rb_heapprof_label_begin_first(rb_execution_context_t *ec, uint32_t set)
{
    rb_heapprof_label_state before = rb_heapprof_label_state_of(ec);

    rb_heapprof_labelled++;
    ec->heapprof_scope = HEAPPROF_SCOPE_OPEN;
    ec->heapprof_label = set;
    return before;
}

/* Begins a block whose labels are that set. With keep, threads that are made in it keep them. */
rb_heapprof_label_state rb_heapprof_label_begin(rb_execution_context_t *ec, uint32_t set,
                                                bool keep);
void rb_heapprof_label_end_leases(rb_execution_context_t *ec, rb_heapprof_label_state before);

/* Without a thread that was made in the block, and without a late name, nothing has to be ended. */
static inline void
rb_heapprof_label_end(rb_execution_context_t *ec, rb_heapprof_label_state before)
{
    if (ec->heapprof_scope > HEAPPROF_SCOPE_KEEP || before & HEAPPROF_STATE_LATE) {
        rb_heapprof_label_end_leases(ec, before);
        return;
    }
    ec->heapprof_label = rb_heapprof_label_state_label(before);
    ec->heapprof_scope =
        (uint32_t)(before & ((UINT32_C(1) << HEAPPROF_SCOPE_BITS) - 1));
}

/* The same for a block that names one of its labels late (late.h): unnamed is the set of that. */
rb_heapprof_label_state rb_heapprof_label_begin_late(rb_execution_context_t *ec, uint32_t set,
                                                     bool keep, uint32_t unnamed);

/* From now on the fiber has that set. */
void rb_heapprof_label_change(rb_execution_context_t *ec, uint32_t set);

/* The set that a fiber has, without its thread's name. */
uint32_t rb_heapprof_label_set_of(const rb_execution_context_t *ec);

/* For MRI (patches): a fiber that is made, of which the words are copies of those of ec; a thread
 * that is made; the fiber of an Enumerator, which is about to be resumed (vm/fibers.h); a thread's
 * name. */
void rb_heapprof_label_fiber(rb_execution_context_t *ec, rb_execution_context_t *made);
void rb_heapprof_label_thread(rb_execution_context_t *ec, rb_execution_context_t *made);
void rb_heapprof_label_enumerator(VALUE fiber);
void rb_heapprof_label_resumed(const rb_execution_context_t *ec, rb_execution_context_t *resumed);
void rb_heapprof_label_name(rb_thread_t *thread, VALUE name);

/* For MRI, too: between the two, the thread has no labels. resume takes what pause returned. */
uint64_t rb_heapprof_label_pause(rb_execution_context_t *ec);
void rb_heapprof_label_resume(rb_execution_context_t *ec, uint64_t paused);

#endif
