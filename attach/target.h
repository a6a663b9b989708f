#ifndef ATTACH_TARGET_H
#define ATTACH_TARGET_H
/* A window into memory that is not ours: of a running process, of a core file, or of a test.
 *
 *     attach_target_open_pid ---> process.c --\
 *     attach_target_open_core --> core.c -------> struct attach_target ---> image, layout, ...
 *     a test ------------------------------------/
 *
 * The memory changes at any moment, and may be hostile: everything is checked before it is used.
 * None of its files is opened. It is written to only to ask it for something (request.h).
 *
 * An error is one line without a newline, in a buffer of ATTACH_TARGET_ERROR_MAX bytes. It names
 * the target, and says what helps: "process 12: there is no such process". Only one thread at a
 * time may use a target. */
#include "attach/ahead.h"
#include "base/mem.h"

#include <sys/types.h>

#define ATTACH_TARGET_ERROR_MAX    320
#define ATTACH_TARGET_MAPPINGS_MOST 262144
#define ATTACH_TARGET_THREADS_MOST  65536

struct attach_mapping {
    uint64_t start, end;
    uint64_t offset;                        /* in its file */
    uint32_t path;                          /* for attach_target_path; 0: the mapping has no name */
    bool     readable, writable, executable;
};

struct attach_native_thread {
    pid_t tid;                              /* in the reader's pid namespace: what ptrace needs */
    pid_t inner_tid;                        /* in the target's pid namespace */
    uint64_t registers_at;                  /* of a core: where its registers are in the file */
    uint32_t registers_bytes;               /* 0: they are not there */
};

enum attach_target_state {
    ATTACH_TARGET_SAME,     /* the same process and image as when it was opened or refreshed */
    ATTACH_TARGET_REPLACED, /* exec: the same process with another image; it has to be refreshed */
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
    /* The registers of a thread as NT_PRSTATUS has them; of a process, the thread stands still.
     * NULL: they are not known. */
    bool (*registers)(struct attach_target *target, pid_t tid, void *words, size_t bytes);
    bool (*remap)(struct attach_target *target); /* NULL: the mappings never change */
    /* NULL: it cannot be written to. */
    bool (*write)(struct attach_target *target, uint64_t address, const void *bytes, size_t count);
};

struct attach_target {
    const struct attach_target_kind *kind;
    void    *data;                           /* the kind's */
    bool runs;      /* a process, not a core: it can be stopped, and may change */
    pid_t pid;      /* of a core: the pid that the process had; 0: unknown */
    uint64_t start; /* when it began, in ticks since the machine did; 0: unknown */
    char     name[64];                       /* its name in errors: "process 12" */
    bool borrows; /* its memory is its parent's: between vfork and exec */
    int end_fd; /* for poll: readable when the process has ended; -1: none */
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

/* Returns NULL if there is no such process, if the pid is a thread's, if it has ended, or if it may
 * not be read; error says which. */
struct attach_target *attach_target_open_pid(int64_t pid, char error[ATTACH_TARGET_ERROR_MAX]);

/* Returns NULL on failure; error says why. A core that is cut short is read as far as it goes. */
struct attach_target *
attach_target_open_core(const char *path, char error[ATTACH_TARGET_ERROR_MAX]);

/* NULL is allowed. */
void attach_target_close(struct attach_target *target);

/* Tells whether the target is still the same. Must be asked after reading. If the answer is SAME,
 * everything before was read from this process and this image, whatever has become of the pid.
 * Takes one system call. */
enum attach_target_state attach_target_state(struct attach_target *target);

/* Lists the mappings anew; after exec, those of the new image. Returns false on failure; error says
 * why. */
bool attach_target_refresh(struct attach_target *target, char error[ATTACH_TARGET_ERROR_MAX]);

/* Lists the mappings of the same image anew. Returns false if that fails, or if it is no longer the
 * same. */
bool attach_target_remap(struct attach_target *target);

/* ---- reading ---- */

/* Reads all of the bytes. Returns false if one of them cannot be read; then to is undefined. */
bool attach_target_read(struct attach_target *target, uint64_t address, void *to, size_t bytes);

/* The same for several ranges, in their order. Up to 1024 ranges of a process take one system call.
 * That is as near to one moment as possible while the target runs, but not a promise of one
 * moment. */
bool attach_target_read_all(struct attach_target *target, const struct attach_range *ranges,
                            size_t count);

/* Reads from the beginning as many of the bytes as there are. Returns how many. */
size_t
attach_target_read_some(struct attach_target *target, uint64_t address, void *to, size_t bytes);

/* Reads a string of at most size - 1 bytes; the rest is cut off. Returns false if readable memory
 * ends before the string. In any case text ends with a NUL. */
bool
attach_target_read_string(struct attach_target *target, uint64_t address, char *text, size_t size);

/* Begins a look, at whose beginning the reads of the last look of its kind are made in one call
 * (attach/ahead.h). Between pause and resume all is read from the target itself; and always, if it
 * does not run. */
void attach_target_ahead_begin(struct attach_target *target, enum attach_ahead_kind kind);
void attach_target_ahead_pause(struct attach_target *target);
void attach_target_ahead_resume(struct attach_target *target);

/* ---- what there is ---- */

/* The mapping that has this address, valid until the next refresh. Returns NULL if there is
 * none. */
const struct attach_mapping *
attach_target_mapping(const struct attach_target *target, uint64_t address);

/* True if all of these bytes are mapped and readable, in one mapping or in several without a gap. A
 * variable may lie across the end of the part that came from the file. */
bool attach_target_mapped_p(const struct attach_target *target, uint64_t address, uint64_t bytes);

/* Writes all of the bytes into the memory of the process that was opened or refreshed. Returns
 * false on failure (errno), also if the process has executed another file since. */
bool attach_target_write(struct attach_target *target, uint64_t address, const void *bytes,
                         size_t count);

/* The file's name as the target sees it, or what the kernel calls the mapping ("[heap]"); "": no
 * name. */
const char *
attach_target_path(const struct attach_target *target, const struct attach_mapping *mapping);

/* Lists the native threads anew. Returns false if the target has ended. */
bool attach_target_threads(struct attach_target *target);

/* Turns a thread id of the target's pid namespace into ours. Returns 0 if it is not in the list. */
pid_t attach_target_tid(const struct attach_target *target, pid_t inner_tid);

/* ---- for kinds ---- */

/* A target of that kind with empty lists. Returns NULL without memory. */
struct attach_target *attach_target_new(const struct attach_target_kind *kind, void *data);

/* Empties the list of mappings. */
void attach_target_forget_mappings(struct attach_target *target);

/* Add to the lists. Return false without memory, or if there are too many. mapping.path is set from
 * path. */
bool attach_target_add_mapping(struct attach_target *target, struct attach_mapping mapping,
                               const char *path);
bool attach_target_add_thread(struct attach_target *target, struct attach_native_thread thread);

/* Called after a failure. If the target has ended, or executes another file, this is the reason,
 * and takes the place of what error says. */
void attach_target_blame(struct attach_target *target, char error[ATTACH_TARGET_ERROR_MAX]);

/* Writes "NAME: what" to error. */
void attach_target_say(const struct attach_target *target, char *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
