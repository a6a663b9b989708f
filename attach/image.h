#ifndef ATTACH_IMAGE_H
#define ATTACH_IMAGE_H
/* Where a target's rubies are: the addresses of their `ruby_vm_descriptor` (base/descriptor.h). */
#include "attach/target.h"

#define ATTACH_IMAGES_MOST 16 /* a process has one; with several libruby.so perhaps two */

struct attach_image {
    uint64_t descriptor;  /* its address */
    uint64_t start;       /* where the ELF object begins that has it; 0: found by the scan alone */
};

/* Finds them, in the target's memory alone: whether its files still exist, are stripped, or are in another
 * namespace does not matter. 0: error says what the target is not. To be called again after exec. One whose layout cannot be
 * read (layout.h) may be the file's copy in somebody's memory: there may be another. */
size_t attach_image_find(struct attach_target *target, struct attach_image images[ATTACH_IMAGES_MOST],
                              char error[ATTACH_TARGET_ERROR_MAX]);

#endif
