/* makefile.c - reads assignments of a Makefile, and expands variables. It knows no rules and
 * runs nothing. */
#include "barriers/read/makefile.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST  ((size_t)4 << 20)  /* bytes */
#define VALUE_MOST ((size_t)1 << 17)  /* bytes of an expanded value; the rest is cut off */
#define DEPTH_MOST 20                 /* of nested variables */
#define STEPS_MOST 10000              /* variables expanded for one value */

struct wb_setting {
    const char        *name, *value;
    struct wb_setting *next;
};

/* ---- reading ---- */

static const char *
find_value(const struct wb_makefile *makefile, const char *name, size_t length)
{
    const struct wb_setting *setting = makefile->settings;

    while (setting && (strncmp(setting->name, name, length) || setting->name[length])) {
        setting = setting->next;
    }
    return setting ? setting->value : "";
}

static void
set_value(struct wb_makefile *makefile, const char *name, size_t length, const char *value,
          bool adds)
{
    struct wb_setting *setting = WB_NEW(makefile->arena, struct wb_setting);
    const char *before = adds ? find_value(makefile, name, length) : "";
    size_t size = strlen(before) + strlen(value) + 2;
    char *whole = wb_arena_take(makefile->arena, size);

    snprintf(whole, size, "%s%s%s", before, *before ? " " : "", value);
    setting->name = wb_arena_text(makefile->arena, name, length);
    setting->value = whole;
    setting->next = makefile->settings;
    makefile->settings = setting;
}

/* Reads "NAME = value", also with := ?= +=. Any other line is a rule, or of no use here. */
static void
read_line(struct wb_makefile *makefile, char *line)
{
    size_t length = 0, operator;

    while (isalnum((unsigned char)line[length]) || (line[length] && strchr("_.-", line[length]))) {
        length++;
    }
    operator = length + strspn(line + length, " \t");
    if (length == 0 || !line[operator]) return;
    char *value = line + operator + (strchr(":?+", line[operator]) != NULL);
    if (*value != '=') return;
    value += 1 + strspn(value + 1, " \t");
    set_value(makefile, line, length, value, line[operator] == '+');
}

/* A line that ends with a backslash continues on the next one. */
static void
read_lines(struct wb_makefile *makefile, char *text)
{
    while (*text) {
        char *end = text + strcspn(text, "\n");
        while (*end && end > text && end[-1] == '\\') {
            end[-1] = *end = ' ';
            end += strcspn(end, "\n");
        }
        if (*end) *end++ = '\0';
        read_line(makefile, text);
        text = end;
    }
}

int
wb_makefile_read(struct wb_makefile *makefile, const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = malloc(FILE_MOST + 1);
    size_t size;
    int error = 0;

    if (!text) wb_out_of_memory();
    if (file) {
        size = fread(text, 1, FILE_MOST, file);
        text[size] = '\0';
        if (ferror(file)) error = errno;
        else if (size == FILE_MOST) error = EFBIG;
        else read_lines(makefile, text);
        fclose(file);
    }
    else error = errno;
    free(text);
    return error;
}

/* ---- values ---- */

struct wb_expansion {
    char    *bytes;
    size_t   length;
    unsigned steps;
};

static void expand(const struct wb_makefile *makefile, const char *value, struct wb_expansion *into,
                   unsigned depth);

/* Expands the variable or function behind "$". Returns the text behind it. */
static const char *
expand_one(const struct wb_makefile *makefile, const char *at, struct wb_expansion *into,
           unsigned depth)
{
    char close = *at == '(' ? ')' : '}';

    if (*at != '(' && *at != '{') return *at ? at + 1 : at;
    const char *end = strchr(at, close);
    if (!end) return at + strlen(at);
    size_t length = strcspn(++at, ":)} ");
    if (at[length] != ' ') expand(makefile, find_value(makefile, at, length), into, depth + 1);
    return end + 1;
}

static void
expand(const struct wb_makefile *makefile, const char *value, struct wb_expansion *into,
       unsigned depth)
{
    if (depth > DEPTH_MOST || into->steps++ > STEPS_MOST) return;
    while (*value && into->length < VALUE_MOST) {
        if (value[0] == '$' && value[1] != '$') {
            value = expand_one(makefile, value + 1, into, depth);
        }
        else {
            into->bytes[into->length++] = *value;
            value += value[0] == '$' ? 2 : 1;
        }
    }
}

const char *
wb_makefile_value(const struct wb_makefile *makefile, const char *name)
{
    struct wb_expansion text = { .bytes = malloc(VALUE_MOST) };

    if (!text.bytes) wb_out_of_memory();
    expand(makefile, find_value(makefile, name, strlen(name)), &text, 0);
    const char *value = wb_arena_text(makefile->arena, text.bytes, text.length);
    free(text.bytes);
    return value;
}

/* ---- words ---- */

/* Copies a word without its quotes to *into, and moves *into behind it. Returns where the next
 * word begins. */
static const char *
take_word(const char *at, char **into)
{
    char quote = 0, *word = *into;

    for (; *at && (quote || !isspace((unsigned char)*at)); at++) {
        if (*at == quote) quote = 0;
        else if (!quote && (*at == '\'' || *at == '"')) quote = *at;
        else {
            if (*at == '\\' && quote != '\'' && at[1]) at++;
            *word++ = *at;
        }
    }
    *word = '\0';
    *into = word + 1;
    return at + strspn(at, " \t\r\n");
}

const char **
wb_words(struct wb_arena *arena, const char *text)
{
    const char **words = wb_arena_take(arena, (strlen(text) / 2 + 2) * sizeof(*words));
    char *into = wb_arena_take(arena, strlen(text) + 1);
    size_t count = 0;

    text += strspn(text, " \t\r\n");
    while (*text) {
        words[count++] = into;
        text = take_word(text, &into);
    }
    return words;
}
