#ifndef HEAPPROF_VM_DESCRIPTOR_LIST_H
#define HEAPPROF_VM_DESCRIPTOR_LIST_H
/* descriptor_list.h - what the descriptor says, and how it is made (base/descriptor.h has its
 * layout, doc/descriptor.md what a reader does with it).
 *
 * A list for each file of MRI in which the types are visible. The compiler finds offsets and sizes;
 * by hand are only what a field is, and where a bit-field begins. test/ruby/test_descriptor.rb
 * compares every entry with the debug information of that file, by its name; so names are those
 * of MRI's types and fields.
 *
 *   HEAPPROF_DESCRIPTOR_VM      descriptor.c: what MRI's headers declare
 *   HEAPPROF_DESCRIPTOR_ISEQ    iseq.c: the table of lines
 *   HEAPPROF_DESCRIPTOR_SYMBOL  symbol.c: the table of symbols
 *   HEAPPROF_DESCRIPTOR_CONT    cont.c: fibers
 *   HEAPPROF_DESCRIPTOR_THREAD  thread.c: mutexes, and what the timer thread waits for
 *   HEAPPROF_DESCRIPTOR_GC      gc.c: heap pages, and what the collector is doing
 */
#include <stddef.h>
#include "heapprof/base/descriptor.h"

/* Names that are tags in MRI, so that one word names each type. */
typedef struct ccan_list_head ccan_list_head;
typedef struct ccan_list_node ccan_list_node;
typedef struct heap_page heap_page;
typedef struct heapprof heapprof;
typedef struct heapprof_graph_asked heapprof_graph_asked;
typedef struct heapprof_graph_shared heapprof_graph_shared;
typedef struct heapprof_jit_code heapprof_jit_code;
typedef struct heapprof_jit_mark heapprof_jit_mark;
typedef struct heapprof_pending heapprof_pending;
typedef struct heapprof_sequence heapprof_sequence;
typedef struct heapprof_waiting heapprof_waiting;
typedef struct iseq_insn_info iseq_insn_info;
typedef struct iseq_insn_info_entry iseq_insn_info_entry;
typedef struct RArray RArray;
typedef struct RBasic RBasic;
typedef struct RClass RClass;
typedef struct RClass_and_rb_classext_t RClass_and_rb_classext_t;
typedef struct RFloat RFloat;
typedef struct RHash RHash;
typedef struct RMoved RMoved;
typedef struct RString RString;
typedef struct RSymbol RSymbol;
typedef struct RTypedData RTypedData;
typedef struct rb_iseq_constant_body rb_iseq_constant_body;
typedef struct rb_native_thread rb_native_thread;
typedef struct succ_dict_block succ_dict_block;
typedef struct succ_index_table succ_index_table;
typedef struct vm_svar vm_svar;

/* ---- entries ---- */

/* Its kind; a name that does not fit does not compile. */
#define HEAPPROF_DESCRIPTOR_KIND(kind_, name_) \
    HEAPPROF_DESCRIPTOR_##kind_ + \
    0 * sizeof(char[sizeof(name_) <= HEAPPROF_DESCRIPTOR_ROOM ? 1 : -1])
#define HEAPPROF_DESCRIPTOR_ROOM sizeof(((struct heapprof_descriptor_entry *)0)->name)

