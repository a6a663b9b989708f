#ifndef ATTACH_C_STACK_H
#define ATTACH_C_STACK_H
/* The machine stack of a native thread: a copy, made while the thread stands still, and the C
 * functions of its frames, which are found in the copy while the thread runs again.
 *
 *     sp                                            where the thread's code began
 *     | innermost frame | its caller's | ...  | outermost |
 *     '------- copied, at most ATTACH_C_STACK_MOST --------' */
#include "attach/c_objects.h"
#include "attach/registers.h"

enum { ATTACH_C_STACK_MOST = 1 << 20 };

struct attach_c_frame {
    uint32_t function; /* of names */
    uint8_t  role;     /* enum attach_c_role */
};

struct attach_c_stack {
    struct attach_vm *vm;
    struct attach_c_objects *objects;
    struct heapprof_mem *mem;
    struct unwind_registers registers;
    uint64_t start;                /* where the thread's code began; 0: not known */
    unsigned char *copy;
    size_t   copy_capacity, copy_bytes;
    uint64_t copy_at;
    struct attach_c_frame *frames; /* innermost first */
    size_t   frame_capacity, frame_count;
    bool     whole;                /* the last frame is the outermost */
};

/* objects and mem have to outlive the stack. */
void attach_c_stack_init(struct attach_c_stack *stack, struct attach_vm *vm,
                         struct attach_c_objects *objects, struct heapprof_mem *mem);
void attach_c_stack_free(struct attach_c_stack *stack);

/* Copies the registers and the stack of a thread that stands still, and runs that execution
 * context. Returns false if they cannot be read. */
bool attach_c_stack_copy(struct attach_c_stack *stack, pid_t tid, uint64_t ec);

/* Finds the frames of the copy. Returns false without memory. */
bool attach_c_stack_walk(struct attach_c_stack *stack);

#endif
