#ifndef HEAPPROF_BARRIERS_MAKEFILE_H
#define HEAPPROF_BARRIERS_MAKEFILE_H
/* The variables of a Makefile as mkmf writes it. Nothing in it is run: $(shell ...) and other
 * functions expand to nothing. */
#include <stdbool.h>

#include "barriers/arena.h"

struct wb_makefile {
    struct wb_arena   *arena;
    struct wb_setting *settings;   /* the last one stands first */
};

/* Returns 0, or errno. EFBIG: the file is larger than any that mkmf writes. */
int wb_makefile_read(struct wb_makefile *makefile, const char *path);

/* The value of a variable, expanded. Returns "" if it is not set. */
const char *wb_makefile_value(const struct wb_makefile *makefile, const char *name);

/* Splits a text into words as a shell does. The list ends with NULL. */
const char **wb_words(struct wb_arena *arena, const char *text);

#endif