#define HEAPPROF_DESCRIPTOR_ENTRY(name_, kind_, form_, size_, value_) \
    { .name = name_, .kind = HEAPPROF_DESCRIPTOR_KIND(kind_, name_), \
      .form = HEAPPROF_DESCRIPTOR_##form_, .size = (size_), .as = { value_ } },

#define DESCRIBE_TYPE(type) \
    HEAPPROF_DESCRIPTOR_ENTRY(#type, TYPE, NONE, sizeof(type), .number = 0)

#define DESCRIBE_STRUCT(tag) \
    HEAPPROF_DESCRIPTOR_ENTRY(#tag, TYPE, NONE, sizeof(struct tag), .number = 0)

#define DESCRIBE_FIELD(type, form, field) DESCRIBE_FIELD_AS(#type "." #field, type, form, field)

/* A field that has to be the first: our code reads it by a struct of its own (gc/book/mri.h). If it
 * is not, this does not compile. */
#define DESCRIBE_FIRST(type, form, field) \
    HEAPPROF_DESCRIPTOR_ENTRY(#type "." #field, FIELD, form, sizeof(((type *)0)->field), \
                              .number = 0 * sizeof(char[offsetof(type, field) == 0 ? 1 : -1]))

/* Under a shorter name: that of a field in the type, or in what lies in the type. */
#define DESCRIBE_FIELD_AS(name, type, form, field) \
    HEAPPROF_DESCRIPTOR_ENTRY(name, FIELD, form, sizeof(((type *)0)->field), \
                              .number = offsetof(type, field))

/* An array at the end of a type, of as many elements as there is memory for. */
#define DESCRIBE_ENDLESS(type, field) \
    HEAPPROF_DESCRIPTOR_ENTRY(#type "." #field, FIELD, BYTES, 0, .number = offsetof(type, field))

/* A bit-field that begins so many bits behind the first bit of the place. */
#define DESCRIBE_BITS(type, field, bits, place, begin) \
    HEAPPROF_DESCRIPTOR_ENTRY(#type "." #field, FIELD, BITS, bits, .number = (place) * 8 + (begin))
#define DESCRIBE_BEHIND(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* An array that ends where a field begins. Its own name is a macro of the collector. */
#define DESCRIBE_BEFORE(name, type, element, count, field) \
    HEAPPROF_DESCRIPTOR_ENTRY(name, FIELD, BYTES, (count) * sizeof(element), \
                              .number = offsetof(type, field) - (count) * sizeof(element))

#define DESCRIBE_GLOBAL(name, form) \
    HEAPPROF_DESCRIPTOR_ENTRY(#name, GLOBAL, form, sizeof(name), .address = &name)

#define DESCRIBE_CONSTANT(name) \
    HEAPPROF_DESCRIPTOR_ENTRY(#name, CONSTANT, NONE, 0, .number = (int64_t)(name))

#define DESCRIBE_CONTRACT(name, number_) \
    HEAPPROF_DESCRIPTOR_ENTRY(name, CONTRACT, NONE, 0, .number = number_)

#define DESCRIBE_PART(name, object) \
    HEAPPROF_DESCRIPTOR_ENTRY(name, PART, NONE, 0, .address = &object)

/* ---- the object ---- */

/* The first array is there to be counted: nothing refers to it, so it is not compiled. */
#define HEAPPROF_DESCRIPTOR_DEFINE(object, ...) \
    static struct heapprof_descriptor_entry object##_counted[] \
        __attribute__((unused)) = { __VA_ARGS__ }; \
    enum { object##_count = sizeof(object##_counted) / sizeof(object##_counted[0]) }; \
    struct { \
        struct heapprof_descriptor header; \
        struct heapprof_descriptor_entry entries[object##_count]; \
    } object = { \
        { HEAPPROF_DESCRIPTOR_MAGIC, HEAPPROF_DESCRIPTOR_FORMAT, sizeof(void *), \
          sizeof(struct heapprof_descriptor), sizeof(struct heapprof_descriptor_entry), \
          object##_count }, \
        { __VA_ARGS__ } \
    };

/* A part leads back to the whole: who scans for the magic may find it first. And so the linker
 * takes the whole out of libruby-static.a, though no code asks for it. */
#define HEAPPROF_DESCRIPTOR_DEFINE_PART(name, ...) \
    extern struct heapprof_descriptor ruby_vm_descriptor; \
    HEAPPROF_DESCRIPTOR_DEFINE(ruby_vm_descriptor_##name, \
                               DESCRIBE_GLOBAL(ruby_vm_descriptor, BYTES) __VA_ARGS__)

/* ---- lists ---- */

#ifdef RB_THREAD_T_HAS_NATIVE_ID
#define HEAPPROF_DESCRIPTOR_NATIVE_ID DESCRIBE_FIELD(rb_native_thread, SIGNED, tid)
#else
#define HEAPPROF_DESCRIPTOR_NATIVE_ID
#endif

#define HEAPPROF_DESCRIPTOR_CONTRACTS \
    DESCRIBE_CONTRACT("stack", 1) \
    DESCRIBE_CONTRACT("line-table", 1) \
    DESCRIBE_CONTRACT("symbols", 1) \
    DESCRIBE_CONTRACT("heapprof", 1) \
    DESCRIBE_CONTRACT("labels", 1) \
    DESCRIBE_CONTRACT("label-sets", 1) \
    DESCRIBE_CONTRACT("jit-code", 1) \
    DESCRIBE_CONTRACT("locals", 1) \
    DESCRIBE_CONTRACT("requests", 2) \
    DESCRIBE_PART("iseq.c", ruby_vm_descriptor_iseq) \
    DESCRIBE_PART("symbol.c", ruby_vm_descriptor_symbol) \
    DESCRIBE_PART("cont.c", ruby_vm_descriptor_cont) \
    DESCRIBE_PART("thread.c", ruby_vm_descriptor_thread) \
    DESCRIBE_PART("gc.c", ruby_vm_descriptor_gc) \
    DESCRIBE_CONSTANT(RUBY_VERSION_MAJOR) \
    DESCRIBE_CONSTANT(RUBY_VERSION_MINOR) \
    DESCRIBE_CONSTANT(RUBY_VERSION_TEENY)

/* From the VM to threads and what runs on them. */
#define HEAPPROF_DESCRIPTOR_THREADS \
    DESCRIBE_GLOBAL(ruby_current_vm_ptr, POINTER) \
    DESCRIBE_TYPE(ccan_list_node) \
    DESCRIBE_FIELD(ccan_list_node, POINTER, next) \
    DESCRIBE_FIELD(ccan_list_node, POINTER, prev) \
    DESCRIBE_TYPE(ccan_list_head) \
    DESCRIBE_FIELD(ccan_list_head, BYTES, n) \
    DESCRIBE_TYPE(rb_vm_t) \
    DESCRIBE_FIELD(rb_vm_t, BYTES, ractor.set) \
    DESCRIBE_FIELD(rb_vm_t, UNSIGNED, ractor.cnt) \
    DESCRIBE_FIELD(rb_vm_t, UNSIGNED, ractor.blocking_cnt) \
    DESCRIBE_FIELD(rb_vm_t, POINTER, ractor.main_ractor) \
    DESCRIBE_FIELD(rb_vm_t, POINTER, ractor.main_thread) \
    DESCRIBE_FIELD(rb_vm_t, POINTER, ractor.sync.lock_owner) \
    DESCRIBE_FIELD(rb_vm_t, UNSIGNED, fork_gen) \
    DESCRIBE_FIELD(rb_vm_t, POINTER, gc.objspace) \
    DESCRIBE_TYPE(rb_ractor_t) \
    DESCRIBE_FIELD(rb_ractor_t, BYTES, vmlr_node) \
    DESCRIBE_FIELD(rb_ractor_t, UNSIGNED, pub.self) \
    DESCRIBE_FIELD(rb_ractor_t, UNSIGNED, pub.id) \
    DESCRIBE_FIELD(rb_ractor_t, UNSIGNED, name) \
    DESCRIBE_FIELD(rb_ractor_t, UNSIGNED, loc) \
    DESCRIBE_FIELD(rb_ractor_t, UNSIGNED, status_) \
    DESCRIBE_FIELD(rb_ractor_t, UNSIGNED, sync.wait.status) \
    DESCRIBE_FIELD(rb_ractor_t, BYTES, threads.set) \
    DESCRIBE_FIELD(rb_ractor_t, UNSIGNED, threads.cnt) \
    DESCRIBE_FIELD(rb_ractor_t, UNSIGNED, threads.blocking_cnt) \
    DESCRIBE_FIELD(rb_ractor_t, BYTES, threads.sched) \
    DESCRIBE_FIELD(rb_ractor_t, POINTER, threads.sched.running) \
    DESCRIBE_FIELD(rb_ractor_t, UNSIGNED, threads.sched.is_running) \
    DESCRIBE_FIELD(rb_ractor_t, BYTES, threads.sched.readyq) \
    DESCRIBE_FIELD(rb_ractor_t, SIGNED, threads.sched.readyq_cnt) \
    DESCRIBE_FIELD(rb_ractor_t, UNSIGNED, threads.sched.enable_mn_threads) \
    DESCRIBE_FIELD(rb_ractor_t, POINTER, threads.running_ec) \
    DESCRIBE_FIELD(rb_ractor_t, POINTER, threads.main) \
    DESCRIBE_FIELD(rb_ractor_t, POINTER, newobj_cache) \
    DESCRIBE_CONSTANT(ractor_created) \
    DESCRIBE_CONSTANT(ractor_running) \
    DESCRIBE_CONSTANT(ractor_blocking) \
    DESCRIBE_CONSTANT(ractor_terminated) \
    DESCRIBE_CONSTANT(wait_none) \
    DESCRIBE_CONSTANT(wait_receiving) \
    DESCRIBE_CONSTANT(wait_taking) \
    DESCRIBE_CONSTANT(wait_yielding) \
    DESCRIBE_CONSTANT(wait_moving) \
    DESCRIBE_TYPE(rb_thread_t) \
    DESCRIBE_FIELD(rb_thread_t, BYTES, lt_node) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, self) \
    DESCRIBE_FIELD(rb_thread_t, POINTER, ractor) \
    DESCRIBE_FIELD(rb_thread_t, POINTER, vm) \
    DESCRIBE_FIELD(rb_thread_t, POINTER, nt) \
    DESCRIBE_FIELD(rb_thread_t, POINTER, ec) \
    DESCRIBE_FIELD(rb_thread_t, BYTES, sched) \
    DESCRIBE_FIELD(rb_thread_t, BYTES, sched.node.readyq) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, sched.waiting_reason.flags) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, sched.waiting_reason.data.timeout) \
    DESCRIBE_FIELD(rb_thread_t, SIGNED, sched.waiting_reason.data.fd) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, sched.finished) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, mn_schedulable) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, serial) \
    DESCRIBE_BITS(rb_thread_t, status, 2, DESCRIBE_BEHIND(rb_thread_t, top_wrapper), 0) \
    DESCRIBE_BITS(rb_thread_t, has_dedicated_nt, 1, DESCRIBE_BEHIND(rb_thread_t, top_wrapper), 2) \
    DESCRIBE_BITS(rb_thread_t, to_kill, 1, DESCRIBE_BEHIND(rb_thread_t, top_wrapper), 3) \
    DESCRIBE_FIELD(rb_thread_t, SIGNED, priority) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, running_time_us) \
    DESCRIBE_FIELD(rb_thread_t, POINTER, blocking_region_buffer) \
    DESCRIBE_FIELD(rb_thread_t, POINTER, unblock.func) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, locking_mutex) \
    DESCRIBE_FIELD(rb_thread_t, POINTER, keeping_mutexes) \
    DESCRIBE_FIELD(rb_thread_t, POINTER, join_list) \
    DESCRIBE_FIELD(rb_thread_t, POINTER, root_fiber) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, scheduler) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, blocking) \
    DESCRIBE_FIELD(rb_thread_t, UNSIGNED, name) \
    DESCRIBE_CONSTANT(THREAD_RUNNABLE) \
    DESCRIBE_CONSTANT(THREAD_STOPPED) \
    DESCRIBE_CONSTANT(THREAD_STOPPED_FOREVER) \
    DESCRIBE_CONSTANT(THREAD_KILLED) \
    DESCRIBE_CONSTANT(thread_sched_waiting_none) \
    DESCRIBE_CONSTANT(thread_sched_waiting_timeout) \
    DESCRIBE_CONSTANT(thread_sched_waiting_io_read) \
    DESCRIBE_CONSTANT(thread_sched_waiting_io_write) \
    DESCRIBE_TYPE(rb_native_thread) \
    DESCRIBE_FIELD(rb_native_thread, UNSIGNED, serial) \
    DESCRIBE_FIELD(rb_native_thread, UNSIGNED, thread_id) \
    DESCRIBE_FIELD(rb_native_thread, POINTER, running_thread) \
    DESCRIBE_FIELD(rb_native_thread, SIGNED, dedicated) \
    HEAPPROF_DESCRIPTOR_NATIVE_ID \
    DESCRIBE_TYPE(rb_execution_context_t) \
    DESCRIBE_FIELD(rb_execution_context_t, POINTER, vm_stack) \
    DESCRIBE_FIELD(rb_execution_context_t, UNSIGNED, vm_stack_size) \
    DESCRIBE_FIELD(rb_execution_context_t, POINTER, cfp) \
    DESCRIBE_FIELD(rb_execution_context_t, POINTER, tag) \
    DESCRIBE_FIELD(rb_execution_context_t, UNSIGNED, interrupt_flag) \
    DESCRIBE_FIELD(rb_execution_context_t, UNSIGNED, interrupt_mask) \
    DESCRIBE_FIELD(rb_execution_context_t, POINTER, fiber_ptr) \
    DESCRIBE_FIELD(rb_execution_context_t, POINTER, thread_ptr) \
    DESCRIBE_FIELD(rb_execution_context_t, UNSIGNED, errinfo) \
    DESCRIBE_FIELD(rb_execution_context_t, POINTER, machine.stack_start) \
    DESCRIBE_FIELD(rb_execution_context_t, POINTER, machine.stack_end) \
    DESCRIBE_FIELD(rb_execution_context_t, UNSIGNED, machine.stack_maxsize)

