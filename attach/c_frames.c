/* c_frames.c - places the C functions of a machine stack among Ruby's control frames.
 *
 * The interpreter is a C function. Each time C code enters it, it runs one control frame of the
 * kind ENTRY, the frames that this one calls, and at the end of these perhaps C methods:
 *
 *     machine stack    ENTRY   CALL CALL ENTRY   CALL ENTRY ENTRY   outermost
 *     Ruby stack       E R R   C    C    E R     C    E R   E
 *                      \___/   \___________/
 *                     section      section
 *
 *   I1  The entries of both stacks are the same, one by one. Only the innermost may differ, when
 *       the thread was stopped between the entry and its frame. So they are counted from the
 *       outermost, if the walk has come so far; otherwise from the innermost.
 *   I2  Within a section the C methods stand inside of the Ruby code. Each has a frame that calls
 *       it. vm_call0_body and compiled code call C methods, and others: they count as far as frames
 *       of the sure kind are missing, from the outermost inwards.
 *   I3  What is shown inside of a control frame was called by it, or by what is shown between. */
#include "attach/c_frames.h"

void
attach_c_frames_init(struct attach_c_frames *frames, struct attach_names *names,
                     struct heapprof_mem *mem, bool all)
{
    *frames = (struct attach_c_frames){ .names = names, .mem = mem, .all = all };
}

void
attach_c_frames_free(struct attach_c_frames *frames)
{
    HEAPPROF_MEM_RELEASE(frames->mem, frames->shown, frames->capacity);
    HEAPPROF_MEM_RELEASE(frames->mem, frames->kinds, frames->kind_capacity);
}

/* ---- what is shown ---- */

static bool
show(struct attach_c_frames *frames, uint32_t function, size_t before)
{
    if (!function ||
        !HEAPPROF_MEM_GROW(frames->mem, frames->shown, frames->capacity, frames->count + 1))
        return false;
    frames->shown[frames->count++] = (struct attach_c_shown){ function, (uint32_t)before };
    return true;
}

static bool
show_mark(struct attach_c_frames *frames, const char *mark, size_t before)
{
    return show(frames, attach_names_mark(frames->names, mark), before);
}

static bool
own_p(const struct attach_c_frame *frame)
{
    return frame->role != ATTACH_C_OTHER && frame->role != ATTACH_C_SIGNAL;
}

/* Shows a frame, unless it is one of Ruby's own. A collection is shown once, outside of the
 * functions that it calls. */
static bool
show_frame(struct attach_c_frames *frames, const struct attach_c_frame *frame, size_t before)
{
    if (frame->role == ATTACH_C_COLLECT && !frames->collecting) {
        frames->collecting = true;
        if (!show_mark(frames, "(garbage collection)", before)) return false;
    }
    return (own_p(frame) && !frames->all) || show(frames, frame->function, before);
}

/* ---- both stacks ---- */

/* Both stacks, and how far they have been gone through, from the innermost outwards. */
struct c_frames_way {
    const struct attach_c_frame *frames;
    size_t frame, frame_end;
    const uint8_t *kinds;
    size_t control, control_end;
};

/* The frame calls the interpreter's function of the same role, such as one part of it another. */
static bool
same_as_outer_p(const struct c_frames_way *way, size_t frame)
{
    return frame + 1 < way->frame_end && way->frames[frame + 1].role == way->frames[frame].role;
}

static bool
entry_p(const struct c_frames_way *way, size_t frame)
{
    return way->frames[frame].role == ATTACH_C_ENTRY && !same_as_outer_p(way, frame);
}

static bool
call_p(const struct c_frames_way *way, size_t frame, enum attach_c_role role)
{
    return way->frames[frame].role == role && !same_as_outer_p(way, frame);
}

static size_t
count_entries(const struct c_frames_way *way)
{
    size_t count = 0;

    for (size_t i = way->frame; i < way->frame_end; i++) count += entry_p(way, i);
    return count;
}

static size_t
count_controls(const struct c_frames_way *way, enum attach_walk_kind kind, size_t end)
{
    size_t count = 0;

    for (size_t i = way->control; i < end; i++) count += way->kinds[i] == kind;
    return count;
}

/* ---- a section ---- */

/* One past the section's last frame, which is an entry; skipped entries are part of it. */
static size_t
end_of_section(const struct c_frames_way *way, size_t skipped)
{
    for (size_t i = way->frame; i < way->frame_end; i++) {
        if (entry_p(way, i) && skipped-- == 0) return i + 1;
    }
    return way->frame_end;
}

static size_t
end_of_controls(const struct c_frames_way *way)
{
    for (size_t i = way->control; i < way->control_end; i++) {
        if (way->kinds[i] == ATTACH_WALK_ENTRY) return i + 1;
    }
    return way->control_end;
}

