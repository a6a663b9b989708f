#ifndef HEAPPROF_CFI_H
#define HEAPPROF_CFI_H
/* What the compiler says of a function's frame in .eh_frame: where the frame ends, and where it
 * has saved its caller's registers. This is a row of the table that DWARF calls call frame
 * information. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The registers by their DWARF numbers. Those of floating point numbers are left out. */
#if defined(__aarch64__)
enum { HEAPPROF_CFI_FP = 29, HEAPPROF_CFI_SP = 31, HEAPPROF_CFI_REGISTERS = 32 };
#else
enum { HEAPPROF_CFI_FP = 6, HEAPPROF_CFI_SP = 7, HEAPPROF_CFI_REGISTERS = 17 };
#endif

enum heapprof_cfi_kind {
    HEAPPROF_CFI_SAME,        /* the caller's value is still in the register */
    HEAPPROF_CFI_LOST,        /* the caller's value is nowhere */
    HEAPPROF_CFI_SAVED,       /* in memory, `number` bytes from the end of the frame */
    HEAPPROF_CFI_VALUE,       /* the value is the end of the frame and `number` bytes */
    HEAPPROF_CFI_IN_REGISTER, /* in the register `number` */
    HEAPPROF_CFI_SAVED_BY_EXPRESSION, /* in memory, where an expression of `number` bytes says */
    HEAPPROF_CFI_EXPRESSION   /* the value is that of an expression of `number` bytes */
};

struct heapprof_cfi_rule {
    const uint8_t *expression; /* in the record; NULL if there is none */
    int64_t number;
    uint8_t kind;
};

struct heapprof_cfi_row {
    uint64_t end_register;  /* the end of the frame is this register and end.number bytes, */
    struct heapprof_cfi_rule end; /* if its kind is VALUE; otherwise it is an EXPRESSION */
    struct heapprof_cfi_rule registers[HEAPPROF_CFI_REGISTERS];
    uint64_t return_register; /* the register that has the return address */
    uint64_t function_bytes;  /* how long the function is */
    bool     signal_frame;    /* the kernel has called the function: the return address is that of
                                 the next instruction, not of the one after a call */
};

/* Where records may lie: reading never leaves it. */
struct heapprof_cfi_section {
    uintptr_t begin, end;
};

/* Reads the row for an address in a function that begins at `function`. The record is the
 * function's FDE, at an address of ours within the section. Of two instructions with one address,
 * both count. Returns false if the record is broken or has something that this file does not
 * know. */
bool rb_heapprof_cfi_read(struct heapprof_cfi_row *row, const struct heapprof_cfi_section *section,
                          const void *record, uint64_t function, uint64_t address);

/* ---- numbers as DWARF writes them ---- */

struct heapprof_cfi_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

/* Reads a number of up to 8 bytes. Past the end, it is 0, and failed is set. */
uint64_t rb_heapprof_cfi_bytes(struct heapprof_cfi_reader *reader, size_t count);
uint64_t rb_heapprof_cfi_unsigned(struct heapprof_cfi_reader *reader); /* ULEB128 */
int64_t rb_heapprof_cfi_signed(struct heapprof_cfi_reader *reader);    /* SLEB128 */

#endif
