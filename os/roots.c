/* roots.c - the kernel's list of our mappings, /proc/self/maps, as the memory where a search for
 * pointers begins.
 *
 *     55d0c8a00000-55d0c8a21000 rw-p ...  [heap]     a heap, of glibc's main arena (heap_begin)
 *     7f3a48000000-7f3a48021000 rw-p                 a heap, of another arena (heap_end)
 *     7f3a4d000000-7f3a4d7ff000 rw-p                 a thread's stack (control_block)
 *     7ffd1c200000-7ffd1c221000 rw-p ...  [stack]    the main thread's stack
 *     anything else that may be written              variables, mappings of libraries
 *
 * A heap of another arena says so itself. A thread's stack has the thread's control block in it.
 * glibc keeps the stacks of threads that have ended, and these stacks are full of old words. So
 * only the part between the stack pointer of a living thread and the stack's end is told.
 *
 * glibc's lists of free chunks lead to chunks that have been free. last_remainder may point into
 * the middle of any chunk. In the main arena the lists are among libc's variables. The first chunk
 * of a list leads there (find_bins).
 *
 * /proc/self/task/TID/syscall says where a thread's stack pointer is while the thread waits. If a
 * thread goes on running, all stacks are told as a whole.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* O_CLOEXEC */
#endif
#include "os/roots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/peek.h"
#include "os/touched.h"

#define LINE_BYTES 512  /* only so much of a line of maps is looked at */
#define THREADS_MOST 1024
#define ASK_AGAIN_MOST 10 /* how often to read again while threads run */
/* A larger mapping is a sanitizer's own. To find what is touched of it takes minutes. */
#define TELL_MOST ((uintptr_t)1 << 40)
#define ARENA_BYTES ((uintptr_t)64 << 20) /* an arena's heaps begin at multiples of this */
/* The end of a thread's stack, which has the thread's control block and variables. */
#define CONTROL_BLOCK_BYTES ((uintptr_t)1 << 20)

struct mapping {
    uintptr_t begin, end;
    bool      writable;
    size_t    guard_bytes;   /* of what may not be touched before it, as before a stack */
    char      name[64];      /* "[heap]"; a path is cut; "": anonymous */
};

struct roots {
    int       fd;
    int       touched;                /* the descriptor that touched.h describes */
    struct heapprof_root_stacks stacks;
    uintptr_t bins, bins_end;         /* glibc's lists of free chunks; 0: not found */
    uintptr_t pointers[THREADS_MOST]; /* the stack pointers of the other threads */
    size_t    thread_count;
    bool      some_run;
    bool      glibc;
    uintptr_t guard, guard_end;       /* the last mapping that may not be touched */
    void    (*memory_i)(const struct heapprof_memory *memory, void *data);
    void     *data;
};

static uintptr_t
word_at(const struct roots *roots, uintptr_t address)
{
    uintptr_t word = 0;
    rb_heapprof_peek(roots->fd, address, &word, sizeof(word));
    return word;
}

static void
tell(const struct roots *roots, uintptr_t begin, uintptr_t end, enum heapprof_memory_kind kind)
{
    struct heapprof_memory memory = {begin, end, kind};
    bool heap = kind == HEAPPROF_MEMORY_HEAP;

    if (end - begin > TELL_MOST) return;
    if (heap) roots->memory_i(&memory, roots->data);
    while (!heap && begin < end &&
           rb_heapprof_touched(roots->touched, &memory.begin, end, &memory.end)) {
        roots->memory_i(&memory, roots->data);
        begin = memory.begin = memory.end;
    }
}

/* ---- glibc ---- */

/* The word before a block has the block's length. The length counts that word and the bytes
 * that can be used. */
static bool
glibc_p(int fd)
{
    enum { asked = 72 };
    void *block = malloc(asked);
    uintptr_t address = (uintptr_t)block, size = 0;
    bool told =
        block && rb_heapprof_peek(fd, address - sizeof(size), &size, sizeof(size)) == sizeof(size);
    bool glibc = told && (size & ~(uintptr_t)7) == malloc_usable_size(block) + sizeof(size);

    free(block);
    return glibc;
}

/* Returns the key that a freed block of that size has. The cache of one size may be full: then
 * the block has an address there. */
