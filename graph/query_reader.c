/* query_reader.c - reads the tests of a query: fields, comparisons and values. */
#include "graph/query_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/pattern.h"

/* Columns count characters. */
bool
graph_query_wrong(const struct graph_query_reader *reader, uint32_t at, const char *format, ...)
{
    va_list arguments;
    unsigned column = 1;
    int used;

    for (uint32_t i = 0; i < at; i++) column += (reader->expression[i] & 0xc0) != 0x80;
    used = snprintf(reader->error, GRAPH_QUERY_ERROR_MAX, "column %u: ", column);
    va_start(arguments, format);
    vsnprintf(reader->error + used, GRAPH_QUERY_ERROR_MAX - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- words ---- */

static bool
space_p(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
name_p(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_';
}

char
graph_query_next(struct graph_query_reader *reader)
{
    while (space_p(reader->expression[reader->at])) reader->at++;
    return reader->expression[reader->at];
}

/* The length of the word of small letters that comes next. */
static uint32_t
word_length(const struct graph_query_reader *reader)
{
    uint32_t end = reader->at;

    while (name_p(reader->expression[end])) end++;
    return end - reader->at;
}

bool
graph_query_take_word(struct graph_query_reader *reader, const char *word)
{
    uint32_t length = word_length(reader);

    if (strlen(word) != length || strncmp(reader->expression + reader->at, word, length))
        return false;
    reader->at += length;
    return true;
}

/* Appends a byte to the present text. Texts are no longer than the expression. */
static void
put(struct graph_query_reader *reader, char c)
{
    reader->query->texts[reader->text_count++] = c;
}

/* Takes what stands between two quotes. A backslash before a quote is taken away; one before
 * another backslash, too, unless it is for an expression. */
static bool
take_quoted(struct graph_query_reader *reader, char quote, bool expression, const char *what)
{
    const char *in = reader->expression;
    uint32_t begin = reader->at++;

    while (in[reader->at] && in[reader->at] != quote) {
        char c = in[reader->at++];
        if (c == '\\' && in[reader->at]) {
            c = in[reader->at++];
            if (c != quote && (expression || c != '\\')) put(reader, '\\');
        }
        put(reader, c);
    }
    if (!in[reader->at])
        return graph_query_wrong(reader, begin, "%s has no end: %c is missing", what, quote);
    reader->at++;
    put(reader, '\0');
    return true;
}

/* Takes a text with or without quotes. Without, it ends at a space, and at a ")" that it does not
 * open: T_DATA(mutex). */
static bool
take_text(struct graph_query_reader *reader)
{
    const char *in = reader->expression;
    uint32_t begin = reader->at, open = 0;

    if (in[begin] == '"' || in[begin] == '\'')
        return take_quoted(reader, in[begin], false, "the text");
    for (; in[reader->at] && !space_p(in[reader->at]); reader->at++) {
        if (in[reader->at] == '(') open++;
        if (in[reader->at] == ')' && open-- == 0) break;
        put(reader, in[reader->at]);
    }
    put(reader, '\0');
    return reader->at > begin || graph_query_wrong(reader, begin, "a value is missing");
}

/* ---- values ---- */

static bool
digit_p(char c)
{
    return c >= '0' && c <= '9';
}

/* 10, 1_000, 1.5k, 2M, 3GB, 10%. */
static bool
read_number(const char *text, bool percent, double *number)
{
    static const char units[] = "kKmMgGtT";
    const char *unit;
    double digit = 1;

    *number = 0;
    if (!digit_p(*text)) return false;
    for (; digit_p(*text) || (*text == '_' && digit_p(text[1])); text++) {
        if (*text != '_') *number = *number * 10 + (*text - '0');
    }
    if (*text == '.' && digit_p(text[1])) {
        for (text++; digit_p(*text); text++) *number += (*text - '0') * (digit /= 10);
    }
    if (percent && *text == '%') return !text[1];
    unit = *text ? strchr(units, *text) : NULL;
    for (ptrdiff_t i = unit ? (unit - units) / 2 : -1; i >= 0; i--) *number *= 1024;
    if (unit) text++;
    if (*text == 'B') text++;
    return !*text;
}

static bool
take_number(struct graph_query_reader *reader, struct graph_query_test *test)
{
    uint32_t begin = reader->at;
    const char *text = reader->query->texts + reader->text_count;

    if (!take_text(reader)) return false;
    if (read_number(text, test->field == GRAPH_FILL_FIELD, &test->number)) return true;
    return graph_query_wrong(reader, begin, "%.40s is no number: give one such as 1000, 1.5k or 2M",
                             text);
}

static bool
take_pattern(struct graph_query_reader *reader, struct graph_query_test *test)
{
    char error[REPORT_PATTERN_ERROR_MAX];
    uint32_t begin = reader->at;
    const char *pattern = reader->query->texts + reader->text_count;
    const regex_t *regex = NULL;

    if (reader->expression[begin] != '/') {
        return graph_query_wrong(reader, begin,
                                 "=~ needs an expression between slashes: /^Active/");
    }
    if (!take_quoted(reader, '/', true, "the expression")) return false;
    if (!report_pattern_compile(pattern, &test->regex, &regex, error)) {
        return graph_query_wrong(reader, begin, "/%.60s/: %s", pattern, error);
    }
    test->compiled = true;
    return true;
}

/* ---- tests ---- */

static bool
take_comparison(struct graph_query_reader *reader, struct graph_query_test *test)
{
    static const struct {const char *text; enum graph_query_comparison comparison;} all[] = {
        {"=~", GRAPH_MATCHES}, {"==", GRAPH_EQUAL}, {"!=", GRAPH_NOT_EQUAL}, {"<=", GRAPH_AT_MOST},
        {">=", GRAPH_AT_LEAST}, {"=", GRAPH_EQUAL}, {"<", GRAPH_LESS}, {">", GRAPH_MORE},
    };
    bool number = graph_field_kind(test->field) == GRAPH_FIELD_NUMBER;
    const char *accepted = number ? "= != < <= > >=" : "= != =~";

    graph_query_next(reader);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        bool text = all[i].comparison == GRAPH_EQUAL || all[i].comparison == GRAPH_NOT_EQUAL;
        if (strncmp(reader->expression + reader->at, all[i].text, strlen(all[i].text))) continue;
        if (!text && number != (all[i].comparison != GRAPH_MATCHES)) break;
        test->comparison = all[i].comparison;
        reader->at += (uint32_t)strlen(all[i].text);
        graph_query_next(reader);
        return true;
    }
    return graph_query_wrong(reader, reader->at, "after this field comes one of %s", accepted);
}

/* True if a class may begin with it that is not in quotes. */
static bool
class_p(char c)
{
    return (c >= 'A' && c <= 'Z') || c == '#' || c == '"' || c == '\'' || (c & 0x80);
}

bool
graph_query_take_test(struct graph_query_reader *reader, struct graph_query_test *test)
{
    const char *word = reader->expression + reader->at;
    uint32_t length = word_length(reader);
    enum graph_field field = graph_field_find(word, length);

    test->text = reader->text_count;
    if (class_p(*word)) {
        test->field = GRAPH_CLASS_FIELD;
        test->comparison = GRAPH_EQUAL;
        return take_text(reader);
    }
    if (field == GRAPH_FIELDS) {
        int shown = length == 0 ? 1 : length < 40 ? (int)length : 40;
        return graph_query_wrong(reader, reader->at,
                                 "\"%.*s\" is no field: write a class, or one of %s", shown, word,
                                 graph_field_names);
    }
    test->field = (uint8_t)field;
    reader->at += length;
    if (graph_field_kind(field) == GRAPH_FIELD_FACT) return true;
    if (!take_comparison(reader, test)) return false;
    if (test->comparison == GRAPH_MATCHES) return take_pattern(reader, test);
    return graph_field_kind(field) == GRAPH_FIELD_NUMBER ? take_number(reader, test)
                                                         : take_text(reader);
}
