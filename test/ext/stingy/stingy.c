/* stingy.c - to be preloaded: a copy of the process that asks malloc for memory is ended, as one
 * that waits for a lock of malloc's would be. A copy is whoever has another pid than the process in
 * which this was loaded. Children that run another program load it anew.
 *
 *     STINGY_COPIES=1   A copy that is to write a profile is ended before it begins. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);

static long loaded_in;
static bool no_copies;

__attribute__((constructor)) static void
note_process(void)
{
    loaded_in = syscall(SYS_getpid);
    no_copies = getenv("STINGY_COPIES");
}

static void
end_a_copy(void)
{
    if (loaded_in && syscall(SYS_getpid) != loaded_in) _exit(99);
}

void *
malloc(size_t bytes)
{
    end_a_copy();
    return __libc_malloc(bytes);
}

void *
calloc(size_t count, size_t bytes)
{
    end_a_copy();
    return __libc_calloc(count, bytes);
}

void *
realloc(void *block, size_t bytes)
{
    end_a_copy();
    return __libc_realloc(block, bytes);
}

/* A copy first says how many seconds it has (vm/run/frozen.c). */
unsigned int
alarm(unsigned int seconds)
{
    const struct itimerval time = {.it_value = {.tv_sec = seconds}};

    if (no_copies) end_a_copy();
    setitimer(ITIMER_REAL, &time, NULL);
    return 0;
}
