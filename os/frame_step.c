/* frame_step.c - reads the unwind table of a function (.eh_frame: Linux Standard Base, DWARF 5
 * chapter 6.4) as far as one address.
 *
 *     CIE   version, augmentation, units    instructions: the row at a function's beginning
 *     FDE   its CIE, the function           instructions: what differs, and from which address on
 *
 * A row says how to find the end of the frame, and where the caller's registers were saved.
 * Of these only rbp matters, because the end is found by rsp or rbp. This file does not know ends
 * that are found in another way: signal handlers, the linker's stubs, functions that align their
 * stack.
 *
 * Never reads past the length that a record gives. Allocates nothing, takes no lock. */
#include "os/frame_step.h"

#include <string.h>

#if defined(__x86_64__)

enum { RBP = 6, RSP = 7, RETURN_ADDRESS = 16 };

/* ---- reading ---- */

struct cfi_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

static uint64_t
read_bytes(struct cfi_reader *reader, size_t count)
{
    uint64_t value = 0;

    if ((size_t)(reader->end - reader->at) < count) {
        reader->failed = true;
        reader->at = reader->end;
        return 0;
    }
    memcpy(&value, reader->at, count);
    reader->at += count;
    return value;
}

/* LEB128: seven bits a byte, the lowest bits first. If the number is signed, the highest bit of
 * the last byte is its sign. */
static uint64_t
read_leb(struct cfi_reader *reader, bool is_signed)
{
    uint64_t value = 0, byte = 0x80;
    unsigned shift = 0;

    for (; byte & 0x80 && !reader->failed; shift += 7) {
        byte = read_bytes(reader, 1);
        if (shift < 64) value |= (byte & 0x7f) << shift;
    }
    if (is_signed && byte & 0x40 && shift < 64) value |= UINT64_MAX << shift;
    return value;
}

static uint64_t
read_unsigned(struct cfi_reader *reader)
{
    return read_leb(reader, false);
}

static uint64_t
read_signed(struct cfi_reader *reader)
{
    return read_leb(reader, true);
}

/* Tables write distances in units. */
static int64_t
in_bytes(uint64_t units, int64_t unit)
{
    return (int64_t)(units * (uint64_t)unit);
}

static void
skip(struct cfi_reader *reader, uint64_t bytes)
{
    if (bytes > (size_t)(reader->end - reader->at)) reader->failed = true;
    else reader->at += bytes;
}

/* A record begins with its length. Records longer than 4 GB would have another form, and do not
 * occur. */
static struct cfi_reader
read_record(const uint8_t *record)
{
    uint32_t bytes;

    memcpy(&bytes, record, sizeof(bytes));
    if (bytes >= 0xfffffff0) return (struct cfi_reader){ .failed = true };
    return (struct cfi_reader){ .at = record + sizeof(bytes),
                                 .end = record + sizeof(bytes) + bytes };
}

/* ---- a row ---- */

struct cfi_row {
    uint64_t end_register;
    int64_t  end_bytes;
    int64_t  rbp_bytes;     /* from the end; 0: in rbp */
    bool     no_caller;
};

enum { KEPT_MOST = 8 };     /* gcc keeps one */

struct cfi_table {
    struct cfi_row row;         /* at the address that reading has reached */
    struct cfi_row first;       /* at the function's beginning */
    struct cfi_row kept[KEPT_MOST];
    size_t     kept_count;
    uint64_t   address;
    uint64_t   address_unit;
    int64_t    bytes_unit;
    size_t     pointer_bytes;
    bool       lengths;     /* the length of extra fields stands before them */
    bool       unknown;
};

static void
set_end(struct cfi_table *table, uint64_t of_register, int64_t bytes)
{
    table->row.end_register = of_register;
    table->row.end_bytes = bytes;
}

static void
set_saved(struct cfi_table *table, uint64_t of_register, int64_t bytes)
{
    if (of_register == RBP) table->row.rbp_bytes = bytes;
    if (of_register == RETURN_ADDRESS && bytes != -(int64_t)sizeof(uintptr_t))
        table->unknown = true;
}

static void
restore(struct cfi_table *table, uint64_t of_register)
{
    if (of_register == RBP) table->row.rbp_bytes = table->first.rbp_bytes;
    if (of_register == RETURN_ADDRESS) table->row.no_caller = table->first.no_caller;
}

/* The register is not in memory at a fixed distance from the end. */
static void
set_elsewhere(struct cfi_table *table, uint64_t of_register)
{
    if (of_register == RBP || of_register == RETURN_ADDRESS) table->unknown = true;
}

static void
keep_row(struct cfi_table *table)
{
    if (table->kept_count == KEPT_MOST) table->unknown = true;
    else table->kept[table->kept_count++] = table->row;
}

