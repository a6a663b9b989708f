#ifndef HEAPPROF_VM_LABELS_SETS_H
#define HEAPPROF_VM_LABELS_SETS_H
/* sets.h - the sets of labels of this process (profiler/label_sets.h), under the VM lock. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heapprof_label; /* profiler/label_sets.h */
struct heapprof_mem;

/* Whether there is a set with that number. */
bool rb_heapprof_label_set_p(uint32_t set);

/* Makes sets. both: more decides where both have a key. */
uint32_t rb_heapprof_label_add(uint32_t base, const struct heapprof_label *label);
uint32_t rb_heapprof_label_remove(uint32_t base, const char *key, size_t key_length);
uint32_t rb_heapprof_label_both(uint32_t base, uint32_t more);

/* What add has made of a label before, by the key as a Symbol that is never freed. Returns false if
 * it is not known. note: it is known from now on, unless the value is "(other)". */
bool rb_heapprof_label_known(uint32_t base, uintptr_t key, const char *value, size_t length,
                             uint32_t *set);
void rb_heapprof_label_note(uint32_t base, uintptr_t key, const struct heapprof_label *label,
                            uint32_t set);

/* Reads the label with that key in a set. Returns false if there is none. Its value is good until
 * the next set is made. */
bool rb_heapprof_label_find(uint32_t set, struct heapprof_label *label);

/* The text of a set, good until the next set is made; so the caller has the VM lock. */
const char *rb_heapprof_label_text_of(uint32_t set, size_t *length);

/* Copies the text of a set to out, which has room for HEAPPROF_LABEL_TEXT_BYTES. Returns its
 * length. It may be called while other Ractors make sets. */
size_t rb_heapprof_label_copy(uint32_t set, char *out);

/* Sets how many values a key may have; 0: there are no labels. */
void rb_heapprof_label_limit(uint32_t values);

/* How many values became "(other)", and how many labels were left out, since the process began. */
uint64_t rb_heapprof_label_others(void);
uint64_t rb_heapprof_label_refused(void);

/* Told of the first value that becomes "(other)" and of the first label that is left out, in a line
 * each. NULL: nobody is told. Called under the GVL, without the VM lock. Set by vm/run/run.c. */
extern void (*rb_heapprof_label_tell)(const char *line);

/* The memory of labels, which nothing limits but their own limits. */
struct heapprof_mem *rb_heapprof_label_mem(void);

#endif
