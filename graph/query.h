#ifndef GRAPH_QUERY_H
#define GRAPH_QUERY_H
/* The language of `heapprof graph query`: a condition that each object fulfils or not, such as
 * "Hash with length > 1000". doc/graph-query.md describes the language.
 *
 *     condition  = test | "not" condition | "(" condition ")"
 *                | condition "and" condition | condition "or" condition | condition "with" condition
 *     test       = CLASS | FACT | FIELD comparison value
 *     comparison = "=" "==" "!=" "<" "<=" ">" ">=" "=~"
 *
 * "not" binds tightest, then "and" and "with", which mean the same, then "or". "with" and "or"
 * side by side need parentheses.
 *
 * A parsed query is a list of tests. Each says which test comes next if it holds, and which if
 * it does not. So the answer needs neither a stack nor memory:
 *
 *     Hash with (length > 1000 or bytes > 1M)
 *
 *                 holds       does not
 *     0  class    1           no
 *     1  length   yes         2
 *     2  bytes    yes         no
 */
#include <regex.h>

#include "graph/fields.h"

#define GRAPH_QUERY_PARTS_MOST 200 /* tests, operators and parentheses */
#define GRAPH_QUERY_TESTS_MOST (GRAPH_QUERY_PARTS_MOST / 2) /* between two tests is an operator */
#define GRAPH_QUERY_BYTES_MOST 4096
#define GRAPH_QUERY_ERROR_MAX 400

/* What comes after a test: a number of a test, or one of these. */
enum {GRAPH_QUERY_YES = 254, GRAPH_QUERY_NO = 255};

enum graph_query_comparison {
    GRAPH_HOLDS, /* a fact */
    GRAPH_EQUAL,
    GRAPH_NOT_EQUAL,
    GRAPH_LESS,
    GRAPH_AT_MOST,
    GRAPH_MORE,
    GRAPH_AT_LEAST,
    GRAPH_MATCHES
};

struct graph_query_test {
    uint8_t  field, comparison;  /* enum graph_field, enum graph_query_comparison */
    uint8_t  holds, otherwise;   /* what comes next */
    double   number;
    uint32_t text;               /* where in texts */
    bool     compiled;           /* regex has been compiled */
    regex_t  regex;
    uint8_t *by_layout;          /* of class and type: whether it holds for objects of a layout */
};

struct graph_query {
    struct graph_query_test tests[GRAPH_QUERY_TESTS_MOST];
    uint32_t count;              /* 0: every object fulfils the query */
    char     texts[GRAPH_QUERY_BYTES_MOST];
    const struct graph *graph;
    const struct graph_dominators *dominators;
};

/* Reads an expression. Returns false if it is wrong; then error says in one line what is wrong,
 * and at which column. An expression of spaces is a query that every object fulfils. The caller
 * frees the query either way. */
bool graph_query_parse(struct graph_query *query, const char *expression,
                       char error[GRAPH_QUERY_ERROR_MAX]);
void graph_query_free(struct graph_query *query);

/* Prepares the query for the objects of a graph that was loaded with GRAPH_LENGTHS. Returns
 * false if there is no memory. */
bool graph_query_bind(struct graph_query *query, const struct graph *graph,
                      const struct graph_dominators *dominators);

/* Whether an object fulfils the query. Allocates nothing. */
bool graph_query_match(const struct graph_query *query, uint32_t object);

#endif
