#ifndef HEAPPROF_VM_DESCRIPTOR_REQUEST_H
#define HEAPPROF_VM_DESCRIPTOR_REQUEST_H
/* descriptor_request.h - what the descriptor says of requests: the part of descriptor_list.h for
 * the contract "requests". */

typedef struct heapprof_request heapprof_request;

#define HEAPPROF_DESCRIPTOR_REQUEST \
    DESCRIBE_GLOBAL(rb_heapprof_request, BYTES) \
    DESCRIBE_TYPE(heapprof_request) \
    DESCRIBE_FIELD(heapprof_request, UNSIGNED, asked) \
    DESCRIBE_FIELD(heapprof_request, UNSIGNED, what) \
    DESCRIBE_FIELD(heapprof_request, SIGNED, until_ns) \
    DESCRIBE_FIELD(heapprof_request, UNSIGNED, for_ms) \
    DESCRIBE_FIELD(heapprof_request, BYTES, text) \
    DESCRIBE_FIELD(heapprof_request, UNSIGNED, pid) \
    DESCRIBE_FIELD(heapprof_request, UNSIGNED, door) \
    DESCRIBE_FIELD(heapprof_request, UNSIGNED, heard) \
    DESCRIBE_FIELD(heapprof_request, UNSIGNED, taken) \
    DESCRIBE_FIELD(heapprof_request, UNSIGNED, answered) \
    DESCRIBE_FIELD(heapprof_request, UNSIGNED, done) \
    DESCRIBE_FIELD(heapprof_request, BYTES, answer) \
    DESCRIBE_CONSTANT(HEAPPROF_DOOR_OPEN) \
    DESCRIBE_CONSTANT(HEAPPROF_DOOR_LOCKED)

#endif
