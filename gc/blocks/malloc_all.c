/* malloc_all.c - samples all that the C library is asked for (malloc=all): a doorkeeper in
 * front of malloc. Compiled inside gc.c.
 *
 * os/interpose.c makes the callers of malloc call rb_heapprof_all_malloc instead. That calls
 * the real malloc, and counts down:
 *
 *     extension, library --slot--> rb_heapprof_all_malloc --> malloc of libc, jemalloc, tcmalloc ...
 *                                      \-- left -= malloc_usable_size, below 0: a sample
 *
 * Sizes are what the allocator gave, not what was asked for. So the growth of a block is the
 * same whoever measures it, and pieces of a block neither overlap nor leave holes. MRI's own
 * calls come here as well, and the gates of malloc.c are idle meanwhile.
 *
 * A caller of malloc may be anywhere: in a thread that Ruby has never seen, on a stack of its
 * own, in a GC, or with a library's lock that the collector may want to free an object.
 *
 *   I1  a stack is walked only if the thread has the GVL and is on the machine stack that Ruby
 *       gave it.
 *   I2  nothing here waits for long: without the VM lock soon, the sample waits (waiting.c,
 *       trylock.c).
 *   I3  what the profiler itself asks for meanwhile is no sample (own_work), so it never comes
 *       here twice.
 *
 * No xmalloc, no Ruby allocation, no raise, no GC; errno stays. This is no event of the
 * collector, so it has no patch.
 */
#include "os/interpose.h"

#if HEAPPROF_CAN_INTERPOSE
# include <errno.h>

/* ---- the sample ---- */

/* Enters new libraries as wrappers: the caller of strdup, fopen or C++'s new is who wants the
 * memory. */
HEAPPROF_COLD static void
enter_libraries(void)
{
    struct heapprof_callers *callers = &rb_heapprof.tables.callers;
    uintptr_t start;
    size_t size;

    while (rb_heapprof_interpose_library(rb_heapprof.run.wrapper_libraries, &start, &size)) {
        begin_change();
        lock_blocks();
        rb_heapprof_callers_add(callers, start, size, HEAPPROF_ROLE_WRAPPER);
        rb_heapprof_callers_sort(callers);
        unlock_blocks();
        end_change();
        forget_steps();
        rb_heapprof.run.wrapper_libraries++;
    }
}

HEAPPROF_COLD static void
rb_heapprof_allocated(void *mem, size_t begin, size_t end)
{
    struct heapprof_thread *thread = &heapprof_thread;
    int saved_errno = errno;
    unsigned int lev;

    if (thread->own_work) {
        thread->all.left = ENDLESS; /* until that work is done */
        return;
    }
    thread->own_work = true;
    if (block_due_p(thread, &thread->all, end - begin)) {
        if (may_sample_all_p() && room_on_stack_p(GET_EC(), false) && try_vm_lock(&lev)) {
            if (rb_heapprof.work.reading) {
                sample_without_stack(mem, begin, end - begin);
            }
            else if (rb_heapprof.run.options.malloc_all && sampling_blocks_p()) {
                enter_libraries();
                sample_block(__builtin_frame_address(0), (uintptr_t)mem, begin, end - begin);
            }
            rb_gc_vm_unlock_no_barrier(lev);
        }
        else if (rb_heapprof.run.options.malloc_all) {
            sample_without_stack(mem, begin, end - begin);
        }
        thread_redraw(thread);
    }
    thread->own_work = false;
    errno = saved_errno;
}

/* ---- in place of the C library's functions ---- */

enum {
    MALLOC,
    CALLOC,
    REALLOC,
    FREE,
    POSIX_MEMALIGN,
    ALIGNED_ALLOC,
    MEMALIGN,
    VALLOC,
    PVALLOC,
    DLCLOSE,
    MMAP,
    MMAP64,
    MUNMAP,
    MREMAP,
    USABLE_SIZE,
    INTERPOSED_END
};

static struct heapprof_interposed interposed[INTERPOSED_END + 1];

#define REAL(index, result, ...) \
    ((result (*)(__VA_ARGS__))interposed[index].real)

