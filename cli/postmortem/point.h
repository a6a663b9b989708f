#ifndef CLI_POINT_H
#define CLI_POINT_H
/* One file of a process, as a point in time: how much memory there was, and of which kind. */
#include <stdbool.h>
#include <stdint.h>

#include "pprof/model.h"

/* What fills memory. The kinds of a process add up to its RSS; others are beside it. */
#define CLI_POINT_KINDS(X) \
    X(STRINGS, "strings") \
    X(OBJECTS, "objects") \
    X(MALLOC, "malloc") \
    X(FREED, "freed") \
    X(REST, "rest") \
    X(OTHERS, "others")

enum cli_point_kind {
#define CLI_POINT_KIND(name, title) CLI_POINT_##name,
    CLI_POINT_KINDS(CLI_POINT_KIND)
#undef CLI_POINT_KIND
    CLI_POINT_KIND_COUNT
};

struct cli_point {
    const struct heapprof_model *model;
    double   kinds[CLI_POINT_KIND_COUNT];  /* bytes */
    double   resident;                     /* RSS; 0: the file does not say */
    double   unexplained;                  /* of it */
    double   used, limit;                  /* of the limit that is fullest; 0: not known */
    uint64_t reached;                      /* how often its limit was reached */
    const char *limit_name;                /* "memory.max"; "": not known */
    const char *mark;                      /* "85%"; NULL: the file is of no mark */
    const char *caller;                    /* the C function that has most of MALLOC; NULL: none is
                                              known */
    double   caller_bytes;
    const char *largest;                   /* "300 bytes, 42 convert", a process; NULL: none */
    const char *copied;                    /* why a copy has written it; NULL: none has */
    uint64_t pid;                          /* 0: not known */
};

/* Returns false if there is no memory. */
bool cli_point_read(struct cli_point *point, const struct heapprof_model *model);

#endif
