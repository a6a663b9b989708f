#ifndef ATTACH_SWEEP_H
#define ATTACH_SWEEP_H
/* Which objects are dead although they have not been swept: their samples are still in the tables.
 * look reads the mark bits, between two looks at the sequence words (heap.c). dead_p asks what was
 * read, while the process runs again. */
#include "attach/vm.h"
#include "base/address_table.h"
#include "base/index.h"

struct attach_sweep_places {
    struct attach_field mode, before_sweep, marks, heap, sweeping_page;
    int64_t  page_bytes, slot_bytes, sweeping;
    uint32_t header_bytes;
};

/* A page of the heap. */
struct attach_sweep_page {
    uint64_t address;   /* of its memory */
    uint64_t header;    /* of its header, to which its first word points; 0: it cannot be read */
    bool     before_sweep;
};

struct attach_sweep {
    struct attach_sweep_places places;
    bool     sweeping;
    unsigned int page_bits;           /* low bits of an address that say where in its page it is */
    struct heapprof_index index;      /* of pages, by address */
    struct attach_sweep_page *pages; /* [0] is not used */
    size_t   capacity;
    uint32_t count;                   /* with [0] */
    unsigned char *marks, *headers;   /* marks of each page; headers of some, while they are read */
    size_t   marks_capacity, headers_capacity;
    uint32_t last;                    /* the page that was asked for last */
    uint64_t heap, sweeping_page;     /* of the heap that was asked for last */
};

/* Finds out where the mark bits are. Returns false if the target does not tell; error says what is
 * missing. */
bool attach_sweep_fill(struct attach_sweep *sweep, const struct attach_layout *layout,
                       char error[ATTACH_TARGET_ERROR_MAX]);

/* True if the sizes that were filled in are possible. */
bool attach_sweep_good_p(const struct attach_sweep *sweep);

/* Forgets the pages of the last time, and reads whether the collector sweeps. Returns false if that
 * cannot be read. */
bool attach_sweep_begin(struct attach_sweep *sweep, struct attach_vm *vm, struct heapprof_mem *mem);

/* If the collector sweeps, reads the pages of these addresses. In a page that cannot be read,
 * nothing counts as dead. Returns false without memory. The table need not have been checked. */
bool attach_sweep_look(struct attach_sweep *sweep, struct attach_vm *vm, struct heapprof_mem *mem,
                       const struct heapprof_address_table *addresses);

/* True if the object is dead. Its address must have been in a table that look has read. */
bool attach_sweep_dead_p(struct attach_sweep *sweep, uint64_t address);

void attach_sweep_free(struct attach_sweep *sweep, struct heapprof_mem *mem);

#endif