/* Frames, their environments, and the methods they are of. */
#define HEAPPROF_DESCRIPTOR_FRAMES \
    DESCRIBE_TYPE(rb_control_frame_t) \
    DESCRIBE_FIELD(rb_control_frame_t, POINTER, pc) \
    DESCRIBE_FIELD(rb_control_frame_t, POINTER, sp) \
    DESCRIBE_FIELD(rb_control_frame_t, POINTER, iseq) \
    DESCRIBE_FIELD(rb_control_frame_t, UNSIGNED, self) \
    DESCRIBE_FIELD(rb_control_frame_t, POINTER, ep) \
    DESCRIBE_FIELD(rb_control_frame_t, POINTER, block_code) \
    DESCRIBE_FIELD(rb_control_frame_t, POINTER, jit_return) \
    DESCRIBE_CONSTANT(VM_FRAME_MAGIC_METHOD) \
    DESCRIBE_CONSTANT(VM_FRAME_MAGIC_BLOCK) \
    DESCRIBE_CONSTANT(VM_FRAME_MAGIC_CLASS) \
    DESCRIBE_CONSTANT(VM_FRAME_MAGIC_TOP) \
    DESCRIBE_CONSTANT(VM_FRAME_MAGIC_CFUNC) \
    DESCRIBE_CONSTANT(VM_FRAME_MAGIC_IFUNC) \
    DESCRIBE_CONSTANT(VM_FRAME_MAGIC_EVAL) \
    DESCRIBE_CONSTANT(VM_FRAME_MAGIC_RESCUE) \
    DESCRIBE_CONSTANT(VM_FRAME_MAGIC_DUMMY) \
    DESCRIBE_CONSTANT(VM_FRAME_MAGIC_MASK) \
    DESCRIBE_CONSTANT(VM_FRAME_FLAG_FINISH) \
    DESCRIBE_CONSTANT(VM_FRAME_FLAG_BMETHOD) \
    DESCRIBE_CONSTANT(VM_FRAME_FLAG_CFRAME) \
    DESCRIBE_CONSTANT(VM_FRAME_FLAG_LAMBDA) \
    DESCRIBE_CONSTANT(VM_FRAME_FLAG_PASSED) \
    DESCRIBE_CONSTANT(VM_ENV_FLAG_LOCAL) \
    DESCRIBE_CONSTANT(VM_ENV_FLAG_ESCAPED) \
    DESCRIBE_CONSTANT(VM_ENV_FLAG_WB_REQUIRED) \
    DESCRIBE_CONSTANT(VM_ENV_FLAG_ISOLATED) \
    DESCRIBE_CONSTANT(VM_ENV_DATA_SIZE) \
    DESCRIBE_CONSTANT(VM_ENV_DATA_INDEX_ME_CREF) \
    DESCRIBE_CONSTANT(VM_ENV_DATA_INDEX_SPECVAL) \
    DESCRIBE_CONSTANT(VM_ENV_DATA_INDEX_FLAGS) \
    DESCRIBE_CONSTANT(VM_ENV_DATA_INDEX_ENV) \
    DESCRIBE_TYPE(rb_env_t) \
    DESCRIBE_FIELD(rb_env_t, UNSIGNED, flags) \
    DESCRIBE_FIELD(rb_env_t, POINTER, iseq) \
    DESCRIBE_FIELD(rb_env_t, POINTER, ep) \
    DESCRIBE_FIELD(rb_env_t, POINTER, env) \
    DESCRIBE_FIELD(rb_env_t, UNSIGNED, env_size) \
    DESCRIBE_TYPE(vm_svar) \
    DESCRIBE_FIELD(vm_svar, UNSIGNED, flags) \
    DESCRIBE_FIELD(vm_svar, UNSIGNED, cref_or_me) \
    DESCRIBE_TYPE(rb_cref_t) \
    DESCRIBE_FIELD(rb_cref_t, UNSIGNED, flags) \
    DESCRIBE_FIELD(rb_cref_t, UNSIGNED, klass_or_self) \
    DESCRIBE_FIELD(rb_cref_t, POINTER, next) \
    DESCRIBE_TYPE(rb_callable_method_entry_t) \
    DESCRIBE_FIELD(rb_callable_method_entry_t, UNSIGNED, flags) \
    DESCRIBE_FIELD(rb_callable_method_entry_t, UNSIGNED, defined_class) \
    DESCRIBE_FIELD(rb_callable_method_entry_t, POINTER, def) \
    DESCRIBE_FIELD(rb_callable_method_entry_t, UNSIGNED, called_id) \
    DESCRIBE_FIELD(rb_callable_method_entry_t, UNSIGNED, owner) \
    DESCRIBE_TYPE(rb_method_definition_t) \
    DESCRIBE_BITS(rb_method_definition_t, type, VM_METHOD_TYPE_MINIMUM_BITS, 0, 0) \
    DESCRIBE_FIELD(rb_method_definition_t, BYTES, body) \
    DESCRIBE_FIELD(rb_method_definition_t, POINTER, body.iseq.iseqptr) \
    DESCRIBE_FIELD(rb_method_definition_t, POINTER, body.iseq.cref) \
    DESCRIBE_FIELD(rb_method_definition_t, POINTER, body.cfunc.func) \
    DESCRIBE_FIELD(rb_method_definition_t, SIGNED, body.cfunc.argc) \
    DESCRIBE_FIELD(rb_method_definition_t, UNSIGNED, body.attr.id) \
    DESCRIBE_FIELD(rb_method_definition_t, POINTER, body.alias.original_me) \
    DESCRIBE_FIELD(rb_method_definition_t, POINTER, body.refined.orig_me) \
    DESCRIBE_FIELD(rb_method_definition_t, UNSIGNED, body.bmethod.proc) \
    DESCRIBE_FIELD(rb_method_definition_t, UNSIGNED, body.optimized.type) \
    DESCRIBE_FIELD(rb_method_definition_t, UNSIGNED, original_id) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_ISEQ) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_CFUNC) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_ATTRSET) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_IVAR) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_BMETHOD) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_ZSUPER) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_ALIAS) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_UNDEF) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_NOTIMPLEMENTED) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_OPTIMIZED) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_MISSING) \
    DESCRIBE_CONSTANT(VM_METHOD_TYPE_REFINED)

