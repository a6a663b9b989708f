/* pattern.c - compiles the regular expressions that --focus, --ignore and --focus-label take. */
#include "report/pattern.h"

#include <string.h>

bool
report_pattern_compile(const char *pattern, regex_t *regex, const regex_t **where,
                       char error[REPORT_PATTERN_ERROR_MAX])
{
    if (!pattern) return true;
    int code = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (code == 0) {
        *where = regex;
        return true;
    }
    regerror(code, regex, error, REPORT_PATTERN_ERROR_MAX);
    return false;
}

const char *
report_pattern_behind_key(const char *text)
{
    const char *equals = strchr(text, '=');

    return equals && equals > text ? equals + 1 : NULL;
}