static void
bring_back_row(struct cfi_table *table)
{
    if (table->kept_count == 0) table->unknown = true;
    else table->row = table->kept[--table->kept_count];
}

/* ---- instructions ---- */

enum {
    ADVANCE = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0, /* with an operand in the lower six bits */
    NOP = 0,
    ADVANCE_1 = 2,
    ADVANCE_2,
    ADVANCE_4,
    OFFSET_EXTENDED,
    RESTORE_EXTENDED,
    UNDEFINED,
    SAME_VALUE,
    REGISTER,
    REMEMBER_STATE,
    RESTORE_STATE,
    DEF_CFA,
    DEF_CFA_REGISTER,
    DEF_CFA_OFFSET,
    EXPRESSION = 0x10,
    OFFSET_EXTENDED_SF,
    DEF_CFA_SF,
    DEF_CFA_OFFSET_SF,
    VAL_EXPRESSION = 0x16,
    GNU_ARGS_SIZE = 0x2e
};

static void
advance(struct cfi_table *table, uint64_t units)
{
    table->address += units * table->address_unit;
}

/* Reads the instructions that change where a register is. */
static void
read_register(struct cfi_table *table, struct cfi_reader *reader, unsigned instruction)
{
    uint64_t of_register = read_unsigned(reader);

    switch (instruction) {
      case OFFSET_EXTENDED:
        set_saved(table, of_register, in_bytes(read_unsigned(reader), table->bytes_unit));
        break;
      case OFFSET_EXTENDED_SF:
        set_saved(table, of_register, in_bytes(read_signed(reader), table->bytes_unit));
        break;
      case RESTORE_EXTENDED:
        restore(table, of_register);
        break;
      case UNDEFINED:
        if (of_register == RETURN_ADDRESS) table->row.no_caller = true;
        break;
      case SAME_VALUE:
        if (of_register == RBP) table->row.rbp_bytes = 0;
        break;
      case REGISTER:
        read_unsigned(reader);
        set_elsewhere(table, of_register);
        break;
      default: /* EXPRESSION, VAL_EXPRESSION */
        skip(reader, read_unsigned(reader));
        set_elsewhere(table, of_register);
    }
}

/* Reads the instructions that have no operand in their own byte. */
static void
read_other(struct cfi_table *table, struct cfi_reader *reader, unsigned instruction)
{
    uint64_t of_register = table->row.end_register;

    switch (instruction) {
      case NOP:
        break;
      case ADVANCE_1:
        advance(table, read_bytes(reader, 1));
        break;
      case ADVANCE_2:
        advance(table, read_bytes(reader, 2));
        break;
      case ADVANCE_4:
        advance(table, read_bytes(reader, 4));
        break;
      case REMEMBER_STATE:
        keep_row(table);
        break;
      case RESTORE_STATE:
        bring_back_row(table);
        break;
      case DEF_CFA:
        of_register = read_unsigned(reader);
        set_end(table, of_register, (int64_t)read_unsigned(reader));
        break;
      case DEF_CFA_SF:
        of_register = read_unsigned(reader);
        set_end(table, of_register, in_bytes(read_signed(reader), table->bytes_unit));
        break;
      case DEF_CFA_REGISTER:
        set_end(table, read_unsigned(reader), table->row.end_bytes);
        break;
      case DEF_CFA_OFFSET:
        set_end(table, of_register, (int64_t)read_unsigned(reader));
        break;
      case DEF_CFA_OFFSET_SF:
        set_end(table, of_register, in_bytes(read_signed(reader), table->bytes_unit));
        break;
      case GNU_ARGS_SIZE:
        read_unsigned(reader);
        break;
      default: /* an end by an expression, or an instruction of another machine */
        table->unknown = true;
    }
}

static bool
of_register_p(unsigned instruction)
{
    return (instruction >= OFFSET_EXTENDED && instruction <= REGISTER) ||
           instruction == OFFSET_EXTENDED_SF || instruction == EXPRESSION ||
           instruction == VAL_EXPRESSION;
}

static void
read_instruction(struct cfi_table *table, struct cfi_reader *reader)
{
    unsigned instruction = (unsigned)read_bytes(reader, 1), operand = instruction & 0x3f;

    switch (instruction & 0xc0) {
      case ADVANCE:
        advance(table, operand);
        break;
      case OFFSET:
        set_saved(table, operand, in_bytes(read_unsigned(reader), table->bytes_unit));
        break;
      case RESTORE:
        restore(table, operand);
        break;
      default:
        if (of_register_p(instruction)) read_register(table, reader, instruction);
        else read_other(table, reader, instruction);
    }
}

