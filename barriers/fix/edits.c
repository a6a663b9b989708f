/* edits.c - keeps edits apart: two that change the same line cannot both be made. */
#include "barriers/fix/edits.h"

#include <stdlib.h>
#include <string.h>

#include "barriers/report/report.h"

struct wb_planned {
    const struct wb_text *text;
    struct wb_edit        edit;
    size_t                number;  /* in the order in which edits were added */
};

static bool
insertion_p(const struct wb_edit *edit)
{
    return edit->last < edit->first;
}

/* True if both change a line, or one inserts within the other. */
static bool
overlap_p(const struct wb_edit *one, const struct wb_edit *other)
{
    if (insertion_p(one) && insertion_p(other)) return false;
    if (insertion_p(one)) return other->first < one->first && one->first <= other->last;
    if (insertion_p(other)) return overlap_p(other, one);
    return one->first <= other->last && other->first <= one->last;
}

static bool
same_p(const struct wb_edit *one, const struct wb_edit *other)
{
    return one->first == other->first && one->last == other->last &&
           !strcmp(one->text, other->text);
}

const char *
wb_edits_add(struct wb_edits *edits, const struct wb_text *text, const struct wb_edit *edit)
{
    if (*wb_shown_path(text->path, edits->directory) == '/') {
        return "its file is not below the current directory";
    }
    for (size_t i = 0; i < edits->count; i++) {
        const struct wb_planned *planned = &edits->all[i];
        if (planned->text != text) continue;
        if (insertion_p(edit) && same_p(&planned->edit, edit)) return NULL;
        if (overlap_p(&planned->edit, edit)) return "another fix changes the same line";
    }
    if (edits->count == edits->capacity) {
        struct wb_planned *larger;
        edits->capacity = edits->capacity * 2 + 16;
        larger = wb_arena_take(edits->arena, edits->capacity * sizeof(*larger));
        if (edits->count) memcpy(larger, edits->all, edits->count * sizeof(*larger));
        edits->all = larger;
    }
    edits->all[edits->count] = (struct wb_planned){text, *edit, edits->count};
    edits->count++;
    return NULL;
}

void
wb_edits_keep(struct wb_edits *edits, size_t count)
{
    edits->count = count;
}

/* An insertion before a line precedes an edit that replaces the line. */
static int
compare(const void *one, const void *other)
{
    const struct wb_planned *a = one, *b = other;
    int order = strcmp(a->text->path, b->text->path);

    if (order == 0) order = (a->edit.first > b->edit.first) - (a->edit.first < b->edit.first);
    if (order == 0) order = insertion_p(&b->edit) - insertion_p(&a->edit);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

void
wb_edits_write(FILE *out, struct wb_edits *edits)
{
    struct wb_edit *of_file = wb_arena_take(edits->arena, (edits->count + 1) * sizeof(*of_file));
    size_t next;

    if (edits->count) qsort(edits->all, edits->count, sizeof(*edits->all), compare);
    for (size_t i = 0; i < edits->count; i = next) {
        const struct wb_text *text = edits->all[i].text;
        for (next = i; next < edits->count && edits->all[next].text == text; next++) {
            of_file[next - i] = edits->all[next].edit;
        }
        wb_write_diff(out, wb_shown_path(text->path, edits->directory), text, of_file, next - i);
    }
}
