#ifndef HEAPPROF_SOURCE_H
#define HEAPPROF_SOURCE_H
/* Bytes that come from somewhere, gzip'd (RFC 1952, any number of members) or not, to be looked
 * at through a window that is as large as its user asks. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heapprof_source;

/* Up to size bytes more into buffer; returns how many, 0 at the end, -1 with errno set. */
typedef ptrdiff_t heapprof_more_i(void *data, void *buffer, size_t size);

/* NULL when there is no memory. */
struct heapprof_source *rb_heapprof_source_open(heapprof_more_i *more, void *data);
void rb_heapprof_source_close(struct heapprof_source *source);

/* Has at least count bytes in the window, if so many are left; returns how many there are,
 * which may be more, and where in *bytes, good until the next call. Fewer than count: the
 * source has ended, or failed. Memory grows with what has come, not with count. */
size_t rb_heapprof_source_need(struct heapprof_source *source, size_t count,
                               const unsigned char **bytes);

/* Goes on behind so many bytes of the window. */
void rb_heapprof_source_skip(struct heapprof_source *source, size_t count);

/* How many bytes, unpacked, lie before the window. */
uint64_t rb_heapprof_source_position(const struct heapprof_source *source);

/* What went wrong, in a line, if something has; otherwise NULL. */
const char *rb_heapprof_source_error(const struct heapprof_source *source);

#endif
