/* causes.c - gives records of one cause the same number.
 *
 *     kind, library, function, library and function for which it worked  --hash-->  cause
 *
 * The hash is FNV-1a, because it must be the same in all versions and on all machines. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* memmem, qsort_r */
#endif
#include "memcheck/causes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memcheck/callers.h"

/* ---- the number ---- */

#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

/* A zero byte ends each part. */
static uint64_t
hash_part(uint64_t hash, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * FNV_PRIME;
    return hash * FNV_PRIME;
}

/* Without what follows the text `end`; `with` bytes of that stay. */
static size_t
cut_at(const char *text, size_t length, const char *end, size_t with)
{
    const char *found = memmem(text, length, end, strlen(end));
    return found && found > text ? (size_t)(found - text) + with : length;
}

/* Without the version of the library ("libxml2.so.2"), and without what a compiler adds to the
 * name of a function that it has changed (".part.0", " [clone .part.0]"). */
static uint64_t
hash_function(uint64_t hash, const struct memcheck_c_function *one)
{
    size_t length = cut_at(one->function, one->function_length, " [clone", 0);

    if (!memchr(one->function, '(', length)) length = cut_at(one->function, length, ".", 0);
    hash = hash_part(hash, one->library, cut_at(one->library, one->library_length, ".so", 3));
    return hash_part(hash, one->function, length);
}

static uint64_t
cause_of(const struct memcheck_process *process, const struct memcheck_record *record)
{
    const char *kind = memcheck_kind_names[record->kind];
    const struct memcheck_c_function own = memcheck_callers_own(record);
    uint64_t hash = hash_function(hash_part(FNV_BEGIN, kind, strlen(kind)), &own);
    struct memcheck_c_function whom;

    if (memcheck_callers_for(process, record, &whom)) return hash_function(hash, &whom);
    if (memcheck_callers_named_p(&own) || record->stack.count == 0) return hash;
    const char *name = memcheck_frame_at(process, &record->stack, 0).name;
    return hash_part(hash, name, strlen(name));
}

void
memcheck_cause_text(uint64_t cause, char text[MEMCHECK_CAUSE_TEXT])
{
    snprintf(text, MEMCHECK_CAUSE_TEXT, "%016" PRIx64, cause);
}

/* ---- the order ---- */

static int64_t
size_of(const struct memcheck_record *record)
{
    return record->bytes + record->indirect_bytes;
}

static int
compare_causes(const void *left, const void *right)
{
    const struct memcheck_record *a = left, *b = right;

    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return (a->cause > b->cause) - (a->cause < b->cause);
}

static int
compare_sizes(const void *left, const void *right)
{
    const struct memcheck_record *a = left, *b = right;

    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->cause_bytes != b->cause_bytes) return a->cause_bytes > b->cause_bytes ? -1 : 1;
    if (a->cause != b->cause) return a->cause < b->cause ? -1 : 1;
    if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? -1 : 1;
    if (a->error != b->error) return a->error < b->error ? -1 : 1;
    return (a->stack.first > b->stack.first) - (a->stack.first < b->stack.first);
}

/* In a foreign file amounts may be as large as they like. */
static int64_t
add_amount(int64_t sum, int64_t amount)
{
    const int64_t most = INT64_MAX / 4;
    return amount > most - sum ? most : sum + amount;
}

/* ---- merging ---- */

void
memcheck_record_add(struct memcheck_record *to, const struct memcheck_record *from)
{
    to->blocks = add_amount(to->blocks, from->blocks);
    to->bytes = add_amount(to->bytes, from->bytes);
    to->indirect_blocks = add_amount(to->indirect_blocks, from->indirect_blocks);
    to->indirect_bytes = add_amount(to->indirect_bytes, from->indirect_bytes);
}

static int
compare_calls(const void *left, const void *right, void *data)
{
    const struct memcheck_record *a = left, *b = right;
    const uint32_t *locations = data;
    int order = compare_causes(a, b);

    if (order) return order;
    if (a->core != b->core) return a->core ? 1 : -1;
    if (memcheck_error_p(a->kind)) /* none is like another: each has two stacks */
        return (a->stack.first > b->stack.first) - (a->stack.first < b->stack.first);
    if (a->stack.count != b->stack.count) return a->stack.count < b->stack.count ? -1 : 1;
    if (a->stack.count == 0) return 0;
    return memcmp(locations + a->stack.first, locations + b->stack.first,
                  a->stack.count * sizeof(*locations));
}

void
memcheck_causes_merge(struct memcheck_process *process)
{
    struct memcheck_record *records = process->records;
    size_t kept = 0;

    if (process->record_count == 0) return;
    qsort_r(records, process->record_count, sizeof(*records), compare_calls, process->locations);
    for (size_t i = 1; i < process->record_count; i++) {
        if (compare_calls(&records[kept], &records[i], process->locations) == 0)
            memcheck_record_add(&records[kept], &records[i]);
        else records[++kept] = records[i];
    }
    process->record_count = kept + 1;
    qsort(records, process->record_count, sizeof(*records), compare_sizes);
}

void
memcheck_causes_find(struct memcheck_process *process)
{
    struct memcheck_record *records = process->records;
    size_t count = process->record_count;

    if (count == 0) return;
    for (size_t i = 0; i < count; i++) records[i].cause = cause_of(process, &records[i]);
    qsort(records, count, sizeof(*records), compare_causes);
    for (size_t first = 0, end; first < count; first = end) {
        int64_t bytes = 0;
        for (end = first; end < count && compare_causes(&records[first], &records[end]) == 0; end++)
            bytes = add_amount(bytes, size_of(&records[end]));
        for (size_t i = first; i < end; i++) records[i].cause_bytes = bytes;
    }
    qsort(records, count, sizeof(*records), compare_sizes);
}
