#ifndef HEAPPROF_MEMCHECK_VALGRIND_READER_H
#define HEAPPROF_MEMCHECK_VALGRIND_READER_H
/* Between valgrind_file.c, which has lines, valgrind_xml.c, which has elements, and valgrind_messages.c, which has what the process
 * itself says there. Nobody else's. */
#include <expat.h>

#include "memcheck/valgrind/valgrind.h"

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
    uint32_t     thread;               /* of a message */
    uint64_t     pair_unique;
    int64_t      pair_count;
    bool         begun;                /* the parser has been given something */
    const char  *wrong;
};

/* The parser calls valgrind_xml.c from here on. */
void memcheck_reader_listen(struct memcheck_reader *reader);

/* A document begins, below that one. */
void memcheck_reader_begin_document(struct memcheck_reader *reader, uint32_t parent);

/* What is read. A string of the table; 0 when there is no memory, which stops the parser. */
uint32_t memcheck_reader_keep(struct memcheck_reader *reader, const char *text, size_t length);
void memcheck_reader_stop_without_memory(struct memcheck_reader *reader);

/* Makes room for one more; false: there is none. */
#define MEMCHECK_READER_ROOM(reader, array, capacity, count) \
    (((count) < UINT32_MAX - 1 && HEAPPROF_MEM_GROW(&(reader)->valgrind->mem, array, capacity, (size_t)(count) + 1)) || \
     (memcheck_reader_stop_without_memory(reader), false))

/* The text is a message of the process, from reader->thread. */
void memcheck_reader_take_message(struct memcheck_reader *reader);

#endif
