/* out.c - makes file names of templates of file names.
 *
 *     "heapprof-%p.pb.gz"  -->  "heapprof-4711.pb.gz"
 *               ^ one of the letters below; another letter stays as it is, with its '%'
 *
 * Pure: no allocation, no locale, no environment. May run anywhere.
 */
#include "profiler/out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool
rb_heapprof_out_template_p(const char *text, size_t length)
{
    size_t i;

    for (i = 0; i < length; i++) {
        if (text[i] != '%') continue;
        if (++i == length || !memchr("petn%", text[i], 5)) return false;
    }
    return true;
}

bool
rb_heapprof_out_letter_p(const char *text, char letter)
{
    for (; *text; text++) {
        if (*text != '%' || text[1] == '\0') continue;
        if (*++text == letter) return true;
    }
    return false;
}

/* Where the suffix of its last component begins. */
static size_t
suffix_of(const char *text)
{
    const char *slash = strrchr(text, '/');
    const char *component = slash ? slash + 1 : text;
    size_t end = (size_t)(component - text) + strspn(component, ".");

    return end + strcspn(text + end, ".");
}

void
rb_heapprof_out_with_pid(const char *text, char *distinct, size_t size)
{
    size_t end = suffix_of(text);
    const char *mark = rb_heapprof_out_letter_p(text, 'p') ? "" : "-%p";

    snprintf(distinct, size, "%.*s%s%s", (int)end, text, mark, text + end);
}

bool
rb_heapprof_out_with_mark(const char *text, const char *mark, char *distinct, size_t size)
{
    size_t end = suffix_of(text);
    const char *number = rb_heapprof_out_letter_p(text, 'n') ? "" : "-%n";

    int length =
        snprintf(distinct, size, "%.*s-at%.*s%s%s", (int)end, text, (int)strcspn(mark, "%"), mark,
                 number, text + end);

    return length >= 0 && (size_t)length < size;
}

static const char *
last_component(const char *program)
{
    const char *slash = strrchr(program, '/');

    return slash ? slash + 1 : program;
}

/* Returns what %letter stands for. A number is written into digits. Returns NULL if the letter
 * is unknown. */
static const char *
expansion(char letter, const struct heapprof_out_values *values, char *digits, size_t size)
{
    switch (letter) {
      case '%':
        return "%";
      case 'e':
        return last_component(values->program);
      case 'p':
        snprintf(digits, size, "%ld", values->pid);
        return digits;
      case 't':
        snprintf(digits, size, "%" PRId64, values->time);
        return digits;
      case 'n':
        snprintf(digits, size, "%u", values->number);
        return digits;
      default:
        return NULL;
    }
}

bool
rb_heapprof_out_expand(const char *template_text, const struct heapprof_out_values *values,
                       char *path, size_t size)
{
    char digits[32];
    size_t used = 0;

    while (*template_text) {
        const char *text = *template_text == '%' ?
            expansion(template_text[1], values, digits, sizeof(digits)) : NULL;
        size_t length = text ? strlen(text) : 1;
        if (length >= size - used) return false;
        memcpy(path + used, text ? text : template_text, length);
        used += length;
        template_text += text ? 2 : 1;
    }
    path[used] = '\0';
    return true;
}
