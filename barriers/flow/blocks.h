#ifndef HEAPPROF_BARRIERS_BLOCKS_H
#define HEAPPROF_BARRIERS_BLOCKS_H
/* VALUEs in memory of malloc, and whether the GC knows them. What is noted of a field holds for
 * all structs of its type. */
#include "barriers/flow/flow.h"

/* Notes a store of a VALUE, if it is into memory of malloc. */
void wb_note_outside(struct wb_frame *frame, struct wb_symbol *address,
                     const struct wb_symbol *value, const struct wb_place *place);

/* Notes that a pointer is stored at the address. type: of the pointer; owner: the type of the
 * object that the address belongs to, or NULL if it is not known. */
void wb_note_pointer(struct wb_frame *frame, struct wb_symbol *address, struct wb_symbol *value,
                     const struct wb_type *type, const struct wb_data_type *owner);

/* Notes that a call gets that argument; node: what it is without casts. */
void wb_note_passed(struct wb_frame *frame, struct wb_function *function, unsigned number,
                    struct wb_symbol *value, const struct wb_node *node);

/* Notes that a call frees that memory. */
void wb_note_freed(struct wb_frame *frame, struct wb_symbol *value);

/* Notes that an object without a data type gets that data. mark: the mark function's node. */
void wb_note_untyped(struct wb_symbol *data, const struct wb_node *node,
                     const struct wb_node *mark);

/* Notes that a value is marked. */
void wb_note_marked(struct wb_program *program, struct wb_symbol *value);

/* The struct through which memory that begins with that struct is kept: it has a keeper. Returns
 * NULL if nothing is known to keep it. */
const struct wb_record *wb_kept_record(const struct wb_record *record);

#endif
