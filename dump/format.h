#ifndef HEAPPROF_DUMP_FORMAT_H
#define HEAPPROF_DUMP_FORMAT_H
/* The file of an object graph: what writer and reader have to agree on. doc/graph-format.md explains it to
 * those who want to read such a file, and says what stands in each block.
 *
 *     magic  version  block block ... FOOTER
 *
 * A number is little-endian where its width is given, and otherwise LEB128 of 64 bits at most. */
#include <stdint.h>

#define HEAPPROF_DUMP_MAGIC "\x89RBGRAF\n" /* 8 bytes: neither text nor anything that a text transfer leaves whole */
#define HEAPPROF_DUMP_MAGIC_BYTES 8
#define HEAPPROF_DUMP_VERSION 1            /* 4 bytes; a reader refuses what it does not know */

/* What a block may be before it is compressed. A reader refuses more. */
#define HEAPPROF_DUMP_BLOCK_MOST (4 << 20)

/* Before each block: kind (1 byte), encoding (1), zero (2), bytes before compression (4), bytes in the file (4),
 * CRC-32 of these bytes (4). */
#define HEAPPROF_DUMP_HEAD_BYTES 16

enum heapprof_dump_block {
    HEAPPROF_DUMP_PROCESS = 1, /* pairs of text: what the dump is of */
    HEAPPROF_DUMP_STRINGS,     /* text, numbered from 1 on through the file */
    HEAPPROF_DUMP_STACKS,      /* frames on a caller's stack, numbered from 1 on */
    HEAPPROF_DUMP_LAYOUTS,     /* what objects have in common, numbered from 0 on */
    HEAPPROF_DUMP_ROOTS,
    HEAPPROF_DUMP_OBJECTS,     /* heap pages, and the objects on each */
    HEAPPROF_DUMP_MOVES,       /* where objects of the dump before have gone */
    HEAPPROF_DUMP_FOOTER,      /* pairs of text: counts, what went wrong. Without it a file is incomplete */
    HEAPPROF_DUMP_BLOCK_KINDS
};

enum heapprof_dump_encoding {
    HEAPPROF_DUMP_RAW,
    HEAPPROF_DUMP_ZLIB         /* RFC 1950 */
};

/* What the name of a reference is. */
enum heapprof_dump_label {
    HEAPPROF_DUMP_UNLABELLED,  /* found by marking, where it is stored is not known */
    HEAPPROF_DUMP_IVAR,        /* @name; of a class, too */
    HEAPPROF_DUMP_CVAR,        /* @@name */
    HEAPPROF_DUMP_CONSTANT,    /* NAME */
    HEAPPROF_DUMP_MEMBER,      /* of a Struct */
    HEAPPROF_DUMP_LOCAL,       /* a local variable, or what a method was called with */
    HEAPPROF_DUMP_FIELD,       /* of the VM's own structures: superclass, self, method, default proc ... */
    HEAPPROF_DUMP_OFFSET,      /* of an extension's struct: type+0x18 */
    HEAPPROF_DUMP_INDEX,
    HEAPPROF_DUMP_KEY,
    HEAPPROF_DUMP_VALUE,       /* of a key */
    HEAPPROF_DUMP_STACK,       /* the VM stack's temporaries, registers, or words of the machine stack */
    HEAPPROF_DUMP_WEAK,        /* keeps nothing alive */
    HEAPPROF_DUMP_CLASS,       /* the object's class: never written, the layout has it */
    HEAPPROF_DUMP_GLOBAL,      /* of a root: $name */
    HEAPPROF_DUMP_C_GLOBAL,    /* of a root: a C variable that is registered */
    HEAPPROF_DUMP_ROOT,        /* of a root: any other, by the VM's name for it */
    HEAPPROF_DUMP_LABELS
};

/* What a layout's objects have behind the references that the layout lists. */
enum heapprof_dump_tail {
    HEAPPROF_DUMP_NO_TAIL,
    HEAPPROF_DUMP_INDEXED,     /* any number, by index */
    HEAPPROF_DUMP_PAIRED       /* any number of keys and values by turns */
};

/* What a layout says of its objects. */
enum heapprof_dump_layout_bit {
    HEAPPROF_DUMP_OTHERS = 1   /* behind the tail there may be references that carry their own label */
};

/* What precedes an object's fields: which of them there are, and what is known without one. */
enum heapprof_dump_object_bit {
    HEAPPROF_DUMP_AGE      = 3,    /* GCs survived: 0 to 3, which is old */
    HEAPPROF_DUMP_EXTERNAL = 1 << 2, /* bytes outside the slot follow */
    HEAPPROF_DUMP_LENGTH   = 1 << 3, /* a String's bytes */
    HEAPPROF_DUMP_TEXT     = 1 << 4, /* a name or, if asked for, what the object holds */
    HEAPPROF_DUMP_SAMPLED  = 1 << 5, /* its allocation stack, and how many objects it stands for */
    HEAPPROF_DUMP_SURVIVOR = 1 << 6, /* it is the object that was here, or came from, in the dump before of this set */
    HEAPPROF_DUMP_FROZEN   = 1 << 7,
    HEAPPROF_DUMP_SHAREABLE = 1 << 8,
    HEAPPROF_DUMP_FINALIZER = 1 << 9, /* one is defined */
    HEAPPROF_DUMP_HASHED   = 1 << 10, /* a keyed hash of what it holds follows: equal contents have equal ones */
    HEAPPROF_DUMP_MORE     = 1 << 11  /* no other object: what the one before, at the same slot, has behind its labels goes on */
};

/* A reference is a number. Even: an object, (address - own address) / 8 zigzag, doubled. Odd: no object, with
 * the kind in the three bits above and what it is above these. */
enum heapprof_dump_immediate {
    HEAPPROF_DUMP_SPECIAL,     /* 0 nil, 1 false, 2 true, 3 undefined, 4 nothing is stored here */
    HEAPPROF_DUMP_INTEGER,     /* zigzag */
    HEAPPROF_DUMP_SYMBOL,      /* a static one, by its string's number */
    HEAPPROF_DUMP_FLOAT,       /* by the number of the string that shows it; also an Integer of more than 58 bits */
    HEAPPROF_DUMP_HIDDEN       /* a value that was not asked for: 0 Integer, 1 Float, 2 Symbol */
};

#endif
