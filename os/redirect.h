#ifndef HEAPPROF_REDIRECT_H
#define HEAPPROF_REDIRECT_H
/* Puts another function in the place of one of this program's: every caller of the first arrives
 * at the other. So a debugging aid sees each call, and costs nothing while it is off.
 *
 * The first bytes of the function's code become a jump. No thread may be inside these bytes
 * meanwhile. Inlined copies of the function go on as they were. x86-64 and AArch64. */
#include <stddef.h>

typedef void heapprof_code(void); /* a function of any type */

#define HEAPPROF_REDIRECT_BYTES 5

struct heapprof_redirect {
    unsigned char *place;         /* NULL: the function is as it was */
    unsigned char  was[HEAPPROF_REDIRECT_BYTES];
};

/* Redirects calls of `from` to `to`. Returns NULL if it can. If not, nothing changes, and it
 * returns one line that says why. */
const char *
rb_heapprof_redirect(struct heapprof_redirect *redirect, heapprof_code *from, heapprof_code *to);

/* Makes the function itself again. */
void rb_heapprof_redirect_undo(struct heapprof_redirect *redirect);

#endif
