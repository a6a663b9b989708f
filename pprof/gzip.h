#ifndef HEAPPROF_GZIP_H
#define HEAPPROF_GZIP_H
/* One gzip member (RFC 1952), by zlib. */
#include <stddef.h>

/* Compresses data. Returns a block from malloc, with its length in *gzip_size. Returns NULL if
 * there is no memory. Needs no GVL. */
char *rb_heapprof_gzip(const char *data, size_t size, size_t *gzip_size);

#endif
