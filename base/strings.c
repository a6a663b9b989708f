/* strings.c - each name and path once.
 *
 *     number      0      1            2
 *     all         .      offset 0     offset 4        + length, hash
 *     bytes              'f' 'o' 'o' NUL 'b' 'a' 'r' '/' 'x' NUL
 *     index       hash(text) -> number
 *
 *   I1  strings lie end to end in bytes in the order of their numbers, each with
 *       its NUL, and fill bytes_used.
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
text_hash(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a (Fowler, Noll, Vo) */
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

static bool
reserve(struct heapprof_strings *strings, size_t length)
{
    if (length >= UINT32_MAX - strings->bytes_used) {
        strings->mem->refused++;
        return false;
    }
    return HEAPPROF_MEM_GROW(strings->mem, strings->bytes, strings->bytes_capacity,
                             strings->bytes_used + length + 1) &&
           HEAPPROF_MEM_GROW(strings->mem, strings->all, strings->all_capacity,
                             (size_t)strings->count + 1) &&
           rb_heapprof_index_reserve(&strings->index, strings->mem, strings->count - 1,
                                     hash_i, strings);
}

static uint32_t
append(struct heapprof_strings *strings, const char *text, size_t length, uint64_t hash)
{
    uint32_t number = strings->count++;
    struct heapprof_string *string = &strings->all[number];

    string->hash = hash;
    string->offset = (uint32_t)strings->bytes_used;
    string->length = (uint32_t)length;
    memcpy(strings->bytes + string->offset, text, length);
    strings->bytes[string->offset + length] = '\0';
    strings->bytes_used += length + 1;
    rb_heapprof_index_insert(&strings->index, hash, number);
    return number;
}

/* ---- life ---- */

void
rb_heapprof_strings_init(struct heapprof_strings *strings, struct heapprof_mem *mem)
{
    memset(strings, 0, sizeof(*strings));
    strings->mem = mem;
    strings->count = 1;
}

void
rb_heapprof_strings_free(struct heapprof_strings *strings)
{
    HEAPPROF_MEM_RELEASE(strings->mem, strings->bytes, strings->bytes_capacity);
    HEAPPROF_MEM_RELEASE(strings->mem, strings->all, strings->all_capacity);
    rb_heapprof_index_release(&strings->index, strings->mem);
    rb_heapprof_strings_init(strings, strings->mem);
}

/* ---- operations ---- */

uint32_t
rb_heapprof_strings_intern(struct heapprof_strings *strings, const char *text, size_t length)
{
    uint64_t hash = text_hash(text, length);
    uint32_t number;

    if (length == 0) return 0;
    number = find(strings, text, length, hash);
    if (number) return number;
    if (!reserve(strings, length)) return UINT32_MAX;
    return append(strings, text, length, hash);
}

const char *
rb_heapprof_strings_get(const struct heapprof_strings *strings, uint32_t number, size_t *length)
{
    HEAPPROF_ASSERT(number < strings->count);
    if (length) *length = number ? strings->all[number].length : 0;
    return number ? strings->bytes + strings->all[number].offset : "";
}

/* ---- debug ---- */

void
rb_heapprof_strings_check(const struct heapprof_strings *strings)
{
    size_t end = 0;
    uint32_t number;

    for (number = 1; number < strings->count; number++) {
        const struct heapprof_string *string = &strings->all[number];
        const char *text = strings->bytes + string->offset;
        HEAPPROF_ASSERT(string->offset == end);
        HEAPPROF_ASSERT(text[string->length] == '\0');
        HEAPPROF_ASSERT(string->hash == text_hash(text, string->length));
        HEAPPROF_ASSERT(find(strings, text, string->length, string->hash) == number);
        end += (size_t)string->length + 1;
    }
    HEAPPROF_ASSERT(end == strings->bytes_used);
    rb_heapprof_index_check(&strings->index, strings->count - 1, hash_i, strings);
}
