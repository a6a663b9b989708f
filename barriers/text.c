/* text.c - reads a whole file, and cuts it into lines. */
#include "barriers/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The bytes of a file, and a NUL. Returns NULL as wb_text_read does. */
static char *
read_bytes(struct wb_arena *arena, FILE *file, size_t *size)
{
    struct stat status;

    if (fstat(fileno(file), &status) || !S_ISREG(status.st_mode) ||
        (size_t)status.st_size > WB_TEXT_MOST) {
        return NULL;
    }
    *size = (size_t)status.st_size;
    char *bytes = wb_arena_take(arena, *size + 1);
    *size = fread(bytes, 1, *size, file);
    return memchr(bytes, '\0', *size) ? NULL : bytes;
}

static void
split(struct wb_arena *arena, struct wb_text *text, char *bytes, size_t size)
{
    size_t capacity = 1;

    for (size_t i = 0; i < size; i++) capacity += bytes[i] == '\n';
    text->lines = wb_arena_take(arena, capacity * sizeof(*text->lines));
    text->unended = size > 0 && bytes[size - 1] != '\n';
    for (char *line = bytes; line < bytes + size; ) {
        char *end = strchr(line, '\n');
        text->lines[text->count++] = line;
        if (!end) break;
        *end = '\0';
        line = end + 1;
    }
}

struct wb_text *
wb_text_read(struct wb_arena *arena, const char *path)
{
    FILE *file = fopen(path, "r");
    struct wb_text *text = NULL;
    size_t size;

    if (!file) return NULL;
    char *bytes = read_bytes(arena, file, &size);
    fclose(file);
    if (bytes) {
        text = WB_NEW(arena, struct wb_text);
        text->path = path;
        split(arena, text, bytes, size);
    }
    return text;
}

const struct wb_text *
wb_text_of(struct wb_arena *arena, struct wb_text **texts, const char *path)
{
    struct wb_text *text = *texts;

    while (text && strcmp(text->path, path)) text = text->next;
    if (text) return text;
    text = wb_text_read(arena, path);
    if (!text) {
        text = WB_NEW(arena, struct wb_text);
        text->path = path;
    }
    text->next = *texts;
    return *texts = text;
}

const char *
wb_line(const struct wb_text *text, unsigned number)
{
    return number > 0 && number <= text->count ? text->lines[number - 1] : NULL;
}
