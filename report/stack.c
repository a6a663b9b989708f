/* stack.c - writes a stack as a line. */
#include "report/stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/names.h"
#include "report/own.h"

#define PIECE 256

const char *
report_frame_name(const struct heapprof_model *model, uint32_t location,
                  const struct heapprof_model_line *line, char *address, size_t size)
{
    if (line && line->function != HEAPPROF_NO_PLACE) {
        const struct heapprof_model_function *function = &model->functions[line->function];
        return report_function_name(rb_heapprof_model_string(model, function->name, NULL),
                                    rb_heapprof_model_string(model, function->filename, NULL),
                                    model);
    }
    snprintf(address, size, "0x%"PRIx64, model->locations[location].address);
    return address;
}

/* Returns whether other tools take this character for the end of a line or of a column. */
static bool
control_p(char byte)
{
    return (unsigned char)byte < 32 || byte == 127;
}

void
report_put_line(FILE *out, const char *name, char semicolon, bool double_quotes)
{
    char utf8[HEAPPROF_UTF8_MAX(PIECE)];
    size_t length = strlen(name), size;

    for (; length > 0; name += size, length -= size) {
        char piece[PIECE];
        size = rb_heapprof_utf8_piece(name, length, PIECE);
        for (size_t i = 0; i < size; i++) piece[i] = control_p(name[i]) ? ' ' : name[i];
        size_t made = rb_heapprof_utf8_plain(utf8, piece, size, false);
        for (size_t i = 0; i < made; i++) {
            if (utf8[i] == '"' && double_quotes) putc('"', out);
            putc(utf8[i] == ';' ? semicolon : utf8[i], out);
        }
    }
}

struct report_stacks
report_stacks_of(const struct heapprof_model *model, bool double_quotes)
{
    return (struct report_stacks){ .defined = report_definitions_p(model),
                                   .double_quotes = double_quotes,
                                   .directories = rb_heapprof_model_comment(model, "directory: ") };
}

/* A template is called by its file, which is not written twice. */
static void
put_frame(FILE *out, const struct report_stacks *stacks, const struct report_frame *frame)
{
    const char *file = report_short_path(frame->file, stacks->directories);
    bool placed = frame->line > 0 && file[0] && !frame->native;
    bool template = placed && !strcmp(frame->name, file);

    if (frame->name[0]) report_put_line(out, frame->name, ':', stacks->double_quotes);
    else fprintf(out, "0x%"PRIx64, frame->address);
    if (!placed) return;
    if (!template) {
        fputs(" (", out);
        report_put_line(out, file, ':', stacks->double_quotes);
    }
    fprintf(out, template ? ":%"PRId64 : ":%"PRId64")", frame->line);
}

/* Writes the frames of a location, the outermost first. */
static void
put_location(FILE *out, const struct report_stacks *stacks, const struct heapprof_model *model,
             uint32_t place)
{
    const struct heapprof_model_location *location = &model->locations[place];
    uint32_t line = location[1].first_line;

    do {
        uint64_t number = line > location->first_line ? --line : REPORT_NO_LINE | place;
        struct report_frame frame =
            report_frame_of(model, number, stacks->defined, stacks->directories);
        frame.address = location->address;
        put_frame(out, stacks, &frame);
        if (line > location->first_line) putc(';', out);
    } while (line > location->first_line);
}

void
report_put_stack(FILE *out, const struct report_stacks *stacks,
                 const struct heapprof_samples *samples)
{
    const char *table = report_vm_table(samples);

    if (table) {
        report_put_line(out, table, ':', stacks->double_quotes);
        return;
    }
    for (uint32_t i = samples->location_count; i-- > 0;) {
        put_location(out, stacks, samples->model, samples->locations[i]);
        if (i > 0) putc(';', out);
    }
}
