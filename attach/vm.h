#ifndef ATTACH_VM_H
#define ATTACH_VM_H
/* The shopping list for a Ruby VM in another process or a core: all that leads to its stacks and
 * names.
 *
 * Each row names a member of struct attach_vm, and its name in the target's descriptor. If the
 * descriptor lacks one, or follows another contract, the target is refused when it is opened. So no
 * target is read by half. */
#include "attach/layout.h"
#include "attach/target.h"

#define ATTACH_VM_CONTRACTS(X) \
    X(stack_contract, "stack", 1) \
    X(line_contract, "line-table", 1) \
    X(symbol_contract, "symbols", 1) \
    X(jit_contract, "jit-code", 1) \
    X(locals_contract, "locals", 1)

#define ATTACH_VM_TYPES(X) \
    X(thread_bytes, "rb_thread_t") \
    X(ractor_bytes, "rb_ractor_t") \
    X(ec_bytes, "rb_execution_context_t") \
    X(frame_bytes, "rb_control_frame_t") \
    X(body_bytes, "rb_iseq_constant_body") \
    X(hash_bytes, "RHash") \
    X(line_bytes, "iseq_insn_info_entry") \
    X(line_index_bytes, "succ_index_table") \
    X(line_block_bytes, "succ_dict_block") \
    X(jit_bytes, "heapprof_jit_code") \
    X(jit_mark_bytes, "heapprof_jit_mark")

#define ATTACH_VM_NUMBERS(X) \
    X(vm_objspace, "rb_vm_t.gc.objspace") \
    X(vm_main_thread, "rb_vm_t.ractor.main_thread") \
    X(collecting, "rb_objspace_t.flags.during_gc") \
    X(compacting, "rb_objspace_t.flags.during_compacting") \
    X(compactions, "rb_objspace_t.profile.compact_count") \
    X(ractor_id, "rb_ractor_t.pub.id") \
    X(ractor_name, "rb_ractor_t.name") \
    X(ractor_running, "rb_ractor_t.threads.sched.running") \
    X(ractor_count, "rb_ractor_t.threads.cnt") \
    X(ractor_blocking, "rb_ractor_t.threads.blocking_cnt") \
    X(ractor_ready, "rb_ractor_t.threads.sched.readyq_cnt") \
    X(ractor_cache, "rb_ractor_t.newobj_cache") \
    X(thread_ec, "rb_thread_t.ec") \
    X(thread_native, "rb_thread_t.nt") \
    X(thread_serial, "rb_thread_t.serial") \
    X(thread_status, "rb_thread_t.status") \
    X(thread_blocking, "rb_thread_t.blocking_region_buffer") \
    X(thread_mutex, "rb_thread_t.locking_mutex") \
    X(thread_name, "rb_thread_t.name") \
    X(native_tid, "rb_native_thread.tid") \
    X(native_dedicated, "rb_native_thread.dedicated") \
    X(ec_stack, "rb_execution_context_t.vm_stack") \
    X(ec_stack_size, "rb_execution_context_t.vm_stack_size") \
    X(ec_frame, "rb_execution_context_t.cfp") \
    X(ec_tag, "rb_execution_context_t.tag") \
    X(frame_pc, "rb_control_frame_t.pc") \
    X(frame_sp, "rb_control_frame_t.sp") \
    X(frame_iseq, "rb_control_frame_t.iseq") \
    X(frame_ep, "rb_control_frame_t.ep") \
    X(frame_jit, "rb_control_frame_t.jit_return") \
    X(ec_stack_start, "rb_execution_context_t.machine.stack_start") \
    X(env_ep, "rb_env_t.ep") \
    X(svar_method, "vm_svar.cref_or_me") \
    X(method_definition, "rb_callable_method_entry_t.def") \
    X(method_owner, "rb_callable_method_entry_t.owner") \
    X(definition_id, "rb_method_definition_t.original_id") \
    X(iseq_body, "rb_iseq_t.body") \
    X(body_kind, "rb_iseq_constant_body.type") \
    X(body_size, "rb_iseq_constant_body.iseq_size") \
    X(body_encoded, "rb_iseq_constant_body.iseq_encoded") \
    X(body_parent, "rb_iseq_constant_body.parent_iseq") \
    X(body_local, "rb_iseq_constant_body.local_iseq") \
    X(body_label, "rb_iseq_constant_body.location.label") \
    X(body_path, "rb_iseq_constant_body.location.pathobj") \
    X(body_first_line, "rb_iseq_constant_body.location.first_lineno") \
    X(body_local_names, "rb_iseq_constant_body.local_table") \
    X(body_local_count, "rb_iseq_constant_body.local_table_size") \
    X(lines, "iseq_insn_info.body") \
    X(line_count, "iseq_insn_info.size") \
    X(line_index, "iseq_insn_info.succ_index_table") \
    X(line_number, "iseq_insn_info_entry.line_no") \
    X(block_rank, "succ_dict_block.rank") \
    X(block_ranks, "succ_dict_block.small_block_ranks") \
    X(jit_begin, "heapprof_jit_code.code") \
    X(jit_code_bytes, "heapprof_jit_code.code_bytes") \
    X(jit_marks, "heapprof_jit_code.marks") \
    X(jit_mark_count, "heapprof_jit_code.mark_count") \
    X(jit_mark_code, "heapprof_jit_mark.code") \
    X(jit_mark_pc, "heapprof_jit_mark.pc") \
    X(basic_flags, "RBasic.flags") \
    X(basic_class, "RBasic.klass") \
    X(moved_to, "RMoved.destination") \
    X(string_length, "RString.len") \
    X(string_heap, "RString.as.heap.ptr") \
    X(array_length, "RArray.as.heap.len") \
    X(array_heap, "RArray.as.heap.ptr") \
    X(hash_table_entries, "st_table.num_entries") \
    X(symbol_string, "RSymbol.fstr") \
    X(class_super, "RClass.super") \
    X(class_path, "rb_classext_t.classpath") \
    X(class_path_permanent, "rb_classext_t.permanent_classpath") \
    X(class_attached, "rb_classext_t.attached_object") \
    X(symbols_last, "rb_symbols_t.last_id") \
    X(symbols_ids, "rb_symbols_t.ids")

