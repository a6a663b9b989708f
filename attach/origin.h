#ifndef ATTACH_ORIGIN_H
#define ATTACH_ORIGIN_H
/* Where a profile comes from: facts about the process, in lines "key: value", as vm/run/origin.c
 * writes them inside. */
#include "attach/target.h"
#include "profiler/snapshot.h"

#define ATTACH_ORIGIN_TEXT_MAX 8192

/* Writes pid, parent, title, host and directory, as far as the kernel tells them, with a NUL at the
 * end. Returns the length. */
size_t attach_origin_text(const struct attach_target *target, char text[ATTACH_ORIGIN_TEXT_MAX]);

/* Returns the value of "title" or another of these keys in such a text, in a block from malloc.
 * Returns NULL if the key is not there, or without memory. */
char *attach_origin_value(const char *text, const char *key);

/* Puts the same into a heap profile. Without memory puts nothing. */
void
attach_origin_of_target(const struct attach_target *target, struct heapprof_snapshot *snapshot);

/* The last part of the program's path, such as "ruby", for the name of a file. */
void attach_origin_program(const struct attach_target *target, char *name, size_t size);

#endif
