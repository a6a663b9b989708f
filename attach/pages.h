#ifndef ATTACH_PAGES_H
#define ATTACH_PAGES_H
/* A target through pages of it that are kept: for many small reads near each other, each of which would be a system call. What
 * has been read once is what it was then, so pages are kept only while the target is stopped, or for as long as one reading
 * takes that is judged as a whole. */
#include "attach/target.h"

enum {
    ATTACH_PAGES_KEPT = 256,  /* a power of two */
    ATTACH_PAGES_BYTES = 4096 /* of each: the smallest page there is, of which all can be read or nothing */
};

struct attach_pages {
    struct attach_target target; /* to be read; first, for its reads lead here */
    struct attach_target_kind kind;
    struct attach_target *from;
    uint64_t ends[ATTACH_PAGES_KEPT]; /* where each page kept ends; 0: none */
    unsigned char bytes[ATTACH_PAGES_KEPT][ATTACH_PAGES_BYTES];
};

/* Keeps no page yet. &pages->target is the target then, but for its reads, and good for as long as its lists stay. */
void attach_pages_begin(struct attach_pages *pages, struct attach_target *from);

#endif
