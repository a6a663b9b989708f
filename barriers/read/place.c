/* place.c - where a thing stands (file, line, macro), and its key, which is the same in all
 * files. */
#include "barriers/read/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The absolute path of a file, which the caller frees. Returns NULL if it is not known. */
static char *
path_of(CXFile file)
{
    CXString real = clang_File_tryGetRealPathName(file);
    const char *text = clang_getCString(real);
    char *path = text && *text ? strdup(text) : NULL;

    clang_disposeString(real);
    return path;
}

bool
wb_in_file_p(struct wb_reader *reader, CXSourceLocation location)
{
    CXFile file;

    clang_getExpansionLocation(location, &file, NULL, NULL, NULL);
    return file && clang_File_isEqual(file, reader->file);
}

/* The USR of a static thing names its file without the directory. Two extensions may both have
 * a parser.c. */
const char *
wb_key(struct wb_reader *reader, CXCursor cursor)
{
    CXString usr = clang_getCursorUSR(cursor);
    const char *text = clang_getCString(usr), *key;
    bool here = clang_getCursorLinkage(cursor) == CXLinkage_Internal &&
                wb_in_file_p(reader, clang_getCursorLocation(cursor));
    const char *of = reader->values && wb_of_template_p(cursor) ? "<VALUE>" : "";
    size_t size = strlen(text) + strlen(of) + strlen(reader->path) + 2;
    char *whole = malloc(size);

    if (!whole) wb_out_of_memory();
    snprintf(whole, size, "%s%s %s", text, of, here ? reader->path : "");
    key = wb_name(reader->program, whole);
    free(whole);
    clang_disposeString(usr);
    return key;
}

/* ---- macros ---- */

static int
compare_uses(const void *one, const void *other)
{
    const struct wb_use *a = one, *b = other;
    int order = (a->line > b->line) - (a->line < b->line);

    return order ? order : (a->column > b->column) - (a->column < b->column);
}

/* libclang does not say in which macro a place is. So the uses of macros in the file are kept.
 * They come in order, and an outer one comes before those within it: of several at one place
 * the outermost is kept. */
void
wb_add_use(struct wb_reader *reader, CXCursor cursor)
{
    CXCursor definition = clang_getCursorReferenced(cursor);
    struct wb_use use = { .macro = wb_spelling(reader, cursor) };
    CXFile file;

    clang_getExpansionLocation(clang_getCursorLocation(cursor), NULL, &use.line, &use.column, NULL);
    clang_getExpansionLocation(clang_getCursorLocation(definition), &file, &use.defined, NULL,
                               NULL);
    if (reader->use_count > 0 && compare_uses(&reader->uses[reader->use_count - 1], &use) >= 0) {
        return;
    }
    char *path = file ? path_of(file) : NULL;
    if (path && !wb_of_ruby_p(reader, definition)) {
        use.file = wb_name(reader->program, path);
        if (!HEAPPROF_MEM_GROW(&reader->program->mem, reader->uses, reader->use_capacity,
                               reader->use_count + 1)) wb_out_of_memory();
        reader->uses[reader->use_count++] = use;
    }
    free(path);
}

/* A thing that begins in the text of a macro is taken to begin where the macro is used. */
static void
place_in_macro(struct wb_reader *reader, CXSourceLocation location, struct wb_place *place)
{
    struct wb_use wanted = {0}, *found;

    if (!wb_in_file_p(reader, location)) return;
    clang_getExpansionLocation(location, NULL, &wanted.line, &wanted.column, NULL);
    found = reader->use_count == 0 ? NULL :
            bsearch(&wanted, reader->uses, reader->use_count, sizeof(*reader->uses), compare_uses);
    if (!found) return;
    place->macro = found->macro;
    place->macro_file = found->file;
    place->macro_line = found->defined;
}

/* ---- places ---- */

static struct wb_place
place_at(struct wb_reader *reader, CXSourceLocation location)
{
    struct wb_place place = {0};
    CXString presumed;
    CXFile file;

    clang_getPresumedLocation(location, &presumed, &place.line, &place.column);
    clang_getExpansionLocation(location, &file, NULL, NULL, NULL);
    char *path = file ? path_of(file) : NULL;
    if (path) {
        CXString name = clang_getFileName(file);
        bool renamed = strcmp(clang_getCString(name), clang_getCString(presumed)) != 0;
        place.file = wb_name(reader->program, renamed ? clang_getCString(presumed) : path);
        clang_disposeString(name);
    }
    clang_disposeString(presumed);
    free(path);
    place_in_macro(reader, location, &place);
    return place;
}

struct wb_place
wb_place_of(struct wb_reader *reader, CXCursor cursor)
{
    return place_at(reader, clang_getRangeStart(clang_getCursorExtent(cursor)));
}

struct wb_place
wb_place_behind(struct wb_reader *reader, CXCursor cursor)
{
    return place_at(reader, clang_getRangeEnd(clang_getCursorExtent(cursor)));
}

/* ---- Ruby's headers ---- */

/* These two headers show where Ruby's headers are. */
void
wb_find_ruby_i(CXFile file, CXSourceLocation *stack, unsigned stack_size, CXClientData data)
{
    static const char *const signs[] = {"ruby/ruby.h", "ruby/config.h"};
    struct wb_reader *reader = data;
    char *path = path_of(file);
    size_t length = path ? strlen(path) : 0;

    (void)stack, (void)stack_size;
    for (int i = 0; path && i < 2; i++) {
        size_t sign = strlen(signs[i]);
        if (reader->ruby[i] || length <= sign || strcmp(path + length - sign, signs[i])) continue;
        reader->ruby[i] = strndup(path, length - sign + strlen("ruby/"));
    }
    free(path);
}

bool
wb_of_ruby_p(struct wb_reader *reader, CXCursor cursor)
{
    CXFile file;
    bool of_ruby = false;

    clang_getExpansionLocation(clang_getCursorLocation(cursor), &file, NULL, NULL, NULL);
    char *path = file ? path_of(file) : NULL;
    for (int i = 0; path && i < 2 && !of_ruby; i++) {
        of_ruby = reader->ruby[i] && !strncmp(path, reader->ruby[i], strlen(reader->ruby[i]));
    }
    free(path);
    return of_ruby;
}
