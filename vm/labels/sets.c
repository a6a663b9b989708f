/* sets.c - the sets of labels of this process. They stay until it ends, whatever is started and
 * stopped: fibers have their numbers. */
#include "vm/labels/sets.h"
#include "gc/interpreter.h"
#include "base/mem.h"
#include "vm/labels/tables.h"
#include "vm_sync.h"

enum { COMBINED = 256, KNOWN = 256 };

/* Sets that are often put together, as with the name of a thread. */
struct combined {
    uint32_t set, more, both;
};

/* A set with one label more. */
struct known {
    uintptr_t key;
    uint32_t base, set;
    uint32_t value, value_length; /* where it is in the text of the set */
};

struct heapprof_label_sets rb_heapprof_label_sets;

void (*rb_heapprof_label_tell)(const char *line);

static struct {
    struct heapprof_mem mem;
    bool begun;
    bool told_others, told_left_out;
    struct combined combined[COMBINED];
    struct known known[KNOWN];
} labels;

static struct heapprof_label_sets *
all_sets(void)
{
    if (!labels.begun) {
        rb_heapprof_mem_init(&labels.mem, SIZE_MAX);
        rb_heapprof_label_sets_init(&rb_heapprof_label_sets, &labels.mem);
        labels.begun = true;
    }
    return &rb_heapprof_label_sets;
}

/* ---- what is beyond the limits ---- */

typedef void teller(const char *line);

/* Whom to tell, if it is the first time. */
static teller *
first_time(bool *told, uint64_t before, uint64_t now)
{
    if (now == before || *told || !rb_heapprof_label_tell) return NULL;
    *told = true;
    return rb_heapprof_label_tell;
}

/* Told at once: a server does not end. */
static void
tell_others(teller *tell, const struct heapprof_label *label)
{
    char line[256];

    snprintf(line, sizeof(line), "%.*s has more values than labels= of RUBY_HEAPPROF allows, or "
             "there are too many sets: the rest are (other). An ID is no label",
             (int)label->key_length, label->key);
    tell(line);
}

static void
tell_left_out(teller *tell, const struct heapprof_label *label)
{
    char line[256];

    snprintf(line, sizeof(line), "%.*s is left out: there are %d keys, or too many sets, or there "
             "is no memory", (int)label->key_length, label->key, HEAPPROF_LABEL_KEYS);
    tell(line);
}

/* ---- sets ---- */

bool
rb_heapprof_label_set_p(uint32_t set)
{
    unsigned int lev;

    if (set == 0) return true;
    RB_VM_LOCK_ENTER_LEV(&lev);
    bool known = rb_heapprof_label_sets_known_p(all_sets(), set);
    RB_VM_LOCK_LEAVE_LEV(&lev);
    return known;
}

uint32_t
rb_heapprof_label_add(uint32_t base, const struct heapprof_label *label)
{
    unsigned int lev;

    RB_VM_LOCK_ENTER_LEV(&lev);
    struct heapprof_label_sets *sets = all_sets();
    uint64_t others = sets->others, refused = sets->refused;
    uint32_t set = sets->values_most ? rb_heapprof_label_sets_with(sets, base, label) : base;
    teller *of_others = first_time(&labels.told_others, others, sets->others);
    teller *of_left_out = first_time(&labels.told_left_out, refused, sets->refused);
    RB_VM_LOCK_LEAVE_LEV(&lev);
    if (of_others) tell_others(of_others, label);
    if (of_left_out) tell_left_out(of_left_out, label);
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

/* ---- labels that are added again and again ---- */

static struct known *
place_of(uint32_t base, uintptr_t key, const char *value, size_t length)
{
    uint64_t first = length, last = 0;

    if (length >= sizeof(first)) {
        memcpy(&first, value, sizeof(first));
        memcpy(&last, value + length - sizeof(last), sizeof(last));
    }
    else memcpy(&last, value, length);
    uint64_t hash = (first ^ key ^ (uint64_t)base << 40) * UINT64_C(0x9e3779b97f4a7c15) + last;
    return &labels.known[(hash * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

bool
rb_heapprof_label_known(uint32_t base, uintptr_t key, const char *value, size_t length,
                        uint32_t *set)
{
    unsigned int lev;
    size_t text_length;
    bool found = false;

    RB_VM_LOCK_ENTER_LEV(&lev);
    const struct known *known = place_of(base, key, value, length);
    if (known->key == key && known->base == base && known->value_length == length) {
        const char *text =
            rb_heapprof_label_sets_text(&rb_heapprof_label_sets, known->set, &text_length);
        found = memcmp(text + known->value, value, length) == 0;
        if (found) *set = known->set;
    }
    RB_VM_LOCK_LEAVE_LEV(&lev);
    return found;
}

void
rb_heapprof_label_note(uint32_t base, uintptr_t key, const struct heapprof_label *label,
                       uint32_t set)
{
    struct heapprof_label found = *label;
    unsigned int lev;

    RB_VM_LOCK_ENTER_LEV(&lev);
    if (rb_heapprof_label_find(set, &found) && found.value_length == label->value_length &&
        memcmp(found.value, label->value, label->value_length) == 0) {
        size_t length;
        const char *text = rb_heapprof_label_text_of(set, &length);
        *place_of(base, key, label->value, label->value_length) = (struct known){
            .key = key, .base = base, .set = set,
            .value = (uint32_t)(found.value - text), .value_length = (uint32_t)found.value_length,
        };
    }
    RB_VM_LOCK_LEAVE_LEV(&lev);
}

/* ---- what sets have ---- */

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

size_t
rb_heapprof_label_copy(uint32_t set, char *out)
{
    size_t length;
    unsigned int lev;

    RB_VM_LOCK_ENTER_LEV(&lev);
    const char *text = rb_heapprof_label_text_of(set, &length);
    memcpy(out, text, length);
    RB_VM_LOCK_LEAVE_LEV(&lev);
    return length;
}

void
rb_heapprof_label_limit(uint32_t values)
{
    all_sets()->values_most = values;
    MEMZERO(labels.known, struct known, KNOWN);
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
