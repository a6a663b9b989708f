#ifndef HEAPPROF_DUMP_FORMAT_H
#define HEAPPROF_DUMP_FORMAT_H
/* The file of an object graph: everything that writer and reader must agree on.
 * doc/graph-format.md describes the contents of each block for people who want to read such a
 * file.
 *
 *     magic  version  block block ... FOOTER
 *
 * A number is little-endian where this file gives a width; otherwise it is LEB128 of at most 64
 * bits. */
#include <stdint.h>

#define HEAPPROF_DUMP_MAGIC "\x89RBGRAF\n" /* 8 bytes that are not text, and that a transfer as
                                              text would damage */
#define HEAPPROF_DUMP_MAGIC_BYTES 8
#define HEAPPROF_DUMP_VERSION 1            /* 4 bytes; a reader refuses a version it does not
                                              know */

/* The largest size of a block before compression. A reader refuses larger ones. */
#define HEAPPROF_DUMP_BLOCK_MOST (4 << 20)

/* The head of each block: kind (1 byte), encoding (1), zero (2), bytes before compression (4),
 * bytes in the file (4), CRC-32 of the bytes in the file (4). */
#define HEAPPROF_DUMP_HEAD_BYTES 16

enum heapprof_dump_block {
    HEAPPROF_DUMP_PROCESS = 1, /* pairs of text: which process the dump is of */
    HEAPPROF_DUMP_STRINGS,     /* text, numbered from 1 on through the whole file */
    HEAPPROF_DUMP_STACKS,      /* one frame and the number of its caller's stack; numbered from 1
                                  on */
    HEAPPROF_DUMP_LAYOUTS,     /* what objects have in common; numbered from 0 on */
    HEAPPROF_DUMP_ROOTS,
    HEAPPROF_DUMP_OBJECTS,     /* heap pages, each with its objects */
    HEAPPROF_DUMP_MOVES,       /* where objects of the dump before are now */
    HEAPPROF_DUMP_FOOTER,      /* pairs of text: counts and errors. A file without it is
                                  incomplete */
    HEAPPROF_DUMP_BLOCK_KINDS
};

enum heapprof_dump_encoding {
    HEAPPROF_DUMP_RAW,
    HEAPPROF_DUMP_ZLIB         /* RFC 1950 */
};

/* The kinds of labels of a reference. */
enum heapprof_dump_label {
    HEAPPROF_DUMP_UNLABELLED,  /* found by marking; where it is stored is not known */
    HEAPPROF_DUMP_IVAR,        /* @name; also of a class */
    HEAPPROF_DUMP_CVAR,        /* @@name */
    HEAPPROF_DUMP_CONSTANT,    /* NAME */
    HEAPPROF_DUMP_MEMBER,      /* of a Struct */
    HEAPPROF_DUMP_LOCAL,       /* a local variable or a parameter */
    HEAPPROF_DUMP_FIELD,       /* in the VM's own structures: superclass, self, method, default
                                  proc ... */
    HEAPPROF_DUMP_OFFSET,      /* in an extension's struct: type+0x18 */
    HEAPPROF_DUMP_INDEX,
    HEAPPROF_DUMP_KEY,
    HEAPPROF_DUMP_VALUE,       /* the value of a key */
    HEAPPROF_DUMP_STACK,       /* temporaries of the VM stack, registers, or words of the machine
                                  stack */
    HEAPPROF_DUMP_WEAK,        /* keeps nothing alive */
    HEAPPROF_DUMP_CLASS,       /* the object's class; never written, because the layout has it */
    HEAPPROF_DUMP_GLOBAL,      /* a root: $name */
    HEAPPROF_DUMP_C_GLOBAL,    /* a root: a registered C variable */
    HEAPPROF_DUMP_ROOT,        /* any other root, by the VM's name for it */
    HEAPPROF_DUMP_LABELS
};

/* What objects have after the references that their layout lists. */
enum heapprof_dump_tail {
    HEAPPROF_DUMP_NO_TAIL,
    HEAPPROF_DUMP_INDEXED,     /* any number of references, by index */
    HEAPPROF_DUMP_PAIRED       /* any number of pairs: key, value, key, value ... */
};

/* What a layout says about its objects. */
enum heapprof_dump_layout_bit {
    HEAPPROF_DUMP_OTHERS = 1   /* after the tail there may be references with labels of their own */
};

/* The bits before an object's fields: which fields follow, and facts that need no field. */
enum heapprof_dump_object_bit {
    HEAPPROF_DUMP_AGE      = 3,    /* GCs survived, 0 to 3; 3 means old */
    HEAPPROF_DUMP_EXTERNAL = 1 << 2, /* the number of bytes outside the slot follows */
    HEAPPROF_DUMP_LENGTH   = 1 << 3, /* the number of bytes of a String follows */
    HEAPPROF_DUMP_TEXT     = 1 << 4, /* a name follows, or the content if the dump has values */
    HEAPPROF_DUMP_SAMPLED  = 1 << 5, /* its allocation stack follows, and how many objects the
                                        sample stands for */
    HEAPPROF_DUMP_SURVIVOR = 1 << 6, /* it was in the dump before of this set: here, or at the
                                        address in MOVES */
    HEAPPROF_DUMP_FROZEN   = 1 << 7,
    HEAPPROF_DUMP_SHAREABLE = 1 << 8,
    HEAPPROF_DUMP_FINALIZER = 1 << 9, /* it has a finalizer */
    HEAPPROF_DUMP_HASHED   = 1 << 10, /* a keyed hash of its content follows: equal contents have
                                         equal hashes */
    HEAPPROF_DUMP_MORE     = 1 << 11, /* not a new object: continues the references of the object
                                         before, which has the same slot, after its labels */
    HEAPPROF_DUMP_DOING    = 1 << 12  /* what the program was doing when it was allocated follows: a
                                         string of keys and values */
};

/* Ends each key and each value of the string of DOING. */
#define HEAPPROF_DUMP_DOING_END '\x1f'

/* A reference is a number. An even one is an object: (address - own address) / 8, zigzag,
 * doubled. An odd one is another value: the lowest bit is 1, its kind is in the next three
 * bits, and the value is in the bits above. */
enum heapprof_dump_immediate {
    HEAPPROF_DUMP_SPECIAL,     /* 0 nil, 1 false, 2 true, 3 undefined, 4 empty */
    HEAPPROF_DUMP_INTEGER,     /* zigzag */
    HEAPPROF_DUMP_SYMBOL,      /* a static Symbol, by the number of its string */
    HEAPPROF_DUMP_FLOAT,       /* by the number of a string with its digits; also an Integer of
                                  more than 58 bits */
    HEAPPROF_DUMP_HIDDEN       /* a value that the dump hides: 0 Integer, 1 Float, 2 Symbol */
};

#endif
