/* pages.c - reads whole pages, and keeps them.
 *
 *     bytes  [0] 0x7f..a000   [1] 0x7f..1000   [2] none   ...      a page stands at its number modulo how many are kept
 */
#include "attach/pages.h"

#include <string.h>

/* The page that begins there; NULL: it cannot be read. */
static const unsigned char *
find_page(struct attach_pages *pages, uint64_t begin)
{
    size_t place = begin / ATTACH_PAGES_BYTES & (ATTACH_PAGES_KEPT - 1);
    uint64_t end = begin + ATTACH_PAGES_BYTES;

    if (end == 0) return NULL;
    if (pages->ends[place] == end) return pages->bytes[place];
    pages->ends[place] = 0;
    if (!attach_target_read(pages->from, begin, pages->bytes[place], ATTACH_PAGES_BYTES))
        return NULL;
    pages->ends[place] = end;
    return pages->bytes[place];
}

static bool
read_range(struct attach_pages *pages, const struct attach_range *range)
{
    for (size_t done = 0, bytes; done < range->bytes; done += bytes) {
        size_t within = (range->address + done) % ATTACH_PAGES_BYTES;
        const unsigned char *page = find_page(pages, range->address + done - within);
        if (!page) return false;
        bytes = ATTACH_PAGES_BYTES - within;
        if (bytes > range->bytes - done) bytes = range->bytes - done;
        memcpy((unsigned char *)range->to + done, page + within, bytes);
    }
    return true;
}

static bool
read_ranges(struct attach_target *target, const struct attach_range *ranges, size_t count)
{
    struct attach_pages *pages = (struct attach_pages *)target;

    for (size_t i = 0; i < count; i++) {
        if (!read_range(pages, &ranges[i])) return false;
    }
    return true;
}

void
attach_pages_begin(struct attach_pages *pages, struct attach_target *from)
{
    pages->from = from;
    pages->kind = *from->kind;
    pages->kind.read = read_ranges;
    pages->target = *from;
    pages->target.kind = &pages->kind;
    memset(pages->ends, 0, sizeof(pages->ends));
}
