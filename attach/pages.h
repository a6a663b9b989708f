#ifndef ATTACH_PAGES_H
#define ATTACH_PAGES_H
/* A target with a cache of its pages, for many small reads near each other: without it each would
 * be a system call. A page in the cache does not change when the target's does. So a cache may be
 * used only while the target is stopped, or for one reading that is accepted or rejected as a
 * whole. */
#include "attach/target.h"

enum {
    ATTACH_PAGES_KEPT = 256, /* a power of two */
    ATTACH_PAGES_BYTES =
        4096 /* of each page: the smallest size there is, so all of a page can be read or nothing */
};

struct attach_pages {
    struct attach_target
        target; /* for the caller to read; the first member, so that its reads find the rest */
    struct attach_target_kind kind;
    struct attach_target *from;
    uint64_t ends[ATTACH_PAGES_KEPT]; /* address of the end of each page in the cache; 0: no page */
    unsigned char bytes[ATTACH_PAGES_KEPT][ATTACH_PAGES_BYTES];
};

/* Begins with an empty cache. Then &pages->target is the same as from, except for its reads. It is
 * valid until from's lists change. */
void attach_pages_begin(struct attach_pages *pages, struct attach_target *from);

#endif