/* Dumps of the object graph that are asked for from outside. */
#define HEAPPROF_DESCRIPTOR_GRAPH \
    DESCRIBE_GLOBAL(rb_heapprof_graph_asked, BYTES) \
    DESCRIBE_TYPE(heapprof_graph_asked) \
    DESCRIBE_FIELD(heapprof_graph_asked, UNSIGNED, signal) \
    DESCRIBE_FIELD(heapprof_graph_asked, UNSIGNED, answers) \
    DESCRIBE_FIELD(heapprof_graph_asked, UNSIGNED, begun) \
    DESCRIBE_FIELD(heapprof_graph_asked, UNSIGNED, child) \
    DESCRIBE_FIELD(heapprof_graph_asked, POINTER, shared) \
    DESCRIBE_FIELD(heapprof_graph_asked, BYTES, answer) \
    DESCRIBE_TYPE(heapprof_graph_shared) \
    DESCRIBE_FIELD(heapprof_graph_shared, SIGNED, pause_ns) \
    DESCRIBE_FIELD(heapprof_graph_shared, UNSIGNED, bytes) \
    DESCRIBE_FIELD(heapprof_graph_shared, SIGNED, error) \
    DESCRIBE_FIELD(heapprof_graph_shared, UNSIGNED, done)

/* Code. */
#define HEAPPROF_DESCRIPTOR_CODE \
    DESCRIBE_GLOBAL(ruby_vm_code_generation, UNSIGNED) \
    DESCRIBE_GLOBAL(rb_heapprof_description, POINTER) \
    DESCRIBE_TYPE(rb_iseq_t) \
    DESCRIBE_FIELD(rb_iseq_t, UNSIGNED, flags) \
    DESCRIBE_FIELD(rb_iseq_t, POINTER, body) \
    DESCRIBE_TYPE(rb_iseq_constant_body) \
    DESCRIBE_FIELD(rb_iseq_constant_body, UNSIGNED, type) \
    DESCRIBE_FIELD(rb_iseq_constant_body, UNSIGNED, iseq_size) \
    DESCRIBE_FIELD(rb_iseq_constant_body, POINTER, iseq_encoded) \
    DESCRIBE_FIELD(rb_iseq_constant_body, UNSIGNED, location.pathobj) \
    DESCRIBE_FIELD(rb_iseq_constant_body, UNSIGNED, location.base_label) \
    DESCRIBE_FIELD(rb_iseq_constant_body, UNSIGNED, location.label) \
    DESCRIBE_FIELD(rb_iseq_constant_body, SIGNED, location.first_lineno) \
    DESCRIBE_FIELD(rb_iseq_constant_body, BYTES, insns_info) \
    DESCRIBE_FIELD(rb_iseq_constant_body, POINTER, parent_iseq) \
    DESCRIBE_FIELD(rb_iseq_constant_body, POINTER, local_iseq) \
    DESCRIBE_FIELD(rb_iseq_constant_body, UNSIGNED, builtin_attrs) \
    DESCRIBE_FIELD(rb_iseq_constant_body, POINTER, local_table) \
    DESCRIBE_FIELD(rb_iseq_constant_body, UNSIGNED, local_table_size) \
    DESCRIBE_CONSTANT(BUILTIN_ATTR_C_TRACE) \
    DESCRIBE_TYPE(iseq_insn_info) \
    DESCRIBE_FIELD(iseq_insn_info, POINTER, body) \
    DESCRIBE_FIELD(iseq_insn_info, UNSIGNED, size) \
    DESCRIBE_FIELD(iseq_insn_info, POINTER, succ_index_table) \
    DESCRIBE_TYPE(iseq_insn_info_entry) \
    DESCRIBE_FIELD(iseq_insn_info_entry, SIGNED, line_no) \
    DESCRIBE_CONSTANT(ISEQ_TYPE_TOP) \
    DESCRIBE_CONSTANT(ISEQ_TYPE_METHOD) \
    DESCRIBE_CONSTANT(ISEQ_TYPE_BLOCK) \
    DESCRIBE_CONSTANT(ISEQ_TYPE_CLASS) \
    DESCRIBE_CONSTANT(ISEQ_TYPE_RESCUE) \
    DESCRIBE_CONSTANT(ISEQ_TYPE_ENSURE) \
    DESCRIBE_CONSTANT(ISEQ_TYPE_EVAL) \
    DESCRIBE_CONSTANT(ISEQ_TYPE_MAIN) \
    DESCRIBE_CONSTANT(ISEQ_TYPE_PLAIN) \
    DESCRIBE_CONSTANT(PATHOBJ_PATH) \
    DESCRIBE_CONSTANT(PATHOBJ_REALPATH)

