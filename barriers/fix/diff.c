/* diff.c - writes a unified diff.
 *
 * A hunk begins three lines before its first edit, and ends three lines behind its last one.
 * Edits whose lines of context touch share a hunk.
 */
#include "barriers/fix/diff.h"

#include <string.h>

#define CONTEXT 3

static unsigned
lines_in(const char *text)
{
    unsigned count = 0;

    for (; *text; text++) count += *text == '\n';
    return count;
}

static void
write_line(FILE *out, char sign, const struct wb_text *text, unsigned number)
{
    fprintf(out, "%c%s\n", sign, wb_line(text, number));
    if (number == text->count && text->unended) fputs("\\ No newline at end of file\n", out);
}

static void
write_new(FILE *out, const char *text)
{
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        fprintf(out, "+%.*s\n", (int)(end - text), text);
    }
}

static unsigned
context_start(const struct wb_edit *edit)
{
    return edit->first > CONTEXT ? edit->first - CONTEXT : 1;
}

static unsigned
context_end(const struct wb_text *text, const struct wb_edit *edit)
{
    return edit->last + CONTEXT < text->count ? edit->last + CONTEXT : (unsigned)text->count;
}

/* shift: the lines that earlier hunks have added. Returns it for the next hunk. */
static int
write_hunk(FILE *out, const struct wb_text *text, const struct wb_edit *edits, size_t count,
           int shift)
{
    unsigned line = context_start(&edits[0]), end = context_end(text, &edits[count - 1]);
    int added = 0;

    for (size_t i = 0; i < count; i++) {
        added += (int)lines_in(edits[i].text) - (int)(edits[i].last + 1 - edits[i].first);
    }
    fprintf(out, "@@ -%u,%u +%d,%d @@\n", line, end + 1 - line, (int)line + shift,
            (int)(end + 1 - line) + added);
    for (size_t i = 0; i < count; i++) {
        while (line < edits[i].first) write_line(out, ' ', text, line++);
        while (line <= edits[i].last) write_line(out, '-', text, line++);
        write_new(out, edits[i].text);
    }
    while (line <= end) write_line(out, ' ', text, line++);
    return shift + added;
}

void
wb_write_diff(FILE *out, const char *name, const struct wb_text *text, const struct wb_edit *edits,
              size_t count)
{
    size_t next;
    int shift = 0;

    fprintf(out, "--- a/%s\n+++ b/%s\n", name, name);
    for (size_t i = 0; i < count; i = next) {
        for (next = i + 1; next < count &&
             context_start(&edits[next]) <= context_end(text, &edits[next - 1]) + 1; ) {
            next++;
        }
        shift = write_hunk(out, text, edits + i, next - i, shift);
    }
}
