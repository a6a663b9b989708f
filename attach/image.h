#ifndef ATTACH_IMAGE_H
#define ATTACH_IMAGE_H
/* Where a target's rubies are: the addresses of their `ruby_vm_descriptor` (base/descriptor.h). */
#include "attach/target.h"

#define ATTACH_IMAGES_MOST 16 /* a process has one; with several libruby.so perhaps two */

struct attach_image {
    uint64_t descriptor;  /* its address */
    uint64_t start;       /* address of the ELF object that has it; 0: only the scan has found it */
};

/* Finds the descriptors, and returns how many there are. If it returns 0, error says why. Only the
 * target's memory is read: its files may be deleted, stripped or in another namespace. Must be
 * called again after exec. A descriptor whose layout cannot be read (layout.h) may be a copy of the
 * file in memory: then the next one may be the right one. */
size_t
attach_image_find(struct attach_target *target, struct attach_image images[ATTACH_IMAGES_MOST],
                  char error[ATTACH_TARGET_ERROR_MAX]);

#endif
