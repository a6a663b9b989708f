#ifndef ATTACH_TARGET_H
#define ATTACH_TARGET_H
/* What is read from outside: a process that runs, a core file, or the memory that a test made up.
 *
 *     attach_target_open_pid ---> process.c --\
 *     attach_target_open_core --> core.c -------> struct attach_target ---> image, layout, ...
 *     a test ------------------------------------/
 *
 * All that is read is somebody else's, changes at any moment, and may be hostile: what it says is checked
 * before it is used. The target is never written to, and none of its files is opened.
 *
 * An error is one line without a newline, in a buffer of ATTACH_TARGET_ERROR_MAX bytes, that names the
 * target and what helps: "process 12: there is no such process". Nothing here is for two threads at once. */
#include "attach/ahead.h"
#include "base/mem.h"

#include <sys/types.h>

#define ATTACH_TARGET_ERROR_MAX    320
#define ATTACH_TARGET_MAPPINGS_MOST 262144
#define ATTACH_TARGET_THREADS_MOST  65536

struct attach_mapping {
    uint64_t start, end;
    uint64_t offset;                        /* in its file */
    uint32_t path;                          /* for attach_target_path; 0: it is no file's */
    bool     readable, writable, executable;
};

struct attach_native_thread {
    pid_t tid;                              /* as we call it, and ptrace */
    pid_t inner_tid;                        /* as the target calls it, in its own pid namespace */
};

enum attach_target_state {
    ATTACH_TARGET_SAME,                   /* it is what it was when it was opened or refreshed */
    ATTACH_TARGET_REPLACED,               /* exec: the same process, with another image; to be refreshed */
    ATTACH_TARGET_ENDED
};

struct attach_target;

/* What differs between kinds of targets. */
struct attach_target_kind {
    bool (*read)(struct attach_target *target, const struct attach_range *ranges, size_t count);
    bool (*refresh)(struct attach_target *target, char *error); /* lists mappings */
    bool (*list_threads)(struct attach_target *target);
    enum attach_target_state (*state)(struct attach_target *target);
    void (*close)(struct attach_target *target);
};

struct attach_target {
    const struct attach_target_kind *kind;
    void    *data;                           /* the kind's */
    bool     runs;                           /* a process, no core: it can be stopped, and may change */
    pid_t    pid;                            /* of a core: what it was; 0: not known */
    uint64_t start;                          /* when it began, in ticks since the machine did; 0: not known */
    char     name[64];                       /* what errors call it: "process 12" */
    int      end_fd;                         /* poll: readable when the process has ended; -1: none */
    struct heapprof_mem mem;
    struct attach_mapping *mappings;       /* in order, none overlaps */
    size_t   mapping_count, mapping_capacity;
    struct attach_native_thread *threads;  /* as of the last attach_target_threads */
    size_t   thread_count, thread_capacity;
    char    *text;                           /* the paths, each with a NUL; begins with one */
    size_t   text_bytes, text_capacity;
    struct attach_ahead ahead;
};

/* ---- opening ---- */

/* NULL: error says why: there is none, it is no process but a thread, it has ended, it may not be read. */
struct attach_target *attach_target_open_pid(int64_t pid, char error[ATTACH_TARGET_ERROR_MAX]);

/* NULL: error says why. A core that is cut short is read as far as it goes. */
struct attach_target *attach_target_open_core(const char *path, char error[ATTACH_TARGET_ERROR_MAX]);

/* NULL is allowed. */
void attach_target_close(struct attach_target *target);

/* Whether it is still what it was. Whoever has read is to ask afterwards: what was read while the answer is SAME
 * was this process's and this image's, whatever the system has done with its pid since. One system call. */
enum attach_target_state attach_target_state(struct attach_target *target);

/* Lists the mappings anew; after exec, those of the new image. False: error says why. */
bool attach_target_refresh(struct attach_target *target, char error[ATTACH_TARGET_ERROR_MAX]);

/* ---- reading ---- */

/* All of it, or false: then what is at to is undefined. */
bool attach_target_read(struct attach_target *target, uint64_t address, void *to, size_t bytes);

/* The same of several ranges, in their order and, up to 1024 of a process, in one system call: as near to one moment as
 * can be had while the target runs. Nothing promises that it is one. */
bool attach_target_read_all(struct attach_target *target, const struct attach_range *ranges, size_t count);

/* As much of it as there is, from its beginning; returns how many bytes. */
size_t attach_target_read_some(struct attach_target *target, uint64_t address, void *to, size_t bytes);

/* A string of at most size - 1 bytes; more is cut. False: none of it can be read, or it does not end where memory
 * does. text has a NUL at its end either way. */
bool attach_target_read_string(struct attach_target *target, uint64_t address, char *text, size_t size);

/* Begins a look, at whose beginning the reads of the last look are made in one call (attach/ahead.h). Between pause
 * and resume all is read from the target itself; and always, if it does not run. */
void attach_target_ahead_begin(struct attach_target *target);
void attach_target_ahead_pause(struct attach_target *target);
void attach_target_ahead_resume(struct attach_target *target);

/* ---- what there is ---- */

/* The mapping that has this address; NULL: none. Until the next refresh. */
const struct attach_mapping *attach_target_mapping(const struct attach_target *target, uint64_t address);

/* Are all of these bytes mapped, and readable? Of one mapping or of several without a gap: a variable may
 * lie across the end of what came from the file. */
bool attach_target_mapped_p(const struct attach_target *target, uint64_t address, uint64_t bytes);

/* The file's name as the target sees it, or what the kernel calls the mapping ("[heap]"); "": no name. */
const char *attach_target_path(const struct attach_target *target, const struct attach_mapping *mapping);

/* Lists the native threads anew. False: the target has ended. */
bool attach_target_threads(struct attach_target *target);

/* What we call the thread that the target calls so; 0: not in the list. */
pid_t attach_target_tid(const struct attach_target *target, pid_t inner_tid);

/* ---- for kinds ---- */

/* A target of that kind, with nothing in its lists; NULL: no memory. */
struct attach_target *attach_target_new(const struct attach_target_kind *kind, void *data);

/* Empties the lists of mappings, of threads. */
void attach_target_forget_mappings(struct attach_target *target);

/* Add to the lists. False: no memory, or there are too many. The mapping's path is set from text. */
bool attach_target_add_mapping(struct attach_target *target, struct attach_mapping mapping, const char *path);
bool attach_target_add_thread(struct attach_target *target, struct attach_native_thread thread);

/* Writes "NAME: what" to error. */
void attach_target_say(const struct attach_target *target, char *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
