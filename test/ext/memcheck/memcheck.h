#ifndef HEAPPROF_TEST_MEMCHECK_H
#define HEAPPROF_TEST_MEMCHECK_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void memcheck_lose_by_new(size_t count);
void memcheck_lose_by_vector(size_t count);
void *memcheck_make_by_new(void);

#ifdef __cplusplus
}
#endif

#endif
