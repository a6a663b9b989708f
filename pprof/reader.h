#ifndef HEAPPROF_READER_H
#define HEAPPROF_READER_H
/* Reads a profile in pprof's format, gzip'd or not. Any program may have written it: Go's runtime,
 * Datadog's, py-spy, ours, or a hostile one.
 *
 * The outermost message is read piece by piece. Of its content only the model stays in memory. For
 * profiles as programs write them, that is less than twice the file's unpacked size. Whatever is in
 * the file, it is at most 24 times that size. Time is in proportion to that size. Sizes beyond
 * HEAPPROF_READER_MOST are refused. */
#include "pprof/model.h"
#include "pprof/source.h"

#define HEAPPROF_READER_MOST (UINT32_MAX - UINT32_C(1)) /* bytes, unpacked */
#define HEAPPROF_READER_ERROR_MAX 256                   /* bytes of a message, with its NUL */

/* Reads the profile that comes from more (source.h), of at most `most` bytes. Returns NULL if
 * it cannot; error then has one line, without a newline, such as "sample 17: location 99 is not
 * in the file". */
struct heapprof_model *rb_heapprof_reader_read(heapprof_more_i *more, void *data, uint64_t most,
                                               char error[HEAPPROF_READER_ERROR_MAX]);

/* The same for bytes in memory. */
struct heapprof_model *rb_heapprof_reader_read_bytes(const void *bytes, size_t size,
                                                     char error[HEAPPROF_READER_ERROR_MAX]);

#endif