/* Code that a JIT has compiled. */
#define HEAPPROF_DESCRIPTOR_JIT \
    DESCRIBE_GLOBAL(rb_heapprof_jit_code, BYTES) \
    DESCRIBE_TYPE(heapprof_jit_code) \
    DESCRIBE_FIELD(heapprof_jit_code, UNSIGNED, code) \
    DESCRIBE_FIELD(heapprof_jit_code, UNSIGNED, code_bytes) \
    DESCRIBE_FIELD(heapprof_jit_code, POINTER, marks) \
    DESCRIBE_FIELD(heapprof_jit_code, UNSIGNED, mark_count) \
    DESCRIBE_TYPE(heapprof_jit_mark) \
    DESCRIBE_FIELD(heapprof_jit_mark, UNSIGNED, code) \
    DESCRIBE_FIELD(heapprof_jit_mark, UNSIGNED, pc) \
    DESCRIBE_CONSTANT(HEAPPROF_JIT_RETURNED) \
    DESCRIBE_CONSTANT(HEAPPROF_JIT_CHUNK_BYTES)

/* Objects that names are in. All of MRI's T_* and imemo_* are here: a reader names types by them
 * (contract "labels"). */
#define HEAPPROF_DESCRIPTOR_OBJECTS \
    DESCRIBE_TYPE(RBasic) \
    DESCRIBE_FIELD(RBasic, UNSIGNED, flags) \
    DESCRIBE_FIELD(RBasic, UNSIGNED, klass) \
    DESCRIBE_CONSTANT(T_NONE) \
    DESCRIBE_CONSTANT(T_OBJECT) \
    DESCRIBE_CONSTANT(T_CLASS) \
    DESCRIBE_CONSTANT(T_MODULE) \
    DESCRIBE_CONSTANT(T_FLOAT) \
    DESCRIBE_CONSTANT(T_STRING) \
    DESCRIBE_CONSTANT(T_REGEXP) \
    DESCRIBE_CONSTANT(T_ARRAY) \
    DESCRIBE_CONSTANT(T_HASH) \
    DESCRIBE_CONSTANT(T_STRUCT) \
    DESCRIBE_CONSTANT(T_BIGNUM) \
    DESCRIBE_CONSTANT(T_FILE) \
    DESCRIBE_CONSTANT(T_DATA) \
    DESCRIBE_CONSTANT(T_MATCH) \
    DESCRIBE_CONSTANT(T_COMPLEX) \
    DESCRIBE_CONSTANT(T_RATIONAL) \
    DESCRIBE_CONSTANT(T_NIL) \
    DESCRIBE_CONSTANT(T_TRUE) \
    DESCRIBE_CONSTANT(T_FALSE) \
    DESCRIBE_CONSTANT(T_SYMBOL) \
    DESCRIBE_CONSTANT(T_FIXNUM) \
    DESCRIBE_CONSTANT(T_UNDEF) \
    DESCRIBE_CONSTANT(T_IMEMO) \
    DESCRIBE_CONSTANT(T_NODE) \
    DESCRIBE_CONSTANT(T_ICLASS) \
    DESCRIBE_CONSTANT(T_ZOMBIE) \
    DESCRIBE_CONSTANT(T_MOVED) \
    DESCRIBE_CONSTANT(T_MASK) \
    DESCRIBE_CONSTANT(FL_USHIFT) \
    DESCRIBE_CONSTANT(FL_SINGLETON) \
    DESCRIBE_CONSTANT(Qfalse) \
    DESCRIBE_CONSTANT(Qnil) \
    DESCRIBE_CONSTANT(Qtrue) \
    DESCRIBE_CONSTANT(Qundef) \
    DESCRIBE_CONSTANT(RUBY_FIXNUM_FLAG) \
    DESCRIBE_CONSTANT(RUBY_FLONUM_FLAG) \
    DESCRIBE_CONSTANT(RUBY_FLONUM_MASK) \
    DESCRIBE_CONSTANT(RUBY_SYMBOL_FLAG) \
    DESCRIBE_CONSTANT(RUBY_SPECIAL_SHIFT) \
    DESCRIBE_CONSTANT(IMEMO_MASK) \
    DESCRIBE_CONSTANT(imemo_env) \
    DESCRIBE_CONSTANT(imemo_cref) \
    DESCRIBE_CONSTANT(imemo_svar) \
    DESCRIBE_CONSTANT(imemo_throw_data) \
    DESCRIBE_CONSTANT(imemo_ifunc) \
    DESCRIBE_CONSTANT(imemo_memo) \
    DESCRIBE_CONSTANT(imemo_ment) \
    DESCRIBE_CONSTANT(imemo_iseq) \
    DESCRIBE_CONSTANT(imemo_tmpbuf) \
    DESCRIBE_CONSTANT(imemo_ast) \
    DESCRIBE_CONSTANT(imemo_parser_strterm) \
    DESCRIBE_CONSTANT(imemo_callinfo) \
    DESCRIBE_CONSTANT(imemo_callcache) \
    DESCRIBE_CONSTANT(imemo_constcache) \
    DESCRIBE_TYPE(RString) \
    DESCRIBE_FIELD(RString, SIGNED, len) \
    DESCRIBE_FIELD(RString, POINTER, as.heap.ptr) \
    DESCRIBE_FIELD(RString, BYTES, as.embed.ary) \
    DESCRIBE_CONSTANT(RSTRING_NOEMBED) \
    DESCRIBE_TYPE(RArray) \
    DESCRIBE_FIELD(RArray, SIGNED, as.heap.len) \
    DESCRIBE_FIELD(RArray, POINTER, as.heap.ptr) \
    DESCRIBE_FIELD(RArray, BYTES, as.ary) \
    DESCRIBE_CONSTANT(RARRAY_EMBED_FLAG) \
    DESCRIBE_CONSTANT(RARRAY_EMBED_LEN_MASK) \
    DESCRIBE_CONSTANT(RARRAY_EMBED_LEN_SHIFT) \
    DESCRIBE_TYPE(RFloat) \
    DESCRIBE_FIELD(RFloat, BYTES, float_value) \
    DESCRIBE_TYPE(RHash) \
    DESCRIBE_CONSTANT(RHASH_ST_TABLE_FLAG) \
    DESCRIBE_CONSTANT(RHASH_AR_TABLE_SIZE_MASK) \
    DESCRIBE_CONSTANT(RHASH_AR_TABLE_SIZE_SHIFT) \
    DESCRIBE_TYPE(st_table) \
    DESCRIBE_FIELD(st_table, UNSIGNED, num_entries) \
    DESCRIBE_TYPE(RClass) \
    DESCRIBE_FIELD(RClass, UNSIGNED, super) \
    DESCRIBE_TYPE(RClass_and_rb_classext_t) \
    DESCRIBE_FIELD(RClass_and_rb_classext_t, BYTES, classext) \
    DESCRIBE_TYPE(rb_classext_t) \
    DESCRIBE_FIELD(rb_classext_t, UNSIGNED, classpath) \
    DESCRIBE_FIELD(rb_classext_t, UNSIGNED, includer) \
    DESCRIBE_FIELD_AS("rb_classext_t.attached_object", rb_classext_t, UNSIGNED, \
                      as.singleton_class.attached_object) \
    DESCRIBE_BITS(rb_classext_t, permanent_classpath, 1, \
                  DESCRIBE_BEHIND(rb_classext_t, variation_count), 0) \
    DESCRIBE_TYPE(RTypedData) \
    DESCRIBE_FIELD(RTypedData, POINTER, type) \
    DESCRIBE_FIELD(RTypedData, UNSIGNED, typed_flag) \
    DESCRIBE_FIELD(RTypedData, POINTER, data) \
    DESCRIBE_CONSTANT(TYPED_DATA_EMBEDDED) \
    DESCRIBE_TYPE(rb_data_type_t) \
    DESCRIBE_FIELD(rb_data_type_t, POINTER, wrap_struct_name) \
    DESCRIBE_TYPE(RSymbol) \
    DESCRIBE_FIELD(RSymbol, UNSIGNED, fstr) \
    DESCRIBE_FIELD(RSymbol, UNSIGNED, id)

