#ifndef HEAPPROF_READ_AT_H
#define HEAPPROF_READ_AT_H
/* Bytes of a file at an offset. The file is read and not mapped. So if the file has become
 * shorter, that is an error, and no signal comes. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies so many bytes at the offset to `to`. Returns false if the file has fewer, or cannot be
 * read; `to` may have a part of them then. The place in the file at which read goes on stays. */
bool rb_heapprof_read_at(int file, uint64_t offset, void *to, size_t bytes);

#endif
