#ifndef ATTACH_NAMES_H
#define ATTACH_NAMES_H
/* The functions that were seen, in one process or in several. A function is identified by its name,
 * file and first line. So code that is loaded again, or by another process, is the same
 * function. */
#include "base/strings.h"
#include "profiler/functions.h"

#define ATTACH_TEXT_MAX 1024 /* bytes of a name or path; the rest is not read */

struct attach_text {
    size_t length;
    char   bytes[ATTACH_TEXT_MAX];
};

/* Appends as many bytes as fit. */
void attach_text_add(struct attach_text *text, const char *bytes, size_t length);
void attach_text_add_cstr(struct attach_text *text, const char *bytes);

struct attach_names {
    struct heapprof_strings strings;
    struct heapprof_functions functions;
    uint32_t looks;             /* how many programs have been opened that are seen with them */
};

/* Begins with no names; mem must outlive them. */
void attach_names_init(struct attach_names *names, struct heapprof_mem *mem);
void attach_names_free(struct attach_names *names);

/* The number of that function; 0 without memory. A C function has no file and no line of its
 * own. */
uint32_t attach_names_function(struct attach_names *names, const struct attach_text *name,
                               const struct attach_text *path, uint32_t first_line, bool cfunc);

/* A C function as it is shown: with the file of the Ruby function that called it. 0 without
 * memory. */
uint32_t attach_names_called_from(struct attach_names *names, uint32_t c_function, uint32_t caller);

/* A function that stands for something other than Ruby code, such as "(torn)". 0 without memory. */
uint32_t attach_names_mark(struct attach_names *names, const char *name);

static inline const struct heapprof_function *
attach_names_get(const struct attach_names *names, uint32_t function)
{
    return rb_heapprof_functions_get(&names->functions, function);
}

/* A name or path of a function, with a NUL at its end; valid until the next function is added.
 * length may be NULL. */
static inline const char *
attach_names_text(const struct attach_names *names, uint32_t string, size_t *length)
{
    return rb_heapprof_strings_get(&names->strings, string, length);
}

#endif
