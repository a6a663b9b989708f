#ifndef HEAPPROF_MEMCHECK_VALGRIND_H
#define HEAPPROF_MEMCHECK_VALGRIND_H
/* What Valgrind's memcheck has found in the processes of a command, from the XML that it
 * writes.
 *
 *     init -> read each file -> attribute -> ask
 *
 * A child that does not exec may write to the file of its parent. So a file has several
 * documents one after the other. Each begins when its process begins; they end in any order.
 * All texts are strings of the table. Pointers into the arrays are valid after everything is
 * read. */
#include <stdio.h>

#include "base/strings.h"
#include "memcheck/kinds.h"

#define MEMCHECK_NO_DOCUMENT UINT32_MAX

enum memcheck_role {
    MEMCHECK_OF_CORE,                      /* function of Ruby */
    MEMCHECK_WRAPPER,                      /* allocates or frees for its caller: in the C and C++
                                              libraries, and in the profiler */
    MEMCHECK_INTERPRETER,                  /* function of Ruby that runs Ruby code: its callers
                                              did not ask for the memory */
    MEMCHECK_OF_EXTENSION
};

struct memcheck_c_frame {
    uint32_t function, library, file;      /* strings; library is a name without directories */
    uint32_t line;                         /* 0 if not known */
    uint32_t methods;                      /* string: the Ruby methods that a function of an
                                              extension is, as "A#b, C.d"; set by attribute */
    enum memcheck_role role;               /* set by attribute */
};

struct memcheck_ruby_frame {
    uint32_t name, file, line;             /* strings; line is 0 if not known */
};

/* A C function that is a Ruby method. */
struct memcheck_method {
    uint32_t library, function, name;      /* strings */
};

/* A range of ruby_frames, innermost first. */
struct memcheck_told_stack {
    uint32_t first, count;
};

struct memcheck_c_stack {
    uint32_t title;                        /* string: what a stack after the first one shows, in
                                              Valgrind's words */
    uint32_t first_frame, frame_count;     /* innermost first */
};

struct memcheck_error {
    enum memcheck_kind kind;
    uint32_t document;
    uint32_t what;                         /* string: Valgrind's words */
    uint32_t first_stack, stack_count;
    uint32_t thread;                       /* Valgrind's number of the thread */
    uint32_t first_ruby_frame, ruby_frame_count; /* the Ruby stack, innermost first; none if not
                                                    known */
    bool     looked;                       /* what followed it has been read: a Ruby stack can no
                                              longer come */
    uint64_t dead_address;                 /* for the use of a dead object: its address */
    struct memcheck_told_stack allocated, collected; /* likewise: the Ruby code that allocated it,
                                              and that ran when the GC began which found it dead */
    uint64_t unique;                       /* Valgrind's number of the error, for its count */
    int64_t  times;
    int64_t  blocks, bytes, indirect_bytes; /* for a leak */
    uint32_t number, of;                   /* for a leak: its loss record, and how many there are */
    uint32_t function, library;            /* strings: who allocated, or who did it; set by
                                              attribute */
    uint32_t first_caller, caller_count;   /* frames: the callers of that function, up to the
                                              interpreter; set by attribute */
    bool     core;                         /* true if no extension is in the stack */
};

struct memcheck_document {
    uint32_t pid, program;                 /* strings */
    uint32_t parent;                       /* a document; MEMCHECK_NO_DOCUMENT if there is none */
    bool     elsewhere;                    /* the process has a file of its own; this document is
                                              only its beginning */
    bool     finished;                     /* the program has ended; the rest is Valgrind's own
                                              last search */
};

struct memcheck_valgrind {
    struct heapprof_mem mem;
    struct heapprof_strings strings;
    struct memcheck_c_frame *frames;
    struct memcheck_c_stack *stacks;
    struct memcheck_error *errors;
    struct memcheck_document *documents;
    struct memcheck_ruby_frame *ruby_frames;
    struct memcheck_method *methods;       /* by library and function; sorted by attribute */
    size_t frame_capacity, stack_capacity, error_capacity, document_capacity, ruby_frame_capacity,
           method_capacity;
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

/* True if that process has a file of its own, because it has called exec. Then the elements
 * that follow belong to its parent again. */
typedef bool memcheck_own_file_i(const char *pid, void *data);

/* Says why no file can be read; returns NULL if files can be read. */
const char *memcheck_valgrind_refusal(void);

/* Adds the contents of a file. Returns false with a one-line error; what was read before the
 * error stays. */
bool memcheck_valgrind_read(struct memcheck_valgrind *valgrind, FILE *file,
                            memcheck_own_file_i *own_file_i, void *data,
                            char error[MEMCHECK_VALGRIND_ERROR_MAX]);

/* Finds for each frame its role and its Ruby methods, and for each error who caused it. core is
 * the name of the file that contains Ruby. */
void memcheck_valgrind_attribute(struct memcheck_valgrind *valgrind, const char *core);

#endif
