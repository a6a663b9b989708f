#ifndef HEAPPROF_REPORT_PATTERN_H
#define HEAPPROF_REPORT_PATTERN_H
/* A regular expression that a user typed, and what is wrong with it in words. */
#include <regex.h>
#include <stdbool.h>

#define REPORT_PATTERN_ERROR_MAX 128

/* Compiles a POSIX extended expression that only answers "matches or not". Sets *where to regex,
 * which the caller gives back with regfree. A pattern of NULL leaves *where as it is. Returns
 * false if the pattern is wrong; then error says why. */
bool report_pattern_compile(const char *pattern, regex_t *regex, const regex_t **where,
                            char error[REPORT_PATTERN_ERROR_MAX]);

/* What is wrong with a text that has no key, for a printf with the text. */
#define REPORT_PATTERN_KEY_MISSING "expected KEY=RE, as endpoint=^/cart, got '%.60s'"

/* The pattern of KEY=RE. Returns NULL if there is no key. */
const char *report_pattern_behind_key(const char *text);

#endif
