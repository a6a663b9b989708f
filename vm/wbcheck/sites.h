#ifndef HEAPPROF_VM_WBCHECK_SITES_H
#define HEAPPROF_VM_WBCHECK_SITES_H
#include <stdbool.h>

typedef void rb_heapprof_wbcheck_print(const char *line);

/* Prints what is known of the places in C where barriers are called: which have told of
 * references in time, if that is kept; and, if `sites`, those that never were of use. */
void rb_heapprof_wbcheck_say_sites(rb_heapprof_wbcheck_print *print, bool sites);

#endif
