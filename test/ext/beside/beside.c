/* beside.c - to be preloaded: looks at what the profiler does with the GVL, and what beside Ruby
 * threads.
 *
 * Whoever but the main thread sorts the pieces of a snapshot's blocks, which is a part of adding
 * it up, waits until the file "answered" is there, and says with "sorting" that it does. Nobody
 * answers who waits for the GVL: after half a minute it goes on, and leaves "unanswered".
 *
 * If ruby asks the dynamic linker for what is loaded in a Ruby thread without the GVL, "forkable"
 * is left: the linker holds a lock then, and a thread that forks meanwhile has a child that never
 * gets it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/copies.h"

static void
leave(const char *path)
{
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void
wait_for_answer(void)
{
    enum { moment_us = 1000, moments = 30000 };

    leave("sorting");
    for (int i = 0; i < moments; i++) {
        if (access("answered", F_OK) == 0) return;
        usleep(moment_us);
    }
    leave("unanswered");
}

void
qsort(void *base, size_t count, size_t bytes, int (*compare)(const void *, const void *))
{
    void (*sort)(void *, size_t, size_t, int (*)(const void *, const void *)) =
        dlsym(RTLD_NEXT, "qsort");

    if (bytes == sizeof(struct heapprof_copied_piece) && gettid() != getpid()) wait_for_answer();
    sort(base, count, bytes, compare);
}

/* Not libgcc, which unwinds anywhere. */
static int
ruby_asks_p(void *caller, void *of_ruby)
{
    Dl_info asks, ruby;

    return of_ruby && dladdr(caller, &asks) && dladdr(of_ruby, &ruby) &&
           asks.dli_fbase == ruby.dli_fbase;
}

int
dl_iterate_phdr(int (*each)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
    int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *) =
        dlsym(RTLD_NEXT, "dl_iterate_phdr");
    int (*ruby_thread_p)(void) = dlsym(RTLD_DEFAULT, "ruby_native_thread_p");
    int (*has_gvl_p)(void) = dlsym(RTLD_DEFAULT, "ruby_thread_has_gvl_p");

    if (ruby_asks_p(__builtin_return_address(0), has_gvl_p) && ruby_thread_p()) {
        leave(has_gvl_p() ? "asked" : "forkable");
    }
    return iterate(each, data);
}
