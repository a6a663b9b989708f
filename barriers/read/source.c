/* source.c - one file, from libclang to our program.
 *
 * The extension's own functions are read all; of those in headers of others only what is called, as the inline functions that
 * Ruby's macros stand for.
 */
#include "barriers/read/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barriers/read/reader.h"

#define PROBLEMS_MOST 5 /* of a file */

const char *
wb_spelling(struct wb_reader *reader, CXCursor cursor)
{
    CXString spelling = clang_getCursorSpelling(cursor);
    const char *name = wb_name(reader->program, clang_getCString(spelling));

    clang_disposeString(spelling);
    return name;
}

/* Whether it is in the file itself, perhaps by a macro, and not in what that includes. */
static bool
in_file_p(struct wb_reader *reader, CXSourceLocation location)
{
    CXFile file;

    clang_getExpansionLocation(location, &file, NULL, NULL, NULL);
    return file && clang_File_isEqual(file, reader->file);
}

/* A static thing's USR names its file without the directory: two extensions may both have a parser.c. */
const char *
wb_key(struct wb_reader *reader, CXCursor cursor)
{
    CXString usr = clang_getCursorUSR(cursor);
    const char *text = clang_getCString(usr), *key;
    bool here = clang_getCursorLinkage(cursor) == CXLinkage_Internal &&
                in_file_p(reader, clang_getCursorLocation(cursor));
    size_t size = strlen(text) + strlen(reader->path) + 2;
    char *whole = malloc(size);

    if (!whole) wb_out_of_memory();
    snprintf(whole, size, "%s %s", text, here ? reader->path : "");
    key = wb_name(reader->program, whole);
    free(whole);
    clang_disposeString(usr);
    return key;
}

/* ---- places ---- */

/* The file's absolute path, to be freed; NULL: none. */
static char *
path_of(CXFile file)
{
    CXString real = clang_File_tryGetRealPathName(file);
    const char *text = clang_getCString(real);
    char *path = text && *text ? strdup(text) : NULL;

    clang_disposeString(real);
    return path;
}

static int
compare_uses(const void *one, const void *other)
{
    const struct wb_use *a = one, *b = other;
    int order = (a->line > b->line) - (a->line < b->line);

    return order ? order : (a->column > b->column) - (a->column < b->column);
}

/* Keeps where the file itself uses a macro: libclang does not say of a place in which macro it is. They come in order, and of
 * those within another one the outermost first. */
static void
add_use(struct wb_reader *reader, CXCursor cursor)
{
    CXCursor definition = clang_getCursorReferenced(cursor);
    struct wb_use use = {.macro = wb_spelling(reader, cursor)};
    CXFile file;
    char *path;

    clang_getExpansionLocation(clang_getCursorLocation(cursor), NULL, &use.line, &use.column, NULL);
    clang_getExpansionLocation(clang_getCursorLocation(definition), &file, &use.defined, NULL, NULL);
    if (reader->use_count > 0 && compare_uses(&reader->uses[reader->use_count - 1], &use) >= 0) return;
    path = file ? path_of(file) : NULL;
    if (path && !wb_of_ruby_p(reader, definition)) {
        use.file = wb_name(reader->program, path);
        if (!HEAPPROF_MEM_GROW(&reader->program->mem, reader->uses, reader->use_capacity,
                               reader->use_count + 1)) wb_out_of_memory();
        reader->uses[reader->use_count++] = use;
    }
    free(path);
}

/* A thing that begins in the text of a macro is held to begin where the macro is used. */
static void
place_in_macro(struct wb_reader *reader, CXSourceLocation location, struct wb_place *place)
{
    struct wb_use wanted = {0}, *found;

    if (!in_file_p(reader, location)) return;
    clang_getExpansionLocation(location, NULL, &wanted.line, &wanted.column, NULL);
    found = reader->use_count == 0 ? NULL :
            bsearch(&wanted, reader->uses, reader->use_count, sizeof(*reader->uses), compare_uses);
    if (!found) return;
    place->macro = found->macro;
    place->macro_file = found->file;
    place->macro_line = found->defined;
}

