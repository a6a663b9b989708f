#ifndef ATTACH_SWEEP_H
#define ATTACH_SWEEP_H
/* Which objects are dead though they have not been swept: their samples are in the tables yet. look reads, between two looks at the
 * sequence words (heap.c); dead_p asks what was read, when the process runs again. */
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
    uint64_t header;    /* of its header, which its memory begins with; 0: it cannot be read */
    bool     before_sweep;
};

struct attach_sweep {
    struct attach_sweep_places places;
    bool     sweeping;
    unsigned int page_bits;           /* of an address within a page */
    struct heapprof_index index;      /* of pages, by address */
    struct attach_sweep_page *pages; /* [0] is not used */
    size_t   capacity;
    uint32_t count;                   /* with [0] */
    unsigned char *marks, *headers;   /* marks of each page; headers of some, while they are read */
    size_t   marks_capacity, headers_capacity;
    uint32_t last;                    /* the page that was asked for last */
    uint64_t heap, sweeping_page;     /* of the heap that was asked for last */
};

/* Where everything is. False: error says what is missing. */
bool attach_sweep_fill(struct attach_sweep *sweep, const struct attach_layout *layout,
                            char error[ATTACH_TARGET_ERROR_MAX]);

/* Whether what was filled in can be. */
bool attach_sweep_good_p(const struct attach_sweep *sweep);

/* Forgets the pages of the last time. Whether the collector sweeps is read; false: it cannot be. */
bool attach_sweep_begin(struct attach_sweep *sweep, struct attach_vm *vm, struct heapprof_mem *mem);

/* The pages that these addresses lie in, if the collector sweeps; what cannot be read has nothing dead in it. False: no memory. The table
 * need not have been checked. */
bool attach_sweep_look(struct attach_sweep *sweep, struct attach_vm *vm, struct heapprof_mem *mem,
                            const struct heapprof_address_table *addresses);

/* Of an address that was in a table that was looked at. */
bool attach_sweep_dead_p(struct attach_sweep *sweep, uint64_t address);

void attach_sweep_free(struct attach_sweep *sweep, struct heapprof_mem *mem);

#endif
