#ifndef HEAPPROF_GZIP_H
#define HEAPPROF_GZIP_H
/* One gzip member (RFC 1952), by zlib. */
#include <stddef.h>

/* data compressed, in a block from malloc, its length in *gzip_size; NULL when
 * there is no memory. Needs no GVL. */
char *rb_heapprof_gzip(const char *data, size_t size, size_t *gzip_size);

#endif
