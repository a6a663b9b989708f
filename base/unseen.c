/* unseen.c - the one table of characters that are escaped wherever a name of anybody's is shown.
 *
 * They are those of Unicode that have one of these properties:
 *
 *     Cc                            control characters: a terminal obeys them (C0, DEL, C1)
 *     Cf                            format characters: direction marks and overrides, joiners,
 *                                   the byte order mark, tags, ...
 *     Zl, Zp                        line and paragraph separators
 *     Noncharacter_Code_Point       no text has them
 *     Default_Ignorable_Code_Point  a renderer shows nothing for them: fillers, variation
 *                                   selectors, ...
 *
 * The ranges are those of Unicode 15.0, which MRI 3.4 has, too. test/ruby/test_unseen.rb
 * compares each code point with what MRI's regular expressions say of it.
 */
#include "base/unseen.h"

#include <stddef.h>

static const struct {
    uint32_t first, last;
} ranges[] = {
    { 0x0000, 0x001f },   { 0x007f, 0x009f },   { 0x00ad, 0x00ad },   { 0x034f, 0x034f },
    { 0x0600, 0x0605 },   { 0x061c, 0x061c },   { 0x06dd, 0x06dd },   { 0x070f, 0x070f },
    { 0x0890, 0x0891 },   { 0x08e2, 0x08e2 },   { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },
    { 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f },
    { 0x3164, 0x3164 },   { 0xfdd0, 0xfdef },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
    { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },   { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd },
    { 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

bool
rb_heapprof_unseen_p(uint32_t code)
{
    if (code >= 0x20 && code < 0x7f) return false; /* most are */
    if ((code & 0xfffe) == 0xfffe) return true;    /* the last two of each plane */
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]) && ranges[i].first <= code; i++) {
        if (code <= ranges[i].last) return true;
    }
    return false;
}
