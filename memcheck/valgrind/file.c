/* file.c - reads a file of Valgrind's XML with expat. Such a file is a stack of letters, and
 * some letters are interrupted by others.
 *
 *     file = documents, or parts of them, one after the other
 *
 *     <?xml version="1.0"?>       a process begins: this one, or a child without a file of its own
 *     <valgrindoutput>
 *     ...                         xml.c
 *     </valgrindoutput>           the process has ended; what follows belongs to its parent
 *
 * Each part gets a parser of its own. A part that continues a document has no beginning, so the
 * parser is given one. A file may end anywhere between two errors: a process that is killed or
 * calls exec leaves it so. */
#include "memcheck/valgrind/valgrind.h"

#ifndef HEAPPROF_EXPAT

const char *
memcheck_valgrind_refusal(void)
{
    return "heapprof was built without expat (Debian package libexpat1-dev)";
}

bool
memcheck_valgrind_read(struct memcheck_valgrind *valgrind, FILE *file,
                       memcheck_own_file_i *own_file_i, void *data,
                       char error[MEMCHECK_VALGRIND_ERROR_MAX])
{
    (void)valgrind, (void)file, (void)own_file_i, (void)data;
    snprintf(error, MEMCHECK_VALGRIND_ERROR_MAX, "%s", memcheck_valgrind_refusal());
    return false;
}

#else

#include "memcheck/valgrind/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define LINE_MOST 4096 /* the parser gets a longer line in parts */

const char *
memcheck_valgrind_refusal(void)
{
    return NULL;
}

static void
restart(struct memcheck_reader *reader)
{
    XML_ParserReset(reader->parser, "UTF-8");
    memcheck_reader_listen(reader);
    reader->depth = 0;
    reader->text_length = 0;
    reader->begun = false;
}

static void
give(struct memcheck_reader *reader, const char *text, size_t length)
{
    reader->begun = true;
    if (reader->wrong || XML_Parse(reader->parser, text, (int)length,
                                   XML_FALSE) != XML_STATUS_ERROR) return;
    if (!reader->wrong) reader->wrong = XML_ErrorString(XML_GetErrorCode(reader->parser));
}

/* Replaces bytes that XML forbids; the arguments of a command may have some. */
static void
give_line(struct memcheck_reader *reader, char *line, size_t length)
{
    char clean[HEAPPROF_UTF8_MAX(LINE_MOST)];

    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)line[i] < ' ' && !strchr("\t\r\n", line[i])) line[i] = '?';
    }
    give(reader, clean, rb_heapprof_utf8_copy(clean, line, length));
}

/* True if the parser is inside an element. */
static bool
in_the_middle_p(const struct memcheck_reader *reader)
{
    return reader->depth >= 2;
}

/* Gives the parser a line, or a part of a long one. */
static void
take(struct memcheck_reader *reader, char *line, size_t length, bool at_start)
{
    static const char begin[] = "<valgrindoutput>", end[] = "</valgrindoutput>", xml[] = "<?xml";

    if (at_start && strncmp(line, xml, strlen(xml)) == 0) {
        if (in_the_middle_p(reader))
            reader->wrong = "a process begins in the middle of another one's element";
        restart(reader);
        memcheck_reader_begin_document(reader, reader->document);
    }
    else if (!reader->begun) {
        if (strspn(line, "\r\n") == length) return;
        if (reader->document == MEMCHECK_NO_DOCUMENT) reader->wrong = "it is not XML of Valgrind";
        else give(reader, begin, strlen(begin));
    }
    if (!reader->wrong) give_line(reader, line, length);
    if (!reader->wrong && at_start && strncmp(line, end, strlen(end)) == 0) {
        reader->document = reader->valgrind->documents[reader->document].parent;
        restart(reader);
    }
}

static void
read_lines(struct memcheck_reader *reader, FILE *file, unsigned long *number)
{
    char line[LINE_MOST];
    bool at_start = true;

    while (!reader->wrong && fgets(line, sizeof(line), file)) {
        size_t length = strlen(line);
        if (at_start) ++*number;
        take(reader, line, length, at_start);
        at_start = length > 0 && line[length - 1] == '\n';
    }
    if (!reader->wrong && ferror(file)) reader->wrong = "it cannot be read";
    if (!reader->wrong && in_the_middle_p(reader))
        reader->wrong = "it ends in the middle of an element";
}

bool
memcheck_valgrind_read(struct memcheck_valgrind *valgrind, FILE *file,
                       memcheck_own_file_i *own_file_i, void *data,
                       char error[MEMCHECK_VALGRIND_ERROR_MAX])
{
    struct memcheck_reader *reader = calloc(1, sizeof(*reader));
    unsigned long number = 0;

    if (reader) reader->parser = XML_ParserCreate("UTF-8");
    if (reader && reader->parser) {
        reader->valgrind = valgrind;
        reader->own_file_i = own_file_i;
        reader->data = data;
        reader->document = MEMCHECK_NO_DOCUMENT;
        restart(reader);
        read_lines(reader, file, &number);
        if (reader->wrong)
            snprintf(error, MEMCHECK_VALGRIND_ERROR_MAX, "line %lu: %s", number, reader->wrong);
        XML_ParserFree(reader->parser);
    }
    else {
        snprintf(error, MEMCHECK_VALGRIND_ERROR_MAX, "no memory");
    }
    bool whole = reader && reader->parser && !reader->wrong;
    free(reader);
    return whole;
}

#endif
