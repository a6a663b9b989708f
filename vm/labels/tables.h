#ifndef HEAPPROF_VM_LABELS_TABLES_H
#define HEAPPROF_VM_LABELS_TABLES_H
/* tables.h - the tables of labels, as a reader outside of the process sees them: it finds the
 * labels of a fiber by the contract "label-sets" (doc/descriptor.md). Inside, each table is only
 * for the file that has it. Under the VM lock. */
#include "profiler/label_sets.h"
#include "profiler/late_sites.h"

enum { HEAPPROF_LEASES = 4096 };

/* What a thread has that was made in a block of `label` (labels.c). */
struct heapprof_lease {
    uint32_t number;             /* 0: none */
    uint32_t label;              /* as heapprof_label of a fiber */
    uint32_t next;               /* another lease of the same block; 0: none */
};

struct heapprof_leases {
    uint32_t last;
    struct heapprof_lease *all;  /* by number modulo HEAPPROF_LEASES; NULL: none yet */
    size_t   capacity;
};

/* A block that names a label late (late.c). */
struct heapprof_late {
    uint32_t token;              /* its number, and above it how often that was given; 0: never */
    uint32_t outer;
    uint32_t unnamed;            /* the set of the label that waits */
    uint32_t named;              /* the set of that label with its value; 0: none yet */
    bool     open;
};

struct heapprof_lates {
    struct heapprof_late all[HEAPPROF_LATES + 1]; /* by number */
    uint32_t last;               /* the number that was given last */
};

extern struct heapprof_label_sets rb_heapprof_label_sets; /* sets.c */
extern struct heapprof_leases rb_heapprof_leases;         /* labels.c */
extern struct heapprof_lates rb_heapprof_lates;           /* late.c */

#endif