static inline size_t
usable_size(void *mem)
{
    return REAL(USABLE_SIZE, size_t, void *)(mem);
}

/* Bytes beyond what was asked for are never written and may hold old pointers. With memcheck
 * these would lead to blocks. */
HEAPPROF_COLD static void
clear_rest(void *mem, size_t asked, size_t bytes)
{
    if (rb_heapprof.run.options.memcheck && asked < bytes)
        memset((char *)mem + asked, 0, bytes - asked);
}

static inline void *
counted(void *mem, size_t asked)
{
    if (mem) {
        size_t bytes = usable_size(mem);
        if (RB_UNLIKELY((heapprof_thread.all.left -= (int64_t)bytes) < 0)) {
            clear_rest(mem, asked, bytes);
            rb_heapprof_allocated(mem, 0, bytes);
        }
    }
    return mem;
}

static void *
rb_heapprof_all_malloc(size_t size)
{
    return counted(REAL(MALLOC, void *, size_t)(size), size);
}

static void *
rb_heapprof_all_calloc(size_t count, size_t size)
{
    return counted(REAL(CALLOC, void *, size_t, size_t)(count, size), count * size);
}

/* What MRI's allocator frees has left the tables before. */
HEAPPROF_COLD static void
rb_heapprof_free_of_libc(void *mem, uintptr_t word)
{
    check_free(mem, word);
    remove_block(mem);
}

static void
rb_heapprof_all_free(void *mem)
{
    if (RB_UNLIKELY(rb_heapprof_maybe_block_p(mem)))
        rb_heapprof_free_of_libc(mem, (uintptr_t)__builtin_return_address(0));
    REAL(FREE, void, void *)(mem);
}

static inline void
count_growth(void *mem, size_t old_bytes, size_t new_bytes, size_t asked)
{
    if (new_bytes > old_bytes) {
        heapprof_thread.all.left -= (int64_t)(new_bytes - old_bytes);
        if (RB_UNLIKELY(heapprof_thread.all.left < 0)) {
            clear_rest(mem, asked, new_bytes);
            rb_heapprof_allocated(mem, old_bytes, new_bytes);
        }
    }
    else if (RB_UNLIKELY(rb_heapprof_maybe_block_p(mem))) {
        rb_heapprof_cut_block(mem, new_bytes);
    }
}

static void *
rb_heapprof_all_realloc(void *was, size_t size)
{
    if (RB_UNLIKELY(rb_heapprof_maybe_block_p(was)))
        check_free(was, (uintptr_t)__builtin_return_address(0));
    if (!was || size == 0) { /* malloc, and free for some allocators */
        if (RB_UNLIKELY(rb_heapprof_maybe_block_p(was))) remove_block(was);
        return counted(REAL(REALLOC, void *, void *, size_t)(was, size), size);
    }
    size_t old_bytes = usable_size(was);
    uint32_t lifted = RB_UNLIKELY(rb_heapprof_maybe_block_p(was)) ? lift_block(was) : 0;
    void *mem = REAL(REALLOC, void *, void *, size_t)(was, size);
    rb_heapprof_gate_realloced(lifted, was, mem);
    if (mem) count_growth(mem, old_bytes, usable_size(mem), size);
    return mem;
}

static int
rb_heapprof_all_posix_memalign(void **mem, size_t alignment, size_t size)
{
    int error = REAL(POSIX_MEMALIGN, int, void **, size_t, size_t)(mem, alignment, size);
    if (error == 0) counted(*mem, size);
    return error;
}

static void *
rb_heapprof_all_aligned_alloc(size_t alignment, size_t size)
{
    return counted(REAL(ALIGNED_ALLOC, void *, size_t, size_t)(alignment, size), size);
}

static void *
rb_heapprof_all_memalign(size_t alignment, size_t size)
{
    return counted(REAL(MEMALIGN, void *, size_t, size_t)(alignment, size), size);
}

static void *
rb_heapprof_all_valloc(size_t size)
{
    return counted(REAL(VALLOC, void *, size_t)(size), size);
}

static void *
rb_heapprof_all_pvalloc(size_t size)
{
    return counted(REAL(PVALLOC, void *, size_t)(size), size);
}

