/* valgrind_xml.c - Valgrind's XML (its protocol 4 and later), by expat.
 *
 *     file = document, or parts of documents one behind the other
 *
 *     <?xml version="1.0"?>       a process begins: this one, or a child of it without a file of its own
 *     <valgrindoutput>
 *       <pid/> <args/>            whose it is
 *       <error> ... </error>      is kept when it is whole
 *     </valgrindoutput>           the process has ended, and what follows is its parent's
 *
 * Each part is given to a parser of its own, which is told what the rest of a document lacks: its beginning. So a file may
 * end anywhere between two errors; a process that is killed or execs leaves it so.
 *
 * Of a text TEXT_MOST bytes are kept. Elements nest as deep as Valgrind's do, and there are no document types, so no
 * entities. What is kept is bounded by the table's budget.
 */
#include "memcheck/valgrind.h"

#include <stdlib.h>
#include <string.h>

#ifndef HEAPPROF_EXPAT

bool
memcheck_valgrind_read(struct memcheck_valgrind *valgrind, FILE *file, memcheck_own_file_i *own_file_i, void *data,
                       char error[MEMCHECK_VALGRIND_ERROR_MAX])
{
    (void)valgrind, (void)file, (void)own_file_i, (void)data;
    snprintf(error, MEMCHECK_VALGRIND_ERROR_MAX, "heapprof was built without expat (Debian package libexpat1-dev)");
    return false;
}

#else

# include <expat.h>

# include "base/utf8.h"

enum { TEXT_MOST = 4096, LINE_MOST = 4096, DEPTH_MOST = 8, ERRORS_MOST = 65536 };

/* The elements that are looked at. */
# define ELEMENTS(E) \
    E(valgrindoutput) E(pid) E(args) E(argv) E(exe) E(arg) E(status) E(state) E(error) E(unique) E(kind) E(what) E(xwhat) \
    E(text) E(leakedbytes) E(leakedblocks) E(auxwhat) E(xauxwhat) E(stack) E(frame) E(obj) E(fn) E(dir) E(file) E(line) E(pair) \
    E(count) E(fatal_signal) E(signame)

enum element {
    OTHER,
# define ELEMENT_NUMBER(name) IN_##name,
    ELEMENTS(ELEMENT_NUMBER)
    ELEMENTS_END
};

static const char *const names[ELEMENTS_END] = {
    "",
# define ELEMENT_NAME(name) #name,
    ELEMENTS(ELEMENT_NAME)
};

struct reader {
    struct memcheck_valgrind *valgrind;
    memcheck_own_file_i *own_file_i;
    void        *data;
    XML_Parser   parser;
    enum element path[DEPTH_MOST];
    unsigned     depth;
    char         text[TEXT_MOST + 1];  /* of the element that began last */
    size_t       text_length;
    uint32_t     document;             /* that what comes is of */
    struct memcheck_error error;       /* the one that is being read */
    char         kind[64], dir[TEXT_MOST + 1];
    bool         titled;               /* the last stack has a title and waits for its frames */
    bool         freed;                /* Valgrind says of the block that it has been freed */
    uint64_t     pair_unique;
    int64_t      pair_count;
    bool         begun;                /* the parser has been given something */
    const char  *wrong;
};

/* ---- keeping ---- */

static void
stop(struct reader *reader, const char *wrong)
{
    if (reader->wrong) return;
    reader->wrong = wrong;
    XML_StopParser(reader->parser, XML_FALSE);
}

static void
stop_without_memory(struct reader *reader)
{
    stop(reader, "there is more than memory is given to");
}

static uint32_t
keep(struct reader *reader, const char *text, size_t length)
{
    uint32_t string = rb_heapprof_strings_intern(&reader->valgrind->strings, text, length);

    if (string != UINT32_MAX) return string;
    stop_without_memory(reader);
    return 0;
}

static uint32_t
keep_text(struct reader *reader)
{
    return keep(reader, reader->text, reader->text_length);
}

