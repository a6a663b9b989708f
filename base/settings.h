#ifndef HEAPPROF_BASE_SETTINGS_H
#define HEAPPROF_BASE_SETTINGS_H
/* Settings in one text, as an environment variable has them: key=value,key=value. A comma ends a value; '=' may be part of it.
 * Nothing is copied; what a key is and what its value may be, its owner says. */
#include <stdbool.h>
#include <stddef.h>

/* Of the text; not ended by NUL. */
struct heapprof_span {
    const char *start;
    size_t length;
};

struct heapprof_setting {
    struct heapprof_span all;    /* without the comma */
    struct heapprof_span key;    /* of "key": all of it */
    struct heapprof_span value;  /* of "key": start is NULL */
};

/* The setting that text begins with, which may be empty. Returns where the next one begins; NULL: it was the last. */
const char *rb_heapprof_setting_read(const char *text, struct heapprof_setting *setting);

bool rb_heapprof_span_is_p(struct heapprof_span span, const char *text);

/* "key=value: expected a number": one line whatever the text holds, as control characters become '?', and of a long setting only the
 * beginning is quoted. */
void rb_heapprof_setting_complain(char *message, size_t size, const struct heapprof_setting *setting, const char *lead,
                                  const char *accepted);

#endif
