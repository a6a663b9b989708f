#ifndef UNWIND_EXPRESSION_H
#define UNWIND_EXPRESSION_H
/* Expressions of unwind tables: small programs that compute an address. Compilers write them for
 * signal handlers, for the linker's stubs, and for functions that align their stack. */
#include "unwind/registers.h"

/* Computes an expression. If push is not NULL, its value is on the stack at the beginning. Returns
 * false if the expression is broken, has an operation that unwind tables do not have, or needs a
 * register or a word that is not known. */
bool unwind_expression(const struct heapprof_cfi_rule *rule,
                       const struct unwind_registers *registers, const struct unwind_memory *memory,
                       const uint64_t *push, uint64_t *value);

#endif
