#ifndef HEAPPROF_VM_VALGRIND_H
#define HEAPPROF_VM_VALGRIND_H
/* What a process under Valgrind tells Valgrind, and asks of it, with memcheck=1. Without
 * Valgrind, or built without its headers, none of these does anything. */
#include <stdbool.h>

/* Whether the process runs under Valgrind. */
bool rb_heapprof_valgrind_p(void);

/* From here on Valgrind's file has the Ruby stack behind each error that a C method made. Needs
 * the GVL. */
void rb_heapprof_valgrind_start(void);

/* Ends that, and writes to the file which C functions of extensions are methods. The VM has to be
 * whole. Needs the GVL; the caller holds no lock. */
void rb_heapprof_valgrind_stop(void);

/* Has Valgrind search for lost blocks, and list them by address. Nothing may be freed meanwhile. */
void rb_heapprof_valgrind_find_lost(void);

#endif
