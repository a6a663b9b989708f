/* text.c - a stack as one text; see text.h. */
#include "text.h"
#include "ruby/debug.h"
#include <stdio.h>
#include <string.h>

#define MAX_FRAMES 1024
#define MAX_TEXT (MAX_FRAMES * 200)

/* Of the place where an object is born, and of a row: while the latter is made into a Ruby string,
 * an object is born. */
static struct text {
    size_t length;
    size_t last;              /* where the last line begins */
    char bytes[MAX_TEXT];
} here, there;

static void
text_clear(struct text *text)
{
    text->length = text->last = 0;
    text->bytes[0] = '\0';
}

static void
text_add(struct text *text, const char *path, unsigned int lineno)
{
    char *line = text->bytes + text->length;
    size_t left = sizeof(text->bytes) - text->length;
    size_t length = (size_t)snprintf(line, left, "%s:%u\n", path, lineno);

    if (length >= left) rb_bug("census: text too long");
    if (lineno == 0 || strncmp(line, "<internal:", 10) == 0 ||
        (length == text->length - text->last &&
         memcmp(line, text->bytes + text->last, length) == 0)) {
        *line = '\0';
        return;
    }
    text->last = text->length;
    text->length += length;
}

static int
starts_with_p(VALUE string, const char *start)
{
    return (size_t)RSTRING_LEN(string) >= strlen(start) &&
           memcmp(RSTRING_PTR(string), start, strlen(start)) == 0;
}

/* A rescue or ensure is a frame on top of its method's; a backtrace has one for both. */
static int
stands_for_outer_p(VALUE label)
{
    return starts_with_p(label, "rescue in ") || starts_with_p(label, "ensure in ");
}

const char *
census_text_of_this_place(void)
{
    static VALUE frames[MAX_FRAMES];
    static int lines[MAX_FRAMES];
    int count = rb_profile_frames(0, MAX_FRAMES, frames, lines);
    int skip = 0;

    if (count == MAX_FRAMES) rb_bug("census: stack too deep");
    text_clear(&here);
    for (int i = 0; i < count; i++) {
        VALUE path = rb_profile_frame_path(frames[i]); /* nil: a C method */
        if (NIL_P(path)) continue;
        VALUE real = rb_profile_frame_absolute_path(frames[i]);
        int skipped = skip;
        skip = stands_for_outer_p(rb_profile_frame_label(frames[i]));
        /* Of the innermost frame it does not say the line in compiled code. */
        if (i == 0 && lines[0] == 0) lines[0] = rb_sourceline();
        if (skipped) continue;
        text_add(&here, RSTRING_PTR(NIL_P(real) ? path : real), (unsigned int)lines[i]);
    }
    return here.bytes;
}

const char *
census_text_of_row(const struct rb_heapprof_row *row)
{
    text_clear(&there);
    for (size_t i = 0; i < row->frame_count; i++) {
        text_add(&there, row->frames[i].path, row->frames[i].lineno);
    }
    return there.bytes;
}
