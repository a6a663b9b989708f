/* known.c - the functions of Ruby and C that matter here, in one table.
 *
 * A function of Ruby's that is not in the table may start a GC, as most do. A function that
 * only raises, for a wrong argument, is taken to start none: the object is not used after that.
 * A library's function starts none, unless it is given a function to call.
 */
#include "barriers/known.h"

#include <string.h>

static const struct wb_known others = {"", WB_NOTHING, false};
static const struct wb_known of_ruby = {"", WB_NOTHING, true};

static const struct wb_known table[] = {
    {"RARRAY_LEN", WB_NOTHING, false},
    {"RB_CHR2FIX", WB_RETURN_IMMEDIATE, false},
    {"RB_INT2FIX", WB_RETURN_IMMEDIATE, false},
    {"RTYPEDDATA_DATA", WB_DATA_OF, false},
    {"RTYPEDDATA_EMBEDDED_P", WB_NOTHING, false},
    {"RTYPEDDATA_GET_DATA", WB_DATA_OF, false},
    {"__builtin___memcpy_chk", WB_COPY, false},
    {"__builtin___memmove_chk", WB_COPY, false},
    {"__builtin___memset_chk", WB_NOTHING, false},
    {"__builtin_expect", WB_RETURN_FIRST, false},
    {"__builtin_memcpy", WB_COPY, false},
    {"__builtin_memmove", WB_COPY, false},
    {"__builtin_memset", WB_NOTHING, false},
    {"bzero", WB_NOTHING, false},
    {"calloc", WB_MEMORY, false},
    {"malloc", WB_MEMORY, false},
    {"memcpy", WB_COPY, false},
    {"memmove", WB_COPY, false},
    {"mempcpy", WB_COPY, false},
    {"memset", WB_NOTHING, false},
    {"onigenc_mbclen_approximate", WB_NOTHING, false},
    {"operator new", WB_MEMORY, false},
    {"qsort", WB_NOTHING, true},
    {"qsort_r", WB_NOTHING, true},
    {"rb_array_len", WB_NOTHING, false},
    {"rb_array_ptr_use_end", WB_NOTHING, false},
    {"rb_array_ptr_use_start", WB_NOTHING, false},
    {"rb_ary_entry", WB_NOTHING, false},
    {"rb_ary_freeze", WB_RETURN_FIRST, false},
    {"rb_ary_includes", WB_RETURN_IMMEDIATE, true},
    {"rb_block_given_p", WB_NOTHING, false},
    {"rb_bug", WB_NOTHING, false},
    {"rb_check_arity", WB_NOTHING, false},
    {"rb_check_frozen", WB_NOTHING, false},
    {"rb_check_frozen_inline", WB_NOTHING, false},
    {"rb_check_type", WB_NOTHING, false},
    {"rb_check_typeddata", WB_CHECKED_DATA, false},
    {"rb_class_inherited_p", WB_RETURN_IMMEDIATE, false},
    {"rb_class_of", WB_NOTHING, false},
    {"rb_cvar_defined", WB_RETURN_IMMEDIATE, false},
    {"rb_data_object_get", WB_DATA_OF, false},
    {"rb_data_object_wrap", WB_WRAP, true},
    {"rb_data_object_wrap_warning", WB_WRAP, true},
    {"rb_data_object_zalloc", WB_ALLOCATE, true},
    {"rb_data_typed_object_alloc", WB_WRAP, true},
    {"rb_data_typed_object_make", WB_MAKE, true},
    {"rb_data_typed_object_wrap", WB_WRAP, true},
    {"rb_data_typed_object_zalloc", WB_ALLOCATE, true},
    {"rb_enc_capable", WB_NOTHING, false},
    {"rb_enc_copy", WB_NOTHING, false},
    {"rb_enc_get", WB_NOTHING, false},
    {"rb_enc_get_index", WB_NOTHING, false},
    {"rb_enc_str_asciicompat_p", WB_NOTHING, false},
    {"rb_equal", WB_RETURN_IMMEDIATE, true},
    {"rb_error_frozen_object", WB_NOTHING, false},
    {"rb_fiber_alive_p", WB_RETURN_IMMEDIATE, false},
    {"rb_float_value", WB_NOTHING, false},
    {"rb_free_tmp_buffer", WB_NOTHING, false},
    {"rb_gc_guarded_ptr_val", WB_NOTHING, false},
    {"rb_gc_location", WB_RETURN_FIRST, false},
    {"rb_gc_mark", WB_MARK, false},
    {"rb_gc_mark_locations", WB_MARK_ARRAY, false},
    {"rb_gc_mark_maybe", WB_MARK, false},
    {"rb_gc_mark_movable", WB_MARK_MOVABLE, false},
    {"rb_gc_register_address", WB_NOTHING, false},
    {"rb_gc_unregister_address", WB_NOTHING, false},
    {"rb_gc_writebarrier", WB_REMEMBER, false},
    {"rb_gc_writebarrier_unprotect", WB_UNPROTECT, false},
    {"rb_global_variable", WB_NOTHING, false},
    {"rb_hash_has_key", WB_RETURN_IMMEDIATE, true},
    {"rb_hash_size", WB_RETURN_IMMEDIATE, false},
    {"rb_int2num_inline", WB_RETURN_IMMEDIATE, false}, /* a long is longer than an int */
    {"rb_integer_type_p", WB_NOTHING, false},
    {"rb_id2sym", WB_RETURN_IMMEDIATE, true}, /* the symbol of an ID is never freed */
    {"rb_io_taint_check", WB_RETURN_FIRST, false},
    {"rb_is_const_id", WB_NOTHING, false},
    {"rb_ivar_defined", WB_RETURN_IMMEDIATE, false},
    {"rb_keyword_given_p", WB_NOTHING, false},
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
    {"rb_obj_class", WB_NOTHING, false},
    {"rb_obj_freeze_inline", WB_NOTHING, false},
    {"rb_obj_frozen_p", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_is_instance_of", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_is_kind_of", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_is_method", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_is_proc", WB_RETURN_IMMEDIATE, false},
    {"rb_obj_wb_unprotect", WB_UNPROTECT, false},
    {"rb_obj_write", WB_WRITE, false},
    {"rb_obj_written", WB_WRITTEN, false},
    {"rb_out_of_int", WB_NOTHING, false},
    {"rb_proc_lambda_p", WB_RETURN_IMMEDIATE, false},
    {"rb_rational_den", WB_NOTHING, false},
    {"rb_rational_num", WB_NOTHING, false},
    {"rb_st_add_direct", WB_INSERT, true},
    {"rb_st_insert", WB_INSERT, true},
    {"rb_st_insert2", WB_INSERT, true},
    {"rb_st_update", WB_INSERT, true},
    {"rb_str_equal", WB_RETURN_IMMEDIATE, true},
    {"rb_str_length", WB_RETURN_IMMEDIATE, false},
    {"rb_str_set_len", WB_NOTHING, false},
    {"rb_struct_size", WB_RETURN_IMMEDIATE, false},
    {"rb_type", WB_NOTHING, false},
    {"rb_typeddata_inherited_p", WB_NOTHING, false},
    {"rb_typeddata_is_kind_of", WB_NOTHING, false},
    {"rb_uint2num_inline", WB_RETURN_IMMEDIATE, false}, /* a long is longer than an int */
    {"rb_unexpected_type", WB_NOTHING, false},
    {"rb_usascii_encindex", WB_NOTHING, false},
    {"rb_usascii_encoding", WB_NOTHING, false},
    {"rb_utf8_encindex", WB_NOTHING, false},
    {"rb_utf8_encoding", WB_NOTHING, false},
    {"rb_ascii8bit_encindex", WB_NOTHING, false},
    {"rb_ascii8bit_encoding", WB_NOTHING, false},
    {"realloc", WB_REALLOCATE, false},
    {"reallocarray", WB_REALLOCATE, false},
    {"rbimpl_atomic_value_cas", WB_STORE_LAST, false},
    {"rbimpl_atomic_value_exchange", WB_STORE_LAST, false},
    {"ruby_nonempty_memcpy", WB_COPY, false},
    {"ruby_qsort", WB_NOTHING, true},
    {"ruby_xcalloc", WB_MEMORY, true},
    {"ruby_xfree", WB_NOTHING, false},
    {"ruby_xmalloc", WB_MEMORY, true},
    {"ruby_xmalloc2", WB_MEMORY, true},
    {"ruby_xrealloc", WB_REALLOCATE, true},
    {"ruby_xrealloc2", WB_REALLOCATE, true},
    {"st_add_direct", WB_INSERT, true},
    {"st_free_table", WB_NOTHING, false},
    {"st_insert", WB_INSERT, true},
    {"st_lookup", WB_NOTHING, false},
};

#define COUNT (sizeof(table) / sizeof(table[0]))

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
    for (size_t i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]); i++) {
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

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
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
    for (size_t i = 0; i < COUNT; i++) {
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
