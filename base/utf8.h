#ifndef HEAPPROF_UTF8_H
#define HEAPPROF_UTF8_H
/* Names as valid UTF-8, which is what a pprof reader may insist on; and as text that is safe to look at. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most bytes that text of this length can become. */
#define HEAPPROF_UTF8_MAX(length) ((length) * 4)

/* Copies text to out, which holds HEAPPROF_UTF8_MAX(length) bytes, and returns the
 * length of the copy. A byte that is not part of valid UTF-8 becomes a backslash, an x
 * and two upper case hex digits, as Ruby's inspect shows it; all else stays as it is. */
size_t rb_heapprof_utf8_copy(char *out, const char *text, size_t length);

/* The same; and each byte of a character that is not seen, or that a terminal obeys (base/unseen.h), is spelled, too. With lines,
 * newlines stay. */
size_t rb_heapprof_utf8_plain(char *out, const char *text, size_t length, bool lines);

/* The character that well-formed UTF-8 begins with; *size: its bytes. */
uint32_t rb_heapprof_utf8_character(const char *text, size_t *size);

/* Where to cut text, longer than so many bytes, at the most: no well-formed character of it is in both pieces. most is 4 or
 * more. */
size_t rb_heapprof_utf8_piece(const char *text, size_t length, size_t most);

#endif