static int
rb_heapprof_all_dlclose(void *library)
{
    before_unloading();
    int error = REAL(DLCLOSE, int, void *)(library);
    forget_steps();
    after_unloading();
    return error;
}

/* ---- mappings (mapping.c) ---- */

static inline void *
counted_mapping(void *memory, size_t bytes, bool counts)
{
    if (memory != MAP_FAILED && counts) {
        heapprof_thread.all.left -= (int64_t)bytes;
        if (heapprof_thread.all.left < 0) rb_heapprof_allocated(memory, 0, bytes);
    }
    return memory;
}

static void *
rb_heapprof_all_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    bool counts =
        mapping_counts_p(bytes, protection, flags, (uintptr_t)__builtin_return_address(0));
    return counted_mapping(REAL(MMAP, void *, void *, size_t, int, int, int, off_t)(
                               at, bytes, protection, flags, fd, offset), bytes, counts);
}

static void *
rb_heapprof_all_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    bool counts =
        mapping_counts_p(bytes, protection, flags, (uintptr_t)__builtin_return_address(0));
    return counted_mapping(REAL(MMAP64, void *, void *, size_t, int, int, int, off_t)(
                               at, bytes, protection, flags, fd, offset), bytes, counts);
}

static int
rb_heapprof_all_munmap(void *memory, size_t bytes)
{
    /* Before another thread can have the address. */
    forget_mapping(memory, (uintptr_t)__builtin_return_address(0));
    return REAL(MUNMAP, int, void *, size_t)(memory, bytes);
}

/* at: only with MREMAP_FIXED. */
static void *
rb_heapprof_all_mremap(void *was, size_t was_bytes, size_t bytes, int flags, void *at)
{
    bool block = forget_mapping(was, (uintptr_t)__builtin_return_address(0));

    return counted_mapping(REAL(MREMAP, void *, void *, size_t, size_t, int, void *)(
                               was, was_bytes, bytes, flags, at), bytes,
                           block && bytes <= MAPPING_MOST_BYTES);
}

#define STANDS_FOR(name) { #name, (heapprof_function *)rb_heapprof_all_##name, NULL }

static struct heapprof_interposed interposed[INTERPOSED_END + 1] = {
    [MALLOC] = STANDS_FOR(malloc),
    [CALLOC] = STANDS_FOR(calloc),
    [REALLOC] = STANDS_FOR(realloc),
    [FREE] = STANDS_FOR(free),
    [POSIX_MEMALIGN] = STANDS_FOR(posix_memalign),
    [ALIGNED_ALLOC] = STANDS_FOR(aligned_alloc),
    [MEMALIGN] = STANDS_FOR(memalign),
    [VALLOC] = STANDS_FOR(valloc),
    [PVALLOC] = STANDS_FOR(pvalloc),
    [DLCLOSE] = STANDS_FOR(dlclose),
    [MMAP] = STANDS_FOR(mmap),
    [MMAP64] = STANDS_FOR(mmap64),
    [MUNMAP] = STANDS_FOR(munmap),
    [MREMAP] = STANDS_FOR(mremap),
    [USABLE_SIZE] = { "malloc_usable_size", NULL, NULL }, /* called, not replaced */
    [INTERPOSED_END] = { NULL, NULL, NULL }
};
#undef STANDS_FOR
#undef REAL

HEAPPROF_COLD const char *
rb_heapprof_gc_malloc_all_refusal(void)
{
    return rb_heapprof_interpose_refusal(interposed);
}

HEAPPROF_COLD void
rb_heapprof_gc_malloc_all_start(void)
{
    rb_heapprof_interpose_start(interposed);
}

HEAPPROF_COLD bool
rb_heapprof_gc_malloc_all_on_p(void)
{
    return rb_heapprof_interpose_on_p(interposed);
}

#else

const char *rb_heapprof_gc_malloc_all_refusal(void) { return rb_heapprof_interpose_refusal(NULL); }
void rb_heapprof_gc_malloc_all_start(void) {}
bool rb_heapprof_gc_malloc_all_on_p(void) { return false; }

#endif