#define HEAPPROF_DESCRIPTOR_SYMBOLS \
    DESCRIBE_GLOBAL(ruby_global_symbols, BYTES) \
    DESCRIBE_TYPE(rb_symbols_t) \
    DESCRIBE_FIELD(rb_symbols_t, UNSIGNED, last_id) \
    DESCRIBE_FIELD(rb_symbols_t, UNSIGNED, ids) \
    DESCRIBE_CONSTANT(tLAST_OP_ID) \
    DESCRIBE_CONSTANT(ID_SCOPE_SHIFT) \
    DESCRIBE_CONSTANT(ID_SCOPE_MASK) \
    DESCRIBE_CONSTANT(ID_LOCAL) \
    DESCRIBE_CONSTANT(ID_STATIC_SYM)

#define HEAPPROF_DESCRIPTOR_VM \
    HEAPPROF_DESCRIPTOR_CONTRACTS \
    HEAPPROF_DESCRIPTOR_THREADS \
    HEAPPROF_DESCRIPTOR_LABELS \
    HEAPPROF_DESCRIPTOR_FRAMES \
    HEAPPROF_DESCRIPTOR_GRAPH \
    HEAPPROF_DESCRIPTOR_REQUEST \
    HEAPPROF_DESCRIPTOR_CODE \
    HEAPPROF_DESCRIPTOR_JIT \
    HEAPPROF_DESCRIPTOR_OBJECTS \
    HEAPPROF_DESCRIPTOR_SYMBOLS

