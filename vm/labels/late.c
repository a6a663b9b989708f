/* late.c - blocks that name a label late.
 *
 *     number   token   state                            outer
 *     1        0x301   open, waits for endpoint         0
 *     2        0x202   ended, endpoint was "/pay"       0
 *     3        0x103   open, endpoint is "/cart"        0x301
 *
 * A number is given again in turn, so that ended blocks are remembered as long as can be.
 *
 *   I1  what waits for a number is of the block that has it now.
 */
#include "vm/labels/late.h"
#include "internal.h"
#include "vm/labels/sets.h"
#include "vm/labels/tables.h"
#include "vm_core.h"
#include "vm_sync.h"

#define NUMBER_BITS 8

struct heapprof_lates rb_heapprof_lates;

void (*rb_heapprof_late_settle)(uint32_t number, const struct heapprof_label *name,
                                uint32_t next);

static struct heapprof_late *
find(uint32_t token)
{
    struct heapprof_late *late = &rb_heapprof_lates.all[token & HEAPPROF_LATES];

    return token && late->token == token ? late : NULL;
}

/* The innermost block that waits. */
uint32_t
rb_heapprof_late_number(uint32_t token)
{
    for (const struct heapprof_late *late; (late = find(token)) != NULL; token = late->outer) {
        if (late->open && !late->named) return token & HEAPPROF_LATES;
    }
    return 0;
}

static void
settle(const struct heapprof_late *late, const struct heapprof_label *name, uint32_t next)
{
    if (rb_heapprof_late_settle) rb_heapprof_late_settle(late->token & HEAPPROF_LATES, name, next);
}

/* The one label of a set. */
static bool
only_label(uint32_t set, struct heapprof_label *label)
{
    size_t length;
    const char *at = rb_heapprof_label_text_of(set, &length);

    return rb_heapprof_label_next(&at, at + length, label);
}

/* What waits for a block waits for the outer ones, too, and these may have got their names. */
static void
settle_outer(const struct heapprof_late *late)
{
    uint32_t number = late->token & HEAPPROF_LATES;
    struct heapprof_label name;

    for (const struct heapprof_late *outer = late; (outer = find(outer->outer)) != NULL; ) {
        if (outer->named && only_label(outer->named, &name)) settle(late, &name, number);
    }
    settle(late, NULL, rb_heapprof_late_number(late->outer));
}

/* The next number whose block has ended. If there is none, the next. */
static uint32_t
next_number(void)
{
    uint32_t number = rb_heapprof_lates.last;

    for (int i = 0; i < HEAPPROF_LATES; i++) {
        number = number % HEAPPROF_LATES + 1;
        if (!rb_heapprof_lates.all[number].open) return number;
    }
    number = number % HEAPPROF_LATES + 1;
    settle(&rb_heapprof_lates.all[number], NULL, 0);
    return number;
}

uint32_t
rb_heapprof_late_begin(uint32_t outer, uint32_t unnamed)
{
    unsigned int lev;

    RB_VM_LOCK_ENTER_LEV(&lev);
    uint32_t number = rb_heapprof_lates.last = next_number();
    struct heapprof_late *late = &rb_heapprof_lates.all[number];
    uint32_t times = (late->token >> NUMBER_BITS) + 1;
    *late = (struct heapprof_late){ .token = times << NUMBER_BITS | number, .outer = outer,
                                    .unnamed = unnamed, .open = true };
    uint32_t token = late->token;
    RB_VM_LOCK_LEAVE_LEV(&lev);
    return token;
}

uint32_t
rb_heapprof_late_end(uint32_t token)
{
    uint32_t outer = 0;
    unsigned int lev;

    RB_VM_LOCK_ENTER_LEV(&lev);
    struct heapprof_late *late = find(token);
    if (late) {
        if (late->open && !late->named) settle_outer(late);
        late->open = false;
        outer = late->outer;
    }
    RB_VM_LOCK_LEAVE_LEV(&lev);
    return outer;
}

/* Reads the label that waits for its name, as it is in a set. Returns false if it is not there. */
static bool
label_of(const struct heapprof_late *late, uint32_t set, struct heapprof_label *label)
{
    return only_label(late->unnamed, label) && rb_heapprof_label_find(set, label);
}

static bool
unnamed_p(const struct heapprof_late *late, uint32_t set)
{
    struct heapprof_label label;

    return label_of(late, set, &label) &&
           label.value_length == sizeof(HEAPPROF_LABEL_UNNAMED) - 1 &&
           memcmp(label.value, HEAPPROF_LABEL_UNNAMED, label.value_length) == 0;
}

static void
name_late(struct heapprof_late *late, const struct heapprof_label *name)
{
    char text[HEAPPROF_LABEL_KEY_BYTES + HEAPPROF_LABEL_VALUE_BYTES];
    struct heapprof_label copy = *name; /* the text of a set may move */

    copy.key = memcpy(text, name->key, name->key_length);
    copy.value = memcpy(text + name->key_length, name->value, name->value_length);
    late->named = rb_heapprof_label_add(0, &copy);
    settle(late, &copy, rb_heapprof_late_number(late->outer));
}

void
rb_heapprof_late_name(uint32_t token, uint32_t before, uint32_t set)
{
    struct heapprof_label label;
    unsigned int lev;

    RB_VM_LOCK_ENTER_LEV(&lev);
    for (struct heapprof_late *late; (late = find(token)) != NULL; token = late->outer) {
        if (late->open && !late->named && unnamed_p(late, before) && !unnamed_p(late, set) &&
            label_of(late, set, &label)) name_late(late, &label);
    }
    RB_VM_LOCK_LEAVE_LEV(&lev);
}

uint32_t
rb_heapprof_late_set(uint32_t token, uint32_t set)
{
    for (const struct heapprof_late *late; (late = find(token)) != NULL; token = late->outer) {
        if (late->named && unnamed_p(late, set)) set = rb_heapprof_label_both(set, late->named);
    }
    return set;
}

bool
rb_heapprof_late_waits_p(uint32_t token, uint32_t unnamed)
{
    for (const struct heapprof_late *late; (late = find(token)) != NULL; token = late->outer) {
        if (late->open && !late->named && late->unnamed == unnamed) return true;
    }
    return false;
}
