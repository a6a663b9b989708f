/* reach.c - what the structs of objects and the data of libraries lead to: the search in the
 * guests' bags. Compiled inside gc.c.
 *
 * Only the extension knows what its struct looks like. So each aligned word of it that may be
 * the address of a block is taken for one, and that block is read in turn:
 *
 *     T_DATA --> struct --> another --> 0x7f..10   known, without an owner: now the T_DATA's
 *                  ^ not sampled: read all the same
 *
 * The same goes for the data of libraries. If several lead to a block, it belongs to the first
 * of them: objects of extensions come first, then libraries, then the VM's own data, whose
 * stacks are full of old words.
 *
 * The search may be wrong in two ways. A word that only looks like an address gives an owner to
 * a block that has none. A block that is held only by its middle, by a thread's stack or by
 * thread-local data is not found.
 *
 * How long is a block? As long as it is known to be. Or as glibc's header before it says, if
 * the header of the next block agrees. In no case does it go beyond the next known block, or
 * onto a page that is not the allocator's. With another allocator only known blocks are read,
 * and the beginnings of objects' structs.
 *
 *   I1  nothing is read directly: a word may be no address, and a thread without the GVL may
 *       give memory back at any moment (os/peek.h).
 *   I2  each address is read once. If there is no memory to remember more, or too much to read,
 *       the search is cut short, and nothing is suspect.
 *   I3  the profiler's tables are not read, not even behind what only looks like a long block:
 *       they have the address of every block. Nor are pages of the heap: nothing may hold the
 *       objects there.
 *   I4  at most READ_BYTES are read. What only looks like a block may seem to be hundreds of
 *       megabytes long, and lie over other blocks: without a limit all of the heap is read for
 *       each. Memory that was never written to is not read: MRI reserves 400 MB for its shapes
 *       alone, and uses a few.
 */
#include "os/chunk.h"
#include "os/peek.h"
#include "os/touched.h"
#include <link.h>

#define REACH_MEMORY_BYTES ((size_t)64 << 20)
#define READ_BYTES ((size_t)256 << 20)
#define WINDOW_BYTES ((size_t)16 << 10) /* what a step reads at most */
#define FIRST_BYTES ((size_t)512)
#define STRETCH_BYTES ((size_t)2 << 20) /* a question to the system: which pages were written? */
/* What that question reads. */
#define STRETCH_COST_BYTES (STRETCH_BYTES / PAGE_BYTES * sizeof(uint64_t))
#define PAGE_BYTES 4096 /* no page of a system is smaller */
#define ROOT_BYTES 256 /* the size of a struct if nothing tells it */
#define BLOCK_ALIGNMENT (2 * sizeof(uintptr_t)) /* glibc's */

struct reached {
    uintptr_t address;
    uintptr_t holder;              /* for whom it is read: an object, or a key (holder.c) */
    bool      root;                /* an object's struct */
};

struct reach_range {
    uintptr_t begin, end;
};

struct reach {
    struct heapprof_mem   mem;     /* an account of its own */
    struct heapprof_index index;   /* address -> number */
    struct reached *all;           /* by number; [0] unused */
    size_t     all_capacity;
    uint32_t   end;                /* numbers below this are given */
    uint32_t   next;               /* the first that is not read to its end */
    size_t     bytes;              /* the length of `next` */
    size_t     offset;             /* how far `next` is read; 0: its length is not known yet */
    uintptr_t  touched_end;        /* memory of `next` up to here was written to, as far as known */
    uintptr_t  holder;             /* who holds what is found at the moment */
    struct reach_range *libraries; /* by address; none overlaps another */
    size_t     libraries_capacity;
    size_t     library_count;
    struct reach_range vm;         /* the library that has the VM */
    size_t     vm_library;         /* its number, in the loader's order */
    uintptr_t *window;             /* a copy of memory */
    size_t     window_capacity;    /* words */
    uintptr_t  window_begin;
    size_t     window_bytes;
    size_t     left_bytes;         /* how much may still be read */
    int        fd;                 /* to read memory through; -1: not open */
    int        pages_fd;           /* to ask which pages were written to; -1: not open */
    bool       wanted;             /* the snapshot asks for suspicions: only they need the search */
    bool       cut_short;
};

