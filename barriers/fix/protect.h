#ifndef HEAPPROF_BARRIERS_PROTECT_H
#define HEAPPROF_BARRIERS_PROTECT_H
/* Adds RUBY_TYPED_WB_PROTECTED to the initialiser of a type.
 *
 *     0, 0, RUBY_TYPED_FREE_IMMEDIATELY
 * -->
 *     0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED
 *
 *     .function = {mark, free},
 * -->
 *     .function = {mark, free},
 *     .flags = RUBY_TYPED_WB_PROTECTED,
 */
#include "barriers/fix/diff.h"
#include "barriers/program.h"

/* text: the file with the initialiser. Returns NULL, or why the type has to be changed by hand. */
const char *wb_protect(struct wb_arena *arena, const struct wb_data_type *type,
                       const struct wb_text *text, struct wb_edit *edit);

#endif
