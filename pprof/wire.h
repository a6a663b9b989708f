#ifndef HEAPPROF_WIRE_H
#define HEAPPROF_WIRE_H
/* Protobuf's encoding, as much of it as profiles need: numbers of seven bits a byte, and a
 * message's fields one by one. Reading never passes the end that it is given. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAPPROF_VARINT_MAX 10 /* bytes */

enum heapprof_wire_type {
    HEAPPROF_WIRE_VARINT = 0, HEAPPROF_WIRE_64 = 1, HEAPPROF_WIRE_BYTES = 2, HEAPPROF_WIRE_32 = 5
};

/* The bytes that are left to read. */
struct heapprof_wire {
    const unsigned char *at, *end;
};

struct heapprof_wire_field {
    uint64_t number;
    unsigned type;               /* enum heapprof_wire_type */
    uint64_t value;              /* of a VARINT */
    struct heapprof_wire bytes;  /* of BYTES */
};

/* Reads the next number. Returns false if the bytes end in it, or if it has more than 64 bits. */
static inline bool
rb_heapprof_wire_varint(struct heapprof_wire *wire, uint64_t *value)
{
    uint64_t result = 0;

    for (unsigned shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
        unsigned char byte = *wire->at++;
        if (shift == 63 && byte > 1) return false;
        result |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *value = result;
            return true;
        }
    }
    return false;
}

/* Writes value in at most HEAPPROF_VARINT_MAX bytes. Returns the place behind them. */
static inline unsigned char *
rb_heapprof_wire_put(unsigned char *at, uint64_t value)
{
    for (; value >= 128; value >>= 7) *at++ = (unsigned char)(value | 128);
    *at++ = (unsigned char)value;
    return at;
}

/* Reads the next field of a message. Returns 1; 0 at the end; -1 if the bytes are not a message. */
static inline int
rb_heapprof_wire_next(struct heapprof_wire *wire, struct heapprof_wire_field *field)
{
    uint64_t tag, size = 0;

    if (wire->at == wire->end) return 0;
    if (!rb_heapprof_wire_varint(wire, &tag)) return -1;
    field->number = tag >> 3;
    field->type = tag & 7;
    field->value = 0;
    field->bytes = *wire;
    if (field->number == 0) return -1;
    switch (field->type) {
      case HEAPPROF_WIRE_VARINT: return rb_heapprof_wire_varint(wire, &field->value) ? 1 : -1;
      case HEAPPROF_WIRE_64: size = 8; break;
      case HEAPPROF_WIRE_32: size = 4; break;
      case HEAPPROF_WIRE_BYTES:
        if (!rb_heapprof_wire_varint(wire, &size)) return -1;
        break;
      default: return -1;
    }
    if (size > (uint64_t)(wire->end - wire->at)) return -1;
    field->bytes.at = wire->at;
    field->bytes.end = wire->at += size;
    return 1;
}

#endif
