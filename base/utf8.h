#ifndef HEAPPROF_UTF8_H
#define HEAPPROF_UTF8_H
/* Names as valid UTF-8, since a pprof reader may insist on that; and as text that is safe to look
 * at. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes that text of this length can become. */
#define HEAPPROF_UTF8_MAX(length) ((length) * 4)

/* Copies text to out, which has room for HEAPPROF_UTF8_MAX(length) bytes. Returns the length of the
 * copy. A byte that is not part of valid UTF-8 becomes a backslash, an x and two upper case hex
 * digits, as Ruby's inspect shows it. The rest stays as it is. */
size_t rb_heapprof_utf8_copy(char *out, const char *text, size_t length);

/* The same. In addition, each byte of a character of base/unseen.h is written like that. With
 * lines, newlines stay. */
size_t rb_heapprof_utf8_plain(char *out, const char *text, size_t length, bool lines);

/* The character that text, which is well-formed UTF-8, begins with. *size gets its bytes. */
uint32_t rb_heapprof_utf8_character(const char *text, size_t *size);

/* Where to cut a text that is longer than most bytes: at most at that many, and so that no
 * well-formed character is cut in two. most is 4 or more. */
size_t rb_heapprof_utf8_piece(const char *text, size_t length, size_t most);

#endif