/* Numbers that may be missing: they are 0 then (label_sets.h). */
#define ATTACH_VM_OPTIONAL(X) \
    X(ec_label, "rb_execution_context_t.heapprof_label") \
    X(ec_late, "rb_execution_context_t.heapprof_late")

/* Heads and nodes of lists: next, and previous. */
#define ATTACH_VM_LISTS(X) \
    X(vm_ractors, "rb_vm_t.ractor.set") \
    X(ractor_node, "rb_ractor_t.vmlr_node") \
    X(ractor_threads, "rb_ractor_t.threads.set") \
    X(thread_node, "rb_thread_t.lt_node")

#define ATTACH_VM_PLACES(X) \
    X(body_lines, "rb_iseq_constant_body.insns_info") \
    X(line_first_ranks, "succ_index_table.imm_part") \
    X(block_bits, "succ_dict_block.bits") \
    X(string_embedded, "RString.as.embed.ary") \
    X(array_embedded, "RArray.as.ary") \
    X(class_ext, "RClass_and_rb_classext_t.classext") \
    X(float_value, "RFloat.float_value")

#define ATTACH_VM_GLOBALS(X) \
    X(current_vm, "ruby_current_vm_ptr") \
    X(symbols, "ruby_global_symbols") \
    X(code_generation, "ruby_vm_code_generation") \
    X(jit_code, "rb_heapprof_jit_code")

#define ATTACH_VM_CONSTANTS(X) \
    X(type_mask, "T_MASK") \
    X(t_class, "T_CLASS") \
    X(t_module, "T_MODULE") \
    X(t_iclass, "T_ICLASS") \
    X(t_string, "T_STRING") \
    X(t_array, "T_ARRAY") \
    X(t_hash, "T_HASH") \
    X(t_float, "T_FLOAT") \
    X(t_symbol, "T_SYMBOL") \
    X(t_imemo, "T_IMEMO") \
    X(t_moved, "T_MOVED") \
    X(singleton_flag, "FL_SINGLETON") \
    X(string_heap_flag, "RSTRING_NOEMBED") \
    X(array_embed_flag, "RARRAY_EMBED_FLAG") \
    X(array_embed_mask, "RARRAY_EMBED_LEN_MASK") \
    X(array_embed_shift, "RARRAY_EMBED_LEN_SHIFT") \
    X(hash_table_flag, "RHASH_ST_TABLE_FLAG") \
    X(hash_size_mask, "RHASH_AR_TABLE_SIZE_MASK") \
    X(hash_size_shift, "RHASH_AR_TABLE_SIZE_SHIFT") \
    X(q_nil, "Qnil") \
    X(q_true, "Qtrue") \
    X(q_false, "Qfalse") \
    X(q_undef, "Qundef") \
    X(fixnum_flag, "RUBY_FIXNUM_FLAG") \
    X(flonum_flag, "RUBY_FLONUM_FLAG") \
    X(flonum_mask, "RUBY_FLONUM_MASK") \
    X(symbol_flag, "RUBY_SYMBOL_FLAG") \
    X(special_shift, "RUBY_SPECIAL_SHIFT") \
    X(imemo_shift, "FL_USHIFT") \
    X(imemo_mask, "IMEMO_MASK") \
    X(imemo_svar, "imemo_svar") \
    X(imemo_method, "imemo_ment") \
    X(env_local_flag, "VM_ENV_FLAG_LOCAL") \
    X(frame_mask, "VM_FRAME_MAGIC_MASK") \
    X(frame_cfunc, "VM_FRAME_MAGIC_CFUNC") \
    X(frame_ifunc, "VM_FRAME_MAGIC_IFUNC") \
    X(frame_dummy, "VM_FRAME_MAGIC_DUMMY") \
    X(frame_finish, "VM_FRAME_FLAG_FINISH") \
    X(env_words, "VM_ENV_DATA_SIZE") \
    X(iseq_main, "ISEQ_TYPE_MAIN") \
    X(iseq_top, "ISEQ_TYPE_TOP") \
    X(iseq_method, "ISEQ_TYPE_METHOD") \
    X(iseq_block, "ISEQ_TYPE_BLOCK") \
    X(iseq_plain, "ISEQ_TYPE_PLAIN") \
    X(iseq_rescue, "ISEQ_TYPE_RESCUE") \
    X(iseq_ensure, "ISEQ_TYPE_ENSURE") \
    X(iseq_eval, "ISEQ_TYPE_EVAL") \
    X(path_index, "PATHOBJ_PATH") \
    X(real_path_index, "PATHOBJ_REALPATH") \
    X(status_stopped, "THREAD_STOPPED") \
    X(status_forever, "THREAD_STOPPED_FOREVER") \
    X(status_killed, "THREAD_KILLED") \
    X(line_first_count, "IMMEDIATE_TABLE_SIZE") \
    X(symbol_unit, "ID_ENTRY_UNIT") \
    X(symbol_entry_size, "ID_ENTRY_SIZE") \
    X(symbol_scope_shift, "ID_SCOPE_SHIFT") \
    X(symbol_scope_mask, "ID_SCOPE_MASK") \
    X(symbol_local, "ID_LOCAL") \
    X(symbol_last_operator, "tLAST_OP_ID") \
    X(jit_returned, "HEAPPROF_JIT_RETURNED") \
    X(jit_chunk_bytes, "HEAPPROF_JIT_CHUNK_BYTES")

