/* names.c - functions by what they are called. */
#include "attach/names.h"

#include <string.h>

#define NAMED (UINT64_C(1) << 62) /* so that no key is 0 */

void
rb_heapprof_text_add(struct heapprof_text *text, const char *bytes, size_t length)
{
    size_t room = sizeof(text->bytes) - text->length;

    if (length > room) length = room;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

void
rb_heapprof_text_add_cstr(struct heapprof_text *text, const char *bytes)
{
    rb_heapprof_text_add(text, bytes, strlen(bytes));
}

void
rb_heapprof_names_init(struct heapprof_names *names, struct heapprof_mem *mem)
{
    rb_heapprof_strings_init(&names->strings, mem);
    rb_heapprof_functions_init(&names->functions, mem);
}

void
rb_heapprof_names_free(struct heapprof_names *names)
{
    rb_heapprof_functions_free(&names->functions);
    rb_heapprof_strings_free(&names->strings);
}

uint32_t
rb_heapprof_names_function(struct heapprof_names *names, const struct heapprof_text *name,
                           const struct heapprof_text *path, uint32_t first_line, bool cfunc)
{
    struct heapprof_function function = {.owner = first_line, .first_line = first_line, .cfunc = cfunc};

    function.name = rb_heapprof_strings_intern(&names->strings, name->bytes, name->length);
    function.path = rb_heapprof_strings_intern(&names->strings, path->bytes, path->length);
    if (function.name == UINT32_MAX || function.path == UINT32_MAX) return 0;
    function.origin = (uint64_t)function.name << 32 | function.path | NAMED | (cfunc ? HEAPPROF_ORIGIN_C : 0);

    uint32_t number = rb_heapprof_functions_find(&names->functions, function.origin, function.owner);
    return number ? number : rb_heapprof_functions_add(&names->functions, &function);
}

static void
add_interned(const struct heapprof_names *names, uint32_t string, struct heapprof_text *text)
{
    size_t length;
    const char *bytes = rb_heapprof_names_text(names, string, &length);

    rb_heapprof_text_add(text, bytes, length);
}

uint32_t
rb_heapprof_names_called_from(struct heapprof_names *names, uint32_t c_function, uint32_t caller)
{
    struct heapprof_text name = {0}, path = {0};

    add_interned(names, rb_heapprof_names_get(names, c_function)->name, &name);
    add_interned(names, rb_heapprof_names_get(names, caller)->path, &path);
    return rb_heapprof_names_function(names, &name, &path, 0, true);
}

uint32_t
rb_heapprof_names_mark(struct heapprof_names *names, const char *name)
{
    struct heapprof_text text = {0}, none = {0};

    rb_heapprof_text_add_cstr(&text, name);
    return rb_heapprof_names_function(names, &text, &none, 0, true);
}
