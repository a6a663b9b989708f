/* digest.c - the secret, and a hash index over digests. A digest is its own hash. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* getrandom */
#endif
#include "pprof/digest.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>

static struct heapprof_digest secret;

static void
draw(void)
{
    if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret)) {
        secret.a = (uint64_t)time(NULL);
        secret.b = (uintptr_t)&secret;
    }
}

struct heapprof_digest
rb_heapprof_digest_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, draw);
    return secret;
}

static uint64_t
hash_of(const void *owner, uint32_t number)
{
    return ((const struct heapprof_digests *)owner)->all[number].a;
}

uint32_t
rb_heapprof_digests_number(struct heapprof_digests *digests, struct heapprof_digest digest)
{
    uint32_t number;

    for (uint64_t probe = digest.a; (number = rb_heapprof_index_at(&digests->index, probe));
         probe++) {
        if (digests->all[number].a == digest.a && digests->all[number].b == digest.b) return number;
    }
    if (!HEAPPROF_MEM_GROW(digests->mem, digests->all, digests->capacity,
                           (size_t)digests->count + 2) ||
        !rb_heapprof_index_reserve(&digests->index, digests->mem, digests->count, hash_of, digests))
        return 0;
    digests->all[++digests->count] = digest;
    rb_heapprof_index_insert(&digests->index, digest.a, digests->count);
    return digests->count;
}

void
rb_heapprof_digests_free(struct heapprof_digests *digests)
{
    if (!digests->mem) return;
    HEAPPROF_MEM_RELEASE(digests->mem, digests->all, digests->capacity);
    rb_heapprof_index_release(&digests->index, digests->mem);
    digests->count = 0;
}
