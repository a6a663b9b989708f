/* query.c - parses a query, and asks it of objects.
 *
 * The parser takes tests and operators from left to right. Operators wait in `operators` until
 * one comes that binds less tightly (the shunting yard of Dijkstra). What leaves is appended to
 * `nodes`: an operator stands directly behind its operands, and a subtree is a range of nodes.
 * Nothing recurses. Then the nodes are passed through from the last to the first, and each hands
 * down to its operands what comes after them. */
#include "graph/query.h"

#include <stdlib.h>
#include <string.h>

#include "graph/query_reader.h"

enum operator {TEST, OPEN, OR, AND, NOT}; /* in the order in which they bind */

struct node {
    uint8_t operator, test;
    uint8_t first_node;          /* where its subtree begins */
    uint8_t first_test;          /* the test of its subtree that is asked first */
    uint8_t holds, otherwise;    /* what comes after it */
};

struct waiting_operator {
    uint8_t  operator;
    bool     with, or;           /* of OPEN: these came since */
    uint32_t at;                 /* where it is in the expression */
};

struct parser {
    struct graph_query_reader reader;
    struct node nodes[GRAPH_QUERY_PARTS_MOST];
    uint32_t node_count;
    struct waiting_operator operators[GRAPH_QUERY_PARTS_MOST + 1];
    uint32_t operator_count;     /* the first one is an OPEN around everything */
    uint32_t part_count;         /* tests, operators and parentheses so far */
};

/* ---- the tree ---- */

static bool
wrong(const struct parser *parser, uint32_t at, const char *what)
{
    return graph_query_wrong(&parser->reader, at, "%s", what);
}

/* Counts a part. What is bounded by the number of parts needs no other check. */
static bool
count_part(struct parser *parser, uint32_t at)
{
    if (parser->part_count++ < GRAPH_QUERY_PARTS_MOST) return true;
    return graph_query_wrong(&parser->reader, at, "the expression has more than %d parts",
                             GRAPH_QUERY_PARTS_MOST);
}

static void
append_test(struct parser *parser, uint8_t test)
{
    uint8_t number = (uint8_t)parser->node_count++;

    parser->nodes[number] =
        (struct node){.operator = TEST, .test = test, .first_node = number, .first_test = test};
}

/* Its operands are the last nodes. */
static void
append_operator(struct parser *parser, uint8_t operator)
{
    uint32_t number = parser->node_count++, operand = number - 1;

    if (operator != NOT) operand = parser->nodes[operand].first_node - 1;
    parser->nodes[number] = parser->nodes[operand];
    parser->nodes[number].operator = operator;
}

/* Appends the operators that bind at least that tightly. */
static void
append_waiting(struct parser *parser, enum operator least)
{
    while (parser->operators[parser->operator_count - 1].operator >= least) {
        append_operator(parser, parser->operators[--parser->operator_count].operator);
    }
}

static bool
wait_for_operand(struct parser *parser, enum operator operator, uint32_t at)
{
    if (!count_part(parser, at)) return false;
    parser->operators[parser->operator_count++] =
        (struct waiting_operator){ .operator= operator, .at = at };
    return true;
}

/* Takes an operand, or what stands before one. Sets complete if it was an operand. */
static bool
take_operand(struct parser *parser, bool *complete)
{
    struct graph_query_reader *reader = &parser->reader;
    struct graph_query *query = reader->query;
    char c = graph_query_next(reader);
    uint32_t begin = reader->at;

    *complete = false;
    if (!c || c == ')')
        return wrong(parser, begin, "a condition is missing, such as length > 1000");
    if (c == '(') {
        reader->at++;
        return wait_for_operand(parser, OPEN, begin);
    }
    if (graph_query_take_word(reader, "not")) return wait_for_operand(parser, NOT, begin);
    if (!count_part(parser, begin)) return false;
    append_test(parser, (uint8_t)query->count);
    *complete = true;
    return graph_query_take_test(reader, &query->tests[query->count++]);
}

/* The innermost parenthesis that is open. */
static struct waiting_operator *
innermost(struct parser *parser)
{
    uint32_t i = parser->operator_count - 1;

    while (parser->operators[i].operator != OPEN) i--;
    return &parser->operators[i];
}

static bool
close_parenthesis(struct parser *parser)
{
    append_waiting(parser, OR);
    if (parser->operator_count == 1)
        return wrong(parser, parser->reader.at, "this ) closes nothing");
    parser->operator_count--;
    parser->reader.at++;
    return true;
}

/* Takes what stands behind an operand. Sets complete if another operator may follow. */
static bool
take_operator(struct parser *parser, bool *complete)
{
    struct graph_query_reader *reader = &parser->reader;
    struct waiting_operator *open = innermost(parser);
    uint32_t begin = reader->at;
    enum operator operator = AND;

    if (reader->expression[begin] == ')') return close_parenthesis(parser);
    *complete = false;
    if (graph_query_take_word(reader, "or")) {
        operator = OR;
        open->or = true;
    }
    else if (graph_query_take_word(reader, "with")) open->with = true;
    else if (!graph_query_take_word(reader, "and")) {
        return wrong(parser, begin, "and, or, with or the end is expected");
    }
    if (open->with && open->or) {
        return wrong(parser, begin,
                     "with and or need parentheses: Hash with (length > 1000 or bytes > 1M)");
    }
    append_waiting(parser, operator);
    return wait_for_operand(parser, operator, begin);
}

