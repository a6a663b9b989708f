/* xml.c - handles the elements of Valgrind's XML (its protocol 4 and later).
 *
 *     <valgrindoutput>
 *       <pid/> <args/>            the process
 *       <error> ... </error>      kept when it is complete
 *       <clientmsg/>              a message of the process, about the errors before (messages.c)
 *     </valgrindoutput>
 *
 * MEMCHECK_TEXT_MOST bytes of a text are kept. Elements nest only as deep as Valgrind's do.
 * There are no document types, and so no entities. The budget of the table bounds the memory. */
#ifdef HEAPPROF_EXPAT
#include "memcheck/valgrind/reader.h"

#include <stdlib.h>
#include <string.h>

#define ERRORS_MOST 65536

/* The elements that are read. */
#define ELEMENTS(E) \
    E(valgrindoutput) E(pid) E(args) E(argv) E(exe) E(arg) E(status) E(state) \
    E(error) E(unique) E(kind) E(what) E(xwhat) E(text) E(leakedbytes) E(leakedblocks) \
    E(auxwhat) E(xauxwhat) E(stack) E(frame) E(obj) E(fn) E(dir) E(file) E(line) E(pair) \
    E(count) E(fatal_signal) E(signame) E(tid) E(clientmsg)

enum element {
    OTHER,
#define ELEMENT_NUMBER(name) IN_##name,
    ELEMENTS(ELEMENT_NUMBER)
    ELEMENTS_END
};

static const char *const names[ELEMENTS_END] = {
    "",
#define ELEMENT_NAME(name) #name,
    ELEMENTS(ELEMENT_NAME)
};

static uint32_t
keep_text(struct memcheck_reader *reader)
{
    return memcheck_reader_keep(reader, reader->text, reader->text_length);
}

/* ---- numbers ---- */

static const int64_t most = INT64_MAX / 4; /* so that a sum of a few does not overflow */

/* A number with Valgrind's commas: "7,282". *end is set after it. */
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
number(const struct memcheck_reader *reader)
{
    const char *end;
    return number_at(reader->text, &end);
}

/* Reads "336 (112 direct, 224 indirect) bytes in 1 blocks are definitely lost in loss record 32
 * of 49". */
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
end_pid(struct memcheck_reader *reader)
{
    struct memcheck_document *document = &reader->valgrind->documents[reader->document];

    if (document->pid) return;
    document->pid = keep_text(reader);
    if (document->parent != MEMCHECK_NO_DOCUMENT &&
        reader->own_file_i(reader->text, reader->data)) {
        document->elsewhere = true;
        reader->document = document->parent;
    }
}

static void
end_exe(struct memcheck_reader *reader)
{
    struct memcheck_document *document = &reader->valgrind->documents[reader->document];
    if (reader->path[reader->depth - 2] == IN_argv &&
        !document->program) document->program = keep_text(reader);
}

static void
end_state(struct memcheck_reader *reader)
{
    if (strcmp(reader->text, "FINISHED") == 0)
        reader->valgrind->documents[reader->document].finished = true;
}

void
memcheck_reader_begin_document(struct memcheck_reader *reader, uint32_t parent)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;

    if (!MEMCHECK_READER_ROOM(reader, valgrind->documents, valgrind->document_capacity,
                              valgrind->document_count)) return;
    reader->document = valgrind->document_count++;
    valgrind->documents[reader->document] = (struct memcheck_document){.parent = parent};
}

/* ---- stacks ---- */

static void
add_stack(struct memcheck_reader *reader, uint32_t title)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;

    if (!MEMCHECK_READER_ROOM(reader, valgrind->stacks, valgrind->stack_capacity,
                              valgrind->stack_count)) return;
    valgrind->stacks[valgrind->stack_count++] =
        (struct memcheck_c_stack){ title, valgrind->frame_count, 0 };
    reader->error.stack_count++;
}

static void
begin_stack(struct memcheck_reader *reader)
{
    if (!reader->titled) add_stack(reader, 0);
    reader->titled = false;
}

static void
begin_frame(struct memcheck_reader *reader)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;

    if (reader->path[reader->depth - 2] != IN_stack || reader->error.stack_count == 0) return;
    if (!MEMCHECK_READER_ROOM(reader, valgrind->frames, valgrind->frame_capacity,
                              valgrind->frame_count)) return;
    valgrind->frames[valgrind->frame_count++] = (struct memcheck_c_frame){0};
    reader->dir[0] = '\0';
    valgrind->stacks[valgrind->stack_count - 1].frame_count++;
}

