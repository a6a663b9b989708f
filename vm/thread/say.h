#ifndef HEAPPROF_VM_SAY_H
#define HEAPPROF_VM_SAY_H

/* Writes one line to stderr: what is concerned, and what is wrong with it. Needs no GVL. */
void rb_heapprof_say(const char *what, const char *detail);

#endif
