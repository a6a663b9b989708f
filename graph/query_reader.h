#ifndef GRAPH_QUERY_READER_H
#define GRAPH_QUERY_READER_H
/* Reads the words of a query from left to right. */
#include "graph/query.h"

struct graph_query_reader {
    struct graph_query *query;
    const char *expression;
    uint32_t at;                 /* the next byte */
    uint32_t text_count;         /* bytes of query->texts */
    char    *error;
};

/* Writes the error with the column of the byte at `at`. Returns false, which callers return. */
bool graph_query_wrong(const struct graph_query_reader *reader, uint32_t at, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

/* Passes over spaces. Returns the next byte, NUL at the end. */
char graph_query_next(struct graph_query_reader *reader);

/* Takes that word if it comes next. */
bool graph_query_take_word(struct graph_query_reader *reader, const char *word);

/* Takes a field with its comparison, a fact, or a class. Returns false after graph_query_wrong. */
bool graph_query_take_test(struct graph_query_reader *reader, struct graph_query_test *test);

#endif
