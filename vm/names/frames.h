#ifndef HEAPPROF_VM_FRAMES_H
#define HEAPPROF_VM_FRAMES_H
#include "gc/interpreter.h" /* declares the walk itself, which gc/ calls */

/* Frees the buffers of the walk. */
void rb_heapprof_frames_free(void);

#endif