/* The frame that is being read; NULL if there is none. */
static struct memcheck_c_frame *
frame(const struct memcheck_reader *reader)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;
    bool in_one = reader->path[reader->depth - 2] == IN_frame && reader->error.stack_count > 0 &&
                  valgrind->stacks[valgrind->stack_count - 1].frame_count > 0;

    return in_one ? &valgrind->frames[valgrind->frame_count - 1] : NULL;
}

static void
end_obj(struct memcheck_reader *reader)
{
    const char *slash = strrchr(reader->text, '/'), *name = slash ? slash + 1 : reader->text;
    if (frame(reader)) frame(reader)->library = memcheck_reader_keep(reader, name, strlen(name));
}

static void
end_fn(struct memcheck_reader *reader)
{
    if (frame(reader)) frame(reader)->function = keep_text(reader);
}

static void
end_dir(struct memcheck_reader *reader)
{
    memcpy(reader->dir, reader->text, reader->text_length + 1);
}

/* The file with its directory, which comes before it. */
static void
end_file(struct memcheck_reader *reader)
{
    char path[2 * MEMCHECK_TEXT_MOST + 2];
    int length = snprintf(path, sizeof(path), "%s%s%s", reader->dir, reader->dir[0] ? "/" : "",
                          reader->text);

    if (frame(reader)) frame(reader)->file = memcheck_reader_keep(reader, path, (size_t)length);
}

static void
end_line(struct memcheck_reader *reader)
{
    if (frame(reader)) frame(reader)->line = (uint32_t)number(reader);
}

/* ---- errors ---- */

static const struct {
    const char *name;
    enum memcheck_kind kind, freed;  /* freed: the kind if the block has been freed */
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
begin_error(struct memcheck_reader *reader)
{
    reader->error = (struct memcheck_error){.times = 1,
                                            .first_stack = reader->valgrind->stack_count};
    reader->kind[0] = '\0';
    reader->titled = reader->freed = false;
}

static void
keep_error(struct memcheck_reader *reader, enum memcheck_kind kind)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;

    reader->error.kind = kind;
    reader->error.document = reader->document;
    if (valgrind->error_count == ERRORS_MOST)
        memcheck_reader_stop(reader, "there are more than 65536 errors");
    if (!MEMCHECK_READER_ROOM(reader, valgrind->errors, valgrind->error_capacity,
                              valgrind->error_count))
        return;
    valgrind->errors[valgrind->error_count++] = reader->error;
}

/* Skips leaks of the very end: either they were reported before; or nobody asked for a search,
 * and Ruby has not freed its own memory. */
static void
end_error(struct memcheck_reader *reader)
{
    int at = 0;

    while (kinds[at].name[0] && strcmp(kinds[at].name, reader->kind) != 0) at++;
    if (!memcheck_error_p(kinds[at].kind) && reader->valgrind->documents[reader->document].finished)
        return;
    keep_error(reader, reader->freed ? kinds[at].freed : kinds[at].kind);
}

static void
end_fatal_signal(struct memcheck_reader *reader)
{
    keep_error(reader, MEMCHECK_FATAL_SIGNAL);
}

static void
end_unique(struct memcheck_reader *reader)
{
    uint64_t unique = strtoull(reader->text, NULL, 0);

    if (reader->path[reader->depth - 2] == IN_pair) reader->pair_unique = unique;
    else reader->error.unique = unique;
}

static void
end_kind(struct memcheck_reader *reader)
{
    snprintf(reader->kind, sizeof(reader->kind), "%.*s", (int)sizeof(reader->kind) - 1,
             reader->text);
}

static void
end_what(struct memcheck_reader *reader)
{
    reader->error.what = keep_text(reader);
}

/* Reads "0x4c2 is 0 bytes inside a block of size 100 free'd". */
static void
end_auxwhat(struct memcheck_reader *reader)
{
    if (reader->error.stack_count == 0) return;
    add_stack(reader, keep_text(reader));
    reader->titled = true;
    reader->freed = reader->freed || strstr(reader->text, " free'd") != NULL;
}

static void
end_text(struct memcheck_reader *reader)
{
    if (reader->path[reader->depth - 2] == IN_xauxwhat) {
        end_auxwhat(reader);
    }
    else if (reader->path[reader->depth - 2] == IN_xwhat) {
        end_what(reader);
        read_loss(&reader->error, reader->text);
    }
    else if (reader->path[reader->depth - 2] == IN_clientmsg) {
        memcheck_reader_take_message(reader);
    }
}

static void
end_leakedbytes(struct memcheck_reader *reader)
{
    reader->error.bytes = number(reader);
}

static void
end_leakedblocks(struct memcheck_reader *reader)
{
    reader->error.blocks = number(reader);
}

