#ifndef ATTACH_CODE_H
#define ATTACH_CODE_H
/* What a frame runs: a function, named as MRI's backtraces name it, and a line. The answer is kept
 * until the target frees or moves code (I1 in code.c).
 *
 * The rules are those of the profiler inside, vm/names/names.c: a method that MRI itself writes in
 * Ruby (<internal:array>) is shown as the C method that it stands in for. */
#include "attach/names.h"
#include "attach/vm.h"

struct attach_code_key {
    uint64_t iseq;      /* address; 0: a C method */
    uint64_t method;    /* address of the method entry; 0: it has none */
    uint64_t pc;
};

/* What is known of the frames with that key. */
struct attach_code_known {
    struct attach_code_key code;
    uint32_t function;  /* of codes->names */
    uint32_t line;      /* 0: unknown, or the line of the caller */
    bool     stands_for_outer; /* a rescue or ensure clause: the frame outside of it is shown */
    bool     runs;      /* a backtrace shows it */
};

/* An object in an environment, and the method entry that it is or leads to; 0: it leads to none. */
struct attach_code_method {
    uint64_t object, method;
};

struct attach_codes {
    struct attach_vm *vm;
    struct heapprof_mem *mem;
    struct attach_names *names;
    struct attach_code_known *known;   /* [0] unused */
    size_t   capacity;
    uint32_t count;
    struct heapprof_index index;         /* code -> known */
    struct attach_code_method *methods; /* by address: the last object seen there */
    size_t   method_capacity;
    struct attach_vm_generation generation; /* of the target's code, when all this was read */
    uint64_t unreadable;                 /* frames whose names could not be read */
};

/* names and mem have to outlive it. */
void attach_codes_init(struct attach_codes *codes, struct attach_vm *vm, struct attach_names *names,
                       struct heapprof_mem *mem);
void attach_codes_free(struct attach_codes *codes);

/* Must be called before frames are read. Returns false if the target may have freed or moved code
 * since the last call: then all that was known has been forgotten. Functions keep their numbers. */
bool attach_codes_refresh(struct attach_codes *codes);

/* True if the target has neither freed nor moved code since then. */
bool attach_codes_current_p(struct attach_codes *codes);

/* True if the target moved objects when all this was read. */
bool attach_codes_moving_p(const struct attach_codes *codes);

/* Forgets all that is known. */
void attach_codes_forget(struct attach_codes *codes);

/* The method entry that an object in an environment is or leads to; 0: it leads to none. */
uint64_t attach_code_method(struct attach_codes *codes, uint64_t object);

/* What is known of the frame; valid until the next call. Returns NULL without memory. */
const struct attach_code_known *attach_code_find(struct attach_codes *codes,
                                                 const struct attach_code_key *code);

/* Appends the present name of a method: of the iseq, or if that is 0, of the C method with that ID.
 * owner may be 0. Returns false if the name cannot be read. */
bool attach_code_name(struct attach_vm *vm, uint64_t iseq, uint64_t owner, uint64_t id,
                      struct attach_text *name);

#endif