/* In words; may be below 0. */
#define ATTACH_VM_INDEXES(X) \
    X(env_flags_index, "VM_ENV_DATA_INDEX_FLAGS") \
    X(env_previous_index, "VM_ENV_DATA_INDEX_SPECVAL") \
    X(env_method_index, "VM_ENV_DATA_INDEX_ME_CREF")

struct attach_vm {
    struct attach_target *target;
    struct attach_layout *layout;
    uint64_t at;        /* address of the VM, when it was last looked for; 0: there was none */
    uint64_t objspace;  /* address of its collector's state; 0 until it exists */
    int64_t env_first;  /* the smallest of the indexes below */
#define MEMBER(member, ...) int64_t member;
    ATTACH_VM_CONTRACTS(MEMBER)
    ATTACH_VM_INDEXES(MEMBER)
#undef MEMBER
#define MEMBER(member, name) uint64_t member;
    ATTACH_VM_CONSTANTS(MEMBER)
#undef MEMBER
#define MEMBER(member, name) uint32_t member;
    ATTACH_VM_TYPES(MEMBER)
#undef MEMBER
#define MEMBER(member, name) struct attach_field member;
    ATTACH_VM_NUMBERS(MEMBER)
    ATTACH_VM_OPTIONAL(MEMBER)
    ATTACH_VM_LISTS(MEMBER)
    ATTACH_VM_PLACES(MEMBER)
#undef MEMBER
#define MEMBER(member, name) struct attach_global member;
    ATTACH_VM_GLOBALS(MEMBER)
#undef MEMBER
};

enum {
    ATTACH_WORD = 8,                /* bytes of a VALUE: layout.c refuses other targets */
    ATTACH_VM_ENVIRONMENT_WORDS = 3 /* from env_first on */
};

/* Reads where everything is. The caller keeps the target, which has to outlive the VM. Returns NULL
 * on failure; error says what is missing. */
struct attach_vm *attach_vm_open(struct attach_target *target, char error[ATTACH_TARGET_ERROR_MAX]);
void attach_vm_close(struct attach_vm *vm); /* NULL is allowed */

/* Looks where the VM is, and sets at. Returns false if there is no VM, because it has not started
 * or has ended. */
bool attach_vm_find(struct attach_vm *vm);

/* Two numbers that stay the same as long as no code is freed or moved. The function returns false
 * if they cannot be read. */
struct attach_vm_generation {
    uint64_t freed, moved; /* moved is odd while it goes on */
};
bool attach_vm_generation(struct attach_vm *vm, struct attach_vm_generation *generation);

/* The address of the collector's state, which does not change once it exists; 0: there is none
 * yet. */
uint64_t attach_vm_objspace(struct attach_vm *vm);

/* Reads a field of the structure at that address. */
static inline bool
attach_vm_get(struct attach_vm *vm, uint64_t address, const struct attach_field *field,
              uint64_t *value)
{
    return attach_field_read(vm->target, field, address, value);
}

/* Reads a word of the target's memory. */
static inline bool
attach_vm_word(struct attach_vm *vm, uint64_t address, uint64_t *word)
{
    return attach_target_read(vm->target, address, word, ATTACH_WORD);
}

#endif
