#ifndef HEAPPROF_DESCRIPTOR_H
#define HEAPPROF_DESCRIPTOR_H
/* Where a running image says where its structures are: what vm/outside/descriptor.c writes, and
 * attach/ reads out of another process's memory or a core (doc/descriptor.md).
 *
 *     ruby_vm_descriptor            exported data of the executable or of libruby
 *     ┌──────────────────────────┐
 *     │ header                   │
 *     │ "rb_thread_t"            │  type: its size
 *     │ "rb_thread_t.ec"         │  field: form, offset, size
 *     │ "ruby_current_vm_ptr"    │  global: its address and size
 *     │ "VM_FRAME_MAGIC_METHOD"  │  constant: its value
 *     │ "stack"                  │  contract: which algorithm reads it
 *     │ "iseq.c"                 │  part: another such object, of what is private to a file
 *     └──────────────────────────┘
 *
 * All of it is one piece of writable data, names included, because default core files keep no
 * read-only data. So a reader that has its address needs neither a file nor a symbol. Integers are
 * in the byte order of the image, addresses as they are in the process. The idea of contracts is
 * that of .NET's data contracts.
 */
#include <stdint.h>

#define HEAPPROF_DESCRIPTOR_MAGIC "ruby descriptor" /* 16 bytes with its NUL */
#define HEAPPROF_DESCRIPTOR_FORMAT 1

enum heapprof_descriptor_kind {
    HEAPPROF_DESCRIPTOR_TYPE = 1,
    HEAPPROF_DESCRIPTOR_FIELD,
    HEAPPROF_DESCRIPTOR_GLOBAL,
    HEAPPROF_DESCRIPTOR_CONSTANT,
    HEAPPROF_DESCRIPTOR_CONTRACT,
    HEAPPROF_DESCRIPTOR_PART
};

/* What kind of value a field or a global is. */
enum heapprof_descriptor_form {
    HEAPPROF_DESCRIPTOR_NONE, /* for kinds without data */
    HEAPPROF_DESCRIPTOR_UNSIGNED,
    HEAPPROF_DESCRIPTOR_SIGNED,
    HEAPPROF_DESCRIPTOR_POINTER,
    HEAPPROF_DESCRIPTOR_BYTES, /* a structure or an array itself, not a pointer to it */
    HEAPPROF_DESCRIPTOR_BITS   /* unsigned; size and offset are in bits */
};

struct heapprof_descriptor_entry {
    char name[48]; /* "type", "type.field", "type.field.field", or a global's; NUL at its end */
    uint16_t kind;
    uint16_t form;
    uint32_t size; /* in bytes; in bits for BITS; 0 for constants and contracts */
    union {
        int64_t     number;  /* offset, value, or number of the contract */
        const void *address; /* of a global or a part */
    } as;
};

struct heapprof_descriptor {
    char magic[16];
    uint16_t format;
    uint16_t pointer_size;
    uint32_t header_size; /* size of this structure: the entries follow it */
    uint32_t entry_size;
    uint32_t entry_count;
};

#endif
