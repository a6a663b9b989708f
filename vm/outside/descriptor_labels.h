#ifndef HEAPPROF_VM_DESCRIPTOR_LABELS_H
#define HEAPPROF_VM_DESCRIPTOR_LABELS_H
/* descriptor_labels.h - what the descriptor says of labels: the part of descriptor_list.h for the
 * contract "label-sets". */

typedef struct heapprof_label_sets heapprof_label_sets;
typedef struct heapprof_late heapprof_late;
typedef struct heapprof_lates heapprof_lates;
typedef struct heapprof_lease heapprof_lease;
typedef struct heapprof_leases heapprof_leases;
typedef struct heapprof_string heapprof_string;

/* What a fiber, and the name of its thread, are labelled with. */
#define HEAPPROF_DESCRIPTOR_LABELS \
    DESCRIBE_FIELD(rb_execution_context_t, UNSIGNED, heapprof_label) \
    DESCRIBE_FIELD(rb_execution_context_t, UNSIGNED, heapprof_late) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, heapprof_name) \
    DESCRIBE_GLOBAL(rb_heapprof_labelled, UNSIGNED) \
    DESCRIBE_GLOBAL(rb_heapprof_label_sets, BYTES) \
    DESCRIBE_TYPE(heapprof_label_sets) \
    DESCRIBE_FIELD(heapprof_label_sets, POINTER, texts.bytes) \
    DESCRIBE_FIELD(heapprof_label_sets, UNSIGNED, texts.bytes_used) \
    DESCRIBE_FIELD(heapprof_label_sets, POINTER, texts.all) \
    DESCRIBE_FIELD(heapprof_label_sets, UNSIGNED, texts.numbers.end) \
    DESCRIBE_TYPE(heapprof_string) \
    DESCRIBE_FIELD(heapprof_string, UNSIGNED, offset) \
    DESCRIBE_BITS(heapprof_string, length, 31, DESCRIBE_BEHIND(heapprof_string, offset), 0) \
    DESCRIBE_GLOBAL(rb_heapprof_leases, BYTES) \
    DESCRIBE_TYPE(heapprof_leases) \
    DESCRIBE_FIELD(heapprof_leases, POINTER, all) \
    DESCRIBE_TYPE(heapprof_lease) \
    DESCRIBE_FIELD(heapprof_lease, UNSIGNED, number) \
    DESCRIBE_FIELD(heapprof_lease, UNSIGNED, label) \
    DESCRIBE_CONSTANT(HEAPPROF_LEASES) \
    DESCRIBE_GLOBAL(rb_heapprof_lates, BYTES) \
    DESCRIBE_TYPE(heapprof_lates) \
    DESCRIBE_FIELD(heapprof_lates, BYTES, all) \
    DESCRIBE_TYPE(heapprof_late) \
    DESCRIBE_FIELD(heapprof_late, UNSIGNED, token) \
    DESCRIBE_FIELD(heapprof_late, UNSIGNED, outer) \
    DESCRIBE_FIELD(heapprof_late, UNSIGNED, named) \
    DESCRIBE_CONSTANT(HEAPPROF_LATES)

#endif
