#ifndef HEAPPROF_VM_MESSAGE_H
#define HEAPPROF_VM_MESSAGE_H
/* Messages to the reader of Valgrind's XML (memcheck/valgrind/messages.c): a line that names the
 * kind, and lines of three fields that are separated by tabs.
 *
 *     heapprof stack        NAME LINE PATH             innermost first
 *     heapprof methods      LIBRARY FUNCTION NAME
 *     heapprof dead object  ADDRESS CLASS WHAT         errors at that address are uses of it
 *     heapprof allocated    NAME LINE PATH             of the dead object before
 *     heapprof collected    NAME LINE PATH             likewise: where the GC began
 *
 * What has no room is left out. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAPPROF_MESSAGE_BYTES 4000 /* the reader keeps 4096 of a text */

struct heapprof_message {
    size_t length;
    char   text[HEAPPROF_MESSAGE_BYTES + 1];
};

void rb_heapprof_message_begin(struct heapprof_message *message, const char *what);

/* Adds a line. Returns false if there is no room for it. */
bool rb_heapprof_message_add(struct heapprof_message *message, const char *first,
                             const char *second, const char *third);

/* Adds a frame of that name, at the line of that node of the stacks or of its nearest caller in
 * Ruby. Returns false if there is no room for it. */
bool rb_heapprof_message_add_frame(struct heapprof_message *message, const char *name,
                                   uint32_t node);

/* Adds all frames of a stack, as far as there is room. Under the VM lock. */
void rb_heapprof_message_add_stack(struct heapprof_message *message, uint32_t node);

void rb_heapprof_message_send(const struct heapprof_message *message);

#endif
