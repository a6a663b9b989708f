#ifndef HEAPPROF_SOURCE_H
#define HEAPPROF_SOURCE_H
/* Bytes that come from a caller's function, gzip'd (RFC 1952, any number of members) or not.
 * They are seen through a window that is as large as the caller needs. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heapprof_source;

/* Copies up to size more bytes into buffer. Returns how many, 0 at the end, -1 with errno set. */
typedef ptrdiff_t heapprof_more_i(void *data, void *buffer, size_t size);

/* Returns NULL if there is no memory. */
struct heapprof_source *rb_heapprof_source_open(heapprof_more_i *more, void *data);
void rb_heapprof_source_close(struct heapprof_source *source);

/* Brings at least count bytes into the window, if so many are left. Returns how many bytes the
 * window has, which may be more. *bytes is their place, good until the next call. If there are
 * fewer than count, the source has ended or failed. Memory grows with the bytes that have come,
 * not with count. */
size_t rb_heapprof_source_need(struct heapprof_source *source, size_t count,
                               const unsigned char **bytes);

/* Moves the window's beginning on by so many bytes. */
void rb_heapprof_source_skip(struct heapprof_source *source, size_t count);

/* Returns how many bytes, unpacked, lie before the window. */
uint64_t rb_heapprof_source_position(const struct heapprof_source *source);

/* Says in one line what went wrong. Returns NULL if nothing has. */
const char *rb_heapprof_source_error(const struct heapprof_source *source);

#endif
