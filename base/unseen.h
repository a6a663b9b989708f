#ifndef HEAPPROF_UNSEEN_H
#define HEAPPROF_UNSEEN_H
/* Characters that a terminal obeys, or that are there and not seen: a name with them is not what it looks like. */
#include <stdbool.h>
#include <stdint.h>

/* Whether a character is one of these, by its code point. */
bool rb_heapprof_unseen_p(uint32_t code);

#endif
