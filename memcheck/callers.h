#ifndef HEAPPROF_MEMCHECK_CALLERS_H
#define HEAPPROF_MEMCHECK_CALLERS_H
/* The C functions that led to the one that a record belongs to, without functions of Ruby. */
#include "memcheck/process.h"

/* A walk from the innermost caller outwards. It begins all zero. Returns false at the end. */
struct memcheck_callers_walk {
    uint32_t seen;
    struct memcheck_c_function at;
};

bool memcheck_callers_next(const struct memcheck_process *process,
                           const struct memcheck_record *record,
                           struct memcheck_callers_walk *walk);

/* For whom the function did it: the innermost caller of another library that has a name; for a
 * function without a name, otherwise the innermost caller that has one. Returns false if there
 * is none. */
bool memcheck_callers_for(const struct memcheck_process *process,
                          const struct memcheck_record *record,
                          struct memcheck_c_function *found);

struct memcheck_c_function memcheck_callers_own(const struct memcheck_record *record);
bool memcheck_callers_named_p(const struct memcheck_c_function *function);

/* The record's own function; if that has no name, the one for which it worked. */
struct memcheck_c_function memcheck_callers_named(const struct memcheck_process *process,
                                                  const struct memcheck_record *record);

/* True if the library has that name, with or without what follows its first dot. */
bool memcheck_library_named_p(const char *library, size_t library_length, const char *name);

/* True if a function of that library is the record's own, or led to it; for an error, also if one
 * allocated or freed its block. */
bool memcheck_callers_pass_p(const struct memcheck_process *process,
                             const struct memcheck_record *record, const char *library);

#endif