static struct reach reach = { .fd = -1, .pages_fd = -1 };

/* ---- memory ---- */

HEAPPROF_COLD static void
look(uintptr_t begin, size_t bytes)
{
    reach.window_begin = begin;
    reach.window_bytes = rb_heapprof_peek(reach.fd, begin, reach.window, bytes);
}

HEAPPROF_COLD static bool
word_at(uintptr_t address, uintptr_t *word, void *unused)
{
    size_t offset = address - reach.window_begin;

    if (offset < reach.window_bytes && reach.window_bytes - offset >= sizeof(*word)) {
        *word = reach.window[offset / sizeof(*word)];
        return true;
    }
    return rb_heapprof_peek(reach.fd, address, word, sizeof(*word)) == sizeof(*word);
}

/* ---- libraries ---- */

/* The range from the first to the last address that the loader has mapped for a library. */
HEAPPROF_COLD static struct reach_range
range_of_library(const struct dl_phdr_info *info)
{
    struct reach_range range = { UINTPTR_MAX, 0 };

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD) continue;
        if (begin < range.begin) range.begin = begin;
        if (begin + segment->p_memsz > range.end) range.end = begin + segment->p_memsz;
    }
    return range;
}

HEAPPROF_COLD static int
note_library_i(struct dl_phdr_info *info, size_t size, void *unused)
{
    struct reach_range range = range_of_library(info);
    size_t place = reach.library_count;

    if (!HEAPPROF_MEM_GROW(&reach.mem, reach.libraries, reach.libraries_capacity, place + 1)) {
        reach.cut_short = true;
        return 1;
    }
    for (; place > 0 && reach.libraries[place - 1].begin > range.begin; place--) {
        reach.libraries[place] = reach.libraries[place - 1];
    }
    reach.libraries[place] = range;
    if (range.begin <= (uintptr_t)&reach && (uintptr_t)&reach < range.end) {
        reach.vm = range;
        reach.vm_library = reach.library_count;
    }
    reach.library_count++;
    return 0;
}

/* True for code and data of a library, where no block can be. */
HEAPPROF_COLD static bool
in_library_p(uintptr_t address)
{
    size_t low = 0, high = reach.library_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (reach.libraries[middle].end <= address) low = middle + 1;
        else high = middle;
    }
    return low < reach.library_count && reach.libraries[low].begin <= address;
}

/* ---- pages ---- */

HEAPPROF_COLD static bool
in_heap_or_library_p(uintptr_t address)
{
    return heap_page_for_ptr(rb_gc_get_objspace(), address) || in_library_p(address);
}

HEAPPROF_COLD static bool
in_table_of_p(const struct heapprof_mem *mem, uintptr_t address)
{
    for (int i = 0; i < HEAPPROF_MEM_BLOCKS; i++) {
        if (address - mem->blocks[i].address < mem->blocks[i].bytes) return true;
    }
    return false;
}

/* How many of the bytes from begin on lie before the first page that cannot be a block's. */
HEAPPROF_COLD static size_t
bytes_before_other_pages(uintptr_t begin, size_t bytes)
{
    uintptr_t page = begin;

    for (; page - begin < bytes; page = (page | (PAGE_BYTES - 1)) + 1) {
        if (in_heap_or_library_p(page)) break;
        if (in_table_of_p(&rb_heapprof.mem, page) || in_table_of_p(&reach.mem, page)) break;
    }
    return page - begin < bytes ? page - begin : bytes;
}

/* ---- blocks ---- */

HEAPPROF_COLD static size_t
block_bytes(uintptr_t block, bool root)
{
    size_t bytes = rb_heapprof_chunk_bytes(block, word_at, NULL), known = 0;

    if (rb_heapprof_maybe_block_p((const void *)block)) {
        lock_blocks();
        known = rb_heapprof_blocks_end(&rb_heapprof.tables.blocks, block);
        unlock_blocks();
    }
    if (known > bytes) bytes = known;
    return bytes == 0 && root ? ROOT_BYTES : bytes;
}

