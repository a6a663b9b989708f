#ifndef HEAPPROF_LABEL_SETS_H
#define HEAPPROF_LABEL_SETS_H
/* Labels: what a program says about what it is doing, as "endpoint" is "POST /cart". Imagine name
 * tags that are printed once: whoever works puts one on, and each sample notes its number.
 *
 *     set    text                                            keys in order, each once
 *     0                                                      no label
 *     7      endpoint\0POST /cart\0
 *     8      endpoint\0POST /cart\0tenant\0b2b\0             set 7 with tenant
 *
 * A set has a number, never changes, and stays until the process ends. So a number may be kept
 * anywhere. The program makes the values, so there are limits; a value beyond them is "(other)".
 *
 * The caller serialises. Adding allocates (mem.c); reading may be done anywhere. */
#include <stdbool.h>

#include "base/strings.h"
#include "base/utf8.h"

enum {
    HEAPPROF_LABEL_KEYS = 16,          /* keys of a process */
    HEAPPROF_LABEL_KEY_BYTES = 64,
    HEAPPROF_LABEL_VALUE_BYTES = 128,
    HEAPPROF_LABEL_VALUE_ROOM = HEAPPROF_UTF8_MAX(HEAPPROF_LABEL_VALUE_BYTES),
    HEAPPROF_LABEL_VALUES = 1000,      /* values of a key, unless something else is set */
    HEAPPROF_LABEL_SETS = 65535,
    HEAPPROF_LABEL_TEXT_BYTES =
        HEAPPROF_LABEL_KEYS * (HEAPPROF_LABEL_KEY_BYTES + HEAPPROF_LABEL_VALUE_BYTES + 2)
};

/* Of the label of a fiber: the rest is the number of a lease (vm/labels/labels.c), not of a set. */
#define HEAPPROF_LABEL_LEASED (UINT32_C(1) << 31)

#define HEAPPROF_LABEL_OTHER "(other)"

/* What stands for a value without text: pprof has no empty one. */
#define HEAPPROF_LABEL_EMPTY "(empty)"

/* A value that is not known yet (late_sites.h). */
#define HEAPPROF_LABEL_UNNAMED "(before routing)"

/* Keys of labels that heapprof itself writes. The label of a thread's name is in sets, too. */
#define HEAPPROF_LABEL_THREAD "thread"
#define HEAPPROF_LABEL_RESERVED \
    { "address", "caller", "class", "container", "death_age", "gc_age", "leak", "library", \
      "memsize", "native_leak", "owner", "owner_allocated_by", "pid", "title", "waits" }

struct heapprof_label_key {
    char     name[HEAPPROF_LABEL_KEY_BYTES];
    uint32_t length;
    uint32_t values;                   /* how many it has had */
};

struct heapprof_label_sets {
    struct heapprof_strings texts;     /* of sets, by their numbers */
    struct heapprof_strings values;    /* the number of a key as a byte, and a value */
    struct heapprof_label_key keys[HEAPPROF_LABEL_KEYS];
    uint32_t key_count;
    uint32_t values_most;              /* of a key; 0: there are no labels */
    uint64_t others;                   /* values that became "(other)" */
    uint64_t refused;                  /* labels left out: too many keys or sets, or no memory */
};

/* Without labels. Allocates nothing. mem must outlive it. */
void rb_heapprof_label_sets_init(struct heapprof_label_sets *sets, struct heapprof_mem *mem);
void rb_heapprof_label_sets_free(struct heapprof_label_sets *sets);

struct heapprof_label {
    const char *key, *value;           /* with a NUL behind them */
    size_t key_length, value_length;
};

/* Whether a key is in HEAPPROF_LABEL_RESERVED. */
bool rb_heapprof_label_reserved_p(const char *key);

/* Writes any bytes as the value of a label: UTF-8 without a NUL, cut at a character, not empty.
 * Returns its length. */
size_t rb_heapprof_label_value(char out[HEAPPROF_LABEL_VALUE_ROOM], const char *value,
                               size_t length);

/* Whether there is a set with that number. */
bool rb_heapprof_label_sets_known_p(const struct heapprof_label_sets *sets, uint32_t set);

/* A set with that label in addition, or in place of the one with that key. What cannot be had is
 * left out. A key has 1 to HEAPPROF_LABEL_KEY_BYTES - 1 bytes; a value that is longer than its
 * limit is cut at a character. Neither has a NUL in it. */
uint32_t rb_heapprof_label_sets_with(struct heapprof_label_sets *sets, uint32_t base,
                                     const struct heapprof_label *label);

/* A set without that key. */
uint32_t rb_heapprof_label_sets_without(struct heapprof_label_sets *sets, uint32_t base,
                                        const char *key, size_t key_length);

/* A set with all labels of both; more decides where both have a key. */
uint32_t rb_heapprof_label_sets_both(struct heapprof_label_sets *sets, uint32_t base,
                                     uint32_t more);

/* The text of a set; good until the next set is made. */
static inline const char *
rb_heapprof_label_sets_text(const struct heapprof_label_sets *sets, uint32_t set, size_t *length)
{
    return rb_heapprof_strings_get(&sets->texts, set, length);
}

/* Reads the label at *at in a text that ends at end, and moves *at behind it. Returns false at the
 * end, or where there is no whole label. */
bool rb_heapprof_label_next(const char **at, const char *end, struct heapprof_label *label);

#endif
