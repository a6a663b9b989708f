/* globals.h - global variables by name. A patch includes it at the end of MRI's variable.c,
 * because the table of globals is private there. gc/interpreter.h declares the function. */

struct heapprof_globals {
    void (*begin_i)(ID id, const char *part, void *data);
    void *data;
};

/* True if what the marker marks is the variable's value. Any other getter takes the value from
 * elsewhere: that of $: marks the VM, and that of $. ARGF. */
static bool
heapprof_global_value_p(const struct rb_global_variable *variable)
{
    return variable->getter == rb_gvar_val_getter || variable->getter == rb_gvar_var_getter;
}

/* As mark_global_entry marks it. */
static enum rb_id_table_iterator_result
heapprof_mark_global_i(ID id, VALUE entry, void *data)
{
    const struct heapprof_globals *globals = data;
    const struct rb_global_variable *variable = ((const struct rb_global_entry *)entry)->var;

    globals->begin_i(id, heapprof_global_value_p(variable) ? NULL : "data", globals->data);
    variable->marker(variable->data);
    if (variable->trace) globals->begin_i(id, "trace", globals->data);
    for (const struct trace_var *trace = variable->trace; trace; trace = trace->next) {
        if (trace->data) rb_gc_mark_maybe(trace->data);
    }
    return ID_TABLE_CONTINUE;
}

void
rb_heapprof_globals_mark(void (*begin_i)(ID id, const char *part, void *data), void *data)
{
    struct heapprof_globals globals = {begin_i, data};

    if (rb_global_tbl) rb_id_table_foreach(rb_global_tbl, heapprof_mark_global_i, &globals);
}
