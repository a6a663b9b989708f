#ifndef HEAPPROF_VM_FRAMES_H
#define HEAPPROF_VM_FRAMES_H
#include "gc/interpreter.h" /* the walk itself, which the collector's side asks for */

/* Gives back the buffers of the walk. */
void rb_heapprof_frames_free(void);

#endif
