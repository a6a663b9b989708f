#ifndef ATTACH_CODE_H
#define ATTACH_CODE_H
/* What a frame runs: a function, named as MRI's backtraces name it, and a line. Kept once found, for as
 * long as the target frees and moves no code (I1 in code.c).
 *
 * The rules are those of the profiler inside, vm/names/names.c: methods that MRI itself writes in Ruby
 * (<internal:array>) are shown as the C methods they stand in for. */
#include "attach/names.h"
#include "attach/vm.h"

struct attach_code_key {
    uint64_t iseq;      /* address; 0: a C method */
    uint64_t method;    /* address of the method entry; 0: none */
    uint64_t pc;
};

/* What is known of one. */
struct attach_code_known {
    struct attach_code_key code;
    uint32_t function;  /* of codes->names */
    uint32_t line;      /* 0: unknown, or that of the caller */
    bool     stands_for_outer; /* a rescue or ensure clause: the frame without is the one to show */
    bool     runs;      /* there is code, which a backtrace shows */
};

/* An object that stands in an environment, and the method entry that it is or leads to; 0: none. */
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
    struct attach_code_method *methods; /* by address, what was seen last */
    size_t   method_capacity;
    struct attach_vm_generation generation; /* of the target's code, when all this was read */
    uint64_t unreadable;                 /* frames whose names could not be read */
};

/* names and mem have to outlive it. */
void attach_codes_init(struct attach_codes *codes, struct attach_vm *vm, struct attach_names *names,
                            struct heapprof_mem *mem);
void attach_codes_free(struct attach_codes *codes);

/* To be called before frames are read: forgets what the target may have freed or moved since, and says that with false.
 * Functions keep their numbers. */
bool attach_codes_refresh(struct attach_codes *codes);

/* The method entry that an object of an environment is, or that it leads to; 0: none. */
uint64_t attach_code_method(struct attach_codes *codes, uint64_t object);

/* Good until the next call. NULL: no memory. */
const struct attach_code_known *attach_code_find(struct attach_codes *codes,
                                                        const struct attach_code_key *code);

/* Appends the name of a method as of now: of an iseq, or where that is 0 of a C method of that ID. owner 0: none. False:
 * it cannot be read. */
bool attach_code_name(struct attach_vm *vm, uint64_t iseq, uint64_t owner, uint64_t id, struct attach_text *name);

#endif