/* Makes room for one more; false: there is none. */
# define ROOM(reader, array, capacity, count) \
    (((count) < UINT32_MAX - 1 && HEAPPROF_MEM_GROW(&(reader)->valgrind->mem, array, capacity, (size_t)(count) + 1)) || \
     (stop_without_memory(reader), false))

/* ---- numbers ---- */

static const int64_t most = INT64_MAX / 4; /* so sums of some do not overflow */

/* A number with Valgrind's commas: "7,282"; *end: behind it. */
static int64_t
number_at(const char *text, const char **end)
{
    int64_t number = 0;

    for (; (*text >= '0' && *text <= '9') || *text == ','; text++) {
        if (*text != ',' && number <= most / 10 - 1) number = 10 * number + (*text - '0');
    }
    *end = text;
    return number;
}

static int64_t
number(const struct reader *reader)
{
    const char *end;
    return number_at(reader->text, &end);
}

/* "336 (112 direct, 224 indirect) bytes in 1 blocks are definitely lost in loss record 32 of 49" */
static void
read_loss(struct memcheck_error *error, const char *text)
{
    const char *record = strstr(text, " in loss record "), *direct = strchr(text, '('), *end;

    if (record) {
        error->number = (uint32_t)number_at(record + strlen(" in loss record "), &end);
        if (strncmp(end, " of ", 4) == 0) error->of = (uint32_t)number_at(end + 4, &end);
    }
    if (!direct) return;
    number_at(direct + 1, &end);
    if (strncmp(end, " direct, ", 9) == 0) error->indirect_bytes = number_at(end + 9, &end);
}

/* ---- documents ---- */

static void
end_pid(struct reader *reader)
{
    struct memcheck_document *document = &reader->valgrind->documents[reader->document];

    if (document->pid) return;
    document->pid = keep_text(reader);
    if (document->parent != MEMCHECK_NO_DOCUMENT && reader->own_file_i(reader->text, reader->data)) {
        document->elsewhere = true;
        reader->document = document->parent;
    }
}

static void
end_exe(struct reader *reader)
{
    struct memcheck_document *document = &reader->valgrind->documents[reader->document];
    if (reader->path[reader->depth - 2] == IN_argv && !document->program) document->program = keep_text(reader);
}

static void
end_state(struct reader *reader)
{
    if (strcmp(reader->text, "FINISHED") == 0) reader->valgrind->documents[reader->document].finished = true;
}

static void
begin_document(struct reader *reader, uint32_t parent)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;

    if (!ROOM(reader, valgrind->documents, valgrind->document_capacity, valgrind->document_count)) return;
    reader->document = valgrind->document_count++;
    valgrind->documents[reader->document] = (struct memcheck_document){.parent = parent};
}

/* ---- stacks ---- */

static void
add_stack(struct reader *reader, uint32_t title)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;

    if (!ROOM(reader, valgrind->stacks, valgrind->stack_capacity, valgrind->stack_count)) return;
    valgrind->stacks[valgrind->stack_count++] = (struct memcheck_c_stack){title, valgrind->frame_count, 0};
    reader->error.stack_count++;
}

static void
begin_stack(struct reader *reader)
{
    if (!reader->titled) add_stack(reader, 0);
    reader->titled = false;
}

static void
begin_frame(struct reader *reader)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;

    if (reader->path[reader->depth - 2] != IN_stack || reader->error.stack_count == 0) return;
    if (!ROOM(reader, valgrind->frames, valgrind->frame_capacity, valgrind->frame_count)) return;
    valgrind->frames[valgrind->frame_count++] = (struct memcheck_c_frame){0};
    reader->dir[0] = '\0';
    valgrind->stacks[valgrind->stack_count - 1].frame_count++;
}

/* The frame that is being read; NULL: none is. */
static struct memcheck_c_frame *
frame(const struct reader *reader)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;
    bool in_one = reader->path[reader->depth - 2] == IN_frame && reader->error.stack_count > 0 &&
                  valgrind->stacks[valgrind->stack_count - 1].frame_count > 0;

    return in_one ? &valgrind->frames[valgrind->frame_count - 1] : NULL;
}