/* Reads while rows describe addresses before address. */
static void
read_instructions(struct cfi_table *table, struct cfi_reader *reader, uintptr_t address)
{
    while (reader->at < reader->end && !reader->failed && !table->unknown) {
        read_instruction(table, reader);
        if (table->address >= address) break;
    }
    if (reader->failed) table->unknown = true;
}

/* ---- records ---- */

/* Returns how long a pointer in an FDE is with that encoding. */
static size_t
pointer_bytes(unsigned encoding)
{
    switch (encoding & 0x07) {
      case 0: return sizeof(uintptr_t);
      case 2: return 2;
      case 3: return 4;
      case 4: return 8;
      default: return 0;
    }
}

/* An augmentation has a letter for each extra. z: the extra fields have lengths. R: how
 * pointers are written. P and L: fields for exceptions. S: a signal handler. */
static void
read_augmentation(struct cfi_table *table, struct cfi_reader *reader, const char *letters)
{
    if (*letters != 'z') {
        table->unknown = *letters != '\0';
        return;
    }
    uint64_t bytes = read_unsigned(reader);
    struct cfi_reader fields = *reader;

    skip(reader, bytes);
    if (reader->failed) return;
    fields.end = reader->at;
    while (*++letters && !table->unknown) {
        if (*letters == 'R') table->pointer_bytes = pointer_bytes((unsigned)read_bytes(&fields, 1));
        else if (*letters == 'L') skip(&fields, 1);
        else if (*letters == 'P') skip(&fields, pointer_bytes((unsigned)read_bytes(&fields, 1)));
        else table->unknown = true;
    }
    table->lengths = true;
    if (fields.failed) table->unknown = true;
}

static void
read_cie(struct cfi_table *table, const uint8_t *record)
{
    struct cfi_reader reader = read_record(record);
    uint64_t id = read_bytes(&reader, 4), version = read_bytes(&reader, 1);
    const char *letters = (const char *)reader.at;

    while (read_bytes(&reader, 1) != 0) continue;
    table->address_unit = read_unsigned(&reader);
    table->bytes_unit = (int64_t)read_signed(&reader);
    uint64_t return_address = version == 1 ? read_bytes(&reader, 1) : read_unsigned(&reader);
    if (reader.failed || id != 0 || (version != 1 && version != 3) ||
        return_address != RETURN_ADDRESS) {
        table->unknown = true;
        return;
    }
    read_augmentation(table, &reader, letters);
    read_instructions(table, &reader, UINTPTR_MAX);
    table->first = table->row;
}

static void
read_fde(struct cfi_table *table, const uint8_t *record, uintptr_t address)
{
    struct cfi_reader reader = read_record(record);
    const uint8_t *from = reader.at;
    uint64_t distance = read_bytes(&reader, 4);

    if (reader.failed || distance == 0) {
        table->unknown = true;
        return;
    }
    read_cie(table, from - distance);
    if (table->unknown) return;
    if (table->pointer_bytes == 0) table->unknown = true;
    skip(&reader, 2 * table->pointer_bytes); /* where the function begins, and how long it is */
    if (table->lengths) skip(&reader, read_unsigned(&reader));
    read_instructions(table, &reader, address);
}

/* ---- the answer ---- */

static struct heapprof_frame_step
step_of_row(const struct cfi_row *row)
{
    const int64_t word = sizeof(uintptr_t);
    struct heapprof_frame_step step = { .kind = HEAPPROF_STEP_UNKNOWN };

    if (row->no_caller) step.kind = HEAPPROF_STEP_LAST;
    if (row->no_caller || (row->end_register != RSP && row->end_register != RBP)) return step;
    if (row->rbp_bytes > 0 || row->rbp_bytes % word != 0 || row->rbp_bytes / word < -INT16_MAX)
        return step;
    if (row->end_bytes < -INT32_MAX || row->end_bytes > INT32_MAX) return step;
    step.kind = row->end_register == RBP ? HEAPPROF_STEP_BY_RBP : HEAPPROF_STEP_BY_PLACE;
    step.bytes = (int32_t)row->end_bytes;
    step.saved = (int16_t)(-row->rbp_bytes / word);
    return step;
}

struct heapprof_frame_step
rb_heapprof_frame_step_read(const void *record, uintptr_t function, uintptr_t address)
{
    struct cfi_table table = { .address = function, .pointer_bytes = sizeof(uintptr_t) };

    read_fde(&table, record, address);
    return table.unknown ? (struct heapprof_frame_step){ .kind = HEAPPROF_STEP_UNKNOWN }
                         : step_of_row(&table.row);
}

#else

struct heapprof_frame_step
rb_heapprof_frame_step_read(const void *record, uintptr_t function, uintptr_t address)
{
    (void)record, (void)function, (void)address;
    return (struct heapprof_frame_step){ .kind = HEAPPROF_STEP_UNKNOWN };
}

#endif
