/* grown.c - who has grown from one file to the next.
 *
 *     rows of now -> sums by place (innermost frame, class) -> now - before, the largest
 *
 * A place is known by a hash of its texts, because numbers of stacks and strings differ from one
 * snapshot to the next. If two places had one hash, they would be one: of 4,096 places and 64
 * bits, that is not to be expected.
 *
 *   I1  a sum stays in the table while it is 0, so that what comes back is not new. When the table
 *       is full, further places are not told of. */
#include "profiler/grown.h"
#include "base/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct place {
    const char *class, *name, *path;
    uint32_t line;
};

static const char *
string(const struct heapprof_snapshot *snapshot, uint32_t number, const char *otherwise)
{
    return number ? rb_heapprof_strings_get(&snapshot->strings, number, NULL) : otherwise;
}

static struct place
place_of(const struct heapprof_snapshot *snapshot, const struct heapprof_row *row)
{
    struct heapprof_frame frame = {0};
    uint32_t class = row->owner ? row->owner : row->subject;

    rb_heapprof_snapshot_frames(snapshot, row->stack, &frame, 1);
    return (struct place){ string(snapshot, class, "?"), string(snapshot, frame.name, "?"),
                           string(snapshot, frame.path, ""), frame.line };
}

/* FNV-1a, with the NUL. */
static uint64_t
hash_text(uint64_t hash, const char *text)
{
    do hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    while (*text++);
    return hash;
}

static uint64_t
key_of(struct place place)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    hash = hash_text(hash, place.class);
    hash = hash_text(hash, place.name);
    hash = hash_text(hash, place.path);
    hash = (hash ^ place.line) * UINT64_C(0x100000001b3);
    return hash ? hash : 1;
}

/* Returns NULL if the table is full. */
static struct heapprof_grown_sum *
find(struct heapprof_grown *grown, uint64_t key)
{
    for (size_t i = 0; i < HEAPPROF_GROWN_PLACES; i++) {
        struct heapprof_grown_sum *sum = &grown->sums[(key + i) % HEAPPROF_GROWN_PLACES];
        if (sum->key == key) return sum;
        if (sum->key) continue;
        sum->key = key;
        return sum;
    }
    return NULL;
}

static void
add_up(struct heapprof_grown *grown, const struct heapprof_snapshot *snapshot)
{
    for (size_t i = 0; i < HEAPPROF_GROWN_PLACES; i++) {
        grown->sums[i].before = grown->sums[i].now;
        grown->sums[i].now = 0;
        grown->sums[i].row = 0;
    }
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const struct heapprof_row *row = &snapshot->rows[i];
        double bytes = row->inuse_slot_bytes + row->inuse_malloc_bytes;
        if (bytes <= 0 || row->kind == HEAPPROF_ROW_RUNG) continue;
        struct heapprof_grown_sum *sum = find(grown, key_of(place_of(snapshot, row)));
        if (!sum) continue;
        sum->now += bytes;
        sum->row = i + 1;
    }
}

static double
growth_of(const struct heapprof_grown_sum *sum)
{
    return sum->row ? sum->now - sum->before : 0;
}

/* The place that has grown most of those that come after `last`; NULL: after none. Of equal ones
 * the first comes first. */
static const struct heapprof_grown_sum *
next_largest(const struct heapprof_grown *grown, const struct heapprof_grown_sum *last)
{
    const struct heapprof_grown_sum *largest = NULL;

    for (size_t i = 0; i < HEAPPROF_GROWN_PLACES; i++) {
        const struct heapprof_grown_sum *sum = &grown->sums[i];
        bool after = !last || growth_of(sum) < growth_of(last) ||
                     (growth_of(sum) == growth_of(last) && sum > last);
        if (after && growth_of(sum) >= 1 && (!largest || growth_of(sum) > growth_of(largest)))
            largest = sum;
    }
    return largest;
}

/* Names may have anything: a line ends none of them (origin.c does the same). */
static void
make_one_line(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = '?';
    }
}

size_t
rb_heapprof_grown_tell(struct heapprof_grown *grown, const struct heapprof_snapshot *snapshot,
                       char *text, size_t size)
{
    const struct heapprof_grown_sum *sum = NULL;
    size_t used = 0;

    text[0] = '\0';
    add_up(grown, snapshot);
    for (int i = 0; grown->known && i < HEAPPROF_GROWN_TOLD; i++) {
        char line[512];
        if (!(sum = next_largest(grown, sum))) break;
        struct place place = place_of(snapshot, &snapshot->rows[sum->row - 1]);
        snprintf(line, sizeof(line),
                 HEAPPROF_COMMENT_GREW "%.0f bytes, %.150s, %.150s %.150s:%" PRIu32,
                 growth_of(sum), place.class, place.name, place.path, place.line);
        make_one_line(line);
        size_t length = strlen(line);
        if (length + 2 > size - used) break;
        memcpy(text + used, line, length);
        used += length;
        text[used++] = '\n';
        text[used] = '\0';
    }
    grown->known = true;
    return used;
}
