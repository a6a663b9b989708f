#ifndef HEAPPROF_VM_JIT_CODE_H
#define HEAPPROF_VM_JIT_CODE_H
/* Where the compiled code of a JIT is, and which line each part of it is of: for a reader outside
 * (contract "jit-code" in doc/descriptor.md).
 *
 *     code     |-- block --|-- block --------|......|-- block --|     addresses grow
 *     marks    line 3  5   line 9  10        none   line 5      none
 *
 * Compiled code does not write the pc of its frame until it calls something that may need it. So
 * the pc of a frame that is running is old. The marks lead from an address of the code to a pc.
 *
 * A mark holds until the next one, and at most to the end of its chunk. The last one holds for
 * nothing. Without a JIT there is neither code nor marks. */
#include <stddef.h>
#include <stdint.h>

/* YJIT's code pages have two halves of this size: code, and the exits from it, which have no
 * marks. */
enum { HEAPPROF_JIT_CHUNK_BYTES = 8192 };

struct heapprof_jit_mark {
    uintptr_t code; /* address of the first instruction */
    uintptr_t pc;   /* behind the VM's instruction that it is of, or one of: */
};
enum {
    HEAPPROF_JIT_NOTHING,  /* it is no code with a line */
    HEAPPROF_JIT_RETURNED  /* a callee has just returned: the frame's own pc is right */
};

struct heapprof_jit_code {
    uintptr_t code; /* address space reserved for compiled code; 0: there is no JIT */
    size_t    code_bytes;
    struct heapprof_jit_mark *marks; /* in the order of their addresses */
    size_t    mark_capacity, mark_count;
};

extern struct heapprof_jit_code rb_heapprof_jit_code;

/* The JIT has reserved that memory. */
void rb_heapprof_jit_reserved(const void *code, size_t bytes);

/* The code that begins there is of the instruction at that index of the iseq; runs when a callee
 * has just returned; is of nothing, because a block has ended. Calls come in the order of
 * addresses; where an address is below earlier ones, the code there has been overwritten. The
 * caller holds the VM lock, and all Ractors stand still. */
struct rb_iseq_struct;
void rb_heapprof_jit_mark(const void *code, const struct rb_iseq_struct *iseq, unsigned int index);
void rb_heapprof_jit_mark_returned(const void *code);
void rb_heapprof_jit_mark_end(const void *code);

#endif
