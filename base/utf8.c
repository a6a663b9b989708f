/* utf8.c - makes any bytes valid UTF-8 without losing what they were.
 *
 * Ruby names and paths are bytes in some encoding. protobuf's strings must be UTF-8. With other
 * bytes readers differ: pprof takes them, strict readers refuse the whole profile. So bytes that
 * do not belong to a well-formed sequence are spelled out.
 *
 * Well-formed is as Unicode's table of byte sequences has it: shortest form, no
 * surrogates, nothing above U+10FFFF. All three are limits on the second byte alone:
 *
 *     first byte   bytes   second byte
 *     00..7F         1     -
 *     C2..DF         2     80..BF
 *     E0             3     A0..BF    (below: longer than needed)
 *     ED             3     80..9F    (above: surrogates)
 *     E1..EF else    3     80..BF
 *     F0             4     90..BF    (below: longer than needed)
 *     F4             4     80..8F    (above: beyond U+10FFFF)
 *     F1..F3         4     80..BF
 *
 * Pure functions; may be called anywhere.
 */
#include "base/utf8.h"

#include <string.h>

#include "base/unseen.h"

static size_t
sequence_length(unsigned char first)
{
    if (first < 0x80) return 1;
    if (first < 0xC2) return 0;
    if (first < 0xE0) return 2;
    if (first < 0xF0) return 3;
    return first < 0xF5 ? 4 : 0;
}

static int
second_byte_p(unsigned char first, unsigned char second)
{
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;

    return low <= second && second <= high;
}

/* Bytes of the well-formed sequence that text starts with; 0 if it starts with none. */
static size_t
well_formed(const unsigned char *text, size_t length)
{
    size_t n = sequence_length(text[0]);

    if (n > length) return 0;
    if (n > 1 && !second_byte_p(text[0], text[1])) return 0;
    for (size_t i = 2; i < n; i++) {
        if ((text[i] & 0xC0) != 0x80) return 0;
    }
    return n;
}

static size_t
spell_byte(char *out, unsigned char byte)
{
    static const char digits[] = "0123456789ABCDEF";

    out[0] = '\\';
    out[1] = 'x';
    out[2] = digits[byte >> 4];
    out[3] = digits[byte & 15];
    return 4;
}

/* With plain, unseen characters are spelled; with lines, newlines are not. */
static size_t
copy(char *out, const char *text, size_t length, bool plain, bool lines)
{
    const unsigned char *in = (const unsigned char *)text;
    char *start = out;

    for (size_t i = 0, n; i < length; i += n) {
        size_t size;
        n = well_formed(in + i, length - i);
        bool spelled =
            n == 0 || (plain && rb_heapprof_unseen_p(rb_heapprof_utf8_character(text + i, &size)));
        if (n == 0) n = 1;
        if (!spelled || (lines && text[i] == '\n')) {
            memcpy(out, in + i, n);
            out += n;
        }
        else {
            for (size_t byte = 0; byte < n; byte++) out += spell_byte(out, in[i + byte]);
        }
    }
    return (size_t)(out - start);
}

size_t
rb_heapprof_utf8_copy(char *out, const char *text, size_t length)
{
    return copy(out, text, length, false, false);
}

size_t
rb_heapprof_utf8_plain(char *out, const char *text, size_t length, bool lines)
{
    return copy(out, text, length, true, lines);
}

uint32_t
rb_heapprof_utf8_character(const char *text, size_t *size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t n = sequence_length(bytes[0]);
    uint32_t code = n == 1 ? bytes[0] : bytes[0] & (0x7fu >> n);

    for (size_t i = 1; i < n; i++) code = code << 6 | (bytes[i] & 0x3f);
    *size = n;
    return code;
}

size_t
rb_heapprof_utf8_piece(const char *text, size_t length, size_t most)
{
    size_t size = most;

    if (length <= most) return length;
    while (size > most - 4 && ((unsigned char)text[size] & 0xc0) == 0x80) size--;
    return size;
}