#define HEAPPROF_DESCRIPTOR_ISEQ \
    DESCRIBE_TYPE(succ_index_table) \
    DESCRIBE_FIELD(succ_index_table, BYTES, imm_part) \
    DESCRIBE_ENDLESS(succ_index_table, succ_part) \
    DESCRIBE_TYPE(succ_dict_block) \
    DESCRIBE_FIELD(succ_dict_block, UNSIGNED, rank) \
    DESCRIBE_FIELD(succ_dict_block, UNSIGNED, small_block_ranks) \
    DESCRIBE_FIELD(succ_dict_block, BYTES, bits) \
    DESCRIBE_CONSTANT(IMMEDIATE_TABLE_SIZE)

#define HEAPPROF_DESCRIPTOR_SYMBOL \
    DESCRIBE_CONSTANT(ID_ENTRY_UNIT) \
    DESCRIBE_CONSTANT(ID_ENTRY_STR) \
    DESCRIBE_CONSTANT(ID_ENTRY_SYM) \
    DESCRIBE_CONSTANT(ID_ENTRY_SIZE)

#define HEAPPROF_DESCRIPTOR_CONT \
    DESCRIBE_GLOBAL(fiber_data_type, BYTES) \
    DESCRIBE_TYPE(rb_fiber_t) \
    DESCRIBE_FIELD(rb_fiber_t, UNSIGNED, cont.type) \
    DESCRIBE_FIELD(rb_fiber_t, UNSIGNED, cont.self) \
    DESCRIBE_FIELD(rb_fiber_t, BYTES, cont.saved_ec) \
    DESCRIBE_FIELD(rb_fiber_t, UNSIGNED, first_proc) \
    DESCRIBE_FIELD(rb_fiber_t, POINTER, prev) \
    DESCRIBE_FIELD(rb_fiber_t, POINTER, resuming_fiber) \
    DESCRIBE_BITS(rb_fiber_t, status, 2, DESCRIBE_BEHIND(rb_fiber_t, resuming_fiber), 0) \
    DESCRIBE_BITS(rb_fiber_t, yielding, 1, DESCRIBE_BEHIND(rb_fiber_t, resuming_fiber), 2) \
    DESCRIBE_BITS(rb_fiber_t, blocking, 1, DESCRIBE_BEHIND(rb_fiber_t, resuming_fiber), 3) \
    DESCRIBE_CONSTANT(FIBER_CONTEXT) \
    DESCRIBE_CONSTANT(FIBER_CREATED) \
    DESCRIBE_CONSTANT(FIBER_RESUMED) \
    DESCRIBE_CONSTANT(FIBER_SUSPENDED) \
    DESCRIBE_CONSTANT(FIBER_TERMINATED)

#define HEAPPROF_DESCRIPTOR_THREAD \
    DESCRIBE_GLOBAL(mutex_data_type, BYTES) \
    DESCRIBE_TYPE(rb_mutex_t) \
    DESCRIBE_FIRST(rb_mutex_t, POINTER, fiber) \
    DESCRIBE_FIELD(rb_mutex_t, POINTER, next_mutex) \
    DESCRIBE_GLOBAL(timer_th.comm_fds, BYTES) \
    DESCRIBE_GLOBAL(timer_th.event_fd, SIGNED)

/* The profiler's state. The tables are as their headers say, so the sizes of their types tell
 * whether a reader was built of the same. */
