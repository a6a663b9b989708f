#ifndef HEAPPROF_REPORT_TEXT_H
#define HEAPPROF_REPORT_TEXT_H
/* Amounts and names as people read them. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define REPORT_AMOUNT_MAX 40 /* bytes, with the NUL */

/* "41.4 MB" (of 2^20 bytes, as go tool pprof has it), "1.25 s", "12,345"; unit is the sample type's, as
 * "bytes", "nanoseconds", "count". An unknown one stands behind the number. */
void report_amount(char text[REPORT_AMOUNT_MAX], double value, const char *unit);

/* A share in percent, "30.2%". */
void report_share(char text[REPORT_AMOUNT_MAX], double part, double whole);

/* Writes text, at most width columns of it (0: all), cut with "..." at its end, or at its start if tail is
 * what matters. What a terminal obeys, what is not seen, and what is not UTF-8, is escaped. Returns the columns. */
unsigned report_put(FILE *out, const char *text, unsigned width, bool tail);

/* A message, or a line, that has names of anybody's in it: as fprintf, and escaped as above, except a newline at its end. */
void report_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_print_arguments(FILE *out, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* Several lines, which are escaped as above. */
void report_put_lines(FILE *out, const char *text);

#endif
