#ifndef HEAPPROF_MARKERS_H
#define HEAPPROF_MARKERS_H
/* How the names of those functions of MRI's collector begin that call mark functions, or begin to
 * mark. The collector and the reader of Valgrind's reports look for them on a C stack. */
#define HEAPPROF_MARKERS(NAME) \
    NAME("gc_mark_children") NAME("gc_mark_stacked_objects") NAME("gc_marks_") NAME("gc_start") \
    NAME("gc_continue") NAME("mark_roots") NAME("rb_gc_mark_children") NAME("rb_gc_mark_roots")

#endif
