/* globals.h - global variables by name. A patch includes it at the end of MRI's variable.c,
 * because the table of globals is private there. gc/interpreter.h declares the function. */

struct heapprof_globals {
    void (*begin_i)(ID id, void *data);
    void *data;
};

static enum rb_id_table_iterator_result
heapprof_mark_global_i(ID id, VALUE entry, void *data)
{
    const struct heapprof_globals *globals = data;

    globals->begin_i(id, globals->data);
    return mark_global_entry(entry, NULL);
}

void
rb_heapprof_globals_mark(void (*begin_i)(ID id, void *data), void *data)
{
    struct heapprof_globals globals = {begin_i, data};

    if (rb_global_tbl) rb_id_table_foreach(rb_global_tbl, heapprof_mark_global_i, &globals);
}
