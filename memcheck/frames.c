/* frames.c - the frames of a record's stacks, whoever has told them. */
#include "memcheck/process.h"

/* For an error: the frames that the process told Valgrind. */
static struct memcheck_frame
told_frame(const struct memcheck_valgrind *valgrind, const struct memcheck_ruby_frame *frame)
{
    return (struct memcheck_frame){ memcheck_valgrind_string(valgrind, frame->name),
                                     memcheck_valgrind_string(valgrind, frame->file), frame->line };
}

/* Otherwise: an index in locations. */
static struct memcheck_frame
located_frame(const struct memcheck_process *process, uint32_t at)
{
    const struct heapprof_model *model = process->model;
    const struct heapprof_model_location *location = &model->locations[process->locations[at]];
    struct memcheck_frame frame = {"?", "", 0};

    if (location[0].first_line == location[1].first_line) return frame;
    const struct heapprof_model_line *line = &model->lines[location->first_line];
    frame.line = line->line;
    if (line->function == HEAPPROF_NO_PLACE) return frame;
    frame.name = rb_heapprof_model_string(model, model->functions[line->function].name, NULL);
    frame.file = rb_heapprof_model_string(model, model->functions[line->function].filename, NULL);
    return frame;
}

struct memcheck_frame
memcheck_frame_at(const struct memcheck_process *process, const struct memcheck_ruby_stack *stack,
                  uint32_t at)
{
    if (!stack->told) return located_frame(process, stack->first + at);
    return told_frame(process->valgrind, &process->valgrind->ruby_frames[stack->first + at]);
}

struct memcheck_frame
memcheck_c_frame_at(const struct memcheck_process *process, uint32_t number)
{
    const struct memcheck_c_frame *c = &process->valgrind->frames[number];
    const char *name = memcheck_valgrind_string(process->valgrind, c->function);

    return (struct memcheck_frame){name[0] ? name : "?",
                                   memcheck_valgrind_string(process->valgrind, c->file), c->line};
}