/* How many of the bytes from begin on may be the block's: it ends where another known block
 * begins. A stale header may say more, if one large block was here once and many are now. */
HEAPPROF_COLD static size_t
bytes_before_another(uintptr_t block, uintptr_t begin, size_t bytes)
{
    const struct heapprof_address_table *known = &rb_heapprof.tables.blocks.addresses;
    size_t offset = begin == block ? BLOCK_ALIGNMENT : 0;

    lock_blocks();
    for (; offset < bytes; offset += BLOCK_ALIGNMENT) {
        if (!rb_heapprof_maybe_block_p((const void *)(begin + offset))) continue;
        if (rb_heapprof_address_table_find(known, begin + offset)) break;
    }
    unlock_blocks();
    return offset < bytes ? offset : bytes;
}

/* Gives a known block to the holder, if it has no owner yet. Returns false if another owns it. */
HEAPPROF_COLD static bool
take_block(uintptr_t address)
{
    struct heapprof_blocks *blocks = &rb_heapprof.tables.blocks;
    struct heapprof_owner owner = owner_now(reach.holder);
    bool taken = true;

    lock_blocks();
    uint32_t entry = rb_heapprof_address_table_find(&blocks->addresses, address);
    if (entry) {
        if (!blocks->owners[entry].object && owner.class_id) blocks->owners[entry] = owner;
        taken = blocks->owners[entry].object == owner.object;
    }
    unlock_blocks();
    return taken;
}

/* ---- addresses ---- */

HEAPPROF_COLD static uint64_t
reach_hash_i(const void *unused, uint32_t number)
{
    return rb_heapprof_index_hash(reach.all[number].address);
}

HEAPPROF_COLD static void
reach_add(uintptr_t address, bool root)
{
    uint64_t probe = rb_heapprof_index_hash(address);
    uint32_t number;

    for (; (number = rb_heapprof_index_at(&reach.index, probe)) != 0; probe++) {
        if (reach.all[number].address == address) return;
    }
    if (reach.cut_short) return;
    if (!HEAPPROF_MEM_GROW(&reach.mem, reach.all, reach.all_capacity, (size_t)reach.end + 1) ||
        !rb_heapprof_index_reserve(&reach.index, &reach.mem, reach.end - 1, reach_hash_i, NULL)) {
        reach.cut_short = true;
        return;
    }
    reach.all[reach.end] = (struct reached){ address, reach.holder, root };
    rb_heapprof_index_insert(&reach.index, rb_heapprof_index_hash(address), reach.end++);
}

HEAPPROF_COLD static void
reach_word(uintptr_t word, bool root)
{
    if (word < 65536 || word >> 47 || word % sizeof(word)) return;
    if (in_heap_or_library_p(word)) return;
    if (rb_heapprof_maybe_block_p((const void *)word) && !take_block(word)) return;
    reach_add(word, root);
}

/* How many of the bytes from begin on are in the window. */
HEAPPROF_COLD static size_t
in_window(uintptr_t begin, size_t bytes)
{
    size_t first = begin - reach.window_begin;
    size_t left = first < reach.window_bytes ? reach.window_bytes - first : 0;
    return bytes < left ? bytes : left;
}

/* Takes the bytes off what may be read. Returns false if they are too many. */
HEAPPROF_COLD static bool
spend(size_t bytes)
{
    if (bytes > reach.left_bytes) reach.cut_short = true;
    else reach.left_bytes -= bytes;
    return !reach.cut_short;
}

/* Follows the words of the window from begin on, for that many bytes at most. Returns the
 * number of bytes. */
HEAPPROF_COLD static size_t
reach_words(uintptr_t begin, size_t bytes)
{
    size_t first = begin - reach.window_begin;
    size_t left = in_window(begin, bytes);
    if (!spend(left)) return 0;

    for (size_t i = 0; i < left / sizeof(uintptr_t); i++) {
        reach_word(reach.window[first / sizeof(uintptr_t) + i], false);
    }
    return left;
}

/* ---- the search ---- */

