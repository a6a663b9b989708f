/* lines.c - the contract "line-table 1": MRI's table of lines, behind a succinct index (iseq.c).
 *
 * The table has an entry for each position where the line changes. The index tells which entry a
 * position has: the number of entries that begin at or before it, less one. The first 54 positions
 * have that number itself, 7 bits wide, 9 to a word. The rest come in blocks of 512 positions. A
 * block has the number of entries before it; for each 64 positions except the first 64, the number
 * of the block's entries before them, 9 bits wide; and a bit for each position.
 */
#include "attach/lines.h"

enum {
    FIRST_WIDTH = 7, FIRST_A_WORD = 9,          /* imm_part */
    BLOCK_BITS = 512, WORD_BITS = 64, RANK_WIDTH = 9
};

static bool
first_rank(struct attach_vm *vm, uint64_t index, uint64_t position, uint64_t *rank)
{
    uint64_t word;

    if (!attach_vm_word(vm, index + vm->line_first_ranks.offset + position / FIRST_A_WORD * 8,
                        &word)) {
        return false;
    }
    *rank = word >> position % FIRST_A_WORD * FIRST_WIDTH & ((1 << FIRST_WIDTH) - 1);
    return true;
}

static bool
block_rank(struct attach_vm *vm, uint64_t index, uint64_t position, uint64_t *rank)
{
    uint64_t block = index + vm->line_index_bytes + position / BLOCK_BITS * vm->line_block_bytes;
    uint64_t bit = position % BLOCK_BITS, word = bit / WORD_BITS;
    uint64_t before, ranks, bits;

    if (!attach_vm_get(vm, block, &vm->block_rank, &before) ||
        !attach_vm_get(vm, block, &vm->block_ranks, &ranks) ||
        !attach_vm_word(vm, block + vm->block_bits.offset + word * 8, &bits)) return false;
    *rank = before + (uint64_t)__builtin_popcountll(bits << (WORD_BITS - 1 - bit % WORD_BITS));
    if (word) *rank += ranks >> (word - 1) * RANK_WIDTH & ((1 << RANK_WIDTH) - 1);
    return true;
}

/* Which entry of the table; false where none can be found. */
static bool
find_entry(struct attach_vm *vm, const void *table, uint64_t position, uint64_t *entry)
{
    uint64_t count = attach_field_get(&vm->line_count, table);
    uint64_t index = attach_field_get(&vm->line_index, table), rank = 0;

    *entry = 0;
    if (count <= 1) return count == 1; /* there is no index */
    if (position < vm->line_first_count
            ? !first_rank(vm, index, position, &rank)
            : !block_rank(vm, index, position - vm->line_first_count, &rank)) {
        return false;
    }
    *entry = rank - 1;
    return rank > 0 && rank <= count;
}

uint32_t
attach_line_of(struct attach_vm *vm, const void *body, uint64_t pc)
{
    uint64_t start = attach_field_get(&vm->body_encoded, body);
    uint64_t size = attach_field_get(&vm->body_size, body);
    uint64_t position = (pc - start) / ATTACH_WORD, entry, line;
    const void *table = (const char *)body + vm->body_lines.offset;

    if (pc < start || position > size || (pc - start) % ATTACH_WORD) return 0;
    if (position) position--; /* pc is already at the next instruction */
    if (!find_entry(vm, table, position, &entry)) return 0;

    uint64_t at = attach_field_get(&vm->lines, table) + entry * vm->line_bytes;
    if (!attach_vm_get(vm, at, &vm->line_number, &line) || (int64_t)line < 0) return 0;
    return (uint32_t)line;
}
