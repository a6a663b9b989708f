#ifndef HEAPPROF_MEMCHECK_VALGRIND_READER_H
#define HEAPPROF_MEMCHECK_VALGRIND_READER_H
/* Shared by four files only: file.c, which reads lines; xml.c, which handles elements; messages.c,
 * which reads what the process itself says; and reader.c, which keeps texts for them. */
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
    char         text[MEMCHECK_TEXT_MOST + 1];  /* text of the element that began last */
    size_t       text_length;
    uint32_t     document;             /* document of the elements that follow */
    struct memcheck_error error;       /* the error that is being read */
    char         kind[64], dir[MEMCHECK_TEXT_MOST + 1];
    bool         titled;               /* the last stack has a title, and no frames yet */
    bool         freed;                /* Valgrind says that the block has been freed */
    uint32_t     thread;               /* thread of a message */
    uint64_t     dead_address;         /* of the last message about a dead object */
    uint64_t     pair_unique;
    int64_t      pair_count;
    bool         begun;                /* the parser has received input */
    const char  *wrong;
};

/* From this call on, the parser calls xml.c. */
void memcheck_reader_listen(struct memcheck_reader *reader);

/* Begins a document; parent is the document around it. */
void memcheck_reader_begin_document(struct memcheck_reader *reader, uint32_t parent);

/* Ends the reading; wrong says why. The first call counts. */
void memcheck_reader_stop(struct memcheck_reader *reader, const char *wrong);

/* Keeps a text. Returns its string in the table; 0 if there is no memory, which also stops the
 * parser. */
uint32_t memcheck_reader_keep(struct memcheck_reader *reader, const char *text, size_t length);
void memcheck_reader_stop_without_memory(struct memcheck_reader *reader);

/* Makes room for one more element. False if there is no memory. */
#define MEMCHECK_READER_ROOM(reader, array, capacity, count) \
    (((count) < UINT32_MAX - 1 && \
      HEAPPROF_MEM_GROW(&(reader)->valgrind->mem, array, capacity, (size_t)(count) + 1)) || \
     (memcheck_reader_stop_without_memory(reader), false))

/* Reads the text as a message of the process, from reader->thread. */
void memcheck_reader_take_message(struct memcheck_reader *reader);

#endif
