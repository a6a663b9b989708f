/* protect.c - finds where the flag goes in an initialiser: behind other flags, in the place of
 * 0, or as a new member. */
#include "barriers/fix/protect.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FLAG "RUBY_TYPED_WB_PROTECTED"

static const char no_place[] = "its initialiser is written in a way that is not understood";

static const char *
lines(struct wb_arena *arena, const char *format, ...)
{
    char text[2000];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return length < (int)sizeof(text) ? wb_arena_text(arena, text, (size_t)length) : NULL;
}

static const char *
replace(struct wb_edit *edit, unsigned line, const char *text)
{
    *edit = (struct wb_edit){line, line, text};
    return text ? NULL : "its line is too long";
}

static bool
word_p(char character)
{
    return isalnum((unsigned char)character) || character == '_';
}

/* Adds the flag after the flags that the type has, or replaces 0. */
static const char *
add_to_flags(struct wb_arena *arena, const struct wb_data_type *type, const struct wb_text *text,
             struct wb_edit *edit)
{
    const char *line = wb_line(text, type->flags_end.line);
    size_t at = type->flags_end.column - 1;

    if (!line || at == 0 || at > strlen(line) || (!word_p(line[at - 1]) && line[at - 1] != ')') ||
        memchr(line, '?', at)) {
        return no_place;
    }
    bool zero = type->flagless && line[at - 1] == '0' && (at == 1 || !word_p(line[at - 2]));
    return replace(edit, type->flags_end.line,
                   zero ? lines(arena, "%.*s" FLAG "%s\n", (int)at - 1, line, line + at)
                        : lines(arena, "%.*s | " FLAG "%s\n", (int)at, line, line + at));
}

static size_t
without_blanks(const char *line, size_t length)
{
    while (length > 0 && isspace((unsigned char)line[length - 1])) length--;
    return length;
}

/* Adds a line at the end of an initialiser whose brace stands on a line of its own. */
static const char *
add_line(struct wb_arena *arena, const struct wb_text *text, unsigned brace, struct wb_edit *edit)
{
    const char *line = wb_line(text, brace - 1);
    size_t length = line ? without_blanks(line, strlen(line)) : 0;
    int indent = line ? (int)strspn(line, " \t") : 0;

    if (length == 0 || line[indent] == '#' || strchr("/{", line[length - 1])) return no_place;
    if (line[length - 1] == ',') {
        *edit = (struct wb_edit){brace, brace - 1,
                                 lines(arena, "%.*s.flags = " FLAG ",\n", indent, line)};
        return NULL;
    }
    if (strstr(line, "//")) return no_place;
    return replace(edit, brace - 1,
                   lines(arena, "%.*s,\n%.*s.flags = " FLAG "\n", (int)length, line, indent, line));
}

static const char *
add_flags(struct wb_arena *arena, const struct wb_data_type *type, const struct wb_text *text,
          struct wb_edit *edit)
{
    const char *line = wb_line(text, type->end.line), *suffix = strrchr(text->path, '.');
    size_t at = type->end.column - 2, length;

    if (!type->names && !(suffix && !strcmp(suffix, ".c"))) return "its initialiser has no flags";
    if (!line || type->end.column < 2 || at >= strlen(line) || line[at] != '}') return no_place;
    length = without_blanks(line, at);
    if (length == 0) return add_line(arena, text, type->end.line, edit);
    return replace(edit, type->end.line,
                   lines(arena, "%.*s%s .flags = " FLAG " %s\n", (int)length, line,
                                               line[length - 1] == ',' ? "" : ",", line + at));
}

const char *
wb_protect(struct wb_arena *arena, const struct wb_data_type *type, const struct wb_text *text,
           struct wb_edit *edit)
{
    if (type->place.macro) return "it is in a macro";
    if (type->end.file != type->place.file) return no_place;
    if (type->flags_end.file) return add_to_flags(arena, type, text, edit);
    return add_flags(arena, type, text, edit);
}
