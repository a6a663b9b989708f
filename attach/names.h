#ifndef HEAPPROF_ATTACH_NAMES_H
#define HEAPPROF_ATTACH_NAMES_H
/* The functions that were seen, of one process or of several. A function is known by what it is called:
 * name, file and first line. So code that is loaded again, or in another process, is the same function. */
#include "base/strings.h"
#include "profiler/functions.h"

#define HEAPPROF_TEXT_MAX 1024 /* bytes of a name or path that are read; the rest is left out */

struct heapprof_text {
    size_t length;
    char   bytes[HEAPPROF_TEXT_MAX];
};

/* Appends as much as there is room for. */
void rb_heapprof_text_add(struct heapprof_text *text, const char *bytes, size_t length);
void rb_heapprof_text_add_cstr(struct heapprof_text *text, const char *bytes);

struct heapprof_names {
    struct heapprof_strings strings;
    struct heapprof_functions functions;
};

/* Empty ones; mem must outlive them. */
void rb_heapprof_names_init(struct heapprof_names *names, struct heapprof_mem *mem);
void rb_heapprof_names_free(struct heapprof_names *names);

/* The number of that function; 0: no memory. One of C has no file and no line of its own. */
uint32_t rb_heapprof_names_function(struct heapprof_names *names, const struct heapprof_text *name,
                                    const struct heapprof_text *path, uint32_t first_line, bool cfunc);

/* A function of C as it is shown: with the file of the Ruby function that called it. 0: no memory. */
uint32_t rb_heapprof_names_called_from(struct heapprof_names *names, uint32_t c_function, uint32_t caller);

/* A function that stands for what is no Ruby code, as "(torn)". 0: no memory. */
uint32_t rb_heapprof_names_mark(struct heapprof_names *names, const char *name);

static inline const struct heapprof_function *
rb_heapprof_names_get(const struct heapprof_names *names, uint32_t function)
{
    return rb_heapprof_functions_get(&names->functions, function);
}

/* A name or path of a function, with a NUL at its end; good until the next function is added. *length may be NULL. */
static inline const char *
rb_heapprof_names_text(const struct heapprof_names *names, uint32_t string, size_t *length)
{
    return rb_heapprof_strings_get(&names->strings, string, length);
}

#endif
