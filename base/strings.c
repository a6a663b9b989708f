/* strings.c - each name and path once.
 *
 *     number      0      1            2      3
 *     all         .      offset 4     free   offset 12       + length, hash
 *     bytes              [1] 'f' 'o' 'o' NUL [3] 'b' 'a' 'r' '/' 'x' NUL
 *     index       hash(text) -> number
 *
 *   I1  strings lie end to end in bytes, each behind its number and with its NUL, and fill
 *       bytes_used: so a sweep may go from one to the next.
 *   I2  two numbers never have the same text; every text leads to its number.
 *   I3  the empty string is number 0, stored nowhere: it is there even when no
 *       memory could be had.
 *
 * Offsets are 32 bit: the text of all names is refused beyond 4 GiB.
 *
 * The hash is kept beside the string: growth of the index reads no text, and a
 * search compares text only where all 64 bits agree.
 *
 * The caller serialises. intern allocates (mem.c); the rest may run anywhere.
 */
#include "base/strings.h"

#include <string.h>

#include "base/check.h"

static uint64_t
text_hash(const struct heapprof_strings *strings, const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ strings->salt; /* FNV-1a (Fowler, Noll, Vo) */
    size_t i;

    for (i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    }
    return rb_heapprof_index_hash(hash);
}

static uint64_t
hash_i(const void *owner, uint32_t number)
{
    return ((const struct heapprof_strings *)owner)->all[number].hash;
}

static uint32_t
find(const struct heapprof_strings *strings, const char *text, size_t length, uint64_t hash)
{
    uint64_t probe;
    uint32_t number;

    for (probe = hash; (number = rb_heapprof_index_at(&strings->index, probe)) != 0; probe++) {
        const struct heapprof_string *string = &strings->all[number];
        if (string->hash == hash && string->length == length &&
            memcmp(strings->bytes + string->offset, text, length) == 0) break;
    }
    return number;
}

/* With its number and its NUL. */
static size_t
stored_bytes(size_t length)
{
    return sizeof(uint32_t) + length + 1;
}

static bool
reserve(struct heapprof_strings *strings, size_t length)
{
    if (length > INT32_MAX - stored_bytes(0) ||
        stored_bytes(length) > UINT32_MAX - strings->bytes_used) {
        strings->mem->refused++;
        return false;
    }
    return HEAPPROF_MEM_GROW(strings->mem, strings->bytes, strings->bytes_capacity,
                             strings->bytes_used + stored_bytes(length)) &&
           HEAPPROF_NUMBERS_RESERVE(&strings->numbers, strings->mem, strings->all) &&
           rb_heapprof_index_reserve(&strings->index, strings->mem, strings->numbers.count,
                                     hash_i, strings);
}

static uint32_t
append(struct heapprof_strings *strings, const char *text, size_t length, uint64_t hash)
{
    uint32_t number = rb_heapprof_numbers_next(&strings->numbers);
    char *stored = strings->bytes + strings->bytes_used;

    rb_heapprof_numbers_take(&strings->numbers, &strings->all[number].offset);
    memcpy(stored, &number, sizeof(number));
    memcpy(stored + sizeof(number), text, length);
    stored[sizeof(number) + length] = '\0';
    strings->all[number] = (struct heapprof_string){
        .hash = hash,
        .offset = (uint32_t)(strings->bytes_used + sizeof(number)),
        .length = (uint32_t)length & INT32_MAX,
    };
    strings->bytes_used += stored_bytes(length);
    rb_heapprof_index_insert(&strings->index, hash, number);
    return number;
}

/* ---- life ---- */

void
rb_heapprof_strings_init(struct heapprof_strings *strings, struct heapprof_mem *mem)
{
    memset(strings, 0, sizeof(*strings));
    strings->mem = mem;
    rb_heapprof_numbers_init(&strings->numbers);
}

void
rb_heapprof_strings_free(struct heapprof_strings *strings)
{
    HEAPPROF_MEM_RELEASE(strings->mem, strings->bytes, strings->bytes_capacity);
    HEAPPROF_NUMBERS_RELEASE(&strings->numbers, strings->mem, strings->all);
    rb_heapprof_index_release(&strings->index, strings->mem);
    rb_heapprof_strings_init(strings, strings->mem);
}

/* ---- operations ---- */

uint32_t
rb_heapprof_strings_intern(struct heapprof_strings *strings, const char *text, size_t length)
{
    uint64_t hash = text_hash(strings, text, length);
    uint32_t number;

    if (length == 0) return 0;
    number = find(strings, text, length, hash);
    if (number) return number;
    if (!reserve(strings, length)) return UINT32_MAX;
    return append(strings, text, length, hash);
}