/* How many of the section's frames that may have called a C method are to be believed (I2). */
static size_t
count_doubtful(const struct c_frames_way *way, size_t end, size_t methods)
{
    size_t sure = 0;

    for (size_t i = way->frame; i < end; i++) sure += call_p(way, i, ATTACH_C_CALL);
    return methods > sure ? methods - sure : 0;
}

static bool
doubtful_p(const struct c_frames_way *way, size_t frame)
{
    return call_p(way, frame, ATTACH_C_MAY_CALL) || call_p(way, frame, ATTACH_C_MACHINE);
}

/* The index of the innermost doubtful frame that counts: so many count from the outermost on. */
static size_t
innermost_believed(const struct c_frames_way *way, size_t end, size_t count)
{
    size_t frame = end;

    for (size_t i = end; i-- > way->frame && count > 0;) {
        if (!doubtful_p(way, i)) continue;
        frame = i;
        count--;
    }
    return frame;
}

/* Passes over control frames that run nothing. */
static size_t
skip_names(const struct c_frames_way *way, size_t control, size_t end)
{
    while (control < end && way->kinds[control] == ATTACH_WALK_NAME) control++;
    return control;
}

/* Goes through a section: to the frame and the control frame that end it. If the walk has ended
 * within it, so do the control frames. */
static bool
place_section(struct attach_c_frames *frames, struct c_frames_way *way, size_t end,
              size_t control_end)
{
    size_t methods = count_controls(way, ATTACH_WALK_C, control_end);
    size_t believed = innermost_believed(way, end, count_doubtful(way, end, methods));
    size_t control = skip_names(way, way->control, control_end);

    for (; way->frame < end; way->frame++) {
        if (!show_frame(frames, &way->frames[way->frame], control)) return false;
        bool calls = call_p(way, way->frame, ATTACH_C_CALL) ||
                     (way->frame >= believed && doubtful_p(way, way->frame));
        if (calls && control < control_end && way->kinds[control] == ATTACH_WALK_C)
            control = skip_names(way, control + 1, control_end);
    }
    way->control = end > 0 && entry_p(way, end - 1) ? control_end : control;
    return true;
}

/* ---- all of it ---- */

/* Leaves out how the thread was begun: what is not Ruby's, outside of all that is. */
static size_t
without_beginning(const struct attach_c_stack *stack)
{
    size_t end = stack->frame_count;

    while (end > 0 && !own_p(&stack->frames[end - 1])) end--;
    return end ? end : stack->frame_count;
}

static bool
read_kinds(struct attach_c_frames *frames, const struct attach_walk *walk)
{
    if (!HEAPPROF_MEM_GROW(frames->mem, frames->kinds, frames->kind_capacity,
                           walk->frame_count + 1))
        return false;
    for (size_t i = 0; i < walk->frame_count; i++)
        frames->kinds[i] = (uint8_t)attach_walk_kind(walk, i);
    return true;
}

/* Without names of Ruby's functions, the innermost C functions are those of the innermost frame.
 * Those further out have no place. */
static bool
place_innermost(struct attach_c_frames *frames, struct c_frames_way *way)
{
    for (; way->frame < way->frame_end && !own_p(&way->frames[way->frame]); way->frame++) {
        if (!show_frame(frames, &way->frames[way->frame], 0)) return false;
    }
    return show_mark(frames, "(other C functions: Ruby's symbols are not installed)", 0);
}

static bool
place_all(struct attach_c_frames *frames, struct c_frames_way *way, bool whole)
{
    size_t entries = count_entries(way),
           controls = count_controls(way, ATTACH_WALK_ENTRY, way->control_end);
    size_t skipped = whole && entries > controls ? entries - controls : 0;

    for (size_t i = entries; whole && i < controls; i++) way->control = end_of_controls(way);
    while (way->frame < way->frame_end) {
        if (!place_section(frames, way, end_of_section(way, skipped), end_of_controls(way)))
            return false;
        skipped = 0;
    }
    return whole || show_mark(frames, "(not unwound)", way->control);
}

bool
attach_c_frames_place(struct attach_c_frames *frames, const struct attach_c_stack *stack,
                      const struct attach_walk *walk, bool named)
{
    if (!read_kinds(frames, walk)) return false;
    struct c_frames_way way = {
        .frames = stack->frames,
        .frame_end = frames->all || !stack->whole ? stack->frame_count : without_beginning(stack),
        .kinds = frames->kinds, .control_end = walk->frame_count
    };

    frames->count = 0;
    frames->collecting = false;
    return named ? place_all(frames, &way, stack->whole) : place_innermost(frames, &way);
}
