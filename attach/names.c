/* names.c - numbers functions by their names. */
#include "attach/names.h"

#include <string.h>

#define NAMED (UINT64_C(1) << 62) /* so that no key is 0 */

void
attach_text_add(struct attach_text *text, const char *bytes, size_t length)
{
    size_t room = sizeof(text->bytes) - text->length;

    if (length > room) length = room;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

void
attach_text_add_cstr(struct attach_text *text, const char *bytes)
{
    attach_text_add(text, bytes, strlen(bytes));
}

void
attach_names_init(struct attach_names *names, struct heapprof_mem *mem)
{
    rb_heapprof_strings_init(&names->strings, mem);
    rb_heapprof_functions_init(&names->functions, mem);
}

void
attach_names_free(struct attach_names *names)
{
    rb_heapprof_functions_free(&names->functions);
    rb_heapprof_strings_free(&names->strings);
}

uint32_t
attach_names_function(struct attach_names *names, const struct attach_text *name,
                      const struct attach_text *path, uint32_t first_line, bool cfunc)
{
    struct heapprof_function function = { .owner = first_line,
                                          .first_line = first_line,
                                          .cfunc = cfunc };

    function.name = rb_heapprof_strings_intern(&names->strings, name->bytes, name->length);
    function.path = rb_heapprof_strings_intern(&names->strings, path->bytes, path->length);
    if (function.name == UINT32_MAX || function.path == UINT32_MAX) return 0;
    function.origin =
        (uint64_t)function.name << 32 | function.path | NAMED | (cfunc ? HEAPPROF_ORIGIN_C : 0);

    uint32_t number =
        rb_heapprof_functions_find(&names->functions, function.origin, function.owner);
    return number ? number : rb_heapprof_functions_add(&names->functions, &function);
}

static void
add_interned(const struct attach_names *names, uint32_t string, struct attach_text *text)
{
    size_t length;
    const char *bytes = attach_names_text(names, string, &length);

    attach_text_add(text, bytes, length);
}

uint32_t
attach_names_called_from(struct attach_names *names, uint32_t c_function, uint32_t caller)
{
    struct attach_text name = {0}, path = {0};

    add_interned(names, attach_names_get(names, c_function)->name, &name);
    add_interned(names, attach_names_get(names, caller)->path, &path);
    return attach_names_function(names, &name, &path, 0, true);
}

uint32_t
attach_names_mark(struct attach_names *names, const char *name)
{
    struct attach_text text = {0}, none = {0};

    attach_text_add_cstr(&text, name);
    return attach_names_function(names, &text, &none, 0, true);
}