static void
end_obj(struct reader *reader)
{
    const char *slash = strrchr(reader->text, '/'), *name = slash ? slash + 1 : reader->text;
    if (frame(reader)) frame(reader)->library = keep(reader, name, strlen(name));
}

static void
end_fn(struct reader *reader)
{
    if (frame(reader)) frame(reader)->function = keep_text(reader);
}

static void
end_dir(struct reader *reader)
{
    memcpy(reader->dir, reader->text, reader->text_length + 1);
}

/* With its directory, which comes before it. */
static void
end_file(struct reader *reader)
{
    char path[2 * TEXT_MOST + 2];
    int length = snprintf(path, sizeof(path), "%s%s%s", reader->dir, reader->dir[0] ? "/" : "", reader->text);

    if (frame(reader)) frame(reader)->file = keep(reader, path, (size_t)length);
}

static void
end_line(struct reader *reader)
{
    if (frame(reader)) frame(reader)->line = (uint32_t)number(reader);
}

/* ---- errors ---- */

static const struct {
    const char *name;
    enum memcheck_kind kind, freed;  /* freed: what it is of a block that has been freed */
} kinds[] = {
    {"InvalidRead", MEMCHECK_INVALID_READ, MEMCHECK_USE_AFTER_FREE},
    {"InvalidWrite", MEMCHECK_INVALID_WRITE, MEMCHECK_USE_AFTER_FREE},
    {"InvalidFree", MEMCHECK_INVALID_FREE, MEMCHECK_DOUBLE_FREE},
    {"MismatchedFree", MEMCHECK_MISMATCHED_FREE, MEMCHECK_MISMATCHED_FREE},
    {"UninitCondition", MEMCHECK_UNDEFINED, MEMCHECK_UNDEFINED},
    {"UninitValue", MEMCHECK_UNDEFINED, MEMCHECK_UNDEFINED},
    {"Leak_DefinitelyLost", MEMCHECK_DEFINITE, MEMCHECK_DEFINITE},
    {"Leak_IndirectlyLost", MEMCHECK_INDIRECT, MEMCHECK_INDIRECT},
    {"Leak_PossiblyLost", MEMCHECK_POSSIBLE, MEMCHECK_POSSIBLE},
    {"Leak_StillReachable", MEMCHECK_REACHABLE, MEMCHECK_REACHABLE},
    {"", MEMCHECK_OTHER_ERROR, MEMCHECK_OTHER_ERROR}
};

static void
begin_error(struct reader *reader)
{
    reader->error = (struct memcheck_error){.times = 1, .first_stack = reader->valgrind->stack_count};
    reader->kind[0] = '\0';
    reader->titled = reader->freed = false;
}

static void
keep_error(struct reader *reader, enum memcheck_kind kind)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;

    reader->error.kind = kind;
    reader->error.document = reader->document;
    if (valgrind->error_count == ERRORS_MOST) stop(reader, "there are more than 65536 errors");
    if (!ROOM(reader, valgrind->errors, valgrind->error_capacity, valgrind->error_count)) return;
    valgrind->errors[valgrind->error_count++] = reader->error;
}

/* What is lost at the very end has been told before; or nobody asked, and Ruby has not freed what is its own. */
static void
end_error(struct reader *reader)
{
    int at = 0;

    while (kinds[at].name[0] && strcmp(kinds[at].name, reader->kind) != 0) at++;
    if (!memcheck_error_p(kinds[at].kind) && reader->valgrind->documents[reader->document].finished) return;
    keep_error(reader, reader->freed ? kinds[at].freed : kinds[at].kind);
}

static void
end_fatal_signal(struct reader *reader)
{
    keep_error(reader, MEMCHECK_FATAL_SIGNAL);
}

static void
end_unique(struct reader *reader)
{
    uint64_t unique = strtoull(reader->text, NULL, 0);

    if (reader->path[reader->depth - 2] == IN_pair) reader->pair_unique = unique;
    else reader->error.unique = unique;
}

static void
end_kind(struct reader *reader)
{
    snprintf(reader->kind, sizeof(reader->kind), "%.*s", (int)sizeof(reader->kind) - 1, reader->text);
}

