#ifndef HEAPPROF_MEMCHECK_VALGRIND_READER_H
#define HEAPPROF_MEMCHECK_VALGRIND_READER_H
/* Between valgrind_file.c, which has lines, and valgrind_xml.c, which has elements. Nobody else's. */
#include <expat.h>

#include "memcheck/valgrind.h"

enum { MEMCHECK_TEXT_MOST = 4096, MEMCHECK_DEPTH_MOST = 8 };

struct memcheck_reader {
    struct memcheck_valgrind *valgrind;
    memcheck_own_file_i *own_file_i;
    void        *data;
    XML_Parser   parser;
    int          path[MEMCHECK_DEPTH_MOST];
    unsigned     depth;
    char         text[MEMCHECK_TEXT_MOST + 1];  /* of the element that began last */
    size_t       text_length;
    uint32_t     document;             /* that what comes is of */
    struct memcheck_error error;       /* the one that is being read */
    char         kind[64], dir[MEMCHECK_TEXT_MOST + 1];
    bool         titled;               /* the last stack has a title and waits for its frames */
    bool         freed;                /* Valgrind says of the block that it has been freed */
    uint64_t     pair_unique;
    int64_t      pair_count;
    bool         begun;                /* the parser has been given something */
    const char  *wrong;
};

/* The parser calls valgrind_xml.c from here on. */
void memcheck_reader_listen(struct memcheck_reader *reader);

/* A document begins, below that one. */
void memcheck_reader_begin_document(struct memcheck_reader *reader, uint32_t parent);

#endif
