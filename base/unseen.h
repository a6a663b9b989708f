#ifndef HEAPPROF_UNSEEN_H
#define HEAPPROF_UNSEEN_H
/* Characters that a terminal obeys, and characters that nobody sees. A name that has them is not
 * what it looks like. */
#include <stdbool.h>
#include <stdint.h>

/* Whether the character with that code point is one of these. */
bool rb_heapprof_unseen_p(uint32_t code);

#endif
