#ifndef HEAPPROF_BARRIERS_CLASSES_H
#define HEAPPROF_BARRIERS_CLASSES_H
#include "barriers/program.h"

/* True for a call of a function of Ruby's that returns a class which no GC frees or moves. */
bool wb_returns_class_of_c_p(const struct wb_node *call);

#endif