static uintptr_t
key_of_freed(int fd, size_t size)
{
    uintptr_t key = 0, address = (uintptr_t)malloc(size);

    free((void *)address);
    if (address) rb_heapprof_peek(fd, address + sizeof(key), &key, sizeof(key));
    return key >> 47 ? key : 0;
}

/* A freed chunk that no cache takes is the first of the unsorted list. The list's head comes
 * behind last_remainder in an arena: top, last_remainder, heads. Chunks of a list point to the
 * head as if it were a chunk: two words before the head's own words. */
static void
find_bins(struct roots *roots)
{
    enum { uncached = 5000, heads = 254 };
    uintptr_t first = (uintptr_t)malloc(uncached), behind = (uintptr_t)malloc(uncached);

    free((void *)first);
    uintptr_t head = word_at(roots, first + sizeof(first));
    free((void *)behind); /* it kept the first from joining memory that was never given out */
    if (!roots->glibc || !first || !behind || head == 0) return;
    roots->bins = head;
    roots->bins_end = head + (2 + heads) * sizeof(head);
}

/* ---- threads ---- */

/* Returns the lowest address in use of a task's stack. Returns 0 if the task runs, because then
 * the address is not known. The file has "nr arguments sp pc" or "running". */
static uintptr_t
stack_pointer_of(const char *task)
{
    char path[64], text[256];
    unsigned long pointer = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%.20s/syscall", task);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t size = read(file, text, sizeof(text) - 1);
    close(file);
    if (size <= 0) return 0;
    text[size] = '\0';
    if (sscanf(text, "-1 %lx", &pointer) == 1) return pointer;
    return sscanf(text, "%*d %*s %*s %*s %*s %*s %*s %lx", &pointer) == 1 ? pointer : 0;
}

/* pointer is 0 if it is not known. */
static void
add_pointer(struct roots *roots, uintptr_t pointer)
{
    if (pointer == 0 || roots->thread_count == THREADS_MOST) roots->some_run = true;
    else roots->pointers[roots->thread_count++] = pointer;
}

/* Reads the stack pointers of all threads except the caller. */
static bool
read_pointers(struct roots *roots)
{
    long self = syscall(SYS_gettid);
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry;

    if (!tasks) return false;
    roots->thread_count = 0;
    roots->some_run = false;
    while ((entry = readdir(tasks))) {
        if (entry->d_name[0] == '.' || atol(entry->d_name) == self) continue;
        add_pointer(roots, stack_pointer_of(entry->d_name));
    }
    closedir(tasks);
    return true;
}

/* A thread that runs may be about to wait, or to end. */
static bool
read_threads(struct roots *roots)
{
    static const struct timespec moment = {0, 2000000};
    bool read = read_pointers(roots);

    for (int times = 0; read && roots->some_run && times < ASK_AGAIN_MOST; times++) {
        nanosleep(&moment, NULL);
        read = read_pointers(roots);
    }
    for (size_t i = 0; i < roots->stacks.pointer_count; i++)
        add_pointer(roots, roots->stacks.pointers[i]);
    return read;
}

/* Finds glibc's control block of a thread, whose first and third word are its own address. The
 * first thread's control block is not on a stack, and has no guard before it. Returns 0 if the
 * mapping has no control block. */
static uintptr_t
control_block(const struct roots *roots, const struct mapping *mapping)
{
    uintptr_t words[512], least = mapping->begin, at = mapping->end - sizeof(words);

    if (mapping->guard_bytes == 0 || mapping->end - mapping->begin < sizeof(words)) return 0;
    if (mapping->end - mapping->begin > CONTROL_BLOCK_BYTES)
        least = mapping->end - CONTROL_BLOCK_BYTES;
    for (; at >= least; at -= sizeof(words)) {
        size_t count = rb_heapprof_peek(roots->fd, at, words, sizeof(words)) / sizeof(words[0]);
        for (size_t i = 0; i + 2 < count; i++) {
            uintptr_t address = at + i * sizeof(words[0]);
            if (words[i] == address && words[i + 2] == address) return address;
        }
    }
    return 0;
}

static bool
ended_stack_p(const struct roots *roots, const struct mapping *mapping)
{
    uintptr_t innermost = roots->stacks.innermost;

    return roots->stacks.ended_bytes > 0 &&
           mapping->end - mapping->begin == roots->stacks.ended_bytes &&
           mapping->guard_bytes == (size_t)sysconf(_SC_PAGESIZE) &&
           !(innermost >= mapping->begin && innermost < mapping->end);
}

