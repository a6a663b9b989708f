#ifndef HEAPPROF_ROOT_H
#define HEAPPROF_ROOT_H
/* Stacks that begin with the value of a label, for formats that have stacks and no labels. */
#include "pprof/model.h"

/* Adds a function to the outer end of each sample's stack: its name is the value of the first label
 * with that key, or "(none)". Returns false if there is no memory; the model may then only be
 * freed. */
bool rb_heapprof_model_root(struct heapprof_model *model, const char *key);

#endif
