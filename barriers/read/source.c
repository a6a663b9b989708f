/* source.c - reads one file through libclang.
 *
 * It reads all functions of the extension. Of functions in other headers it reads only those
 * that are called, such as the inline functions behind Ruby's macros.
 */
#include "barriers/read/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barriers/read/reader.h"

#define PROBLEMS_MOST 5 /* that are reported of a file */

/* ---- what a file declares ---- */

static bool
ours_p(struct wb_reader *reader, CXCursor cursor)
{
    return !clang_Location_isInSystemHeader(clang_getCursorLocation(cursor)) &&
           !wb_of_ruby_p(reader, cursor);
}

/* "VALUE *const table[] = { &cache };": what the addresses in a table are used for is not followed,
 * so each of them may be registered. */
static void
note_in_table(const struct wb_node *node)
{
    const struct wb_node *of = node->kind == WB_ADDRESS ? node->child : NULL;

    while (of && (of->kind == WB_MEMBER || of->kind == WB_ELEMENT)) of = of->child;
    if (of && of->kind == WB_VARIABLE && of->variable->global) of->variable->registered = true;
    for (node = node->child; node; node = node->next) note_in_table(node);
}

static void
read_variable(struct wb_reader *reader, CXCursor cursor)
{
    CXCursor value = clang_Cursor_getVarDeclInitializer(cursor);

    if (clang_Cursor_isNull(value)) return;
    wb_read_data_type(reader, cursor);
    /* Another initialiser is read for the addresses that it takes, of functions and of variables.
     * The node itself has no other use. */
    if (!wb_read_variable(reader, cursor)->data_type) note_in_table(wb_read_code(reader, value));
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
      case CXCursor_MacroExpansion: /* libclang shows all of these before the code */
        if (wb_in_file_p(reader, clang_getCursorLocation(cursor))) wb_add_use(reader, cursor);
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

/* Reading a body may add more functions to the list. */
static void
read_pending(struct wb_reader *reader)
{
    while (reader->pending_count > 0) {
        struct wb_pending pending = reader->pending[--reader->pending_count];
        reader->values = pending.values;
        pending.function->ours |= !pending.function->foreign; /* an instance of a template */
        wb_read_body(reader, pending.definition, pending.function);
        reader->values = false;
    }
}

/* ---- diagnostics ---- */

/* True if the compiler's message is about Ruby's own header. */
static bool
no_ruby_p(const char *message)
{
    return strstr(message, "'ruby.h' file not found") ||
           strstr(message, "'ruby/ruby.h' file not found");
}

static void
report_problems(CXTranslationUnit unit, struct wb_command *command, wb_problem_i *problem_i,
                void *data)
{
    unsigned count = clang_getNumDiagnostics(unit), told = 0;

    for (unsigned i = 0; i < count && told < PROBLEMS_MOST; i++) {
        CXDiagnostic diagnostic = clang_getDiagnostic(unit, i);
        if (clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
            CXString text = clang_formatDiagnostic(diagnostic, CXDiagnostic_DisplaySourceLocation);
            command->headerless |= no_ruby_p(clang_getCString(text));
            if (!command->headerless) problem_i(data, clang_getCString(text)), told++;
            clang_disposeString(text);
        }
        clang_disposeDiagnostic(diagnostic);
    }
}

static void
report_unread(enum CXErrorCode error, const char *path, wb_problem_i *problem_i, void *data)
{
    const char *why = error == CXError_Crashed ? "the compiler's library crashed on it" :
                      "the compiler's library cannot read it";
    char line[5000];

    snprintf(line, sizeof(line), "%s: %s", path, why);
    problem_i(data, line);
}

/* The C++ that g++ takes a file for without -std; libclang 14 would take an older one. */
static const char *
language_of(const char *path)
{
    const char *suffix = strrchr(path, '.');

    return suffix && strcmp(suffix, ".c") ? "-std=gnu++17" : "-std=gnu17";
}

static enum CXErrorCode
parse(CXIndex index, const struct wb_command *command, CXTranslationUnit *unit)
{
    const char **arguments = calloc(command->flag_count + 5, sizeof(*arguments));
    unsigned count = 0;

    if (!arguments) wb_out_of_memory();
    arguments[count++] = "clang";
    arguments[count++] = "-working-directory";
    arguments[count++] = command->directory;
    arguments[count++] = language_of(command->path);
    for (unsigned i = 0; i < command->flag_count; i++) arguments[count++] = command->flags[i];
    arguments[count++] = "-w";
    unsigned options = CXTranslationUnit_KeepGoing | CXTranslationUnit_DetailedPreprocessingRecord;
    enum CXErrorCode error =
        clang_parseTranslationUnit2FullArgv(index, command->path, arguments, (int)count, NULL, 0,
                                            options, unit);
    free(arguments);
    return error;
}

static void
read_unit(struct wb_reader *reader)
{
    reader->file = clang_getFile(reader->unit, reader->path);
    clang_getInclusions(reader->unit, wb_find_ruby_i, reader);
    clang_visitChildren(clang_getTranslationUnitCursor(reader->unit), read_declaration_i, reader);
    read_pending(reader);
}

bool
wb_source_read(struct wb_program *program, struct wb_command *command,
               wb_problem_i *problem_i, void *data)
{
    struct wb_reader reader = { .program = program, .path = command->path };
    CXIndex index = clang_createIndex(0, 0);
    enum CXErrorCode error = parse(index, command, &reader.unit);

    if (error == CXError_Success) {
        report_problems(reader.unit, command, problem_i, data);
        read_unit(&reader);
        if (reader.too_deep) {
            problem_i(data, "code is nested too deeply; its inner part is left out");
        }
        clang_disposeTranslationUnit(reader.unit);
    }
    else report_unread(error, command->path, problem_i, data);
    clang_disposeIndex(index);
    HEAPPROF_MEM_RELEASE(&program->mem, reader.pending, reader.pending_capacity);
    HEAPPROF_MEM_RELEASE(&program->mem, reader.uses, reader.use_capacity);
    HEAPPROF_MEM_RELEASE(&program->mem, reader.destroyed, reader.destroyed_capacity);
    for (int i = 0; i < 2; i++) free(reader.ruby[i]);
    return error == CXError_Success;
}
