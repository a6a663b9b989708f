/* made.c - a clock on each object: how many of each type are made, and when the living ones were.
 * The profiler has neither, because it samples bytes, and counts age in garbage collections.
 * lib/heapprof/memprof asks for both.
 *
 * MRI calls us for each object that is made and freed, as for
 * ObjectSpace.trace_object_allocations. So it costs a call for each object while a caller wants
 * it, and nothing otherwise.
 *
 *     hash(address) -> entry of base/address_table.h -> times[entry]
 *
 * MRI's events are those of one ractor, while another ractor's GC may free its objects. So with
 * several ractors no time is known, and the counts are those of the main ractor.
 *
 * In an event: no Ruby allocation, no raise, no GC.
 */
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "vm/memprof/made.h"
#include "vm/run/run.h"
#include "base/address_table.h"
#include "os/clock.h"
#include "internal.h"
#include "internal/gc.h"
#include "vm_sync.h"

static struct {
    struct heapprof_mem mem;
    struct heapprof_address_table table;
    uint32_t all;               /* the chain of all entries */
    int64_t *times;             /* by entry, nanoseconds since the epoch */
    size_t times_capacity;
    size_t counts[T_MASK + 1];  /* by type; all that were counted in this process */
    bool reading;               /* objects made meanwhile are the answer, and do not count */
    unsigned int wanted;        /* how many callers want it; 0: events are off */
    VALUE tracepoint;           /* 0 before the first caller */
    VALUE holder;               /* makes entries follow their objects; 0 while no caller wants it */
} made;

/* ---- when ---- */

static void
forget_times(void)
{
    rb_heapprof_address_table_free(&made.table);
    HEAPPROF_MEM_RELEASE(&made.mem, made.times, made.times_capacity);
    made.all = 0;
}

/* If there is no memory, the time is not known. */
static void
note_time(uintptr_t address)
{
    uint32_t entry = rb_heapprof_address_table_next_entry(&made.table);

    if (!HEAPPROF_MEM_GROW(&made.mem, made.times, made.times_capacity, entry + 1)) return;
    if (rb_heapprof_address_table_add(&made.table, &made.all, address)) {
        made.times[entry] = rb_heapprof_clock_ns(CLOCK_REALTIME);
    }
}

static void
forget_time(uintptr_t address)
{
    uint32_t entry = rb_heapprof_address_table_find(&made.table, address);
    if (entry) rb_heapprof_address_table_remove(&made.table, &made.all, entry);
}

int64_t
rb_heapprof_made_at(VALUE object)
{
    uint32_t entry = rb_heapprof_address_table_find(&made.table, (uintptr_t)object);
    return entry && !rb_multi_ractor_p() ? made.times[entry] : 0;
}

/* After a compaction. No object has moved to the old address of another one: a moved object
 * leaves a mark there until all of this is done. */
static void
follow_moves(void *unused)
{
    for (uint32_t entry = made.all, next; entry; entry = next) {
        uintptr_t from = rb_heapprof_address_table_address(&made.table, entry);
        uintptr_t to = (uintptr_t)rb_gc_location((VALUE)from);

        next = rb_heapprof_address_table_next(&made.table, entry);
        if (to != from)
            rb_heapprof_address_table_move(&made.table, entry, &made.all, &made.all, to);
    }
}

static const rb_data_type_t holder_type = {
    "heap_profile/made", { NULL, NULL, NULL, follow_moves }, 0, 0, 0
};

/* ---- events ---- */

static void
event_i(VALUE tracepoint, void *unused)
{
    const rb_trace_arg_t *event = rb_tracearg_from_tracepoint(tracepoint);
    VALUE object = rb_tracearg_object((rb_trace_arg_t *)event);
    bool is_new = rb_tracearg_event_flag((rb_trace_arg_t *)event) == RUBY_INTERNAL_EVENT_NEWOBJ;

    if (is_new && !made.reading) made.counts[RB_BUILTIN_TYPE(object)]++;
    if (rb_multi_ractor_p()) {
        forget_times();
        return;
    }
    forget_time((uintptr_t)object);
    if (is_new) note_time((uintptr_t)object);
}

/* ---- Reflection ---- */

static VALUE
follow_made(VALUE self)
{
    if (made.wanted++ > 0) return Qnil;
    made.holder = TypedData_Wrap_Struct(0, &holder_type, &made);
    if (!made.tracepoint) {
        rb_event_flag_t events = RUBY_INTERNAL_EVENT_NEWOBJ | RUBY_INTERNAL_EVENT_FREEOBJ;
        made.tracepoint = rb_tracepoint_new(0, events, event_i, NULL);
    }
    rb_tracepoint_enable(made.tracepoint);
    return Qnil;
}

static VALUE
forget_made(VALUE self)
{
    if (--made.wanted > 0) return Qnil;
    rb_tracepoint_disable(made.tracepoint);
    made.holder = 0;
    forget_times();
    return Qnil;
}

/* How many objects of each type ("T_STRING", ...) have been made while a caller wanted it. */
static VALUE
made_counts(VALUE self)
{
    made.reading = true;
    VALUE hash = rb_hash_new();
    for (int type = 0; type <= T_MASK; type++) {
        if (made.counts[type])
            rb_hash_aset(hash, rb_str_new_cstr(rb_type_str(type)), SIZET2NUM(made.counts[type]));
    }
    made.reading = false;
    return hash;
}

void
rb_heapprof_made_define(VALUE reflection)
{
    rb_heapprof_mem_init(&made.mem, SIZE_MAX);
    rb_heapprof_address_table_init(&made.table, &made.mem);
    rb_gc_register_address(&made.holder);
    rb_gc_register_address(&made.tracepoint);
    rb_define_singleton_method(reflection, "follow_made", follow_made, 0);
    rb_define_singleton_method(reflection, "forget_made", forget_made, 0);
    rb_define_singleton_method(reflection, "made_counts", made_counts, 0);
}
