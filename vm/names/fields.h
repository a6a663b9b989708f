#ifndef HEAPPROF_VM_FIELDS_H
#define HEAPPROF_VM_FIELDS_H
/* fields.h - what references are called in structures that are private to a file of MRI.
 *
 * A patch includes this file at the end of each of those, and makes its list there: the compiler
 * finds the offsets. fields.c searches the lists. Names are those that Ruby has for the same
 * thing, as far as it has one.
 */
#include <stddef.h>
#include "ruby/ruby.h"

struct heapprof_field {
    const rb_data_type_t *type;
    size_t offset;
    const char *name;
};

#define HEAPPROF_FIELD(type, structure, field, name) {&type, offsetof(structure, field), name},

/* The list ends with an entry without a type. */
#define HEAPPROF_FIELDS_DEFINE(file, list) \
    const struct heapprof_field rb_heapprof_fields_of_##file[] = {list {NULL, 0, NULL}};

#define HEAPPROF_FIELDS_FILES(of) \
    of(dir) of(enumerator) of(error) of(io) of(proc) of(thread) of(time) of(variable) \
    of(vm_backtrace) of(vm_trace)

#define HEAPPROF_FIELDS_DECLARE(file) \
    extern const struct heapprof_field rb_heapprof_fields_of_##file[];
HEAPPROF_FIELDS_FILES(HEAPPROF_FIELDS_DECLARE)

#define HEAPPROF_FIELDS_DIR \
    HEAPPROF_FIELD(dir_data_type, struct dir_data, path, "path")

#define HEAPPROF_FIELDS_ENUMERATOR \
    HEAPPROF_FIELD(enumerator_data_type, struct enumerator, obj, "receiver") \
    HEAPPROF_FIELD(enumerator_data_type, struct enumerator, args, "arguments") \
    HEAPPROF_FIELD(enumerator_data_type, struct enumerator, fib, "fiber") \
    HEAPPROF_FIELD(enumerator_data_type, struct enumerator, dst, "fiber that asks") \
    HEAPPROF_FIELD(enumerator_data_type, struct enumerator, lookahead, "next values") \
    HEAPPROF_FIELD(enumerator_data_type, struct enumerator, feedvalue, "fed value") \
    HEAPPROF_FIELD(enumerator_data_type, struct enumerator, stop_exc, "exception at the end") \
    HEAPPROF_FIELD(enumerator_data_type, struct enumerator, size, "size") \
    HEAPPROF_FIELD(enumerator_data_type, struct enumerator, procs, "lazy steps") \
    HEAPPROF_FIELD(proc_entry_data_type, struct proc_entry, proc, "block") \
    HEAPPROF_FIELD(proc_entry_data_type, struct proc_entry, memo, "argument") \
    HEAPPROF_FIELD(yielder_data_type, struct yielder, proc, "block") \
    HEAPPROF_FIELD(generator_data_type, struct generator, proc, "block") \
    HEAPPROF_FIELD(generator_data_type, struct generator, obj, "receiver") \
    HEAPPROF_FIELD(producer_data_type, struct producer, init, "first value") \
    HEAPPROF_FIELD(producer_data_type, struct producer, proc, "block") \
    HEAPPROF_FIELD(enum_chain_data_type, struct enum_chain, enums, "enumerators") \
    HEAPPROF_FIELD(enum_product_data_type, struct enum_product, enums, "enumerators")

#define HEAPPROF_FIELDS_ERROR \
    HEAPPROF_FIELD(name_err_mesg_data_type, name_error_message_t, mesg, "message") \
    HEAPPROF_FIELD(name_err_mesg_data_type, name_error_message_t, recv, "receiver") \
    HEAPPROF_FIELD(name_err_mesg_data_type, name_error_message_t, name, "name")

#define HEAPPROF_FIELDS_IO \
    HEAPPROF_FIELD(argf_type, struct argf, filename, "file name") \
    HEAPPROF_FIELD(argf_type, struct argf, current_file, "file") \
    HEAPPROF_FIELD(argf_type, struct argf, argv, "ARGV") \
    HEAPPROF_FIELD(argf_type, struct argf, inplace, "extension of saved files") \
    HEAPPROF_FIELD(argf_type, struct argf, encs.ecopts, "options")

#define HEAPPROF_FIELDS_PROC \
    HEAPPROF_FIELD(method_data_type, struct METHOD, recv, "receiver") \
    HEAPPROF_FIELD(method_data_type, struct METHOD, klass, "class") \
    HEAPPROF_FIELD(method_data_type, struct METHOD, iclass, "included class") \
    HEAPPROF_FIELD(method_data_type, struct METHOD, owner, "owner") \
    HEAPPROF_FIELD(method_data_type, struct METHOD, me, "method")

#define HEAPPROF_FIELDS_THREAD \
    HEAPPROF_FIELD(queue_data_type, struct rb_queue, que, "elements") \
    HEAPPROF_FIELD(szqueue_data_type, struct rb_szqueue, q.que, "elements")

#define HEAPPROF_FIELDS_TIME \
    HEAPPROF_FIELD(time_data_type, struct time_object, timew, "number") \
    HEAPPROF_FIELD(time_data_type, struct time_object, vtm.year, "year") \
    HEAPPROF_FIELD(time_data_type, struct time_object, vtm.subsecx, "part of a second") \
    HEAPPROF_FIELD(time_data_type, struct time_object, vtm.utc_offset, "offset from UTC") \
    HEAPPROF_FIELD(time_data_type, struct time_object, vtm.zone, "zone")

#define HEAPPROF_FIELDS_VARIABLE \
    HEAPPROF_FIELD(autoload_data_type, struct autoload_data, feature, "feature") \
    HEAPPROF_FIELD(autoload_data_type, struct autoload_data, mutex, "mutex") \
    HEAPPROF_FIELD(autoload_const_type, struct autoload_const, autoload_data_value, "autoload") \
    HEAPPROF_FIELD(autoload_const_type, struct autoload_const, module, "module") \
    HEAPPROF_FIELD(autoload_const_type, struct autoload_const, value, "value") \
    HEAPPROF_FIELD(autoload_const_type, struct autoload_const, file, "file of a constant")

#define HEAPPROF_FIELDS_VM_BACKTRACE \
    HEAPPROF_FIELD(backtrace_data_type, rb_backtrace_t, strary, "strings") \
    HEAPPROF_FIELD(backtrace_data_type, rb_backtrace_t, locary, "locations") \
    HEAPPROF_FIELD(location_data_type, struct valued_frame_info, btobj, "backtrace")

#define HEAPPROF_FIELDS_VM_TRACE \
    HEAPPROF_FIELD(tp_data_type, rb_tp_t, local_target_set, "targets") \
    HEAPPROF_FIELD(tp_data_type, rb_tp_t, proc, "block")

#endif
