#ifndef HEAPPROF_STRINGS_H
#define HEAPPROF_STRINGS_H
/* Interned strings: names and paths, each stored once and known by a small number. A number stays
 * good until a sweep finds that nobody needs it. Number 0 is the empty string, always there. */
#include "base/index.h"
#include "base/numbers.h"

struct heapprof_strings {
    struct heapprof_mem *mem;
    char *bytes; /* all strings end to end, each behind its number and with a final NUL */
    size_t    bytes_capacity;
    size_t    bytes_used;
    struct heapprof_string *all; /* by number: where in bytes, how long, hash; [0] unused */
    struct heapprof_numbers numbers; /* of all; the empty one does not count */
    struct heapprof_index index; /* text -> number; 0 is not in it */
    uint64_t salt; /* secret of the index, if somebody else chooses the texts; else 0 */
};

struct heapprof_string {
    uint64_t hash;
    uint32_t offset;             /* of the text in bytes; of a free number: the next free one */
    uint32_t length : 31;        /* without the NUL; 0: the number is free */
    uint32_t needed : 1;         /* the next sweep keeps it */
};

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_strings_init(struct heapprof_strings *strings, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. */
void rb_heapprof_strings_free(struct heapprof_strings *strings);

/* Returns the string's number, or UINT32_MAX if memory is refused. text may contain NULs. It must
 * not be a string of this table. */
uint32_t rb_heapprof_strings_intern(struct heapprof_strings *strings, const char *text,
                                    size_t length);

/* The number of the string; 0 if it is not there, or empty. */
uint32_t rb_heapprof_strings_find(const struct heapprof_strings *strings, const char *text,
                                  size_t length);

/* The string's bytes, with a NUL behind them. Good until the next intern. length may be NULL. */
const char *rb_heapprof_strings_get(const struct heapprof_strings *strings, uint32_t number,
                                    size_t *length);

/* Enters all strings into the index, which is empty. For a table whose other fields were filled in
 * from a copy. Returns false if memory is refused. */
bool rb_heapprof_strings_enter_all(struct heapprof_strings *strings);

/* Marks a string: the next sweep keeps it. 0 is allowed. */
static inline void
rb_heapprof_strings_need(struct heapprof_strings *strings, uint32_t number)
{
    if (number) strings->all[number].needed = true;
}

/* Frees every string without a mark, moves the rest together, and gives memory back. Numbers of
 * freed strings are handed out again. Asks for no memory. Returns how many it freed. */
uint32_t rb_heapprof_strings_sweep(struct heapprof_strings *strings);

/* Asserts the invariants of strings.c. */
void rb_heapprof_strings_check(const struct heapprof_strings *strings);

#endif
