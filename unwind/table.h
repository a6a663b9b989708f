#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H
/* The unwind table of an ELF object: from an address of its code to the row for that address.
 *
 *     .eh_frame_hdr   address, record | address, record | ...    in the order of addresses
 *     .eh_frame       a record for each function                 (os/cfi.h)
 */
#include "os/cfi.h"

/* Copies of both sections, which may have any bytes, and where they are in the object's memory. */
struct unwind_table {
    const uint8_t *index, *records;
    size_t   index_bytes, records_bytes;
    uint64_t index_address, records_address;
};

/* Where .eh_frame begins in memory, by the index. Returns false if the index has another form than
 * linkers write. Only index, index_bytes and index_address have to be set. */
bool unwind_table_records(const struct unwind_table *table, uint64_t *address);

/* Finds the row for an address, with expressions that point into the records. The address is that
 * of an instruction, or lies within it. Returns false if there is none. */
bool unwind_table_find(const struct unwind_table *table, uint64_t address,
                       struct heapprof_cfi_row *row);

#endif