/* Returns the lowest address of a stack that is in use. Returns its end if no thread uses it. */
static uintptr_t
stack_in_use(const struct roots *roots, const struct mapping *mapping)
{
    uintptr_t least = mapping->end;

    if (roots->some_run) return mapping->begin;
    for (size_t i = 0; i < roots->thread_count; i++) {
        uintptr_t pointer = roots->pointers[i];
        if (pointer >= mapping->begin && pointer < least) least = pointer;
    }
    return least;
}

/* ---- mappings ---- */

/* Returns where the heap of an arena ends that begins there. Returns 0 if no heap begins there.
 * The first words of a heap are: the arena, which is in this heap or in another; the heap
 * before it; its length; and how much of that may be written. */
static uintptr_t
heap_end(const struct roots *roots, uintptr_t begin)
{
    uintptr_t arena = word_at(roots, begin), before = word_at(roots, begin + sizeof(arena));
    uintptr_t bytes = word_at(roots, begin + 2 * sizeof(arena)),
              writable = word_at(roots, begin + 3 * sizeof(arena));
    uintptr_t first = arena & ~(ARENA_BYTES - 1);

    if (!arena || before % ARENA_BYTES || bytes == 0 || bytes > writable || writable > ARENA_BYTES)
        return 0;
    if (before ? first == begin : first != begin) return 0;
    return begin + writable;
}

/* Tells of an anonymous mapping and of the heaps of arenas in it. The kernel may have joined
 * these heaps with other mappings. */
static void
tell_anonymous(const struct roots *roots, uintptr_t begin, uintptr_t end)
{
    uintptr_t arena = (begin + ARENA_BYTES - 1) & ~(ARENA_BYTES - 1);

    for (; roots->glibc && arena < end; arena += ARENA_BYTES) {
        uintptr_t behind = heap_end(roots, arena);
        if (behind == 0 || behind > end) continue;
        tell(roots, begin, arena, HEAPPROF_MEMORY);
        tell(roots, arena, behind, HEAPPROF_MEMORY_HEAP);
        begin = behind;
    }
    tell(roots, begin, end, HEAPPROF_MEMORY);
}

/* Tells of the variables of a library. */
static void
tell_variables(const struct roots *roots, const struct mapping *mapping)
{
    bool within = roots->bins >= mapping->begin && roots->bins < mapping->end;
    uintptr_t bins = within ? roots->bins : mapping->end;
    uintptr_t behind = within && roots->bins_end < mapping->end ? roots->bins_end : mapping->end;

    tell(roots, mapping->begin, bins, HEAPPROF_MEMORY);
    tell(roots, behind, mapping->end, HEAPPROF_MEMORY);
}

/* Tells of a thread's stack, from where it is in use, and of the thread's variables. A vector
 * in a heap says where the variables are. The second word of the thread's control block is the
 * place behind the vector's first entry. The first entry has the number of entries behind it.
 * Nothing else leads to the vector. */
static void
tell_stack(const struct roots *roots, const struct mapping *mapping, uintptr_t begin)
{
    enum { entry = 2 * sizeof(uintptr_t), entries_most = 65536 };
    uintptr_t control = control_block(roots, mapping);
    uintptr_t vector = control ? word_at(roots, control + sizeof(control)) - entry : 0;
    uintptr_t count = vector ? word_at(roots, vector) : 0;

    tell(roots, begin, mapping->end, HEAPPROF_MEMORY_STACK);
    if (begin < mapping->end && count > 0 && count < entries_most) {
        tell(roots, vector, vector + (2 + count) * entry, HEAPPROF_MEMORY_STACK);
    }
}

/* The end of the program's variables, behind which its heap begins. It is the first in the list. */
static int
program_end_i(struct dl_phdr_info *info, size_t size, void *end)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t behind = info->dlpi_addr + part->p_vaddr + part->p_memsz;
        if (part->p_type == PT_LOAD && behind > *(uintptr_t *)end) *(uintptr_t *)end = behind;
    }
    return 1;
}