static void
end_tid(struct memcheck_reader *reader)
{
    uint32_t thread = (uint32_t)number(reader);

    if (reader->path[reader->depth - 2] == IN_clientmsg) reader->thread = thread;
    else reader->error.thread = thread;
}

static void
end_count(struct memcheck_reader *reader)
{
    reader->pair_count = number(reader);
}

/* How often an error came; stands at the end of the document. */
static void
end_pair(struct memcheck_reader *reader)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;

    for (uint32_t i = valgrind->error_count;
         i-- > 0 && valgrind->errors[i].document >= reader->document; ) {
        struct memcheck_error *error = &valgrind->errors[i];
        if (error->document == reader->document &&
            error->unique == reader->pair_unique) error->times = reader->pair_count;
    }
}

/* ---- the parser's calls ---- */

static void (*const begins[ELEMENTS_END])(struct memcheck_reader *) = {
    [IN_error] = begin_error,
    [IN_fatal_signal] = begin_error,
    [IN_stack] = begin_stack,
    [IN_frame] = begin_frame,
};

static void (*const ends[ELEMENTS_END])(struct memcheck_reader *) = {
    [IN_pid] = end_pid,
    [IN_exe] = end_exe,
    [IN_state] = end_state,
    [IN_error] = end_error,
    [IN_fatal_signal] = end_fatal_signal,
    [IN_unique] = end_unique,
    [IN_kind] = end_kind,
    [IN_what] = end_what,
    [IN_signame] = end_what,
    [IN_auxwhat] = end_auxwhat,
    [IN_text] = end_text,
    [IN_leakedbytes] = end_leakedbytes,
    [IN_leakedblocks] = end_leakedblocks,
    [IN_obj] = end_obj,
    [IN_fn] = end_fn,
    [IN_dir] = end_dir,
    [IN_file] = end_file,
    [IN_line] = end_line,
    [IN_count] = end_count,
    [IN_pair] = end_pair,
    [IN_tid] = end_tid,
};

static enum element
element_of(const char *name)
{
    int element = OTHER + 1;

    while (element < ELEMENTS_END && strcmp(names[element], name) != 0) element++;
    return element < ELEMENTS_END ? (enum element)element : OTHER;
}

/* The parts of an error are read only inside an error. */
static bool
in_error_p(const struct memcheck_reader *reader)
{
    return reader->depth >= 2 && (reader->path[1] == IN_error ||
                                  reader->path[1] == IN_fatal_signal);
}

static bool
in_message_p(const struct memcheck_reader *reader, enum element element)
{
    return reader->depth == 3 && reader->path[1] == IN_clientmsg &&
           (element == IN_tid || element == IN_text);
}

static void XMLCALL
start_i(void *data, const XML_Char *name, const XML_Char **attributes)
{
    struct memcheck_reader *reader = data;

    (void)attributes;
    if (reader->depth == MEMCHECK_DEPTH_MOST) {
        memcheck_reader_stop(reader, "elements are nested deeper than Valgrind's");
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
    return element == IN_pid || element == IN_exe || element == IN_state || element == IN_unique ||
           element == IN_count ||
           element == IN_pair;
}

static void XMLCALL
end_i(void *data, const XML_Char *name)
{
    struct memcheck_reader *reader = data;
    enum element element = (enum element)reader->path[reader->depth - 1];

    (void)name;
    reader->text[reader->text_length] = '\0';
    bool wanted =
        in_error_p(reader) || in_message_p(reader, element) || outside_of_errors_p(element);
    if (!reader->wrong && ends[element] && reader->depth >= 2 && wanted) ends[element](reader);
    reader->text_length = 0;
    reader->depth--;
}

static void XMLCALL
text_i(void *data, const XML_Char *text, int length)
{
    struct memcheck_reader *reader = data;
    size_t room = MEMCHECK_TEXT_MOST - reader->text_length,
           take = (size_t)length < room ? (size_t)length : room;

    memcpy(reader->text + reader->text_length, text, take);
    reader->text_length += take;
}

static void XMLCALL
doctype_i(void *data, const XML_Char *name, const XML_Char *system, const XML_Char *public,
          int subset)
{
    (void)name, (void)system, (void)public, (void)subset;
    memcheck_reader_stop(data, "it has a document type, which Valgrind's has not");
}

void
memcheck_reader_listen(struct memcheck_reader *reader)
{
    XML_SetUserData(reader->parser, reader);
    XML_SetElementHandler(reader->parser, start_i, end_i);
    XML_SetCharacterDataHandler(reader->parser, text_i);
    XML_SetStartDoctypeDeclHandler(reader->parser, doctype_i);
}

#endif
