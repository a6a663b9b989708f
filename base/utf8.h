#ifndef HEAPPROF_UTF8_H
#define HEAPPROF_UTF8_H
/* Names as valid UTF-8, which is what a pprof reader may insist on. */
#include <stddef.h>

/* Most bytes that text of this length can become. */
#define HEAPPROF_UTF8_MAX(length) ((length) * 4)

/* Copies text to out, which holds HEAPPROF_UTF8_MAX(length) bytes, and returns the
 * length of the copy. A byte that is not part of valid UTF-8 becomes a backslash, an x
 * and two upper case hex digits, as Ruby's inspect shows it; all else stays as it is. */
size_t rb_heapprof_utf8_copy(char *out, const char *text, size_t length);

#endif
