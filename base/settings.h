#ifndef HEAPPROF_BASE_SETTINGS_H
#define HEAPPROF_BASE_SETTINGS_H
/* Settings in one text, as an environment variable has them: key=value,key=value. A comma ends a
 * value; '=' may be part of it. Nothing is copied. The caller knows the keys and their values. */
#include <stdbool.h>
#include <stddef.h>

/* A part of the text, without a NUL at its end. */
struct heapprof_span {
    const char *start;
    size_t length;
};

struct heapprof_setting {
    struct heapprof_span all;    /* the setting without the comma */
    struct heapprof_span key;    /* all of a setting without '=' */
    struct heapprof_span value;  /* start is NULL for a setting without '=' */
};

/* Reads the setting that text begins with, which may be empty. Returns where the next one begins,
 * or NULL after the last. */
const char *rb_heapprof_setting_read(const char *text, struct heapprof_setting *setting);

/* Whether the part of the text is equal to text. */
bool rb_heapprof_span_is_p(struct heapprof_span span, const char *text);

/* Writes a message such as "key=value: expected a number". It is always one line: control
 * characters become '?', and only the beginning of a long setting is quoted. */
void
rb_heapprof_setting_complain(char *message, size_t size, const struct heapprof_setting *setting,
                             const char *lead, const char *accepted);

#endif
