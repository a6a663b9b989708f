/* known.c - the functions of Ruby and C that matter here, by name.
 *
 * A function of Ruby's that is not named here may start a GC, as most do. A function that
 * only raises, for a wrong argument, is taken to start none: the object is not used after that.
 * A library's function starts none, unless it is given a function to call.
 */
#include "barriers/known.h"

#include <string.h>

static const struct wb_known others = {"", WB_NOTHING, false};
static const struct wb_known of_ruby = {"", WB_NOTHING, true};
static const struct wb_known quiet = {"", WB_NOTHING, false};

static const struct wb_known table[] = {
    {"RB_CHR2FIX", WB_RETURN_IMMEDIATE, false},
    {"RB_INT2FIX", WB_RETURN_IMMEDIATE, false},
    {"RTYPEDDATA_DATA", WB_DATA_OF, false},
    {"RTYPEDDATA_GET_DATA", WB_DATA_OF, false},
    {"__builtin___memcpy_chk", WB_COPY, false},
    {"__builtin___memmove_chk", WB_COPY, false},
    {"__builtin_expect", WB_RETURN_FIRST, false},
    {"__builtin_memcpy", WB_COPY, false},
    {"__builtin_memmove", WB_COPY, false},
    {"calloc", WB_MEMORY, false},
    {"malloc", WB_MEMORY, false},
    {"memcpy", WB_COPY, false},
    {"memmove", WB_COPY, false},
    {"mempcpy", WB_COPY, false},
    {"operator new", WB_MEMORY, false},
    {"qsort", WB_NOTHING, true},
    {"qsort_r", WB_NOTHING, true},
    {"rb_ary_entry", WB_ENTRY, false},
    {"rb_ary_freeze", WB_RETURN_FIRST, false},
    {"rb_ary_includes", WB_RETURN_IMMEDIATE, true},
    {"rb_big_eql", WB_RETURN_IMMEDIATE, false},
    {"rb_check_typeddata", WB_CHECKED_DATA, false},
    {"rb_class_inherited_p", WB_RETURN_IMMEDIATE, false},
    {"rb_class_of", WB_CLASS_OF, false},
    {"rb_class_real", WB_RETURN_FIRST, false},
    {"rb_cvar_defined", WB_RETURN_IMMEDIATE, false},
    {"rb_data_object_get", WB_DATA_OF, false},
    {"rb_data_object_wrap", WB_WRAP, true},
    {"rb_data_object_wrap_warning", WB_WRAP, true},
    {"rb_data_object_zalloc", WB_ALLOCATE, true},
    {"rb_data_typed_object_alloc", WB_WRAP, true},
    {"rb_data_typed_object_make", WB_MAKE, true},
    {"rb_data_typed_object_wrap", WB_WRAP, true},
    {"rb_data_typed_object_zalloc", WB_ALLOCATE, true},
    {"rb_equal", WB_RETURN_IMMEDIATE, true},
    {"rb_fiber_alive_p", WB_RETURN_IMMEDIATE, false},
    {"rb_gc_location", WB_RETURN_FIRST, false},
    {"rb_gc_mark", WB_MARK, false},
    {"rb_gc_mark_locations", WB_MARK_ARRAY, false},
    {"rb_gc_mark_maybe", WB_MARK, false},
    {"rb_gc_mark_movable", WB_MARK_MOVABLE, false},
    {"rb_gc_register_address", WB_NOTHING, true},
    {"rb_gc_writebarrier", WB_REMEMBER, false},
    {"rb_gc_writebarrier_unprotect", WB_UNPROTECT, false},
    {"rb_global_variable", WB_NOTHING, true},
    {"rb_hash_has_key", WB_RETURN_IMMEDIATE, true},
    {"rb_hash_size", WB_RETURN_IMMEDIATE, false},
    {"rb_id2sym", WB_RETURN_IMMEDIATE, false}, /* the symbol of an ID is never freed */
    {"rb_int2num_inline", WB_RETURN_IMMEDIATE, false}, /* a long is longer than an int */
    {"rb_io_taint_check", WB_RETURN_FIRST, false},
    {"rb_ivar_defined", WB_RETURN_IMMEDIATE, false},
    {"rb_mark_hash", WB_MARK, false},
    {"rb_mark_set", WB_MARK, false},
    {"rb_mark_tbl", WB_MARK, false},
    {"rb_mark_tbl_no_pin", WB_MARK_MOVABLE, false},
    {"rb_memory_view_get_item", WB_NOTHING, true},
    {"rb_memory_view_get_item_pointer", WB_NOTHING, true},
    {"rb_memory_view_prepare_item_desc", WB_NOTHING, true},
    {"rb_memory_view_release", WB_NOTHING, true},
    {"rb_mod_include_p", WB_RETURN_IMMEDIATE, false},
    {"rb_mutex_locked_p", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_class", WB_CLASS_OF, false},
    {"rb_obj_frozen_p", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_is_fiber", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_is_instance_of", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_is_kind_of", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_is_method", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_is_proc", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_wb_unprotect", WB_UNPROTECT, false},
    {"rb_obj_write", WB_WRITE, false},
    {"rb_obj_written", WB_WRITTEN, false},
    {"rb_proc_lambda_p", WB_RETURN_IMMEDIATE, false},
    {"rb_profile_frames", WB_OUT, false},
    {"rb_ractor_local_storage_value_lookup", WB_OUT, false},
    {"rb_st_add_direct", WB_INSERT, true},
    {"rb_st_delete", WB_OUT, false},
    {"rb_st_get_key", WB_OUT, false},
    {"rb_st_init_numtable", WB_MEMORY, true},
    {"rb_st_init_numtable_with_size", WB_MEMORY, true},
    {"rb_st_init_strcasetable", WB_MEMORY, true},
    {"rb_st_init_strcasetable_with_size", WB_MEMORY, true},
    {"rb_st_init_strtable", WB_MEMORY, true},
    {"rb_st_init_strtable_with_size", WB_MEMORY, true},
    {"rb_st_init_table", WB_MEMORY, true},
    {"rb_st_init_table_with_size", WB_MEMORY, true},
    {"rb_st_insert", WB_INSERT, true},
    {"rb_st_insert2", WB_INSERT, true},
    {"rb_st_keys", WB_OUT, false},
    {"rb_st_lookup", WB_OUT, false},
    {"rb_st_update", WB_INSERT, true},
    {"rb_st_values", WB_OUT, false},
    {"rb_str_equal", WB_RETURN_IMMEDIATE, true},
    {"rb_str_length", WB_RETURN_IMMEDIATE, false},
    {"rb_struct_size", WB_RETURN_IMMEDIATE, false},
    {"rb_uint2num_inline", WB_RETURN_IMMEDIATE, false}, /* a long is longer than an int */
    {"rbimpl_atomic_value_cas", WB_STORE_LAST, false},
    {"rbimpl_atomic_value_exchange", WB_STORE_LAST, false},
    {"realloc", WB_REALLOCATE, false},
    {"reallocarray", WB_REALLOCATE, false},
    {"ruby_nonempty_memcpy", WB_COPY, false},
    {"ruby_qsort", WB_NOTHING, true},
    {"ruby_xcalloc", WB_MEMORY, true},
    {"ruby_xmalloc", WB_MEMORY, true},
    {"ruby_xmalloc2", WB_MEMORY, true},
    {"ruby_xrealloc", WB_REALLOCATE, true},
    {"ruby_xrealloc2", WB_REALLOCATE, true},
};

/* Functions that store no VALUE of the extension, and start no GC. Those of Ruby (3.0 to 3.4)
 * neither allocate nor run code of Ruby, except where they raise. Nor do they wait for the lock
 * that all Ractors share, as rb_ivar_get does: another Ractor may collect meanwhile. */
static const char *const quiet_names[] = {
    "RARRAY_LEN", "RB_FIX2INT", "RREGEXP_SRC_END", "RREGEXP_SRC_PTR", "RSTRING_END", "RSTRING_PTR",
    "RSTRUCT_LEN", "RTYPEDDATA_EMBEDDED_P", "__builtin___memset_chk", "__builtin_memset", "bzero",
    "memset", "onigenc_mbclen_approximate", "rb_array_len", "rb_array_ptr_use_end",
    "rb_array_ptr_use_start", "rb_ary_ptr_use_end", "rb_ary_ptr_use_start", "rb_ary_shared_with_p",
    "rb_ascii8bit_encindex", "rb_ascii8bit_encoding", "rb_backref_get", "rb_big_sign",
    "rb_bigzero_p", "rb_block_given_p", "rb_bug", "rb_check_arity", "rb_check_frozen",
    "rb_check_frozen_inline", "rb_check_type", "rb_class_get_superclass", "rb_class_superclass",
    "rb_complex_imag", "rb_complex_real", "rb_current_receiver", "rb_dbl_cmp",
    "rb_default_external_encoding", "rb_default_internal_encoding", "rb_during_gc", "rb_enc_ascget",
    "rb_enc_capable", "rb_enc_check", "rb_enc_codelen", "rb_enc_codepoint_len", "rb_enc_compatible",
    "rb_enc_copy", "rb_enc_default_external", "rb_enc_default_internal", "rb_enc_dummy_p",
    "rb_enc_fast_mbclen", "rb_enc_from_encoding", "rb_enc_from_index", "rb_enc_get",
    "rb_enc_get_index", "rb_enc_mbclen", "rb_enc_nth", "rb_enc_precise_mbclen",
    "rb_enc_str_asciicompat_p", "rb_enc_str_asciionly_p", "rb_enc_str_coderange", "rb_enc_strlen",
    "rb_enc_to_index", "rb_enc_tolower", "rb_enc_toupper", "rb_enc_unicode_p", "rb_errinfo",
    "rb_errno", "rb_errno_set", "rb_error_frozen_object", "rb_ext_ractor_safe",
    "rb_fiber_scheduler_current", "rb_fiber_scheduler_get", "rb_fix2int", "rb_float_value",
    "rb_frame_callee", "rb_frame_this_func", "rb_free_tmp_buffer", "rb_gc_count", "rb_gc_enable",
    "rb_gc_guarded_ptr_val", "rb_gc_guarded_val", "rb_gc_unregister_address", "rb_hash_size_num",
    "rb_hash_start", "rb_integer_type_p", "rb_internal_thread_specific_get",
    "rb_internal_thread_specific_set", "rb_io_check_closed", "rb_io_check_initialized",
    "rb_is_class_id", "rb_is_const_id", "rb_is_instance_id", "rb_is_local_id", "rb_keyword_given_p",
    "rb_last_status_get", "rb_lastline_get", "rb_mem_clear", "rb_memcicmp", "rb_memhash",
    "rb_memsearch", "rb_native_cond_broadcast", "rb_native_cond_destroy",
    "rb_native_cond_initialize", "rb_native_cond_signal", "rb_native_cond_timedwait",
    "rb_native_cond_wait", "rb_native_mutex_destroy", "rb_native_mutex_initialize",
    "rb_native_mutex_lock", "rb_native_mutex_trylock", "rb_native_mutex_unlock",
    "rb_nativethread_lock_destroy", "rb_nativethread_lock_initialize", "rb_nativethread_lock_lock",
    "rb_nativethread_lock_unlock", "rb_nativethread_self", "rb_obj_freeze_inline", "rb_obj_hide",
    "rb_obj_reveal", "rb_out_of_int", "rb_postponed_job_preregister", "rb_postponed_job_trigger",
    "rb_proc_arity", "rb_ractor_local_storage_ptr", "rb_ractor_local_storage_value",
    "rb_rational_den", "rb_rational_num", "rb_reg_nth_defined", "rb_reg_options", "rb_set_errinfo",
    "rb_sourcefile", "rb_sourceline", "rb_st_clear", "rb_st_free_table", "rb_st_hash_end",
    "rb_st_hash_start", "rb_st_hash_uint", "rb_st_hash_uint32",
    "rb_st_locale_insensitive_strcasecmp", "rb_st_locale_insensitive_strncasecmp", "rb_st_memsize",
    "rb_st_numcmp", "rb_st_numhash", "rb_str_capacity", "rb_str_cmp", "rb_str_hash",
    "rb_str_hash_cmp", "rb_str_locktmp", "rb_str_offset", "rb_str_set_len", "rb_str_strlen",
    "rb_str_sublen", "rb_str_unlocktmp", "rb_thread_alone", "rb_thread_current",
    "rb_thread_local_aref", "rb_thread_main", "rb_tracearg_defined_class", "rb_tracearg_event_flag",
    "rb_tracearg_from_tracepoint", "rb_tracearg_object", "rb_tracearg_raised_exception",
    "rb_tracearg_return_value", "rb_tracearg_self", "rb_tracepoint_enabled_p", "rb_type",
    "rb_typeddata_inherited_p", "rb_typeddata_is_kind_of", "rb_unexpected_type",
    "rb_usascii_encindex", "rb_usascii_encoding", "rb_utf8_encindex", "rb_utf8_encoding",
    "rb_uv_to_utf8", "rb_warning_category_enabled_p", "ruby_native_thread_p", "ruby_scan_hex",
    "ruby_scan_oct", "ruby_snprintf", "ruby_stack_check", "ruby_strtoul", "ruby_vsnprintf",
    "ruby_xfree",
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const struct wb_callback callbacks[] = {
    {"rb_block_call", 4, 5, 1, false},
    {"rb_block_call_kw", 4, 5, 1, false},
    {"rb_catch", 1, 2, 1, false},
    {"rb_catch_obj", 1, 2, 1, false},
    {"rb_ensure", 0, 1, 0, true},
    {"rb_ensure", 2, 3, 0, false},
    {"rb_hash_foreach", 1, 2, 2, false},
    {"rb_ivar_foreach", 1, 2, 2, false},
    {"rb_mutex_synchronize", 1, 2, 0, true},
    {"rb_nogvl", 0, 1, 0, true},
    {"rb_nogvl", 2, 3, 0, false},
    {"rb_protect", 0, 1, 0, true},
    {"rb_rescue", 0, 1, 0, false},
    {"rb_rescue", 2, 3, 0, false},
    {"rb_rescue2", 0, 1, 0, false},
    {"rb_rescue2", 2, 3, 0, false},
    {"rb_st_foreach", 1, 2, 2, false},
    {"rb_st_foreach_check", 1, 2, 2, false},
    {"rb_st_foreach_safe", 1, 2, 2, false},
    {"rb_st_update", 2, 3, 2, false},
    {"rb_thread_call_with_gvl", 0, 1, 0, true},
    {"rb_thread_call_without_gvl", 0, 1, 0, true},
    {"rb_thread_call_without_gvl", 2, 3, 0, false},
    {"rb_thread_call_without_gvl2", 0, 1, 0, true},
    {"rb_thread_call_without_gvl2", 2, 3, 0, false},
};

const struct wb_callback *
wb_callback_of(const struct wb_function *function, unsigned argument)
{
    for (size_t i = 0; i < COUNT(callbacks); i++) {
        if (callbacks[i].function == argument && !strcmp(callbacks[i].name, function->name)) {
            return &callbacks[i];
        }
    }
    return NULL;
}

/* The names of Ruby's functions begin like this. A function of the extension with such a name
 * has a body, and is not looked up here. */
static bool
named_as_rubys_p(const char *name)
{
    static const char *const starts[] = {"rb_", "ruby_", "st_", "onig", "Check_"};

    for (size_t i = 0; i < COUNT(starts); i++) {
        if (!strncmp(name, starts[i], strlen(starts[i]))) return true;
    }
    return false;
}

/* A function that is built into the compiler is declared at its first use, which may be in a
 * header of Ruby's. */
static bool
rubys_p(const struct wb_function *function)
{
    if (!strncmp(function->name, "__builtin_", strlen("__builtin_"))) return false;
    return function->of_ruby || named_as_rubys_p(function->name);
}

const struct wb_known *
wb_known_of(struct wb_function *function)
{
    if (function->known) return function->known;
    function->known = rubys_p(function) ? &of_ruby : &others;
    if (WB_ONE_OF_P(function, quiet_names)) function->known = &quiet;
    for (size_t i = 0; i < COUNT(table); i++) {
        if (!strcmp(table[i].name, function->name)) function->known = &table[i];
    }
    return function->known;
}

bool
wb_known_p(struct wb_function *function)
{
    const struct wb_known *known = wb_known_of(function);

    return known != &others && known != &of_ruby;
}

bool
wb_one_of_p(const struct wb_function *function, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(function->name, names[i])) return true;
    }
    return false;
}
