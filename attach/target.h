#ifndef HEAPPROF_TARGET_H
#define HEAPPROF_TARGET_H
/* What is read from outside: a process that runs, a core file, or the memory that a test made up.
 *
 *     rb_heapprof_target_open_pid ---> process.c --\
 *     rb_heapprof_target_open_core --> core.c -------> struct heapprof_target ---> image, layout, ...
 *     a test ------------------------------------/
 *
 * All that is read is somebody else's, changes at any moment, and may be hostile: what it says is checked
 * before it is used. The target is never written to, and none of its files is opened.
 *
 * An error is one line without a newline, in a buffer of HEAPPROF_TARGET_ERROR_MAX bytes, that names the
 * target and what helps: "process 12: there is no such process". Nothing here is for two threads at once. */
#include "attach/ahead.h"
#include "base/mem.h"

#include <sys/types.h>

#define HEAPPROF_TARGET_ERROR_MAX    320
#define HEAPPROF_TARGET_MAPPINGS_MOST 262144
#define HEAPPROF_TARGET_THREADS_MOST  65536

/* Where to read, and where to put it. */
struct heapprof_range {
    uint64_t address;
    void    *to;
    size_t   bytes;
};

struct heapprof_mapping {
    uint64_t start, end;
    uint64_t offset;                        /* in its file */
    uint32_t path;                          /* for rb_heapprof_target_path; 0: it is no file's */
    bool     readable, writable, executable;
};

struct heapprof_native_thread {
    pid_t tid;                              /* as we call it, and ptrace */
    pid_t inner_tid;                        /* as the target calls it, in its own pid namespace */
};

enum heapprof_target_state {
    HEAPPROF_TARGET_SAME,                   /* it is what it was when it was opened or refreshed */
    HEAPPROF_TARGET_REPLACED,               /* exec: the same process, with another image; to be refreshed */
    HEAPPROF_TARGET_ENDED
};

struct heapprof_target;

/* What differs between kinds of targets. */
struct heapprof_target_kind {
    bool (*read)(struct heapprof_target *target, const struct heapprof_range *ranges, size_t count);
    bool (*refresh)(struct heapprof_target *target, char *error); /* lists mappings */
    bool (*list_threads)(struct heapprof_target *target);
    enum heapprof_target_state (*state)(struct heapprof_target *target);
    void (*close)(struct heapprof_target *target);
};

struct heapprof_target {
    const struct heapprof_target_kind *kind;
    void    *data;                           /* the kind's */
    bool     runs;                           /* a process, no core: it can be stopped, and may change */
    pid_t    pid;                            /* of a core: what it was; 0: not known */
    uint64_t start;                          /* when it began, in ticks since the machine did; 0: not known */
    char     name[64];                       /* what errors call it: "process 12" */
    int      end_fd;                         /* poll: readable when the process has ended; -1: none */
    struct heapprof_mem mem;
    struct heapprof_mapping *mappings;       /* in order, none overlaps */
    size_t   mapping_count, mapping_capacity;
    struct heapprof_native_thread *threads;  /* as of the last rb_heapprof_target_threads */
    size_t   thread_count, thread_capacity;
    char    *text;                           /* the paths, each with a NUL; begins with one */
    size_t   text_bytes, text_capacity;
    struct heapprof_ahead ahead;
};

/* ---- opening ---- */

/* NULL: error says why: there is none, it is no process but a thread, it has ended, it may not be read. */
struct heapprof_target *rb_heapprof_target_open_pid(int64_t pid, char error[HEAPPROF_TARGET_ERROR_MAX]);

/* NULL: error says why. A core that is cut short is read as far as it goes. */
struct heapprof_target *rb_heapprof_target_open_core(const char *path, char error[HEAPPROF_TARGET_ERROR_MAX]);

/* NULL is allowed. */
void rb_heapprof_target_close(struct heapprof_target *target);

/* Whether it is still what it was. Whoever has read is to ask afterwards: what was read while the answer is SAME
 * was this process's and this image's, whatever the system has done with its pid since. One system call. */
enum heapprof_target_state rb_heapprof_target_state(struct heapprof_target *target);

/* Lists the mappings anew; after exec, those of the new image. False: error says why. */
bool rb_heapprof_target_refresh(struct heapprof_target *target, char error[HEAPPROF_TARGET_ERROR_MAX]);

/* ---- reading ---- */

/* All of it, or false: then what is at to is undefined. */
bool rb_heapprof_target_read(struct heapprof_target *target, uint64_t address, void *to, size_t bytes);

/* The same of several ranges, in their order and, up to 1024 of a process, in one system call: as near to one moment as
 * can be had while the target runs. Nothing promises that it is one. */
bool rb_heapprof_target_read_all(struct heapprof_target *target, const struct heapprof_range *ranges, size_t count);

/* As much of it as there is, from its beginning; returns how many bytes. */
size_t rb_heapprof_target_read_some(struct heapprof_target *target, uint64_t address, void *to, size_t bytes);

/* A string of at most size - 1 bytes; more is cut. False: none of it can be read, or it does not end where memory
 * does. text has a NUL at its end either way. */
bool rb_heapprof_target_read_string(struct heapprof_target *target, uint64_t address, char *text, size_t size);

/* ---- what there is ---- */

/* The mapping that has this address; NULL: none. Until the next refresh. */
const struct heapprof_mapping *rb_heapprof_target_mapping(const struct heapprof_target *target, uint64_t address);

/* Are all of these bytes mapped, and readable? Of one mapping or of several without a gap: a variable may
 * lie across the end of what came from the file. */
bool rb_heapprof_target_mapped_p(const struct heapprof_target *target, uint64_t address, uint64_t bytes);

/* The file's name as the target sees it, or what the kernel calls the mapping ("[heap]"); "": no name. */
const char *rb_heapprof_target_path(const struct heapprof_target *target, const struct heapprof_mapping *mapping);

/* Lists the native threads anew. False: the target has ended. */
bool rb_heapprof_target_threads(struct heapprof_target *target);

/* What we call the thread that the target calls so; 0: not in the list. */
pid_t rb_heapprof_target_tid(const struct heapprof_target *target, pid_t inner_tid);

/* ---- for kinds ---- */

/* A target of that kind, with nothing in its lists; NULL: no memory. */
struct heapprof_target *rb_heapprof_target_new(const struct heapprof_target_kind *kind, void *data);

/* Empties the lists of mappings, of threads. */
void rb_heapprof_target_forget_mappings(struct heapprof_target *target);

/* Add to the lists. False: no memory, or there are too many. The mapping's path is set from text. */
bool rb_heapprof_target_add_mapping(struct heapprof_target *target, struct heapprof_mapping mapping, const char *path);
bool rb_heapprof_target_add_thread(struct heapprof_target *target, struct heapprof_native_thread thread);

/* Writes "NAME: what" to error. */
void rb_heapprof_target_say(const struct heapprof_target *target, char *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