/* Looks at the beginning of a block, and finds how long it is. */
HEAPPROF_COLD static void
look_first(uintptr_t block, bool root)
{
    look(block - HEAPPROF_CHUNK_HEADER_BYTES, FIRST_BYTES);
    if (reach.window_bytes == 0) look(block, FIRST_BYTES); /* nothing is mapped before it */
    reach.bytes = reach.window_bytes ? block_bytes(block, root) : 0;
    reach.touched_end = 0;
}

/* Moves on to memory that was written to. Returns false if this stretch has none, or if the
 * block ends. */
HEAPPROF_COLD static bool
skip_untouched(uintptr_t block)
{
    uintptr_t begin = block + reach.offset, end = block + reach.bytes;

    if (!spend(STRETCH_COST_BYTES)) return false;
    if (end - begin > STRETCH_BYTES) end = begin + STRETCH_BYTES;
    bool touched = rb_heapprof_touched(reach.pages_fd, &begin, end, &reach.touched_end);
    if (!touched) begin = rb_heapprof_mapped_p(begin) ? end : block + reach.bytes;
    reach.offset = begin - block;
    return touched;
}

/* Looks at the next window of the block. Returns false if there is nothing to see in this
 * stretch. */
HEAPPROF_COLD static bool
look_on(uintptr_t block)
{
    if (block + reach.offset >= reach.touched_end && !skip_untouched(block)) return false;

    uintptr_t begin = block + reach.offset;
    size_t bytes = reach.touched_end - begin;
    look(begin, bytes < WINDOW_BYTES ? bytes : WINDOW_BYTES);
    return true;
}

/* Follows the words of the block in the window. Returns false if it ends before the next word. */
HEAPPROF_COLD static bool
reach_window(uintptr_t block)
{
    uintptr_t begin = block + reach.offset;
    size_t left = bytes_before_other_pages(begin, in_window(begin, reach.bytes - reach.offset));
    size_t read = reach_words(begin, bytes_before_another(block, begin, left));

    reach.offset += read;
    return read >= sizeof(uintptr_t);
}

HEAPPROF_COLD static bool
reach_unread_p(void)
{
    return reach.next < reach.end && !reach.cut_short;
}

/* Reads a part of the next block. */
HEAPPROF_COLD static void
reach_step(void)
{
    const struct reached reached = reach.all[reach.next];
    bool any = true;

    reach.holder = reached.holder;
    if (reach.offset == 0) look_first(reached.address, reached.root);
    else any = look_on(reached.address);
    if (any && !reach_window(reached.address)) reach.offset = reach.bytes;
    if (reach.offset >= reach.bytes) {
        reach.next++;
        reach.offset = 0;
    }
}

HEAPPROF_COLD static void
reach_end(void)
{
    rb_heapprof_peek_close(reach.fd);
    rb_heapprof_touched_close(reach.pages_fd);
    reach.fd = reach.pages_fd = -1;
    rb_heapprof_index_release(&reach.index, &reach.mem);
    HEAPPROF_MEM_RELEASE(&reach.mem, reach.all, reach.all_capacity);
    HEAPPROF_MEM_RELEASE(&reach.mem, reach.libraries, reach.libraries_capacity);
    HEAPPROF_MEM_RELEASE(&reach.mem, reach.window, reach.window_capacity);
}

HEAPPROF_COLD static void
reach_begin(bool wanted)
{
    reach_end();
    reach = (struct reach){
        .end = 1, .next = 1, .left_bytes = READ_BYTES, .fd = -1, .pages_fd = -1, .wanted = wanted
    };
    if (!wanted) return;
    rb_heapprof_mem_init(&reach.mem, REACH_MEMORY_BYTES);
    reach.fd = rb_heapprof_peek_open();
    reach.pages_fd = rb_heapprof_touched_open();
    reach.cut_short = reach.fd < 0 ||
        !HEAPPROF_MEM_GROW(&reach.mem, reach.window, reach.window_capacity,
                           WINDOW_BYTES / sizeof(*reach.window));
    if (!reach.cut_short) dl_iterate_phdr(note_library_i, NULL);
}
