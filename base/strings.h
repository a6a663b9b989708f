#ifndef HEAPPROF_STRINGS_H
#define HEAPPROF_STRINGS_H
/* Interned strings: names and paths, each stored once, known by a small number, which stays good
 * until a sweep finds that nobody needs it. Number 0 is the empty string, always there. */
#include "base/index.h"
#include "base/numbers.h"

struct heapprof_strings {
    struct heapprof_mem *mem;
    char     *bytes;             /* all strings end to end, each behind its number and with a final NUL */
    size_t    bytes_capacity;
    size_t    bytes_used;
    struct heapprof_string *all; /* by number: where in bytes, how long, hash; [0] unused */
    struct heapprof_numbers numbers; /* of all; the empty one does not count */
    struct heapprof_index index; /* text -> number; 0 is not in it */
    uint64_t  salt;              /* of the index, where somebody else chooses the texts; 0: nobody does */
};

struct heapprof_string {
    uint64_t hash;
    uint32_t offset;             /* of the text; of a free number: the next free one */
    uint32_t length : 31;        /* without the NUL; 0: the number is free */
    uint32_t needed : 1;         /* sweep keeps it, this once */
};

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_strings_init(struct heapprof_strings *strings, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. */
void rb_heapprof_strings_free(struct heapprof_strings *strings);

/* The string's number, or UINT32_MAX when memory is refused. May contain NULs.
 * text must not be a string of this table. */
uint32_t rb_heapprof_strings_intern(struct heapprof_strings *strings, const char *text,
                                    size_t length);

/* The bytes, NUL-terminated; good until the next intern. *length may be NULL. */
const char *rb_heapprof_strings_get(const struct heapprof_strings *strings, uint32_t number,
                                    size_t *length);

/* Enters all strings into the index, which is empty: for who has filled in the rest from a copy. False when
 * memory is refused. */
bool rb_heapprof_strings_enter_all(struct heapprof_strings *strings);

/* The next sweep keeps that string. 0 is allowed. */
static inline void
rb_heapprof_strings_need(struct heapprof_strings *strings, uint32_t number)
{
    if (number) strings->all[number].needed = true;
}

/* Frees every string that is not needed, moves the others together and gives memory back; numbers of
 * freed ones are handed out again. Asks for no memory. Returns how many it freed. */
uint32_t rb_heapprof_strings_sweep(struct heapprof_strings *strings);

/* Asserts the invariants of strings.c. */
void rb_heapprof_strings_check(const struct heapprof_strings *strings);

#endif
