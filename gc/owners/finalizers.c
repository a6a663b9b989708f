/* finalizers.c - which objects have left a last will. The dump of the heap asks
 * (vm/memprof/reflection.c), and so does a child that frees all of it
 * (vm/memcheck/native_leaks.c). Compiled inside gc.c.
 *
 * The table is the collector's own: MRI shows it to nobody. Dead objects that are not swept are
 * passed over.
 */

struct finalizer_visit {
    void (*function)(VALUE object, VALUE finalizers, void *data);
    void *data;
};

HEAPPROF_COLD static int
finalizer_i(st_data_t object, st_data_t finalizers, st_data_t visit)
{
    const struct finalizer_visit *to = (const void *)visit;
    if (rb_gc_impl_garbage_object_p(rb_gc_get_objspace(), (VALUE)object)) return ST_CONTINUE;
    to->function((VALUE)object, (VALUE)finalizers, to->data);
    return ST_CONTINUE;
}

HEAPPROF_COLD void
rb_heapprof_gc_each_finalizer(void (*function)(VALUE object, VALUE finalizers, void *data),
                              void *data)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    struct finalizer_visit visit = { function, data };
    st_foreach(finalizer_table, finalizer_i, (st_data_t)&visit);
}

HEAPPROF_COLD static int
drop_finalizer_i(st_data_t object, st_data_t finalizers, st_data_t unused)
{
    FL_UNSET((VALUE)object, FL_FINALIZE);
    return ST_DELETE;
}

HEAPPROF_COLD void
rb_heapprof_gc_drop_finalizers(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    st_foreach(finalizer_table, drop_finalizer_i, 0);
}
