/* sources.c - writes the lines of source around the lines that frames are at.
 *
 * It takes (file, line) of all frames, in order. Then it goes file by file through the lines
 * around them:
 *
 *     used      7        12                     40
 *     block   [2 .......... 17]            [35 ... 45]
 */
#include "cli/sources.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/text.h"

#define AROUND    5                /* lines before and after one that is used */
#define LINE_MOST 400              /* bytes of a line; the rest of the line is left out */
#define FILE_MOST ((size_t)4 << 20)
#define ALL_MOST  ((size_t)8 << 20) /* bytes of lines that are put, of all files together */

struct text {
    char  *bytes;
    size_t size;
    bool   changed; /* the file is newer than the profile */
};

struct blocks {
    struct report_json *json;
    size_t   lines;      /* put so far, of all files */
    uint32_t end;        /* the line after the last one put; 0 if none was put */
    size_t   bytes;      /* put so far, of all files */
};

/* ---- which lines ---- */

bool
cli_sources_add(struct cli_sources *sources, const char *path, uint32_t file, uint32_t line)
{
    if (!HEAPPROF_ARRAY_GROW(sources->places, sources->capacity, sources->count + 1)) return false;
    sources->places[sources->count++] = (struct cli_source_place){path, file, line};
    return true;
}

void
cli_sources_free(struct cli_sources *sources)
{
    free(sources->places);
    cli_source_roots_free(&sources->roots);
}

static int
compare_places(const void *a, const void *b)
{
    const struct cli_source_place *one = a, *other = b;

    if (one->file != other->file) return one->file < other->file ? -1 : 1;
    return (one->line > other->line) - (one->line < other->line);
}

/* ---- which files ---- */

static bool
source_name_p(const char *path)
{
    static const char suffixes[] =
        " rb rake ru rbi gemspec jbuilder erb haml slim builder thor "
        "c h cc cpp cxx hpp go py pyx rs java kt scala js mjs ts php ex exs lua ";
    const char *dot = strrchr(path, '.');
    char word[16];

    if (!dot || strchr(dot, '/') || strlen(dot) > 10 || strchr(dot, ' ')) return false;
    word[0] = ' ';
    strcpy(word + 1, dot + 1);
    strcat(word, " ");
    return dot[1] && strstr(suffixes, word);
}

/* Reads up to FILE_MOST bytes of a regular file. Returns false if there is nothing to show. */
static bool
read_text(int fd, const char *path, int64_t time_ns, struct text *text)
{
    struct stat status;
    ssize_t got;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return false;
    text->size = (size_t)status.st_size < FILE_MOST ? (size_t)status.st_size : FILE_MOST;
    text->changed = time_ns > 0 && status.st_mtim.tv_sec > time_ns / 1000000000;
    text->bytes = malloc(text->size);
    got = text->bytes ? read(fd, text->bytes, text->size) : -1;
    text->size = got > 0 ? (size_t)got : 0;
    return source_name_p(path) || (text->size > 2 && !memcmp(text->bytes, "#!", 2));
}

static bool
open_text(struct cli_sources *sources, const char *path, struct text *text)
{
    bool outside, there;
    int fd = cli_source_roots_open(&sources->roots, path, &outside);

    *text = (struct text){0};
    if (outside && source_name_p(path)) sources->outside++;
    if (fd < 0) return false;
    there = read_text(fd, path, sources->time_ns, text);
    close(fd);
    return there;
}

/* ---- the lines ---- */

static void
put_line(struct blocks *blocks, const char *line, size_t length)
{
    if (length > 0 && line[length - 1] == '\r') length--;
    if (length > LINE_MOST) length = LINE_MOST;
    report_json_string(blocks->json, line, length);
    blocks->bytes += length;
    blocks->lines++;
}

static void
begin_block(struct blocks *blocks, uint32_t line)
{
    report_json_begin(blocks->json, '[');
    report_json_unsigned(blocks->json, line);
    report_json_begin(blocks->json, '[');
}

static void
end_block(struct blocks *blocks)
{
    if (!blocks->end) return;
    report_json_end(blocks->json, ']');
    report_json_end(blocks->json, ']');
}

/* Goes through the text once. places are the places in this file, in order. */
static void
put_blocks(struct blocks *blocks, const struct text *text, const struct cli_source_place *places,
           size_t count)
{
    const char *at = text->bytes, *end = text->bytes + text->size;
    size_t next = 0; /* the first place whose surroundings are not yet passed */

    blocks->end = 0;
    for (uint32_t line = 1; at < end && blocks->bytes < ALL_MOST; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        while (next < count && (uint64_t)places[next].line + AROUND < line) next++;
        if (next == count) break;
        if (places[next].line <= (uint64_t)line + AROUND) {
            if (blocks->end != line) {
                end_block(blocks);
                begin_block(blocks, line);
            }
            put_line(blocks, at, length);
            blocks->end = line + 1;
        }
        at = newline ? newline + 1 : end;
    }
    end_block(blocks);
}

static void
put_file(struct blocks *blocks, struct cli_sources *sources, const struct cli_source_place *places,
         size_t count)
{
    struct report_json *json = blocks->json;
    struct text text;

    if (open_text(sources, places[0].path, &text)) {
        size_t before = blocks->lines;
        report_json_begin(json, '{');
        report_json_member_unsigned(json, "file", places[0].file);
        report_json_member_bool(json, "changed", text.changed);
        report_json_member_begin(json, "blocks", '[');
        put_blocks(blocks, &text, places, count);
        sources->files += blocks->lines > before;
        report_json_end(json, ']');
        report_json_end(json, '}');
    }
    free(text.bytes);
}

void
cli_put_sources(struct report_json *json, void *data)
{
    struct cli_sources *sources = data;
    struct cli_source_place *places = sources->places;
    struct blocks blocks = {.json = json};

    if (sources->count) qsort(places, sources->count, sizeof(*places), compare_places);
    report_json_begin(json, '[');
    for (size_t first = 0, end; first < sources->count && blocks.bytes < ALL_MOST; first = end) {
        for (end = first; end < sources->count && places[end].file == places[first].file; end++);
        put_file(&blocks, sources, places + first, end - first);
    }
    report_json_end(json, ']');
    sources->lines = blocks.lines;
}

void
cli_put_no_sources(struct report_json *json, void *data)
{
    (void)data;
    report_json_begin(json, '[');
    report_json_end(json, ']');
}

void
cli_sources_say(const struct cli_sources *sources, const char *command)
{
    if (sources->files + sources->outside == 0) return;
    char lines[REPORT_COUNT_MAX], files[REPORT_COUNT_MAX], outside[REPORT_COUNT_MAX];

    report_count(lines, sources->lines, "line", "lines");
    report_count(files, sources->files, "source file", "source files");
    report_count(outside, sources->outside, "file is", "files are");
    if (sources->files) {
        fprintf(stderr, "%s: the page has %s of %s in it (--no-sources leaves them out)", command,
                lines, files);
    }
    else fprintf(stderr, "%s: the page has no sources in it", command);
    if (sources->outside) {
        fprintf(stderr,
                "; %s not where sources are read: name the program's directory by --sources=DIR",
                outside);
    }
    fputc('\n', stderr);
}