static void
end_what(struct reader *reader)
{
    reader->error.what = keep_text(reader);
}

/* "0x4c2 is 0 bytes inside a block of size 100 free'd" */
static void
end_auxwhat(struct reader *reader)
{
    if (reader->error.stack_count == 0) return;
    add_stack(reader, keep_text(reader));
    reader->titled = true;
    reader->freed = reader->freed || strstr(reader->text, " free'd") != NULL;
}

static void
end_text(struct reader *reader)
{
    if (reader->path[reader->depth - 2] == IN_xauxwhat) {
        end_auxwhat(reader);
    }
    else if (reader->path[reader->depth - 2] == IN_xwhat) {
        end_what(reader);
        read_loss(&reader->error, reader->text);
    }
}

static void
end_leakedbytes(struct reader *reader)
{
    reader->error.bytes = number(reader);
}

static void
end_leakedblocks(struct reader *reader)
{
    reader->error.blocks = number(reader);
}

static void
end_count(struct reader *reader)
{
    reader->pair_count = number(reader);
}

/* How often an error came, at the end of the document. */
static void
end_pair(struct reader *reader)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;

    for (uint32_t i = valgrind->error_count; i-- > 0 && valgrind->errors[i].document >= reader->document; ) {
        struct memcheck_error *error = &valgrind->errors[i];
        if (error->document == reader->document && error->unique == reader->pair_unique) error->times = reader->pair_count;
    }
}

/* ---- the parser's calls ---- */

static void (*const begins[ELEMENTS_END])(struct reader *) = {
    [IN_error] = begin_error, [IN_fatal_signal] = begin_error, [IN_stack] = begin_stack, [IN_frame] = begin_frame,
};

static void (*const ends[ELEMENTS_END])(struct reader *) = {
    [IN_pid] = end_pid, [IN_exe] = end_exe, [IN_state] = end_state, [IN_error] = end_error, [IN_fatal_signal] = end_fatal_signal,
    [IN_unique] = end_unique, [IN_kind] = end_kind, [IN_what] = end_what, [IN_signame] = end_what, [IN_auxwhat] = end_auxwhat,
    [IN_text] = end_text, [IN_leakedbytes] = end_leakedbytes, [IN_leakedblocks] = end_leakedblocks, [IN_obj] = end_obj,
    [IN_fn] = end_fn, [IN_dir] = end_dir, [IN_file] = end_file, [IN_line] = end_line, [IN_count] = end_count, [IN_pair] = end_pair,
};

static enum element
element_of(const char *name)
{
    int element = OTHER + 1;

    while (element < ELEMENTS_END && strcmp(names[element], name) != 0) element++;
    return element < ELEMENTS_END ? (enum element)element : OTHER;
}

/* Of an error's parts only those in an error are looked at. */
static bool
in_error_p(const struct reader *reader)
{
    return reader->depth >= 2 && (reader->path[1] == IN_error || reader->path[1] == IN_fatal_signal);
}

static void XMLCALL
start_i(void *data, const XML_Char *name, const XML_Char **attributes)
{
    struct reader *reader = data;

    (void)attributes;
    if (reader->depth == DEPTH_MOST) {
        stop(reader, "elements are nested deeper than Valgrind's");
        return;
    }
    enum element element = element_of(name);
    reader->path[reader->depth++] = element;
    reader->text_length = 0;
    if (begins[element] && in_error_p(reader)) begins[element](reader);
}

static bool
outside_of_errors_p(enum element element)
{
    return element == IN_pid || element == IN_exe || element == IN_state || element == IN_unique || element == IN_count ||
           element == IN_pair;
}

static void XMLCALL
end_i(void *data, const XML_Char *name)
{
    struct reader *reader = data;
    enum element element = reader->path[reader->depth - 1];

    (void)name;
    reader->text[reader->text_length] = '\0';
    if (!reader->wrong && ends[element] && reader->depth >= 2 && (in_error_p(reader) || outside_of_errors_p(element))) {
        ends[element](reader);
    }
    reader->text_length = 0;
    reader->depth--;
}