static bool
parse(struct parser *parser)
{
    bool complete = false;

    parser->operators[parser->operator_count++] = (struct waiting_operator){.operator = OPEN};
    if (!graph_query_next(&parser->reader)) return true;
    while (!complete || graph_query_next(&parser->reader)) {
        if (!(complete ? take_operator(parser, &complete) : take_operand(parser, &complete)))
            return false;
    }
    append_waiting(parser, OR);
    if (parser->operator_count == 1) return true;
    return wrong(parser, parser->operators[parser->operator_count - 1].at, "this ( is not closed");
}

/* Hands down what comes next. An operator is behind its operands. */
static void
connect(struct parser *parser)
{
    struct node *nodes = parser->nodes;

    if (parser->node_count == 0) return;
    nodes[parser->node_count - 1].holds = GRAPH_QUERY_YES;
    nodes[parser->node_count - 1].otherwise = GRAPH_QUERY_NO;
    for (uint32_t i = parser->node_count; i-- > 0;) {
        struct node *node = &nodes[i], *right, *left;
        if (node->operator == TEST) {
            struct graph_query_test *test = &parser->reader.query->tests[node->test];
            test->holds = node->holds;
            test->otherwise = node->otherwise;
            continue;
        }
        right = node - 1;
        right->holds = node->operator == NOT ? node->otherwise : node->holds;
        right->otherwise = node->operator == NOT ? node->holds : node->otherwise;
        if (node->operator == NOT) continue;
        left = &nodes[right->first_node - 1];
        left->holds = node->operator == AND ? right->first_test : node->holds;
        left->otherwise = node->operator == AND ? node->otherwise : right->first_test;
    }
}

bool
graph_query_parse(struct graph_query *query, const char *expression,
                  char error[GRAPH_QUERY_ERROR_MAX])
{
    struct parser parser = {.reader = {.query = query, .expression = expression, .error = error}};

    memset(query, 0, sizeof(*query));
    if (strlen(expression) >= GRAPH_QUERY_BYTES_MOST / 2) {
        return graph_query_wrong(&parser.reader, 0, "the expression has more than %d bytes",
                                 GRAPH_QUERY_BYTES_MOST / 2 - 1);
    }
    if (!parse(&parser)) return false;
    connect(&parser);
    return true;
}

void
graph_query_free(struct graph_query *query)
{
    for (uint32_t i = 0; i < query->count; i++) {
        if (query->tests[i].compiled) regfree(&query->tests[i].regex);
        free(query->tests[i].by_layout);
    }
    query->count = 0;
}

/* ---- asking ---- */

/* True if the path is that file, or ends with it: "cart.rb" is "/srv/app/cart.rb". */
static bool
same_file_p(const char *path, const char *file)
{
    size_t length = strlen(path), least = strlen(file);

    if (length < least || strcmp(path + length - least, file)) return false;
    return length == least || path[length - least - 1] == '/' || file[0] == '/';
}

static bool
text_holds_p(const struct graph_query *query, const struct graph_query_test *test,
             const char *value)
{
    const char *wanted = query->texts + test->text;
    bool equal;

    if (test->comparison == GRAPH_MATCHES) return regexec(&test->regex, value, 0, NULL, 0) == 0;
    equal = test->field == GRAPH_FILE_FIELD ? same_file_p(value, wanted) : !strcmp(value, wanted);
    return equal == (test->comparison == GRAPH_EQUAL);
}

static bool
number_holds_p(const struct graph_query_test *test, double value)
{
    switch (test->comparison) {
      case GRAPH_EQUAL: return value == test->number;
      case GRAPH_NOT_EQUAL: return value != test->number;
      case GRAPH_LESS: return value < test->number;
      case GRAPH_AT_MOST: return value <= test->number;
      case GRAPH_MORE: return value > test->number;
      case GRAPH_AT_LEAST: return value >= test->number;
      default: return value != 0;
    }
}

bool
graph_query_bind(struct graph_query *query, const struct graph *graph,
                 const struct graph_dominators *dominators)
{
    const struct graph_names *names = &graph->names;

    query->graph = graph;
    query->dominators = dominators;
    for (uint32_t i = 0; i < query->count; i++) {
        struct graph_query_test *test = &query->tests[i];
        if (test->field != GRAPH_CLASS_FIELD && test->field != GRAPH_TYPE_FIELD) continue;
        test->by_layout = calloc((size_t)names->layout_count + 1, 1);
        if (!test->by_layout) return false;
        for (uint32_t j = 0; j < names->layout_count; j++) {
            const struct graph_layout *layout = &names->layouts[j];
            uint32_t string = test->field == GRAPH_TYPE_FIELD
                                  ? layout->type
                                  : names->classes[layout->class_number].name;
            test->by_layout[j] = text_holds_p(query, test, graph_string(names, string));
        }
    }
    return true;
}

static bool
holds_p(const struct graph_query *query, const struct graph_query_test *test, uint32_t object)
{
    const char *text;
    double number;

    if (test->by_layout) return test->by_layout[query->graph->layouts[object]];
    if (graph_field_kind(test->field) == GRAPH_FIELD_TEXT) {
        return graph_field_text(query->graph, object, test->field, &text) &&
               text_holds_p(query, test, text);
    }
    return graph_field_number(query->graph, query->dominators, object, test->field, &number) &&
           number_holds_p(test, number);
}

bool
graph_query_match(const struct graph_query *query, uint32_t object)
{
    uint8_t at = query->count ? 0 : GRAPH_QUERY_YES;

    while (at < query->count) {
        const struct graph_query_test *test = &query->tests[at];
        at = holds_p(query, test, object) ? test->holds : test->otherwise;
    }
    return at == GRAPH_QUERY_YES;
}
