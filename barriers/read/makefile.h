#ifndef HEAPPROF_BARRIERS_MAKEFILE_H
#define HEAPPROF_BARRIERS_MAKEFILE_H
/* The variables of a Makefile as mkmf writes it. Nothing of it is run: $(shell ...) and other functions are empty. */
#include <stdbool.h>

#include "barriers/arena.h"

struct wb_makefile {
    struct wb_arena   *arena;
    struct wb_setting *settings;   /* the last one first */
};

/* 0, or errno; EFBIG: nobody writes such a large one. */
int wb_makefile_read(struct wb_makefile *makefile, const char *path);

/* What the variable stands for, with those in it; "": it is not set. */
const char *wb_makefile_value(const struct wb_makefile *makefile, const char *name);

/* The words of a text as a shell takes them, with a NULL behind the last one. */
const char **wb_words(struct wb_arena *arena, const char *text);

#endif
