#ifndef HEAPPROF_REPORT_TEXT_H
#define HEAPPROF_REPORT_TEXT_H
/* Amounts and names as people read them. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define REPORT_AMOUNT_MAX 40 /* bytes, with the NUL */

/* Writes "41.4 MB" (of 2^20 bytes, as go tool pprof does), "1.25 s" or "12,345". unit is the
 * sample type's: "bytes", "nanoseconds", "count". An unknown unit stands behind the number. */
void report_amount(char text[REPORT_AMOUNT_MAX], double value, const char *unit);

/* Writes a number with as many digits as it takes to read it back: "0.1", "1e+100", "nan". */
void report_exact(char text[REPORT_AMOUNT_MAX], double value);

/* Returns the noun for that many: one or many. */
const char *report_plural(uint64_t count, const char *one, const char *many);

#define REPORT_COUNT_MAX 80 /* bytes, with the NUL */

/* Writes "1 file", "12,345 files". */
void report_count(char text[REPORT_COUNT_MAX], uint64_t count, const char *one, const char *many);

#define REPORT_LINE_MAX 32 /* bytes, with the NUL */

/* Writes what stands behind the name of a file: ":12". For line 0 it is " (line unknown)". */
void report_line(char text[REPORT_LINE_MAX], int64_t line);

/* Writes a share in percent, "30.2%". */
void report_share(char text[REPORT_AMOUNT_MAX], double part, double whole);

/* Writes at most width columns of text (0: all). A longer text is cut with "..." at its end, or
 * at its start if tail is set. Control characters, invisible characters and bytes that are not
 * UTF-8 are escaped. Returns the columns. */
unsigned report_put(FILE *out, const char *text, unsigned width, bool tail);

/* Writes as fprintf does, for a message with names that cannot be trusted. All is escaped as
 * above, except a newline at its end. */
void report_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_print_arguments(FILE *out, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Writes several lines. Each is escaped as above. */
void report_put_lines(FILE *out, const char *text);

#endif
