#ifndef HEAPPROF_PPROF_WRITER_H
#define HEAPPROF_PPROF_WRITER_H
/* Writes a profile in pprof's format (pprof.proto), thing by thing, in the order in which the
 * functions are declared here. Strings are an exception: they may come at any time. Numbers of
 * strings, functions, locations and mappings are the format's own. Strings are numbered as they are
 * written, and 0 is the empty one. The caller numbers the other things, from 1.
 *
 * If memory is refused, the writer has failed. Later writes then do nothing, and close says so. So
 * only a long loop needs to ask whether it has failed.
 *
 * One writer is used by one thread at a time. Memory is from malloc: the output, and a part of
 * bounded size, whatever the size of the profile.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heapprof_writer;

/* Returns NULL if there is no memory. */
struct heapprof_writer *rb_heapprof_writer_open(void);

/* Adds a string to the string table and returns its number. Text that is not UTF-8 is made so
 * (base/utf8.h). */
uint32_t rb_heapprof_writer_string(struct heapprof_writer *writer, const char *text, size_t length);

/* A profile's own words, written first, so that the number of each is a constant: a list
 * TEXTS(T) of T(NAME, "text") makes the enum and the array, and TEXT_EMPTY, "" comes first.
 *
 *     enum text { TEXTS(HEAPPROF_TEXT_NUMBER) TEXT_END };
 *     static const char *const texts[] = { TEXTS(HEAPPROF_TEXT) };
 *     rb_heapprof_writer_texts(writer, texts, TEXT_END);
 */
#define HEAPPROF_TEXT_NUMBER(name, text) TEXT_##name,
#define HEAPPROF_TEXT(name, text) text,
void
rb_heapprof_writer_texts(struct heapprof_writer *writer, const char *const *texts, uint32_t end);

/* The meaning of the samples' values, in their order, and which one a reader shows at first. */
void rb_heapprof_writer_sample_type(struct heapprof_writer *writer, uint32_t type, uint32_t unit);
void rb_heapprof_writer_default_sample_type(struct heapprof_writer *writer, uint32_t type);

/* The quantity by which samples are drawn, and how much of it lies between two samples. */
void rb_heapprof_writer_period(struct heapprof_writer *writer, uint32_t type, uint32_t unit,
                               uint64_t period);

/* When the profile was taken (ns since the epoch), and how long before that it began. */
void rb_heapprof_writer_time(struct heapprof_writer *writer, int64_t time_ns, int64_t duration_ns);

/* A binary whose functions, files and lines are all in the profile. */
void rb_heapprof_writer_mapping(struct heapprof_writer *writer, uint32_t id, uint32_t filename,
                                uint32_t build_id);

void rb_heapprof_writer_function(struct heapprof_writer *writer, uint32_t id, uint32_t name,
                                 uint32_t filename, uint32_t start_line);

/* A line of a function. */
void rb_heapprof_writer_location(struct heapprof_writer *writer, uint32_t id, uint32_t mapping,
                                 uint32_t function, uint32_t number);

/* A sample: its locations, innermost first, a value for each sample type, its labels. */
void rb_heapprof_writer_begin_sample(struct heapprof_writer *writer);
void rb_heapprof_writer_sample_location(struct heapprof_writer *writer, uint32_t location);
void rb_heapprof_writer_sample_value(struct heapprof_writer *writer, int64_t value);
void rb_heapprof_writer_label(struct heapprof_writer *writer, uint32_t key, uint32_t string);
void rb_heapprof_writer_number_label(struct heapprof_writer *writer, uint32_t key, int64_t number,
                                     uint32_t unit);
void rb_heapprof_writer_end_sample(struct heapprof_writer *writer);

void rb_heapprof_writer_comment(struct heapprof_writer *writer, uint32_t comment);

bool rb_heapprof_writer_failed_p(const struct heapprof_writer *writer);

/* Frees the writer. Returns the encoded message in a block from malloc, with its length in
 * *size. Returns NULL if the writer has failed. */
char *rb_heapprof_writer_close(struct heapprof_writer *writer, size_t *size);

#endif
