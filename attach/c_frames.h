#ifndef ATTACH_C_FRAMES_H
#define ATTACH_C_FRAMES_H
/* Where the C functions of a machine stack belong among the frames of the Ruby stack.
 *
 *     machine stack          Ruby stack               shown
 *     deflate                                         deflate (libz.so.1)
 *     zstream_run                                     zstream_run (zlib.so)
 *     vm_call_cfunc ........ Zlib::Deflate#deflate    Zlib::Deflate#deflate
 *     vm_exec_core           Object#pack              Object#pack
 *     rb_vm_exec ........... <main>                   <main>
 */
#include "attach/c_stack.h"
#include "attach/walk.h"

/* A C function that is shown inside of the control frame `before`, as its callee. */
struct attach_c_shown {
    uint32_t function;
    uint32_t before;
};

struct attach_c_frames {
    struct heapprof_mem *mem;
    struct attach_names *names;
    bool     all;                   /* also Ruby's own functions, and how the thread was begun */
    struct attach_c_shown *shown;   /* innermost first */
    size_t   capacity, count;
    bool     collecting;            /* "(garbage collection)" is one of them */
    uint8_t *kinds;                 /* enum attach_walk_kind of each control frame */
    size_t   kind_capacity;
};

void attach_c_frames_init(struct attach_c_frames *frames, struct attach_names *names,
                          struct heapprof_mem *mem, bool all);
void attach_c_frames_free(struct attach_c_frames *frames);

/* Finds the place of each frame of the stack. Both stacks are of one moment. named: the roles of
 * Ruby's own functions are known. Returns false without memory. */
bool attach_c_frames_place(struct attach_c_frames *frames, const struct attach_c_stack *stack,
                           const struct attach_walk *walk, bool named);

#endif
