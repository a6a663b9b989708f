/* sets.c - the sets of labels of this process. They stay until it ends, whatever is started and
 * stopped: fibers have their numbers. */
#include "vm/labels/sets.h"
#include "gc/interpreter.h"
#include "base/mem.h"
#include "profiler/label_sets.h"
#include "vm_sync.h"

enum { COMBINED = 256 };

/* Sets that are often put together, as with the name of a thread. */
struct combined {
    uint32_t set, more, both;
};

static struct {
    struct heapprof_mem mem;
    struct heapprof_label_sets sets;
    bool begun;
    struct combined combined[COMBINED];
} labels;

static struct heapprof_label_sets *
all_sets(void)
{
    if (!labels.begun) {
        rb_heapprof_mem_init(&labels.mem, SIZE_MAX);
        rb_heapprof_label_sets_init(&labels.sets, &labels.mem);
        labels.begun = true;
    }
    return &labels.sets;
}

uint32_t
rb_heapprof_label_add(uint32_t base, const struct heapprof_label *label)
{
    unsigned int lev;

    RB_VM_LOCK_ENTER_LEV(&lev);
    struct heapprof_label_sets *sets = all_sets();
    uint32_t set = sets->values_most ? rb_heapprof_label_sets_with(sets, base, label) : base;
    RB_VM_LOCK_LEAVE_LEV(&lev);
    return set;
}

uint32_t
rb_heapprof_label_remove(uint32_t base, const char *key, size_t key_length)
{
    unsigned int lev;

    RB_VM_LOCK_ENTER_LEV(&lev);
    uint32_t set = rb_heapprof_label_sets_without(all_sets(), base, key, key_length);
    RB_VM_LOCK_LEAVE_LEV(&lev);
    return set;
}

uint32_t
rb_heapprof_label_both(uint32_t base, uint32_t more)
{
    unsigned int lev;

    if (base == 0 || base == more) return more;
    if (more == 0) return base;
    RB_VM_LOCK_ENTER_LEV(&lev);
    struct combined *known = &labels.combined[(base * 31 + more) % COMBINED];
    if (known->set != base || known->more != more) {
        uint32_t both = rb_heapprof_label_sets_both(all_sets(), base, more);
        *known = (struct combined){ base, more, both };
    }
    uint32_t set = known->both;
    RB_VM_LOCK_LEAVE_LEV(&lev);
    return set;
}

bool
rb_heapprof_label_find(uint32_t set, struct heapprof_label *label)
{
    const char *key = label->key;
    size_t length, key_length = label->key_length;
    const char *at = rb_heapprof_label_text_of(set, &length), *end = at + length;

    while (set && rb_heapprof_label_next(&at, end, label)) {
        if (label->key_length == key_length && memcmp(label->key, key, key_length) == 0)
            return true;
    }
    return false;
}

const char *
rb_heapprof_label_text_of(uint32_t set, size_t *length)
{
    return rb_heapprof_label_sets_text(all_sets(), set, length);
}

void
rb_heapprof_label_limit(uint32_t values)
{
    all_sets()->values_most = values;
}

uint64_t
rb_heapprof_label_others(void)
{
    return all_sets()->others;
}

uint64_t
rb_heapprof_label_refused(void)
{
    return all_sets()->refused;
}

struct heapprof_mem *
rb_heapprof_label_mem(void)
{
    all_sets();
    return &labels.mem;
}

/* ---- for gc/ ---- */

const char *
rb_heapprof_label_text(uint32_t set, size_t *length)
{
    return rb_heapprof_label_text_of(set, length);
}
