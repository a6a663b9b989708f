/* utf8.c - makes any bytes valid UTF-8 without losing what they were.
 *
 * Ruby names and paths are bytes in some encoding. protobuf's strings must be UTF-8, and
 * readers differ in what they do with others: pprof takes them, strict ones refuse the
 * whole profile. So bytes that do not belong to a well-formed sequence are spelled out.
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

/* Bytes of the well-formed sequence that text starts with, 0 when there is none. */
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

size_t
rb_heapprof_utf8_copy(char *out, const char *text, size_t length)
{
    const unsigned char *in = (const unsigned char *)text;
    char *start = out;

    for (size_t i = 0, n; i < length; i += n) {
        n = well_formed(in + i, length - i);
        if (n > 0) {
            memcpy(out, in + i, n);
            out += n;
        }
        else {
            out += spell_byte(out, in[i]);
            n = 1;
        }
    }
    return (size_t)(out - start);
}