uint32_t
rb_heapprof_strings_find(const struct heapprof_strings *strings, const char *text, size_t length)
{
    return length ? find(strings, text, length, text_hash(strings, text, length)) : 0;
}

const char *
rb_heapprof_strings_get(const struct heapprof_strings *strings, uint32_t number, size_t *length)
{
    HEAPPROF_ASSERT(number < strings->numbers.end && (!number || strings->all[number].length));
    if (length) *length = number ? strings->all[number].length : 0;
    return number ? strings->bytes + strings->all[number].offset : "";
}

bool
rb_heapprof_strings_enter_all(struct heapprof_strings *strings)
{
    uint32_t number;

    while (strings->numbers.count > 0 &&
           !rb_heapprof_index_room_p(&strings->index,
                                     strings->numbers.count - 1)) { /* which doubles */
        if (!rb_heapprof_index_grow(&strings->index, strings->mem, strings->numbers.count, hash_i,
                                    strings)) return false;
    }
    for (number = 1; number < strings->numbers.end; number++) {
        if (!strings->all[number].length) continue;
        rb_heapprof_index_insert(&strings->index, hash_i(strings, number), number);
    }
    return true;
}

/* ---- sweep ---- */

/* The number of the string that is stored there. */
static uint32_t
number_at(const struct heapprof_strings *strings, size_t at)
{
    uint32_t number;

    memcpy(&number, strings->bytes + at, sizeof(number));
    return number;
}

static void
free_string(struct heapprof_strings *strings, uint32_t number)
{
    struct heapprof_string *string = &strings->all[number];

    *string = (struct heapprof_string){0};
    rb_heapprof_numbers_give_back(&strings->numbers, number, &string->offset);
}

/* What is needed moves to the front, in the order it has. */
static void
move_together(struct heapprof_strings *strings)
{
    size_t at, bytes, to = 0;

    for (at = 0; at < strings->bytes_used; at += bytes) {
        uint32_t number = number_at(strings, at);
        struct heapprof_string *string = &strings->all[number];
        bytes = stored_bytes(string->length);
        if (!string->needed) {
            free_string(strings, number);
            continue;
        }
        memmove(strings->bytes + to, strings->bytes + at, bytes);
        string->offset = (uint32_t)(to + sizeof(number));
        string->needed = false;
        to += bytes;
    }
    strings->bytes_used = to;
}

uint32_t
rb_heapprof_strings_sweep(struct heapprof_strings *strings)
{
    uint32_t number, before = strings->numbers.count;

    move_together(strings);
    HEAPPROF_MEM_SHRINK(strings->mem, strings->bytes, strings->bytes_capacity, strings->bytes_used);
    rb_heapprof_index_clear(&strings->index, strings->mem, strings->numbers.count);
    for (number = 1; number < strings->numbers.end; number++) {
        if (!strings->all[number].length) continue;
        rb_heapprof_index_insert(&strings->index, hash_i(strings, number), number);
    }
    return before - strings->numbers.count;
}

/* ---- debug ---- */

static uint32_t
link_i(const void *owner, uint32_t number)
{
    const struct heapprof_strings *strings = owner;
    const struct heapprof_string *string = &strings->all[number];

    return string->length ? HEAPPROF_NUMBER_USED : string->offset;
}

void
rb_heapprof_strings_check(const struct heapprof_strings *strings)
{
    size_t at, bytes;
    uint32_t number, seen = 0;

    for (at = 0; at < strings->bytes_used; at += bytes, seen++) {
        number = number_at(strings, at);
        HEAPPROF_ASSERT(number > 0 && number < strings->numbers.end);
        const struct heapprof_string *string = &strings->all[number];
        const char *text = strings->bytes + string->offset;
        bytes = stored_bytes(string->length);
        HEAPPROF_ASSERT(string->offset == at + sizeof(number) && string->length && !string->needed);
        HEAPPROF_ASSERT(text[string->length] == '\0');
        HEAPPROF_ASSERT(string->hash == text_hash(strings, text, string->length));
        HEAPPROF_ASSERT(find(strings, text, string->length, string->hash) == number);
    }
    HEAPPROF_ASSERT(at == strings->bytes_used && seen == strings->numbers.count);
    rb_heapprof_numbers_check(&strings->numbers, link_i, strings);
    rb_heapprof_index_check(&strings->index, strings->numbers.count, hash_i, strings);
}
