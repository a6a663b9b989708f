#ifndef HEAPPROF_SAVE_H
#define HEAPPROF_SAVE_H
/* Writes a model in pprof's format, gzip'd, piece by piece. */
#include "pprof/model.h"

/* Takes bytes. Returns false if they could not be written, which ends saving. */
typedef bool heapprof_take_i(void *data, const void *bytes, size_t size);

enum heapprof_save_result {HEAPPROF_SAVED, HEAPPROF_SAVE_REFUSED, HEAPPROF_SAVE_NO_MEMORY};

enum heapprof_save_result
rb_heapprof_save(const struct heapprof_model *model, heapprof_take_i *take, void *data);

#endif
