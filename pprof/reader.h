#ifndef HEAPPROF_READER_H
#define HEAPPROF_READER_H
/* Reads a profile in pprof's format, gzip'd or not, from anybody: Go's runtime, Datadog's,
 * py-spy's, ours; or from somebody hostile.
 *
 * The outermost message is read piece by piece, and of what it holds only the model stays: for
 * profiles as programs write them less than twice the file's unpacked size, whatever is in the
 * file at most 24 times. Time is in proportion to that size. Sizes beyond HEAPPROF_READER_MOST
 * are refused. */
#include "pprof/model.h"
#include "pprof/source.h"

#define HEAPPROF_READER_MOST (UINT32_MAX - UINT32_C(1)) /* bytes, unpacked */
#define HEAPPROF_READER_ERROR_MAX 256                   /* bytes of a message, with its NUL */

/* Reads the profile that comes from more (source.h), of at most `most` bytes. Returns NULL with
 * one line in error, without a newline, such as "sample 17: location 99 is not in the file". */
struct heapprof_model *rb_heapprof_reader_read(heapprof_more_i *more, void *data, uint64_t most,
                                               char error[HEAPPROF_READER_ERROR_MAX]);

/* The same for bytes in memory. */
struct heapprof_model *rb_heapprof_reader_read_bytes(const void *bytes, size_t size,
                                                     char error[HEAPPROF_READER_ERROR_MAX]);

#endif
