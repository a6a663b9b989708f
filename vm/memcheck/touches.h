#ifndef HEAPPROF_VM_TOUCHES_H
#define HEAPPROF_VM_TOUCHES_H
/* Which dead objects were used, under Valgrind (gc/quarantine/ holds them back). */
#include <stdbool.h>

/* Finds the file of Valgrind's XML. Returns false if no dead objects are held back, or if there is
 * no such file: then tell does nothing. */
bool rb_heapprof_touches_start(void);

/* Tells the reader of the XML which of the errors since the last call are uses of dead objects:
 * their class, who allocated them, and which GC found them dead. Under the VM lock. */
void rb_heapprof_touches_tell(void);

#endif
