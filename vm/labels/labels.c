/* labels.c - the labels of fibers, and what threads inherit.
 *
 *     scope                 the innermost block that is open       a new thread gets
 *     NONE                  none                                   the labels, for good
 *     OPEN                  one, and no thread was made in it      a lease; the scope becomes it
 *     KEEP                  one with inherit: :keep                the labels, for good
 *     a lease               one                                    that lease
 *     a lease, FOREIGN      one of the fiber that made this one    that lease
 *     FOREIGN               the same, of an Enumerator             nothing
 *
 * When a block ends, its leases become what its fiber has then. Leases are in a ring. A new one
 * takes the place of the oldest, which then means no labels:
 *
 *     lease 7  ->  set 12                  its block is open
 *     lease 8  ->  lease 7                 its block has ended, in the block of lease 7
 *     lease 9  ->  set 0                   its block has ended, and there was none outside
 *
 *   I1  A lease leads to a set in at most LEASES steps, for it never leads to itself.
 */
#include "vm/labels/labels.h"
#include "gc/interpreter.h"
#include "ruby/heapprof.h"
#include "vm/labels/late.h"
#include "vm/labels/sets.h"
#include "vm/labels/tables.h"
#include "vm_sync.h"

#define LEASED HEAPPROF_LABEL_LEASED
#define LEASES HEAPPROF_LEASES
#define FOREIGN (UINT32_C(1) << 28) /* of heapprof_scope, which has no more bits */

enum {
    SCOPE_NONE = HEAPPROF_SCOPE_NONE, SCOPE_OPEN = HEAPPROF_SCOPE_OPEN,
    SCOPE_KEEP = HEAPPROF_SCOPE_KEEP, FIRST_LEASE = 16
};

struct heapprof_leases rb_heapprof_leases;
uint64_t rb_heapprof_labelled;

/* ---- leases ---- */

static struct heapprof_lease *
find_lease(uint32_t number)
{
    if (!rb_heapprof_leases.all) return NULL;
    struct heapprof_lease *lease = &rb_heapprof_leases.all[number % LEASES];
    return lease->number == number ? lease : NULL;
}

/* Returns 0 without memory. */
static uint32_t
new_lease(uint32_t label, uint32_t next)
{
    struct heapprof_leases *leases = &rb_heapprof_leases;

    if (!HEAPPROF_MEM_GROW(rb_heapprof_label_mem(), leases->all, leases->capacity, LEASES))
        return 0;
    leases->last = leases->last < FIRST_LEASE || leases->last + 1 == FOREIGN
                       ? FIRST_LEASE : leases->last + 1;
    leases->all[leases->last % LEASES] =
        (struct heapprof_lease){ .number = leases->last, .label = label, .next = next };
    return leases->last;
}

/* Where a label leads to. */
static uint32_t
set_of(uint32_t label)
{
    for (int steps = 0; label & LEASED; steps++) {
        const struct heapprof_lease *lease = find_lease(label & ~LEASED);
        if (!lease || steps == LEASES) return 0;
        label = lease->label;
    }
    return label;
}

/* The lease of the scope for what the fiber has now. Returns 0 without memory. */
static uint32_t
lease_of(rb_execution_context_t *ec)
{
    uint32_t number = ec->heapprof_scope & ~FOREIGN;
    struct heapprof_lease *lease = number >= FIRST_LEASE ? find_lease(number) : NULL;

    if (lease && lease->label == ec->heapprof_label) return number;
    if (lease && ec->heapprof_scope & FOREIGN) {
        uint32_t other = new_lease(ec->heapprof_label, lease->next);
        if (other) lease->next = other;
        return other;
    }
    uint32_t made = new_lease(ec->heapprof_label, lease ? number : 0);
    if (made) ec->heapprof_scope = made;
    return made;
}

/* What a thread gets. */
static uint32_t
inherited(rb_execution_context_t *ec)
{
    uint32_t label = ec->heapprof_label, scope = ec->heapprof_scope;

    if (label == 0 || label & LEASED || scope == SCOPE_NONE || scope == SCOPE_KEEP) return label;
    if (scope == FOREIGN) return 0;
    uint32_t lease = lease_of(ec);
    return lease ? LEASED | lease : 0;
}

