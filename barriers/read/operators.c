/* operators.c - which operator stands between two operands. Before LLVM 17 libclang does not tell,
 * so its token is looked for in the source. It is not known where a macro has it.
 */
#include "barriers/read/reader.h"

#include <string.h>

static const struct {
    const char      *token;
    enum wb_operator operation;
} operators[] = {
    {"!=", WB_NOT_EQUAL}, {"&&", WB_AND}, {"<", WB_LESS}, {"<=", WB_LESS_OR_EQUAL},
    {"==", WB_EQUAL}, {">", WB_GREATER}, {">=", WB_GREATER_OR_EQUAL}, {"and", WB_AND},
    {"not_eq", WB_NOT_EQUAL}, {"or", WB_OR}, {"||", WB_OR},
};

/* The place in the file itself, also of an argument of a macro. */
static CXSourceLocation
in_file(struct wb_reader *reader, CXSourceLocation location)
{
    CXFile file;
    unsigned offset;

    clang_getFileLocation(location, &file, NULL, NULL, &offset);
    return clang_getLocationForOffset(reader->unit, file, offset);
}

/* "!" cannot be told from an operator in a macro; hardly any other one stands in a macro. */
bool
wb_not_p(struct wb_reader *reader, CXCursor cursor)
{
    static const char *const others[] = {"+", "++", "-", "--", "__extension__", "~", NULL};
    CXToken *token = clang_getToken(reader->unit,
                                    in_file(reader,
                                            clang_getRangeStart(clang_getCursorExtent(cursor))));
    bool not = true;

    if (!token) return true;
    CXString spelling = clang_getTokenSpelling(reader->unit, *token);
    not = !wb_among_p(clang_getCString(spelling), others);
    clang_disposeString(spelling);
    clang_disposeTokens(reader->unit, token, 1);
    return not;
}

enum wb_operator
wb_operator_between(struct wb_reader *reader, CXCursor left, CXCursor right)
{
    CXSourceRange between = clang_getRange(
        in_file(reader, clang_getRangeEnd(clang_getCursorExtent(left))),
        in_file(reader, clang_getRangeStart(clang_getCursorExtent(right))));
    enum wb_operator found = WB_OTHER_OPERATOR;
    unsigned count = 0, seen = 0;
    CXToken *tokens = NULL;

    clang_tokenize(reader->unit, between, &tokens, &count);
    for (unsigned i = 0; i < count; i++) {
        CXString spelling = clang_getTokenSpelling(reader->unit, tokens[i]);
        const char *text = clang_getCString(spelling);
        for (size_t j = 0; j < sizeof(operators) / sizeof(operators[0]); j++) {
            if (strcmp(text, operators[j].token)) continue;
            found = operators[j].operation;
            seen++;
        }
        clang_disposeString(spelling);
    }
    clang_disposeTokens(reader->unit, tokens, count);
    return seen == 1 ? found : WB_OTHER_OPERATOR;
}
