/* statement.c - finds the end and the parts of a store in the text.
 *
 * The compiler has said where the store begins. It ends at the next ";" outside parentheses,
 * strings and comments.
 */
#include "barriers/fix/statement.h"

#include <ctype.h>
#include <string.h>

#define LINES_MOST 50

static const char *
trimmed(struct wb_arena *arena, const char *start, const char *end)
{
    while (start < end && isspace((unsigned char)*start)) start++;
    while (end > start && isspace((unsigned char)end[-1])) end--;
    return wb_arena_text(arena, start, (size_t)(end - start));
}

/* Skips a string, a character or a comment. Returns at itself if none begins there. */
static const char *
skip_token(const char *at)
{
    const char *end;
    char quote = *at;

    if (quote == '/' && at[1] == '*') {
        end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    if (quote == '/' && at[1] == '/') return at + strcspn(at, "\n");
    if (quote != '"' && quote != '\'') return at;
    for (at++; *at && *at != quote; at++) {
        if (*at == '\\' && at[1]) at++;
    }
    return *at ? at + 1 : at;
}

/* The first of the wanted characters outside parentheses. Returns NULL if a bracket is closed
 * before it. */
static const char *
find_character(const char *at, const char *wanted)
{
    int depth = 0;

    while (*at) {
        const char *next = skip_token(at);
        if (next != at) {
            at = next;
            continue;
        }
        if (depth == 0 && strchr(wanted, *at)) return at;
        if (strchr("([{", *at)) depth++;
        if (strchr(")]}", *at) && depth-- == 0) return NULL;
        at++;
    }
    return NULL;
}

/* The first "=" that assigns. */
static const char *
find_assignment(const char *at)
{
    while ((at = find_character(at, "=")) != NULL) {
        if (at[1] == '=') at += 2;
        else return at;
    }
    return NULL;
}

/* The text from a place on, a limited number of lines. */
static const char *
text_from(struct wb_arena *arena, const struct wb_text *text, unsigned line, unsigned column)
{
    size_t size = 1, length = 0;

    for (unsigned i = line; i < line + LINES_MOST && wb_line(text, i); i++) {
        size += strlen(wb_line(text, i)) + 1;
    }
    char *whole = wb_arena_take(arena, size);
    for (unsigned i = line; i < line + LINES_MOST && wb_line(text, i); i++) {
        const char *from = wb_line(text, i) + (i == line ? column - 1 : 0);
        size_t bytes = strlen(from);
        memcpy(whole + length, from, bytes);
        whole[length + bytes] = '\n';
        length += bytes + 1;
    }
    return whole;
}

/* A line without the comment at its end. A line for the preprocessor counts as empty. */
static const char *
code_of(struct wb_arena *arena, const char *line)
{
    const char *end = line, *next;

    for (; *end && strncmp(end, "//", 2); end = next == end ? end + 1 : next) {
        next = skip_token(end);
    }
    line = trimmed(arena, line, end);
    return *line == '#' ? "" : line;
}

/* The code before a place. Returns "" if there is none. */
static const char *
code_before(struct wb_arena *arena, const struct wb_text *text, unsigned line, unsigned column)
{
    const char *code = trimmed(arena, wb_line(text, line), wb_line(text, line) + column - 1);

    while (!*code && --line > 0) code = code_of(arena, wb_line(text, line));
    return code;
}

/* True if a statement begins behind that code. */
static bool
begins_p(const char *code)
{
    size_t length = strlen(code);

    if (length == 0 || strchr(";{}):/", code[length - 1])) return true;
    return length >= 4 && !strcmp(code + length - 4, "else");
}

static const char *
read_parts(struct wb_arena *arena, struct wb_statement *statement)
{
    static const char *const copies[] = {"memcpy", "memmove", "MEMCPY", "MEMMOVE"};
    const char *whole = statement->whole, *end = whole + strlen(whole),
        *assignment = find_assignment(whole), *open, *comma;

    if (assignment) {
        if (assignment == whole || strchr("+-*/%&|^<>!", assignment[-1])) {
            return "it is not a plain assignment";
        }
        if (find_character(whole, ",")) return "it is more than an assignment";
        if (find_assignment(assignment + 1)) return "it assigns more than once";
        statement->to = trimmed(arena, whole, assignment);
        statement->value = trimmed(arena, assignment + 1, end);
        return NULL;
    }
    open = strchr(whole, '(');
    comma = open ? find_character(open + 1, ",") : NULL;
    for (size_t i = 0; comma && i < sizeof(copies) / sizeof(copies[0]); i++) {
        if (strcmp(trimmed(arena, whole, open), copies[i])) continue;
        statement->to = trimmed(arena, open + 1, comma);
        return NULL;
    }
    return "it is neither an assignment nor a copy";
}

/* True if another statement may stand between that code and the statement behind it: it is in
 * a block. */
static bool
among_others_p(const char *code)
{
    return *code && strchr(";{}", code[strlen(code) - 1]);
}

/* Reads all but the two sides. */
static const char *
read_whole(struct wb_arena *arena, const struct wb_text *text, unsigned line, unsigned column,
           struct wb_statement *statement)
{
    *statement = (struct wb_statement){ .first = line, .last = line };
    if (!wb_line(text, line) || column == 0 || column > strlen(wb_line(text, line))) {
        return "its text was not found in the file";
    }
    const char *start = text_from(arena, text, line, column);
    const char *end = find_character(start, ";");
    if (!end) return "it is not a statement of its own";
    for (const char *at = start; at < end; at++) statement->last += *at == '\n';
    const char *newline = strchr(end, '\n');
    statement->before = wb_arena_text(arena, wb_line(text, line), column - 1);
    statement->whole = trimmed(arena, start, end);
    statement->behind = wb_arena_text(arena, end + 1, (size_t)(newline - end - 1));
    const char *code = code_before(arena, text, line, column);
    if (!begins_p(code)) return "it is not a statement of its own";
    statement->alone = among_others_p(code);
    return NULL;
}

const char *
wb_statement_read(struct wb_arena *arena, const struct wb_text *text, unsigned line,
                  unsigned column, struct wb_statement *statement)
{
    const char *wrong = read_whole(arena, text, line, column, statement);

    return wrong ? wrong : read_parts(arena, statement);
}

bool
wb_statement_is_call(struct wb_arena *arena, const struct wb_text *text, unsigned line,
                     unsigned column, struct wb_statement *statement)
{
    if (read_whole(arena, text, line, column, statement) || !statement->alone) return false;
    const char *open = strchr(statement->whole, '(');
    const char *close = open ? find_character(open + 1, ")") : NULL;
    return close && !close[1] && !strpbrk(statement->behind, ";}");
}

bool
wb_line_begins_p(struct wb_arena *arena, const struct wb_text *text, unsigned line, unsigned column)
{
    const char *start = wb_line(text, line);
    size_t indent = start ? strspn(start, " \t") : 0;

    if (!start || column <= indent || column > strlen(start)) return false;
    for (size_t i = indent; i + 1 < column; i++) {
        if (strchr("(){};,:?&|\"'/", start[i])) return false;
    }
    return strncmp(start + indent, "else", strlen("else")) &&
           among_others_p(code_before(arena, text, line, (unsigned)indent + 1));
}