/* Where the heap of the main arena begins in that mapping; its end if it is not there. The kernel
 * gives it a name. qemu does not, and joins it with the program's variables. */
static uintptr_t
heap_begin(const struct mapping *mapping)
{
    uintptr_t end = (uintptr_t)sbrk(0), program = 0;

    if (strcmp(mapping->name, "[heap]") == 0) return mapping->begin;
    if (mapping->name[0] || end <= mapping->begin || end > mapping->end) return mapping->end;
    dl_iterate_phdr(program_end_i, &program);
    return program > mapping->begin && program < end ? program : mapping->begin;
}

/* True if the main thread's control block is in the mapping, which looks like the stack of another
 * thread if what may not be touched happens to lie before it. Known only to the main thread, and
 * to the only one of a child of fork. */
static bool
of_main_thread_p(const struct mapping *mapping)
{
    uintptr_t control = (uintptr_t)__builtin_thread_pointer();

    return syscall(SYS_gettid) == getpid() && control >= mapping->begin && control < mapping->end;
}

static void
tell_mapping(const struct roots *roots, const struct mapping *mapping)
{
    if (!mapping->writable || strncmp(mapping->name, "/dev/", 5) == 0 ||
        ended_stack_p(roots, mapping))
        return;
    uintptr_t innermost = roots->stacks.innermost, heap = heap_begin(mapping);

    if (innermost >= mapping->begin && innermost < mapping->end) {
        tell_stack(roots, mapping, innermost);
    }
    else if (heap < mapping->end) {
        tell(roots, mapping->begin, heap, HEAPPROF_MEMORY);
        tell(roots, heap, mapping->end, roots->glibc ? HEAPPROF_MEMORY_HEAP : HEAPPROF_MEMORY);
    }
    else if (mapping->name[0] == '/') {
        tell_variables(roots, mapping);
    }
    else if (strcmp(mapping->name, "[stack]") == 0 ||
             (control_block(roots, mapping) && !of_main_thread_p(mapping))) {
        tell_stack(roots, mapping, stack_in_use(roots, mapping));
    }
    else {
        tell_anonymous(roots, mapping->begin, mapping->end);
    }
}

/* "begin-end rw-p offset device inode name" */
static void
read_mapping(struct roots *roots, const char *line)
{
    struct mapping mapping = {0};
    unsigned long begin, end;
    char rights[5];

    if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %63s", &begin, &end, rights, mapping.name) < 3)
        return;
    mapping.begin = begin;
    mapping.end = end;
    mapping.writable = rights[0] == 'r' && rights[1] == 'w';
    mapping.guard_bytes = roots->guard_end == begin ? begin - roots->guard : 0;
    if (rights[0] == '-') {
        roots->guard = begin;
        roots->guard_end = end;
    }
    tell_mapping(roots, &mapping);
}

/* Reads in pieces, into the stack: memory from the allocator would be in the list. */
static bool
read_mappings(struct roots *roots)
{
    char line[LINE_BYTES], piece[4096];
    size_t length = 0;
    ssize_t size;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    if (file < 0) return false;
    while ((size = read(file, piece, sizeof(piece))) > 0 || (size < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < size; i++) {
            if (piece[i] != '\n') {
                if (length < sizeof(line) - 1) line[length++] = piece[i];
                continue;
            }
            line[length] = '\0';
            read_mapping(roots, line);
            length = 0;
        }
    }
    close(file);
    return size == 0;
}

uintptr_t
rb_heapprof_roots_freed_key(int fd)
{
    uintptr_t key = 0;

    for (size_t size = 72; glibc_p(fd) && key == 0 && size < 1000; size += 64)
        key = key_of_freed(fd, size);
    return key;
}

bool
rb_heapprof_roots_read(int fd, const struct heapprof_root_stacks *stacks,
                       void (*memory_i)(const struct heapprof_memory *memory, void *data),
                       void *data)
{
    struct roots roots = {
        .fd = fd, .touched = rb_heapprof_touched_open(), .stacks = *stacks, .glibc = glibc_p(fd),
        .memory_i = memory_i, .data = data
    };

    if (roots.glibc) malloc_trim(0); /* after it small free chunks look free */
    find_bins(&roots);
    bool told = read_threads(&roots) && read_mappings(&roots);
    rb_heapprof_touched_close(roots.touched);
    return told;
}
