// saved.h - a model as the bytes of a file.

#ifndef HEAPPROF_SAVED_H
#define HEAPPROF_SAVED_H

#include <string>

extern "C" {
#include "pprof/save.h"
}

inline bool
TakeSaved(void *data, const void *bytes, size_t size)
{
    static_cast<std::string *>(data)->append(static_cast<const char *>(bytes), size);
    return true;
}

#endif
