/* error_block.c - finds an address in Valgrind's words. */
#include "memcheck/valgrind/error_block.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool
skip_text(const char **text, const char *expected)
{
    size_t length = strlen(expected);

    if (strncmp(*text, expected, length) != 0) return false;
    *text += length;
    return true;
}

/* The number may have commas at the thousands. */
static bool
skip_number(const char **text, int64_t *number)
{
    const char *begin = *text;

    for (*number = 0; isdigit((unsigned char)**text) || **text == ','; ++*text) {
        if (**text == ',') continue;
        if (*number > INT64_MAX / 100) return false;
        *number = *number * 10 + (**text - '0');
    }
    return *text > begin;
}

bool
memcheck_error_block_read(const char *text, struct memcheck_error_block *block)
{
    static const char *const sides[] = {"inside ", "after ", "before "};
    enum {INSIDE, AFTER, BEFORE, SIDES} side = INSIDE;
    int64_t distance;

    if (!skip_text(&text, "Address 0x")) return false;
    char *end;
    uint64_t address = strtoull(text, &end, 16);
    text = end;
    if (!skip_text(&text, " is ") || !skip_number(&text, &distance) ||
        !skip_text(&text, " bytes ")) return false;
    while (side < SIDES && !skip_text(&text, sides[side])) side++;
    if (!skip_text(&text, "a block of size ") || !skip_number(&text, &block->bytes) ||
        strcmp(text, " alloc'd") != 0) return false;
    block->address = side == BEFORE ? address + (uint64_t)distance : address - (uint64_t)distance;
    if (side == AFTER) block->address -= (uint64_t)block->bytes;
    return true;
}
