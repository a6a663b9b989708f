#ifndef HEAPPROF_CHECK_H
#define HEAPPROF_CHECK_H
/* The assertion of plain C. It checks in builds with HEAPPROF_CHECK=1 (unit tests, the debug
 * build), and costs nothing elsewhere. It says what broke, then aborts: a broken invariant is never
 * repaired in silence. */
#include <stdio.h>
#include <stdlib.h>

#ifndef HEAPPROF_CHECK
# define HEAPPROF_CHECK 0
#endif

#define HEAPPROF_ASSERT(condition) \
    ((void)((!HEAPPROF_CHECK || (condition)) ? 0 : \
            (fprintf(stderr, "heapprof: %s:%d: broken: %s\n", __FILE__, __LINE__, #condition), \
             abort(), 0)))

#endif
