#ifndef ATTACH_DEBUG_FILE_H
#define ATTACH_DEBUG_FILE_H
/* The file with the symbols of a stripped object, as packages of debug symbols install it. */
#include "attach/elf.h"

/* Opens the debug file of an object as an ELF file, with its symbols. fd is the object's own file,
 * whose path that is for the target. The file is looked for
 *
 *     by build-id        /usr/lib/debug/.build-id/xx/yyyy.debug
 *     by .gnu_debuglink  beside the object, in .debug there, and by its path in /usr/lib/debug
 *
 * first as the target sees these paths, then as the reader does. Returns the descriptor, which the
 * caller closes after the ELF file; or -1 if there is no such file, or if it is of another build.
 */
int attach_debug_file_open(const struct attach_target *target, const struct attach_elf *object,
                           const char *path, int fd, struct heapprof_elf *elf,
                           struct heapprof_mem *mem);

#endif
