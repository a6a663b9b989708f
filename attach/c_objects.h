#ifndef ATTACH_C_OBJECTS_H
#define ATTACH_C_OBJECTS_H
/* What the machine code of a target is: from an address to its function, and to the row of the
 * unwind table. An object is read when its code is seen first, and an address is looked up once. */
#include "attach/names.h"
#include "attach/vm.h"
#include "unwind/table.h"

/* What a frame of the machine stack means for the Ruby stack. */
enum attach_c_role {
    ATTACH_C_OTHER,    /* a C function that is not Ruby's */
    ATTACH_C_RUBY,     /* one of Ruby's own */
    ATTACH_C_LOOP,     /* the interpreter's loop */
    ATTACH_C_ENTRY,    /* what begins the loop: one for each frame of the kind ATTACH_WALK_ENTRY */
    ATTACH_C_CALL,     /* it calls a C method */
    ATTACH_C_MAY_CALL, /* it may have called a C method */
    ATTACH_C_COLLECT,  /* it collects garbage */
    ATTACH_C_SIGNAL,   /* the kernel has called the frame within it, a signal handler */
    ATTACH_C_MACHINE   /* machine code without a file: of YJIT, or of another compiler */
};

struct attach_c_place {
    uint64_t address;
    uint32_t function;  /* of names: "deflate (libz.so.1)" */
    uint8_t  role;      /* enum attach_c_role */
    bool     has_row;
    struct heapprof_cfi_row row;
};

struct attach_c_objects;

/* names has to outlive the objects. Returns NULL without memory. */
struct attach_c_objects *attach_c_objects_new(struct attach_vm *vm, struct attach_names *names);
void attach_c_objects_free(struct attach_c_objects *objects); /* NULL is allowed */

/* Must be called before each look. */
void attach_c_objects_begin(struct attach_c_objects *objects);

/* What is at an address within an instruction; valid until the next call. Returns NULL if no code
 * is there, or without memory. Lists the target's mappings anew if the address is in none, but at
 * most once in a look. */
const struct attach_c_place *attach_c_objects_find(struct attach_c_objects *objects,
                                                   uint64_t address);

/* True if the names of Ruby's own functions are known, so that the roles are; or if its code has
 * not been seen. */
bool attach_c_objects_named_p(const struct attach_c_objects *objects);

#endif
