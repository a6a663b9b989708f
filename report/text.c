/* text.c - writes numbers with their units, and names that fit.
 *
 * Names come from files that may be hostile. So bytes that are not UTF-8 are spelled out
 * (base/utf8). Control characters and invisible characters are spelled out, too (base/unseen).
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* wcwidth */
#endif
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"

/* ---- amounts ---- */

/* Writes 12345 as "12,345". */
static void
put_whole(char text[REPORT_AMOUNT_MAX], double value)
{
    char digits[REPORT_AMOUNT_MAX / 2];
    size_t length, out = 0;

    if (!(fabs(value) < 1e15)) {
        snprintf(text, REPORT_AMOUNT_MAX, "%.4g", value);
        return;
    }
    length = (size_t)snprintf(digits, sizeof(digits), "%.0f", fabs(value));
    if (value <= -0.5) text[out++] = '-';
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) text[out++] = ',';
        text[out++] = digits[i];
    }
    text[out] = '\0';
}

struct scale {
    double factor;     /* how many of the unit below it make one */
    const char *name;
};

static const struct scale bytes_scale[] = {
    {1, "B"}, {1024, "kB"}, {1024, "MB"}, {1024, "GB"}, {1024, "TB"}, {1024, "PB"}, {0, NULL}
};
static const struct scale time_scale[] = {
    {1, "ns"}, {1000, "us"}, {1000, "ms"}, {1000, "s"}, {60, "min"}, {60, "h"}, {0, NULL}
};

static const struct {
    const char *unit;
    const struct scale *scale;
    double first;              /* how many of the scale's first unit this unit is */
} units[] = {
    { "bytes", bytes_scale, 1 },         { "byte", bytes_scale, 1 },
    { "kilobytes", bytes_scale, 1024 },  { "megabytes", bytes_scale, 1048576 },
    { "nanoseconds", time_scale, 1 },    { "microseconds", time_scale, 1e3 },
    { "milliseconds", time_scale, 1e6 }, { "seconds", time_scale, 1e9 },
};

static void
put_scaled(char text[REPORT_AMOUNT_MAX], double value, const struct scale *scale)
{
    int places;

    if (fabs(value) < 0.005) value = 0;
    while (scale[1].name && fabs(value) >= scale[1].factor) value /= (++scale)->factor;
    places = fabs(value) >= 99.95 || value == floor(value) ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    snprintf(text, REPORT_AMOUNT_MAX, "%.*f %s", places, value, scale->name);
}

/* Writes the unit behind a number. It comes from the file and may be any text. The part that does
 * not fit is left out. */
static void
put_unit(char *text, size_t size, const char *unit)
{
    char plain[HEAPPROF_UTF8_MAX(REPORT_AMOUNT_MAX)];
    size_t length = rb_heapprof_utf8_piece(unit, strlen(unit), REPORT_AMOUNT_MAX);

    length = rb_heapprof_utf8_plain(plain, unit, length, false);
    snprintf(text, size, " %.*s", (int)rb_heapprof_utf8_piece(plain, length, size - 2), plain);
}

void
report_amount(char text[REPORT_AMOUNT_MAX], double value, const char *unit)
{
    size_t length;

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(unit, units[i].unit)) continue;
        put_scaled(text, value * units[i].first, units[i].scale);
        return;
    }
    put_whole(text, value);
    if (!strcmp(unit, "count") || !unit[0]) return;
    length = strlen(text);
    put_unit(text + length, REPORT_AMOUNT_MAX - length, unit);
}

void
report_exact(char text[REPORT_AMOUNT_MAX], double value)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, REPORT_AMOUNT_MAX, "%.*g", digits, value);
        if (strtod(text, NULL) == value) return;
    }
}

const char *
report_plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

void
report_count(char text[REPORT_COUNT_MAX], uint64_t count, const char *one, const char *many)
{
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, (double)count, "count");
    snprintf(text, REPORT_COUNT_MAX, "%s %s", amount, report_plural(count, one, many));
}

void
report_share(char text[REPORT_AMOUNT_MAX], double part, double whole)
{
    snprintf(text, REPORT_AMOUNT_MAX, "%.1f%%", whole != 0 ? 100 * part / whole : 0.0);
}

void
report_line(char text[REPORT_LINE_MAX], int64_t line)
{
    if (line) snprintf(text, REPORT_LINE_MAX, ":%" PRId64, line);
    else snprintf(text, REPORT_LINE_MAX, " (line unknown)");
}

/* ---- names ---- */

#define NAME_MOST 65536 /* bytes of a name that are read */

static unsigned
columns_of(unsigned code)
{
    int width = wcwidth((wchar_t)code);

    return width < 0 ? 1 : (unsigned)width;
}

/* Returns the text with everything escaped, in a block from malloc, or NULL if there is no
 * memory. */
static char *
escape(const char *text, size_t length, bool lines)
{
    char *escaped = malloc(HEAPPROF_UTF8_MAX(length) + 1);

    if (escaped) escaped[rb_heapprof_utf8_plain(escaped, text, length, lines)] = '\0';
    return escaped;
}

static unsigned
width_of(const char *text)
{
    unsigned width = 0;

    for (size_t size; *text; text += size)
        width += columns_of(rb_heapprof_utf8_character(text, &size));
    return width;
}

/* Writes what fits into that many columns. Returns the columns that it took. */
static unsigned
put_head(FILE *out, const char *text, unsigned room)
{
    unsigned width = 0;

    for (size_t size; *text; text += size) {
        unsigned columns = columns_of(rb_heapprof_utf8_character(text, &size));
        if (width + columns > room) break;
        width += columns;
        fwrite(text, 1, size, out);
    }
    return width;
}

unsigned
report_put(FILE *out, const char *text, unsigned width, bool tail)
{
    size_t length = strlen(text), most = length < NAME_MOST ? length : NAME_MOST, size;
    char *escaped = escape(tail ? text + length - most : text, most, false), *at = escaped;
    unsigned whole, done;

    if (!escaped) return 0;
    whole = width_of(escaped);
    if (most < length && width == 0) width = whole - 1; /* so that a reader sees that it is cut */
    if (width == 0 || whole <= width) done = put_head(out, escaped, whole);
    else if (width < 8) done = put_head(out, escaped, width);
    else if (!tail) {
        done = put_head(out, escaped, width - 3) + 3;
        fputs("...", out);
    }
    else {
        while (whole > width - 3) {
            whole -= columns_of(rb_heapprof_utf8_character(at, &size));
            at += size;
        }
        fputs("...", out);
        done = put_head(out, at, whole) + 3;
    }
    free(escaped);
    return done;
}

void
report_put_lines(FILE *out, const char *text)
{
    char piece[HEAPPROF_UTF8_MAX(256)];
    size_t length = strlen(text), size;

    for (; length > 0; text += size, length -= size) {
        size = rb_heapprof_utf8_piece(text, length, 256);
        fwrite(piece, 1, rb_heapprof_utf8_plain(piece, text, size, true), out);
    }
}

void
report_print_arguments(FILE *out, const char *format, va_list arguments)
{
    char *text;
    int length = vasprintf(&text, format, arguments);

    if (length < 0) return; /* no memory */
    bool line = length > 0 && text[length - 1] == '\n';
    char *escaped = escape(text, (size_t)(length - line), false);
    if (escaped) fprintf(out, line ? "%s\n" : "%s", escaped);
    free(escaped);
    free(text);
}

void
report_print(FILE *out, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    report_print_arguments(out, format, arguments);
    va_end(arguments);
}
