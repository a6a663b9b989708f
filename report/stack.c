/* stack.c - writes a stack as a line. */
#include "report/stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/names.h"

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

void
report_put_stack(FILE *out, const struct heapprof_samples *samples, bool double_quotes)
{
    const struct heapprof_model *model = samples->model;
    const char *table = report_vm_table(samples);
    bool first = true;
    char address[32];

    if (table) {
        report_put_line(out, table, ':', double_quotes);
        return;
    }
    for (uint32_t i = samples->location_count; i-- > 0;) {
        const struct heapprof_model_location *location = &model->locations[samples->locations[i]];
        uint32_t line = location[1].first_line;
        do {
            const struct heapprof_model_line *at =
                line > location->first_line ? &model->lines[--line] : NULL;
            if (!first) putc(';', out);
            first = false;
            const char *name =
                report_frame_name(model, samples->locations[i], at, address, sizeof(address));
            report_put_line(out, name, ':', double_quotes);
        } while (line > location->first_line);
    }
}
