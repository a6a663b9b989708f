/* cfi.c - reads a function's record in .eh_frame (Linux Standard Base, DWARF 5 chapter 6.4) as far
 * as one address.
 *
 *     CIE   version, augmentation, units    instructions: the row at a function's beginning
 *     FDE   its CIE, the function           instructions: what differs, and from which address on
 *
 * A row says how to find the end of the frame, and where the caller's registers are.
 *
 * Anybody may have written the records. Reading never leaves the section, nor the length that a
 * record gives, and each step of a loop takes a byte. Allocates nothing, takes no lock. */
#include "os/cfi.h"

#include <string.h>

/* ---- reading ---- */

uint64_t
rb_heapprof_cfi_bytes(struct heapprof_cfi_reader *reader, size_t count)
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
read_leb(struct heapprof_cfi_reader *reader, bool is_signed)
{
    uint64_t value = 0, byte = 0x80;
    unsigned shift = 0;

    for (; byte & 0x80 && !reader->failed; shift += 7) {
        byte = rb_heapprof_cfi_bytes(reader, 1);
        if (shift < 64) value |= (byte & 0x7f) << shift;
    }
    if (is_signed && byte & 0x40 && shift < 64) value |= UINT64_MAX << shift;
    return value;
}

uint64_t
rb_heapprof_cfi_unsigned(struct heapprof_cfi_reader *reader)
{
    return read_leb(reader, false);
}

int64_t
rb_heapprof_cfi_signed(struct heapprof_cfi_reader *reader)
{
    return (int64_t)read_leb(reader, true);
}

/* Tables write distances in units. */
static int64_t
in_bytes(uint64_t units, int64_t unit)
{
    return (int64_t)(units * (uint64_t)unit);
}

static void
skip(struct heapprof_cfi_reader *reader, uint64_t bytes)
{
    if (bytes > (size_t)(reader->end - reader->at)) reader->failed = true;
    else reader->at += bytes;
}

/* A record begins with its length. Records longer than 4 GB would have another form, and do not
 * occur. */
static struct heapprof_cfi_reader
read_record(const struct heapprof_cfi_section *section, uintptr_t record)
{
    uint32_t bytes;

    if (record < section->begin || record > section->end || section->end - record < sizeof(bytes))
        return (struct heapprof_cfi_reader){ .failed = true };
    memcpy(&bytes, (const void *)record, sizeof(bytes));
    if (bytes >= 0xfffffff0 || section->end - record - sizeof(bytes) < bytes)
        return (struct heapprof_cfi_reader){ .failed = true };
    const uint8_t *at = (const uint8_t *)record + sizeof(bytes);
    return (struct heapprof_cfi_reader){ .at = at, .end = at + bytes };
}

/* ---- a row ---- */

enum { KEPT_MOST = 8 };     /* gcc keeps one */

struct cfi_table {
    struct heapprof_cfi_row row;   /* at the address that reading has reached */
    struct heapprof_cfi_row first; /* at the function's beginning */
    struct heapprof_cfi_row kept[KEPT_MOST];
    size_t   kept_count;
    uint64_t address;
    uint64_t address_unit;
    int64_t  bytes_unit;
    size_t   pointer_bytes;
    bool     lengths;       /* the length of extra fields stands before them */
    bool     unknown;
};

static void
set_end(struct cfi_table *table, uint64_t of_register, int64_t bytes)
{
    table->row.end_register = of_register;
    table->row.end = (struct heapprof_cfi_rule){ .kind = HEAPPROF_CFI_VALUE, .number = bytes };
}

static void
set_rule(struct cfi_table *table, uint64_t of_register, enum heapprof_cfi_kind kind, int64_t number)
{
    if (of_register < HEAPPROF_CFI_REGISTERS)
        table->row.registers[of_register] =
            (struct heapprof_cfi_rule){ .kind = (uint8_t)kind, .number = number };
}

static void
restore(struct cfi_table *table, uint64_t of_register)
{
    if (of_register < HEAPPROF_CFI_REGISTERS)
        table->row.registers[of_register] = table->first.registers[of_register];
}

static struct heapprof_cfi_rule
read_expression(struct heapprof_cfi_reader *reader, enum heapprof_cfi_kind kind)
{
    uint64_t bytes = rb_heapprof_cfi_unsigned(reader);
    struct heapprof_cfi_rule rule = { .expression = reader->at, .kind = (uint8_t)kind };

    skip(reader, bytes);
    rule.number = reader->at - rule.expression;
    return rule;
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
    DEF_CFA_EXPRESSION,
    EXPRESSION,
    OFFSET_EXTENDED_SF,
    DEF_CFA_SF,
    DEF_CFA_OFFSET_SF,
    VAL_OFFSET,
    VAL_OFFSET_SF,
    VAL_EXPRESSION,
    AARCH64_NEGATE_RA_STATE = 0x2d, /* the return address is signed, or no longer */
    GNU_ARGS_SIZE
};