static void XMLCALL
text_i(void *data, const XML_Char *text, int length)
{
    struct reader *reader = data;
    size_t room = TEXT_MOST - reader->text_length, take = (size_t)length < room ? (size_t)length : room;

    memcpy(reader->text + reader->text_length, text, take);
    reader->text_length += take;
}

static void XMLCALL
doctype_i(void *data, const XML_Char *name, const XML_Char *system, const XML_Char *public, int subset)
{
    (void)name, (void)system, (void)public, (void)subset;
    stop(data, "it has a document type, which Valgrind's has not");
}

/* ---- the file ---- */

static void
restart(struct reader *reader)
{
    XML_ParserReset(reader->parser, "UTF-8");
    XML_SetUserData(reader->parser, reader);
    XML_SetElementHandler(reader->parser, start_i, end_i);
    XML_SetCharacterDataHandler(reader->parser, text_i);
    XML_SetStartDoctypeDeclHandler(reader->parser, doctype_i);
    reader->depth = 0;
    reader->text_length = 0;
    reader->begun = false;
}

static void
give(struct reader *reader, const char *text, size_t length)
{
    reader->begun = true;
    if (reader->wrong || XML_Parse(reader->parser, text, (int)length, XML_FALSE) != XML_STATUS_ERROR) return;
    if (!reader->wrong) reader->wrong = XML_ErrorString(XML_GetErrorCode(reader->parser));
}

/* What no XML may have, as a command's arguments do, is made harmless. */
static void
give_line(struct reader *reader, char *line, size_t length)
{
    char clean[HEAPPROF_UTF8_MAX(LINE_MOST)];

    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)line[i] < ' ' && !strchr("\t\r\n", line[i])) line[i] = '?';
    }
    give(reader, clean, rb_heapprof_utf8_copy(clean, line, length));
}

/* The parser is where an element is not whole. */
static bool
in_the_middle_p(const struct reader *reader)
{
    return reader->depth >= 2;
}

/* A line, or a part of a long one. */
static void
take(struct reader *reader, char *line, size_t length, bool at_start)
{
    static const char begin[] = "<valgrindoutput>", end[] = "</valgrindoutput>", xml[] = "<?xml";

    if (at_start && strncmp(line, xml, strlen(xml)) == 0) {
        if (in_the_middle_p(reader)) reader->wrong = "a process begins in the middle of another one's element";
        restart(reader);
        begin_document(reader, reader->document);
    }
    else if (!reader->begun) {
        if (strspn(line, "\r\n") == length) return;
        if (reader->document == MEMCHECK_NO_DOCUMENT) reader->wrong = "it is no XML of Valgrind's";
        else give(reader, begin, strlen(begin));
    }
    if (!reader->wrong) give_line(reader, line, length);
    if (!reader->wrong && at_start && strncmp(line, end, strlen(end)) == 0) {
        reader->document = reader->valgrind->documents[reader->document].parent;
        restart(reader);
    }
}

static void
read_lines(struct reader *reader, FILE *file, unsigned long *number)
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
    if (!reader->wrong && in_the_middle_p(reader)) reader->wrong = "it ends in the middle of an element";
}

bool
memcheck_valgrind_read(struct memcheck_valgrind *valgrind, FILE *file, memcheck_own_file_i *own_file_i, void *data,
                       char error[MEMCHECK_VALGRIND_ERROR_MAX])
{
    struct reader *reader = calloc(1, sizeof(*reader));
    unsigned long number = 0;

    if (reader) reader->parser = XML_ParserCreate("UTF-8");
    if (reader && reader->parser) {
        reader->valgrind = valgrind;
        reader->own_file_i = own_file_i;
        reader->data = data;
        reader->document = MEMCHECK_NO_DOCUMENT;
        restart(reader);
        read_lines(reader, file, &number);
        if (reader->wrong) snprintf(error, MEMCHECK_VALGRIND_ERROR_MAX, "line %lu: %s", number, reader->wrong);
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
