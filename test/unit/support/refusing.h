// refusing.h - for programs that replace what hands out memory by functions that refuse the
// request a test asks them to.
//
// A replacement runs before main, and before a sanitizer, which replaces the same functions,
// is ready to look on: so it is compiled without one, and goes on to the sanitizer's version.

#ifndef HEAPPROF_REFUSING_H
#define HEAPPROF_REFUSING_H

#include <cerrno>
#include <cstddef>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REPLACEMENT __attribute__((no_sanitize("address", "thread", "undefined")))

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
# define ORIGINAL(function) __interceptor_##function
#else
# define ORIGINAL(function) __libc_##function
#endif

static long requests_left = -1; // until one is refused; negative: none is

// Whether this request is the one. Afterwards none is.
REPLACEMENT static inline bool
RefuseP()
{
    if (requests_left < 0 || requests_left-- > 0) return false;
    errno = ENOMEM;
    return true;
}

// The kernel's own mmap.
REPLACEMENT static inline void *
MapPages(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    long pages = syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
    return reinterpret_cast<void *>(pages);
}

#endif