static void
advance(struct cfi_table *table, uint64_t units)
{
    table->address += units * table->address_unit;
}

/* Reads the instructions that change where a register is. */
static void
read_register(struct cfi_table *table, struct heapprof_cfi_reader *reader, unsigned instruction)
{
    uint64_t of_register = rb_heapprof_cfi_unsigned(reader);
    struct heapprof_cfi_rule rule;

    switch (instruction) {
      case OFFSET_EXTENDED: case VAL_OFFSET:
        set_rule(table, of_register,
                 instruction == VAL_OFFSET ? HEAPPROF_CFI_VALUE : HEAPPROF_CFI_SAVED,
                 in_bytes(rb_heapprof_cfi_unsigned(reader), table->bytes_unit));
        break;
      case OFFSET_EXTENDED_SF: case VAL_OFFSET_SF:
        set_rule(table, of_register,
                 instruction == VAL_OFFSET_SF ? HEAPPROF_CFI_VALUE : HEAPPROF_CFI_SAVED,
                 in_bytes((uint64_t)rb_heapprof_cfi_signed(reader), table->bytes_unit));
        break;
      case RESTORE_EXTENDED:
        restore(table, of_register);
        break;
      case UNDEFINED:
        set_rule(table, of_register, HEAPPROF_CFI_LOST, 0);
        break;
      case SAME_VALUE:
        set_rule(table, of_register, HEAPPROF_CFI_SAME, 0);
        break;
      case REGISTER:
        set_rule(table, of_register, HEAPPROF_CFI_IN_REGISTER,
                 (int64_t)rb_heapprof_cfi_unsigned(reader));
        break;
      default: /* EXPRESSION, VAL_EXPRESSION */
        rule = read_expression(reader, instruction == EXPRESSION ? HEAPPROF_CFI_SAVED_BY_EXPRESSION
                                                                 : HEAPPROF_CFI_EXPRESSION);
        if (of_register < HEAPPROF_CFI_REGISTERS) table->row.registers[of_register] = rule;
    }
}

/* Reads the instructions that have no operand in their own byte. */
static void
read_other(struct cfi_table *table, struct heapprof_cfi_reader *reader, unsigned instruction)
{
    uint64_t of_register = table->row.end_register;

    switch (instruction) {
      case NOP:
        break;
      case ADVANCE_1:
        advance(table, rb_heapprof_cfi_bytes(reader, 1));
        break;
      case ADVANCE_2:
        advance(table, rb_heapprof_cfi_bytes(reader, 2));
        break;
      case ADVANCE_4:
        advance(table, rb_heapprof_cfi_bytes(reader, 4));
        break;
      case REMEMBER_STATE:
        keep_row(table);
        break;
      case RESTORE_STATE:
        bring_back_row(table);
        break;
      case DEF_CFA:
        of_register = rb_heapprof_cfi_unsigned(reader);
        set_end(table, of_register, (int64_t)rb_heapprof_cfi_unsigned(reader));
        break;
      case DEF_CFA_SF:
        of_register = rb_heapprof_cfi_unsigned(reader);
        set_end(table, of_register,
                in_bytes((uint64_t)rb_heapprof_cfi_signed(reader), table->bytes_unit));
        break;
      case DEF_CFA_REGISTER:
        set_end(table, rb_heapprof_cfi_unsigned(reader), table->row.end.number);
        break;
      case DEF_CFA_OFFSET:
        set_end(table, of_register, (int64_t)rb_heapprof_cfi_unsigned(reader));
        break;
      case DEF_CFA_OFFSET_SF:
        set_end(table, of_register,
                in_bytes((uint64_t)rb_heapprof_cfi_signed(reader), table->bytes_unit));
        break;
      case DEF_CFA_EXPRESSION:
        table->row.end = read_expression(reader, HEAPPROF_CFI_EXPRESSION);
        break;
      case GNU_ARGS_SIZE:
        rb_heapprof_cfi_unsigned(reader);
        break;
#if defined(__aarch64__)
      case AARCH64_NEGATE_RA_STATE:
        break;
#endif
      default: /* an instruction of another machine */
        table->unknown = true;
    }
}