static void
end_leases(uint32_t number, uint32_t label)
{
    struct heapprof_lease *lease;

    for (int i = 0; i < LEASES && (lease = find_lease(number)) != NULL; i++) {
        lease->label = label;
        number = lease->next;
    }
}

/* ---- blocks ---- */

rb_heapprof_label_state
rb_heapprof_label_begin(rb_execution_context_t *ec, uint32_t set, bool keep)
{
    rb_heapprof_label_state before = rb_heapprof_label_state_of(ec);

    if (rb_heapprof_label_none_p(ec)) rb_heapprof_labelled++;
    ec->heapprof_scope = keep ? SCOPE_KEEP : SCOPE_OPEN;
    rb_heapprof_label_change(ec, set);
    return before;
}

rb_heapprof_label_state
rb_heapprof_label_begin_late(rb_execution_context_t *ec, uint32_t set, bool keep, uint32_t unnamed)
{
    rb_heapprof_label_state before = rb_heapprof_label_begin(ec, set, keep);

    if (rb_heapprof_late_waits_p(ec->heapprof_late, unnamed)) return before;
    ec->heapprof_late = rb_heapprof_late_begin(ec->heapprof_late, unnamed);
    return before | HEAPPROF_STATE_LATE;
}

void
rb_heapprof_label_end_leases(rb_execution_context_t *ec, rb_heapprof_label_state before)
{
    uint32_t lease = ec->heapprof_scope;

    if (before & HEAPPROF_STATE_LATE) ec->heapprof_late = rb_heapprof_late_end(ec->heapprof_late);
    ec->heapprof_label = rb_heapprof_label_state_label(before);
    ec->heapprof_scope = (uint32_t)(before & ((UINT32_C(1) << HEAPPROF_SCOPE_BITS) - 1));
    if (lease < FIRST_LEASE || lease & FOREIGN) return;
    unsigned int lev;
    RB_VM_LOCK_ENTER_LEV(&lev);
    end_leases(lease, inherited(ec));
    RB_VM_LOCK_LEAVE_LEV(&lev);
}

/* ---- sets ---- */

/* Names that came late included. */
static uint32_t
set_now(const rb_execution_context_t *ec)
{
    uint32_t set = set_of(ec->heapprof_label);

    return ec->heapprof_late ? rb_heapprof_late_set(ec->heapprof_late, set) : set;
}

uint32_t
rb_heapprof_label_set_of(const rb_execution_context_t *ec)
{
    if (!(ec->heapprof_label & LEASED) && !ec->heapprof_late) return ec->heapprof_label;
    unsigned int lev;
    RB_VM_LOCK_ENTER_LEV(&lev);
    uint32_t set = set_now(ec);
    RB_VM_LOCK_LEAVE_LEV(&lev);
    return set;
}

void
rb_heapprof_label_change(rb_execution_context_t *ec, uint32_t set)
{
    uint32_t before = ec->heapprof_late ? rb_heapprof_label_set_of(ec) : 0;

    ec->heapprof_label = set;
    if (ec->heapprof_late) rb_heapprof_late_name(ec->heapprof_late, before, set);
}

/* ---- for gc/ ---- */

uint32_t
rb_heapprof_label_now(const rb_execution_context_t *ec)
{
    uint32_t set = set_now(ec), name = rb_ec_thread_ptr(ec)->heapprof_name;

    return name == 0 ? set : set == 0 ? name : rb_heapprof_label_both(set, name);
}

uint32_t
rb_heapprof_label_late(const rb_execution_context_t *ec)
{
    return rb_heapprof_late_number(ec->heapprof_late);
}

/* ---- for MRI ---- */

/* The scope of the one that makes it gets a lease now, or it would not know when to end it. */
void
rb_heapprof_label_fiber(rb_execution_context_t *ec, rb_execution_context_t *made)
{
    unsigned int lev;

    if (ec->heapprof_scope == SCOPE_NONE || ec->heapprof_scope == SCOPE_KEEP) return;
    RB_VM_LOCK_ENTER_LEV(&lev);
    inherited(ec);
    RB_VM_LOCK_LEAVE_LEV(&lev);
    made->heapprof_scope =
        ec->heapprof_scope >= FIRST_LEASE ? ec->heapprof_scope | FOREIGN : FOREIGN;
}