#define HEAPPROF_DESCRIPTOR_PROFILER \
    DESCRIBE_GLOBAL(rb_heapprof, BYTES) \
    DESCRIBE_GLOBAL(rb_heapprof_on, UNSIGNED) \
    DESCRIBE_GLOBAL(rb_heapprof_sequence, BYTES) \
    DESCRIBE_GLOBAL(rb_heapprof_block_filter, BYTES) \
    DESCRIBE_GLOBAL(waiting, BYTES) \
    DESCRIBE_GLOBAL(waiting_count, UNSIGNED) \
    DESCRIBE_TYPE(heapprof_sequence) \
    DESCRIBE_FIELD(heapprof_sequence, UNSIGNED, tables) \
    DESCRIBE_FIELD(heapprof_sequence, UNSIGNED, blocks) \
    DESCRIBE_TYPE(heapprof) \
    DESCRIBE_FIELD_AS("heapprof.options", heapprof, BYTES, run.options) \
    DESCRIBE_FIELD(heapprof, BYTES, mem) \
    DESCRIBE_FIELD(heapprof, BYTES, tables) \
    DESCRIBE_FIELD_AS("heapprof.total_samples", heapprof, UNSIGNED, account.total_samples) \
    DESCRIBE_FIELD_AS("heapprof.dropped", heapprof, UNSIGNED, account.dropped) \
    DESCRIBE_FIELD_AS("heapprof.dropped_blocks", heapprof, UNSIGNED, account.dropped_blocks) \
    DESCRIBE_FIELD_AS("heapprof.truncated", heapprof, UNSIGNED, account.truncated) \
    DESCRIBE_FIELD_AS("heapprof.auto_interval", heapprof, UNSIGNED, run.auto_interval) \
    DESCRIBE_FIELD_AS("heapprof.doublings", heapprof, UNSIGNED, account.doublings) \
    DESCRIBE_FIELD_AS("heapprof.majors", heapprof, BYTES, account.majors) \
    DESCRIBE_FIELD_AS("heapprof.start_ns", heapprof, SIGNED, run.start_ns) \
    DESCRIBE_TYPE(rb_ractor_newobj_cache_t) \
    DESCRIBE_FIELD(rb_ractor_newobj_cache_t, BYTES, heapprof.pending) \
    DESCRIBE_TYPE(heapprof_pending) \
    DESCRIBE_FIELD(heapprof_pending, UNSIGNED, object) \
    DESCRIBE_FIELD(heapprof_pending, UNSIGNED, stack) \
    DESCRIBE_FIELD(heapprof_pending, UNSIGNED, birth_gc) \
    DESCRIBE_FIELD(heapprof_pending, UNSIGNED, size_bytes) \
    DESCRIBE_FIELD(heapprof_pending, BYTES, weight) \
    DESCRIBE_FIELD(heapprof_pending, UNSIGNED, label) \
    DESCRIBE_TYPE(heapprof_waiting) \
    DESCRIBE_FIELD(heapprof_waiting, UNSIGNED, piece) \
    DESCRIBE_FIELD(heapprof_waiting, UNSIGNED, caller) \
    DESCRIBE_STRUCT(heapprof_address_entry) \
    DESCRIBE_STRUCT(heapprof_address_table) \
    DESCRIBE_STRUCT(heapprof_blocks) \
    DESCRIBE_STRUCT(heapprof_callers) \
    DESCRIBE_STRUCT(heapprof_deaths) \
    DESCRIBE_STRUCT(heapprof_function) \
    DESCRIBE_STRUCT(heapprof_functions) \
    DESCRIBE_STRUCT(heapprof_identities) \
    DESCRIBE_STRUCT(heapprof_identity) \
    DESCRIBE_STRUCT(heapprof_index) \
    DESCRIBE_STRUCT(heapprof_live_table) \
    DESCRIBE_STRUCT(heapprof_mem) \
    DESCRIBE_STRUCT(heapprof_numbers) \
    DESCRIBE_STRUCT(heapprof_options) \
    DESCRIBE_STRUCT(heapprof_owner) \
    DESCRIBE_STRUCT(heapprof_peak) \
    DESCRIBE_STRUCT(heapprof_piece) \
    DESCRIBE_STRUCT(heapprof_reported) \
    DESCRIBE_STRUCT(heapprof_reports) \
    DESCRIBE_STRUCT(heapprof_sample) \
    DESCRIBE_STRUCT(heapprof_site) \
    DESCRIBE_STRUCT(heapprof_sites) \
    DESCRIBE_STRUCT(heapprof_stack_node) \
    DESCRIBE_STRUCT(heapprof_stacks) \
    DESCRIBE_STRUCT(heapprof_string) \
    DESCRIBE_STRUCT(heapprof_strings) \
    DESCRIBE_STRUCT(heapprof_sum) \
    DESCRIBE_STRUCT(heapprof_sums) \
    DESCRIBE_STRUCT(heapprof_tables)

#define HEAPPROF_DESCRIPTOR_GC \
    HEAPPROF_DESCRIPTOR_PROFILER \
    DESCRIBE_TYPE(rb_objspace_t) \
    DESCRIBE_BITS(rb_objspace_t, flags.mode, 2, offsetof(rb_objspace_t, flags), 0) \
    DESCRIBE_BITS(rb_objspace_t, flags.during_gc, 1, offsetof(rb_objspace_t, flags), 5) \
    DESCRIBE_BITS(rb_objspace_t, flags.during_compacting, 1, offsetof(rb_objspace_t, flags), 6) \
    DESCRIBE_BITS(rb_objspace_t, flags.during_minor_gc, 1, offsetof(rb_objspace_t, flags), 10) \
    DESCRIBE_BITS(rb_objspace_t, flags.during_incremental_marking, 1, \
                  offsetof(rb_objspace_t, flags), 11) \
    DESCRIBE_TYPE(rb_heap_t) \
    DESCRIBE_FIELD(rb_heap_t, POINTER, sweeping_page) \
    DESCRIBE_FIELD(rb_heap_t, SIGNED, slot_size) \
    DESCRIBE_FIELD(rb_heap_t, UNSIGNED, total_allocated_objects) \
    DESCRIBE_FIELD(rb_heap_t, UNSIGNED, total_freed_objects) \
    DESCRIBE_FIELD(rb_heap_t, UNSIGNED, final_slots_count) \
    DESCRIBE_BEFORE("rb_objspace_t.heaps", rb_objspace_t, rb_heap_t, HEAP_COUNT, \
                    empty_pages_count) \
    DESCRIBE_FIELD(rb_objspace_t, POINTER, heap_pages.sorted) \
    DESCRIBE_FIELD(rb_objspace_t, BYTES, heap_pages.range) \
    DESCRIBE_FIELD(rb_objspace_t, UNSIGNED, profile.count) \
    DESCRIBE_FIELD(rb_objspace_t, UNSIGNED, profile.minor_gc_count) \
    DESCRIBE_FIELD(rb_objspace_t, UNSIGNED, profile.major_gc_count) \
    DESCRIBE_FIELD(rb_objspace_t, UNSIGNED, profile.compact_count) \
    DESCRIBE_CONSTANT(gc_mode_none) \
    DESCRIBE_CONSTANT(gc_mode_marking) \
    DESCRIBE_CONSTANT(gc_mode_sweeping) \
    DESCRIBE_CONSTANT(gc_mode_compacting) \
    DESCRIBE_TYPE(rb_darray_meta_t) \
    DESCRIBE_FIELD(rb_darray_meta_t, UNSIGNED, size) \
    DESCRIBE_TYPE(heap_page) \
    DESCRIBE_FIELD(heap_page, UNSIGNED, slot_size) \
    DESCRIBE_FIELD(heap_page, UNSIGNED, total_slots) \
    DESCRIBE_BITS(heap_page, flags.before_sweep, 1, offsetof(heap_page, flags), 0) \
    DESCRIBE_FIELD(heap_page, POINTER, heap) \
    DESCRIBE_FIELD(heap_page, POINTER, body) \
    DESCRIBE_FIELD(heap_page, UNSIGNED, start) \
    DESCRIBE_FIELD(heap_page, POINTER, freelist) \
    DESCRIBE_FIELD(heap_page, BYTES, mark_bits) \
    DESCRIBE_FIELD(heap_page, BYTES, heapprof) \
    DESCRIBE_CONSTANT(HEAP_PAGE_SIZE) \
    DESCRIBE_CONSTANT(BASE_SLOT_SIZE) \
    DESCRIBE_CONSTANT(BITS_BITLENGTH) \
    DESCRIBE_TYPE(RMoved) \
    DESCRIBE_FIELD(RMoved, UNSIGNED, destination)

#endif