static bool
of_register_p(unsigned instruction)
{
    return (instruction >= OFFSET_EXTENDED && instruction <= REGISTER) ||
           instruction == OFFSET_EXTENDED_SF || instruction == EXPRESSION ||
           (instruction >= VAL_OFFSET && instruction <= VAL_EXPRESSION);
}

static void
read_instruction(struct cfi_table *table, struct heapprof_cfi_reader *reader)
{
    unsigned instruction = (unsigned)rb_heapprof_cfi_bytes(reader, 1), operand = instruction & 0x3f;

    switch (instruction & 0xc0) {
      case ADVANCE:
        advance(table, operand);
        break;
      case OFFSET:
        set_rule(table, operand, HEAPPROF_CFI_SAVED,
                 in_bytes(rb_heapprof_cfi_unsigned(reader), table->bytes_unit));
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
read_instructions(struct cfi_table *table, struct heapprof_cfi_reader *reader, uint64_t address)
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
 * pointers are written. P and L: fields for exceptions. S: the kernel has called the function.
 * B: how return addresses are signed. */
static void
read_augmentation(struct cfi_table *table, struct heapprof_cfi_reader *reader, const char *letters)
{
    if (*letters != 'z') {
        table->unknown = *letters != '\0';
        return;
    }
    uint64_t bytes = rb_heapprof_cfi_unsigned(reader);
    struct heapprof_cfi_reader fields = *reader;

    skip(reader, bytes);
    if (reader->failed) return;
    fields.end = reader->at;
    while (*++letters && !table->unknown) {
        if (*letters == 'R')
            table->pointer_bytes = pointer_bytes((unsigned)rb_heapprof_cfi_bytes(&fields, 1));
        else if (*letters == 'L') skip(&fields, 1);
        else if (*letters == 'P')
            skip(&fields, pointer_bytes((unsigned)rb_heapprof_cfi_bytes(&fields, 1)));
        else if (*letters == 'S') table->row.signal_frame = true;
        else if (*letters != 'B') table->unknown = true;
    }
    table->lengths = true;
    if (fields.failed) table->unknown = true;
}

static void
read_cie(struct cfi_table *table, struct heapprof_cfi_reader reader)
{
    uint64_t id = rb_heapprof_cfi_bytes(&reader, 4), version = rb_heapprof_cfi_bytes(&reader, 1);
    const char *letters = (const char *)reader.at;

    while (rb_heapprof_cfi_bytes(&reader, 1) != 0) continue;
    table->address_unit = rb_heapprof_cfi_unsigned(&reader);
    table->bytes_unit = rb_heapprof_cfi_signed(&reader);
    table->row.return_register = version == 1 ? rb_heapprof_cfi_bytes(&reader, 1)
                                              : rb_heapprof_cfi_unsigned(&reader);
    if (reader.failed || id != 0 || (version != 1 && version != 3) ||
        table->row.return_register >= HEAPPROF_CFI_REGISTERS) {
        table->unknown = true;
        return;
    }
    read_augmentation(table, &reader, letters);
    read_instructions(table, &reader, UINT64_MAX);
    table->first = table->row;
}

static void
read_fde(struct cfi_table *table, const struct heapprof_cfi_section *section, uintptr_t record,
         uint64_t address)
{
    struct heapprof_cfi_reader reader = read_record(section, record);
    uintptr_t from = (uintptr_t)reader.at;
    uint64_t distance = rb_heapprof_cfi_bytes(&reader, 4);

    if (reader.failed || distance == 0 || distance > from) {
        table->unknown = true;
        return;
    }
    read_cie(table, read_record(section, from - distance));
    if (table->unknown) return;
    if (table->pointer_bytes == 0) table->unknown = true;
    skip(&reader, table->pointer_bytes); /* where the function begins */
    table->row.function_bytes = rb_heapprof_cfi_bytes(&reader, table->pointer_bytes);
    if (table->lengths) skip(&reader, rb_heapprof_cfi_unsigned(&reader));
    read_instructions(table, &reader, address);
}

bool
rb_heapprof_cfi_read(struct heapprof_cfi_row *row, const struct heapprof_cfi_section *section,
                     const void *record, uint64_t function, uint64_t address)
{
    struct cfi_table table = { .address = function, .pointer_bytes = sizeof(uintptr_t),
                               .row.end.kind = HEAPPROF_CFI_LOST };

    read_fde(&table, section, (uintptr_t)record, address);
    *row = table.row;
    return !table.unknown && row->end.kind != HEAPPROF_CFI_LOST;
}
