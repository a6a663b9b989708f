#ifndef HEAPPROF_VM_VALGRIND_H
#define HEAPPROF_VM_VALGRIND_H
/* What a process under Valgrind tells it and asks of it, with memcheck. Without Valgrind, or its headers, nothing. */
#include <stdbool.h>

/* Whether the process runs under Valgrind. */
bool rb_heapprof_valgrind_p(void);

/* From now on Valgrind's file has behind each error that a C method made the Ruby stack. With the GVL. */
void rb_heapprof_valgrind_start(void);

/* Nothing more is told of errors; and the file has which C functions of extensions are methods. While the VM is whole; with the
 * GVL, under no lock. */
void rb_heapprof_valgrind_stop(void);

/* Has Valgrind look for what is lost, and list it by address. Nothing may be freed meanwhile. */
void rb_heapprof_valgrind_find_lost(void);

#endif
