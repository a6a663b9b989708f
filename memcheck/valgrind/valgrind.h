#ifndef HEAPPROF_MEMCHECK_VALGRIND_H
#define HEAPPROF_MEMCHECK_VALGRIND_H
/* What Valgrind's memcheck has found in the processes of a command, by the XML that it writes.
 *
 *     init -> read each file -> attribute -> ask
 *
 * A child that does not exec may write to its parent's file: a file has documents one behind the other, each begins where
 * its process does, and they end in any order. All texts are strings of the table; its pointers are good when all is read. */
#include <stdio.h>

#include "base/strings.h"
#include "memcheck/kinds.h"

#define MEMCHECK_NO_DOCUMENT UINT32_MAX

enum memcheck_role {
    MEMCHECK_OF_CORE,                      /* Ruby's */
    MEMCHECK_WRAPPER,                      /* what calls malloc or free for others: of the C and C++ libraries, and the profiler's */
    MEMCHECK_INTERPRETER,                  /* of Ruby, and runs Ruby code: who is behind it did not ask */
    MEMCHECK_OF_EXTENSION
};

struct memcheck_c_frame {
    uint32_t function, library, file;      /* strings; library: the name without directories */
    uint32_t line;                         /* 0: not known */
    uint32_t methods;                      /* string: of an extension, which methods the function is, as "A#b, C.d"; attribute */
    enum memcheck_role role;               /* attribute */
};

struct memcheck_ruby_frame {
    uint32_t name, file, line;             /* strings; line 0: not known */
};

/* A C function that is a method. */
struct memcheck_method {
    uint32_t library, function, name;      /* strings */
};

struct memcheck_c_stack {
    uint32_t title;                        /* string: of other than the first, whose it is, as Valgrind says it */
    uint32_t first_frame, frame_count;     /* the innermost first */
};

struct memcheck_error {
    enum memcheck_kind kind;
    uint32_t document;
    uint32_t what;                         /* string: as Valgrind says it */
    uint32_t first_stack, stack_count;
    uint32_t thread;                       /* Valgrind's number of it */
    uint32_t first_ruby_frame, ruby_frame_count; /* what Ruby code ran, the innermost first; none: not known */
    bool     looked;                       /* what came behind it has been looked at: a Ruby stack is not to be had any more */
    uint64_t unique;                       /* Valgrind's number, by which it says how often */
    int64_t  times;
    int64_t  blocks, bytes, indirect_bytes; /* of a leak */
    uint32_t number, of;                   /* of a leak: which loss record, of how many */
    uint32_t function, library;            /* strings: who asked, or did it; attribute */
    bool     core;                         /* no extension is in the stack */
};

struct memcheck_document {
    uint32_t pid, program;                 /* strings */
    uint32_t parent;                       /* document; MEMCHECK_NO_DOCUMENT: none */
    bool     elsewhere;                    /* the process has a file of its own, so this is only its beginning */
    bool     finished;                     /* the program has ended; what comes is Valgrind's own last search */
};

struct memcheck_valgrind {
    struct heapprof_mem mem;
    struct heapprof_strings strings;
    struct memcheck_c_frame *frames;
    struct memcheck_c_stack *stacks;
    struct memcheck_error *errors;
    struct memcheck_document *documents;
    struct memcheck_ruby_frame *ruby_frames;
    struct memcheck_method *methods;       /* by library and function, after attribute */
    size_t frame_capacity, stack_capacity, error_capacity, document_capacity, ruby_frame_capacity, method_capacity;
    uint32_t frame_count, stack_count, error_count, document_count, ruby_frame_count, method_count;
};

#define MEMCHECK_VALGRIND_ERROR_MAX 160

void memcheck_valgrind_init(struct memcheck_valgrind *valgrind);
void memcheck_valgrind_free(struct memcheck_valgrind *valgrind);

static inline const char *
memcheck_valgrind_string(const struct memcheck_valgrind *valgrind, uint32_t string)
{
    return rb_heapprof_strings_get(&valgrind->strings, string, NULL);
}

/* Whether that process has a file of its own, because it has exec'ed: then what follows is its parent's again. */
typedef bool memcheck_own_file_i(const char *pid, void *data);

/* Why no file can be read; NULL: they can. */
const char *memcheck_valgrind_refusal(void);

/* Adds what is in the file. False: error says in a line why; what was read before it stays. */
bool memcheck_valgrind_read(struct memcheck_valgrind *valgrind, FILE *file, memcheck_own_file_i *own_file_i, void *data,
                            char error[MEMCHECK_VALGRIND_ERROR_MAX]);

/* Finds out the role of each frame, which methods it is, and who each error is by. core: the name of the file that is Ruby. */
void memcheck_valgrind_attribute(struct memcheck_valgrind *valgrind, const char *core);

#endif
