#ifndef HEAPPROF_VM_API_H
#define HEAPPROF_VM_API_H

/* Defines ObjectSpace::HeapProfile, its Sample and its Frame. heapprof.rb has the methods. */
void rb_heapprof_define_class(void);

#endif
