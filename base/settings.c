/* settings.c - settings in one text: cut at commas, each at its first '='. */
#include "base/settings.h"

#include <stdio.h>
#include <string.h>

#define QUOTED_MAX 64 /* characters of a setting that a message repeats */

const char *
rb_heapprof_setting_read(const char *text, struct heapprof_setting *setting)
{
    size_t length = strcspn(text, ",");
    const char *equals = memchr(text, '=', length);

    *setting = (struct heapprof_setting){.all = {text, length}, .key = {text, length}};
    if (equals) {
        setting->key.length = (size_t)(equals - text);
        setting->value = (struct heapprof_span){equals + 1, length - setting->key.length - 1};
    }
    return text[length] ? text + length + 1 : NULL;
}

bool
rb_heapprof_span_is_p(struct heapprof_span span, const char *text)
{
    return strlen(text) == span.length && memcmp(span.start, text, span.length) == 0;
}

void
rb_heapprof_setting_complain(char *message, size_t size, const struct heapprof_setting *setting,
                             const char *lead, const char *accepted)
{
    static const struct heapprof_span nothing = {"(nothing)", 9};
    struct heapprof_span quoted = setting->all.length ? setting->all : nothing;
    bool cut_p = quoted.length > QUOTED_MAX;

    if (size == 0) return;
    snprintf(message, size, "%.*s%s: %s%s", cut_p ? QUOTED_MAX : (int)quoted.length, quoted.start,
             cut_p ? "..." : "", lead, accepted);
    for (char *c = message; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    }
}