static struct wb_place
place_at(struct wb_reader *reader, CXSourceLocation location)
{
    struct wb_place place = {0};
    CXString presumed;
    CXFile file;
    char *path;

    clang_getPresumedLocation(location, &presumed, &place.line, &place.column);
    clang_getExpansionLocation(location, &file, NULL, NULL, NULL);
    path = file ? path_of(file) : NULL;
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

bool
wb_of_ruby_p(struct wb_reader *reader, CXCursor cursor)
{
    CXFile file;
    char *path;
    bool of_ruby = false;

    clang_getExpansionLocation(clang_getCursorLocation(cursor), &file, NULL, NULL, NULL);
    path = file ? path_of(file) : NULL;
    for (int i = 0; path && i < 2 && !of_ruby; i++) {
        of_ruby = reader->ruby[i] && !strncmp(path, reader->ruby[i], strlen(reader->ruby[i]));
    }
    free(path);
    return of_ruby;
}

/* Keeps the directory that Ruby's headers are in: where ruby/ruby.h is, and ruby/config.h. */
static void
find_ruby_i(CXFile file, CXSourceLocation *stack, unsigned stack_size, CXClientData data)
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

/* ---- what a file declares ---- */

static bool
ours_p(struct wb_reader *reader, CXCursor cursor)
{
    return !clang_Location_isInSystemHeader(clang_getCursorLocation(cursor)) && !wb_of_ruby_p(reader, cursor);
}

static void
read_variable(struct wb_reader *reader, CXCursor cursor)
{
    CXCursor value = clang_Cursor_getVarDeclInitializer(cursor);

    if (clang_Cursor_isNull(value)) return;
    wb_read_data_type(reader, cursor);
    if (!wb_read_variable(reader, cursor)->data_type) wb_read_initialiser(reader, value);
}

static enum CXChildVisitResult
read_declaration_i(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct wb_reader *reader = data;

    (void)parent;
    switch (clang_getCursorKind(cursor)) {
      case CXCursor_FunctionDecl:
      case CXCursor_CXXMethod:
      case CXCursor_Constructor:
      case CXCursor_Destructor:
        if (clang_isCursorDefinition(cursor) && ours_p(reader, cursor)) {
            struct wb_function *function = wb_read_function(reader, cursor);
            function->ours = true;
            wb_read_body(reader, cursor, function);
        }
        return CXChildVisit_Continue;
      case CXCursor_MacroExpansion: /* all of them come before what else is in the file */
        if (in_file_p(reader, clang_getCursorLocation(cursor))) add_use(reader, cursor);
        return CXChildVisit_Continue;
      case CXCursor_VarDecl:
        if (ours_p(reader, cursor)) read_variable(reader, cursor);
        return CXChildVisit_Continue;
      case CXCursor_Namespace:
      case CXCursor_LinkageSpec:
      case CXCursor_UnexposedDecl: /* extern "C" of older versions */
      case CXCursor_ClassDecl:
      case CXCursor_StructDecl:
        return CXChildVisit_Recurse;
      default:
        return CXChildVisit_Continue;
    }
}

/* Reading a body may ask for more of them. */
static void
read_wanted(struct wb_reader *reader)
{
    while (reader->pending_count > 0) {
        struct wb_pending pending = reader->pending[--reader->pending_count];
        wb_read_body(reader, pending.definition, pending.function);
    }
}

/* ---- diagnostics ---- */

static void
tell_problems(CXTranslationUnit unit, wb_problem_i *problem_i, void *data)
{
    unsigned count = clang_getNumDiagnostics(unit), told = 0;

    for (unsigned i = 0; i < count && told < PROBLEMS_MOST; i++) {
        CXDiagnostic diagnostic = clang_getDiagnostic(unit, i);
        if (clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
            CXString text = clang_formatDiagnostic(diagnostic, CXDiagnostic_DisplaySourceLocation);
            problem_i(data, clang_getCString(text));
            clang_disposeString(text);
            told++;
        }
        clang_disposeDiagnostic(diagnostic);
    }
}

static const char *
why_unread(enum CXErrorCode error)
{
    return error == CXError_Crashed ? "the compiler's library crashed on it" : "it cannot be read";
}

static enum CXErrorCode
parse(CXIndex index, const struct wb_command *command, CXTranslationUnit *unit)
{
    const char **arguments = calloc(command->flag_count + 4, sizeof(*arguments));
    unsigned count = 0;
    enum CXErrorCode error;

    if (!arguments) wb_out_of_memory();
    arguments[count++] = "clang";
    arguments[count++] = "-working-directory";
    arguments[count++] = command->directory;
    for (unsigned i = 0; i < command->flag_count; i++) arguments[count++] = command->flags[i];
    arguments[count++] = "-w";
    error = clang_parseTranslationUnit2FullArgv(index, command->path, arguments, (int)count, NULL, 0,
                                                CXTranslationUnit_KeepGoing |
                                                CXTranslationUnit_DetailedPreprocessingRecord, unit);
    free(arguments);
    return error;
}

static void
read_unit(struct wb_reader *reader)
{
    reader->file = clang_getFile(reader->unit, reader->path);
    clang_getInclusions(reader->unit, find_ruby_i, reader);
    clang_visitChildren(clang_getTranslationUnitCursor(reader->unit), read_declaration_i, reader);
    read_wanted(reader);
}

bool
wb_source_read(struct wb_program *program, const struct wb_command *command, wb_problem_i *problem_i, void *data)
{
    struct wb_reader reader = {.program = program, .path = command->path};
    CXIndex index = clang_createIndex(0, 0);
    enum CXErrorCode error = parse(index, command, &reader.unit);

    if (error == CXError_Success) {
        tell_problems(reader.unit, problem_i, data);
        read_unit(&reader);
        if (reader.too_deep) problem_i(data, "code is nested too deeply, and the inner part of it is left out");
        clang_disposeTranslationUnit(reader.unit);
    }
    else problem_i(data, why_unread(error));
    clang_disposeIndex(index);
    HEAPPROF_MEM_RELEASE(&program->mem, reader.pending, reader.pending_capacity);
    HEAPPROF_MEM_RELEASE(&program->mem, reader.uses, reader.use_capacity);
    for (int i = 0; i < 2; i++) free(reader.ruby[i]);
    return error == CXError_Success;
}