void
rb_heapprof_label_thread(rb_execution_context_t *ec, rb_execution_context_t *made)
{
    unsigned int lev;

    made->heapprof_scope = SCOPE_NONE;
    made->heapprof_late = ec->heapprof_late;
    made->heapprof_label = ec->heapprof_label;
    if (ec->heapprof_label == 0 || ec->heapprof_scope == SCOPE_NONE) return;
    RB_VM_LOCK_ENTER_LEV(&lev);
    made->heapprof_label = inherited(ec);
    RB_VM_LOCK_LEAVE_LEV(&lev);
}

/* Unless the block of the Enumerator has a block of `label` open. */
void
rb_heapprof_label_resumed(const rb_execution_context_t *ec, rb_execution_context_t *resumed)
{
    uint32_t scope = resumed->heapprof_scope;

    if (scope != SCOPE_NONE && !(scope & FOREIGN)) return;
    resumed->heapprof_label = ec->heapprof_label;
    resumed->heapprof_late = ec->heapprof_late;
    resumed->heapprof_scope = ec->heapprof_scope == SCOPE_NONE ? SCOPE_NONE : FOREIGN;
}

void
rb_heapprof_label_name(rb_thread_t *thread, VALUE name)
{
    struct heapprof_label label = { .key = HEAPPROF_LABEL_THREAD,
                                    .key_length = sizeof(HEAPPROF_LABEL_THREAD) - 1 };
    char text[HEAPPROF_LABEL_VALUE_ROOM];
    uint32_t set = 0;

    if (!NIL_P(name)) {
        label.value_length =
            rb_heapprof_label_value(text, RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
        label.value = text;
        set = rb_heapprof_label_add(0, &label);
    }
    thread->heapprof_name = set;
}

uint64_t
rb_heapprof_label_pause(rb_execution_context_t *ec)
{
    rb_thread_t *thread = rb_ec_thread_ptr(ec);
    uint64_t paused = (uint64_t)thread->heapprof_name << 32 | ec->heapprof_label;

    thread->heapprof_name = ec->heapprof_label = 0;
    return paused;
}

void
rb_heapprof_label_resume(rb_execution_context_t *ec, uint64_t paused)
{
    rb_ec_thread_ptr(ec)->heapprof_name = (uint32_t)(paused >> 32);
    ec->heapprof_label = (uint32_t)paused;
}

/* ---- the C API (ruby/heapprof.h) ---- */

/* C code may pass anything: a number that is no set is that of no labels. */
static uint32_t
given(uint32_t set)
{
    return rb_heapprof_label_set_p(set) ? set : 0;
}

static bool
key_p(const char *key)
{
    char copy[HEAPPROF_UTF8_MAX(HEAPPROF_LABEL_KEY_BYTES)];
    size_t length = strnlen(key, HEAPPROF_LABEL_KEY_BYTES);

    return length > 0 && length < HEAPPROF_LABEL_KEY_BYTES &&
           rb_heapprof_utf8_copy(copy, key, length) == length &&
           !rb_heapprof_label_reserved_p(key) && strcmp(key, HEAPPROF_LABEL_THREAD);
}

rb_heapprof_label_t
rb_heapprof_label_with(rb_heapprof_label_t base, const char *key, const char *value, size_t length)
{
    char text[HEAPPROF_LABEL_VALUE_ROOM];
    struct heapprof_label label = { .key = key, .value = text };

    if (!key_p(key)) return given(base);
    label.key_length = strlen(key);
    if (!value) return rb_heapprof_label_remove(given(base), key, label.key_length);
    label.value_length = rb_heapprof_label_value(text, value, length);
    return rb_heapprof_label_add(given(base), &label);
}

rb_heapprof_label_t
rb_heapprof_label_set(rb_heapprof_label_t label)
{
    rb_execution_context_t *ec = GET_EC();
    rb_heapprof_label_t before = rb_heapprof_label_set_of(ec);

    rb_heapprof_label_change(ec, given(label));
    return before;
}

rb_heapprof_label_t
rb_heapprof_label_get(void)
{
    return rb_heapprof_label_set_of(GET_EC());
}
