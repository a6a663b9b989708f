/* table.c - searches .eh_frame_hdr (Linux Standard Base), and reads the record that it names.
 *
 *     version 1 | three encodings | where .eh_frame is | how many entries | the entries
 *
 * All linkers write the same encodings: numbers of 32 bits, of which the first is a distance from
 * its own place, and those of the entries are distances from the index. Other forms are not
 * known. */
#include "unwind/table.h"

#include <string.h>

enum {
    FROM_HERE_4 = 0x1b,  /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
    UNSIGNED_4 = 0x03,   /* DW_EH_PE_udata4 */
    FROM_INDEX_4 = 0x3b, /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */
    RECORDS_AT = 4,
    COUNT_AT = 8,
    ENTRIES_AT = 12,
    ENTRY_BYTES = 8
};

static int32_t
number_at(const struct unwind_table *table, size_t offset)
{
    int32_t number;

    memcpy(&number, table->index + offset, sizeof(number));
    return number;
}

bool
unwind_table_records(const struct unwind_table *table, uint64_t *address)
{
    static const uint8_t form[] = { 1, FROM_HERE_4, UNSIGNED_4, FROM_INDEX_4 };

    if (table->index_bytes < ENTRIES_AT || memcmp(table->index, form, sizeof(form)) != 0)
        return false;
    *address = table->index_address + RECORDS_AT + (uint64_t)(int64_t)number_at(table, RECORDS_AT);
    return true;
}

static uint64_t
entry_address(const struct unwind_table *table, size_t offset)
{
    return table->index_address + (uint64_t)(int64_t)number_at(table, offset);
}

bool
unwind_table_find(const struct unwind_table *table, uint64_t address, struct heapprof_cfi_row *row)
{
    const struct heapprof_cfi_section section = { (uintptr_t)table->records,
                                                  (uintptr_t)table->records +
                                                      table->records_bytes };
    uint64_t records;

    if (!unwind_table_records(table, &records)) return false;
    size_t low = 0, high = (uint32_t)number_at(table, COUNT_AT);
    if (high > (table->index_bytes - ENTRIES_AT) / ENTRY_BYTES) return false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entry_address(table, ENTRIES_AT + middle * ENTRY_BYTES) <= address) low = middle + 1;
        else high = middle;
    }
    if (low == 0) return false;
    size_t entry = ENTRIES_AT + (low - 1) * ENTRY_BYTES;
    uint64_t function = entry_address(table, entry),
             record = entry_address(table, entry + 4) - table->records_address;
    return record < table->records_bytes &&
           rb_heapprof_cfi_read(row, &section, table->records + record, function, address + 1) &&
           address - function < row->function_bytes;
}
