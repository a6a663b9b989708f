#ifndef HEAPPROF_DIGEST_H
#define HEAPPROF_DIGEST_H
/* 128 bits that stand for the content of a thing: a function, a stack, a set of labels. Two things
 * that are alike in two profiles have one digest, whatever their numbers.
 *
 * Digests start from a secret of the process, so no program can make two things whose digests are
 * equal. Of n digests two are equal by chance with a probability of n * n / 2^129. */
#include <string.h>

#include "base/index.h"

struct heapprof_digest {
    uint64_t a, b;
};

/* The secret that every digest begins with. The first call draws it, on any thread. */
struct heapprof_digest rb_heapprof_digest_begin(void);

static inline void
rb_heapprof_digest_number(struct heapprof_digest *digest, uint64_t number)
{
    digest->a = rb_heapprof_index_hash((digest->a ^ number) + UINT64_C(0x9e3779b97f4a7c15));
    digest->b = rb_heapprof_index_hash((digest->b + number * UINT64_C(0xd6e8feb86659fd93)) ^
                                       (digest->b << 32));
}

/* Adds a digest, each half by itself. So a stack takes one step for each frame. */
static inline void
rb_heapprof_digest_add(struct heapprof_digest *digest, struct heapprof_digest other)
{
    digest->a = rb_heapprof_index_hash((digest->a ^ other.a) + UINT64_C(0x9e3779b97f4a7c15));
    digest->b = rb_heapprof_index_hash((digest->b + other.b) ^ (digest->b << 32));
}

static inline void
rb_heapprof_digest_bytes(struct heapprof_digest *digest, const void *bytes, size_t size)
{
    const char *at = (const char *)bytes;
    uint64_t word;

    rb_heapprof_digest_number(digest, size);
    for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        rb_heapprof_digest_number(digest, word);
    }
    word = 0;
    memcpy(&word, at, size);
    if (size) rb_heapprof_digest_number(digest, word);
}

/* Digests, numbered from 1 as they come. A zero struct with mem set is empty. */
struct heapprof_digests {
    struct heapprof_mem    *mem;
    struct heapprof_digest *all;      /* by number; [0] unused */
    size_t                  capacity;
    uint32_t                count;
    struct heapprof_index   index;
};

/* Returns the number of that digest. A new digest is added: count is then larger than before.
 * Returns 0 if there is no memory. */
uint32_t
rb_heapprof_digests_number(struct heapprof_digests *digests, struct heapprof_digest digest);
void rb_heapprof_digests_free(struct heapprof_digests *digests);

#endif
