/* foreign.c - objects of extensions as memory, and fibers: where a search for C pointers may begin
 * (vm/memcheck/held.c). Compiled inside gc.c. */

struct foreign_visit {
    void (*function)(VALUE object, uintptr_t begin, uintptr_t end, void *data);
    void *data;
    struct reach_range vm;         /* the library that has the VM */
};

HEAPPROF_COLD static int
find_vm_i(struct dl_phdr_info *info, size_t size, void *vm)
{
    struct reach_range range = range_of_library(info);

    if ((uintptr_t)&reach < range.begin || (uintptr_t)&reach >= range.end) return 0;
    *(struct reach_range *)vm = range;
    return 1;
}

/* Shows the struct within the slot, or the pointer to it there. */
HEAPPROF_COLD static void
visit_foreign_i(VALUE object, size_t slot_bytes, void *data)
{
    const struct foreign_visit *visit = data;
    if (!RB_TYPE_P(object, T_DATA)) return;
    bool typed = RTYPEDDATA_P(object);
    uintptr_t type = typed ? (uintptr_t)RTYPEDDATA_TYPE(object) : 0;

    if (visit->vm.begin <= type && type < visit->vm.end) return;
    if (typed && RTYPEDDATA_EMBEDDED_P(object)) {
        visit->function(object, (uintptr_t)RTYPEDDATA_GET_DATA(object),
                        (uintptr_t)object + slot_bytes, visit->data);
    }
    else {
        visit->function(object, (uintptr_t)&DATA_PTR(object),
                        (uintptr_t)(&DATA_PTR(object) + 1), visit->data);
    }
}

HEAPPROF_COLD static void
visit_foreign_of_page_i(const struct heap_page *page, void *data)
{
    walk_page(page, visit_foreign_i, data);
}

HEAPPROF_COLD void
rb_heapprof_gc_each_foreign(void (*function)(VALUE object, uintptr_t begin, uintptr_t end,
                                             void *data),
                            void *data)
{
    struct foreign_visit visit = { .function = function, .data = data };

    dl_iterate_phdr(find_vm_i, &visit.vm);
    walk_pages(visit_foreign_of_page_i, &visit);
}

/* ---- fibers ---- */

struct fiber_visit {
    void (*function)(void *fiber, void *data);
    void *data;
};

HEAPPROF_COLD static void
visit_fiber_i(VALUE object, size_t slot_bytes, void *data)
{
    const struct fiber_visit *visit = data;

    if (!RB_TYPE_P(object, T_DATA) || !RTEST(rb_obj_is_fiber(object)) ||
        !RTYPEDDATA_GET_DATA(object))
        return;
    if (RTEST(rb_fiber_alive_p(object))) visit->function(RTYPEDDATA_GET_DATA(object), visit->data);
}

HEAPPROF_COLD static void
visit_fibers_of_page_i(const struct heap_page *page, void *data)
{
    walk_page(page, visit_fiber_i, data);
}

HEAPPROF_COLD void
rb_heapprof_gc_each_fiber(void (*function)(void *fiber, void *data), void *data)
{
    struct fiber_visit visit = { function, data };
    walk_pages(visit_fibers_of_page_i, &visit);
}
