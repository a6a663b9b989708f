/* reader.c - what the reader of Valgrind's XML keeps, and how it stops. */
#ifdef HEAPPROF_EXPAT
#include "memcheck/valgrind/reader.h"

void
memcheck_reader_stop(struct memcheck_reader *reader, const char *wrong)
{
    if (reader->wrong) return;
    reader->wrong = wrong;
    XML_StopParser(reader->parser, XML_FALSE);
}

void
memcheck_reader_stop_without_memory(struct memcheck_reader *reader)
{
    memcheck_reader_stop(reader, "there is more than memory is given to");
}

uint32_t
memcheck_reader_keep(struct memcheck_reader *reader, const char *text, size_t length)
{
    uint32_t string = rb_heapprof_strings_intern(&reader->valgrind->strings, text, length);

    if (string != UINT32_MAX) return string;
    memcheck_reader_stop_without_memory(reader);
    return 0;
}

#endif
