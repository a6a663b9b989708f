/* messages.c - reads what the process itself says in Valgrind's XML (vm/memcheck/valgrind.c has
 * the format):
 *
 *     heapprof stack      the Ruby stack of the errors before it in the same thread that have
 *                         none yet
 *     heapprof methods    which C functions are Ruby methods
 *     heapprof dead object, allocated, collected
 *                         errors at that address are uses of a dead object; its Ruby stacks
 *
 * Other messages of a program are skipped, and so are lines that do not have three fields. */
#ifdef HEAPPROF_EXPAT
#include "memcheck/valgrind/reader.h"

#include <stdlib.h>
#include <string.h>

#define ERRORS_BACK 64 /* how many errors before a message are looked at */

enum { FIELDS = 3 };

struct line {
    const char *fields[FIELDS];
    size_t lengths[FIELDS];
};

/* Takes a line from the text. Returns false if no complete line is left. */
static bool
next_line(const char **text, struct line *line)
{
    const char *end = strchr(*text, '\n'), *field = *text;

    if (!end) return false;
    for (int i = 0; i < FIELDS; i++) {
        const char *stop = i + 1 < FIELDS ? memchr(field, '\t', (size_t)(end - field)) : end;
        if (!stop) return false;
        line->fields[i] = field;
        line->lengths[i] = (size_t)(stop - field);
        field = stop + 1;
    }
    *text = end + 1;
    return true;
}

static uint32_t
keep(struct memcheck_reader *reader, const struct line *line, int field)
{
    return memcheck_reader_keep(reader, line->fields[field], line->lengths[field]);
}

/* ---- stacks ---- */

/* Returns the place after the nearest error at or before `place` that waits for a Ruby stack of
 * this thread; 0 if there is none. */
static uint32_t
waiting_before(const struct memcheck_reader *reader, uint32_t place)
{
    const struct memcheck_valgrind *valgrind = reader->valgrind;
    uint32_t last = valgrind->error_count > ERRORS_BACK ? valgrind->error_count - ERRORS_BACK : 0;

    for (; place > last; place--) {
        const struct memcheck_error *error = &valgrind->errors[place - 1];
        bool same = error->document == reader->document && error->thread == reader->thread;
        if (same && !error->looked && memcheck_error_p(error->kind)) return place;
    }
    return 0;
}

static void
read_frames(struct memcheck_reader *reader, const char *text)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;
    struct line line;

    while (next_line(&text, &line)) {
        if (!MEMCHECK_READER_ROOM(reader, valgrind->ruby_frames, valgrind->ruby_frame_capacity,
                                  valgrind->ruby_frame_count)) return;
        valgrind->ruby_frames[valgrind->ruby_frame_count++] = (struct memcheck_ruby_frame){
            .name = keep(reader, &line, 0),
            .line = (uint32_t)strtoul(line.fields[1], NULL, 10),
            .file = keep(reader, &line, 2),
        };
    }
}

static void
take_stack(struct memcheck_reader *reader, const char *text)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;
    uint32_t first = valgrind->ruby_frame_count,
             place = waiting_before(reader, valgrind->error_count);

    if (!place) return;
    read_frames(reader, text);
    for (; place; place = waiting_before(reader, place)) {
        struct memcheck_error *error = &valgrind->errors[place - 1];
        error->first_ruby_frame = first;
        error->ruby_frame_count = valgrind->ruby_frame_count - first;
        error->looked = true;
    }
}

/* ---- dead objects ---- */

static bool
at_address_p(const struct memcheck_valgrind *valgrind, const struct memcheck_error *error,
             uint64_t address)
{
    static const char begin[] = "Address 0x";

    for (uint32_t i = 0; i < error->stack_count; i++) {
        const char *title = memcheck_valgrind_string(
            valgrind, valgrind->stacks[error->first_stack + i].title);
        if (strncmp(title, begin, strlen(begin)) == 0 &&
            strtoull(title + strlen(begin), NULL, 16) == address) return true;
    }
    return false;
}

/* "Invalid read of size 8: String, freed by GC 12 (full)" */
static uint32_t
what_of(struct memcheck_reader *reader, const struct memcheck_error *error, const struct line *line)
{
    char text[512];
    int length = snprintf(text, sizeof(text), "%.80s: %.*s, %.*s",
                          memcheck_valgrind_string(reader->valgrind, error->what),
                          (int)(line->lengths[1] < 300 ? line->lengths[1] : 300), line->fields[1],
                          (int)(line->lengths[2] < 80 ? line->lengths[2] : 80), line->fields[2]);

    return memcheck_reader_keep(reader, text, (size_t)length);
}

/* Calls take_i for each of the last errors of this process that is at the address. */
static void
each_error_at(struct memcheck_reader *reader, uint64_t address,
              void (*take_i)(struct memcheck_reader *reader, struct memcheck_error *error,
                             const void *data),
              const void *data)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;
    uint32_t last = valgrind->error_count > ERRORS_BACK ? valgrind->error_count - ERRORS_BACK : 0;

    for (uint32_t i = valgrind->error_count; i > last; i--) {
        struct memcheck_error *error = &valgrind->errors[i - 1];
        if (error->document == reader->document && memcheck_error_p(error->kind) &&
            at_address_p(valgrind, error, address)) take_i(reader, error, data);
    }
}

static void
make_dead_i(struct memcheck_reader *reader, struct memcheck_error *error, const void *line)
{
    if (error->kind == MEMCHECK_DEAD_OBJECT) return;
    error->kind = MEMCHECK_DEAD_OBJECT;
    error->dead_address = reader->dead_address;
    error->what = what_of(reader, error, line);
}

static void
take_dead(struct memcheck_reader *reader, const char *text)
{
    struct line line;

    if (!next_line(&text, &line)) return;
    reader->dead_address = strtoull(line.fields[0], NULL, 16);
    each_error_at(reader, reader->dead_address, make_dead_i, &line);
}

static void
set_allocated_i(struct memcheck_reader *reader, struct memcheck_error *error, const void *stack)
{
    (void)reader;
    if (error->allocated.count == 0) error->allocated = *(const struct memcheck_told_stack *)stack;
}

static void
set_collected_i(struct memcheck_reader *reader, struct memcheck_error *error, const void *stack)
{
    (void)reader;
    if (error->collected.count == 0) error->collected = *(const struct memcheck_told_stack *)stack;
}

static void
take_dead_stack(struct memcheck_reader *reader, const char *text, bool allocated)
{
    struct memcheck_told_stack stack = { .first = reader->valgrind->ruby_frame_count };

    read_frames(reader, text);
    stack.count = reader->valgrind->ruby_frame_count - stack.first;
    each_error_at(reader, reader->dead_address, allocated ? set_allocated_i : set_collected_i,
                  &stack);
}

/* ---- methods ---- */

static void
take_methods(struct memcheck_reader *reader, const char *text)
{
    struct memcheck_valgrind *valgrind = reader->valgrind;
    struct line line;

    while (next_line(&text, &line)) {
        if (!MEMCHECK_READER_ROOM(reader, valgrind->methods, valgrind->method_capacity,
                                  valgrind->method_count)) return;
        valgrind->methods[valgrind->method_count++] =
            (struct memcheck_method){keep(reader, &line, 0), keep(reader, &line, 1),
                                     keep(reader, &line, 2)};
    }
}

void
memcheck_reader_take_message(struct memcheck_reader *reader)
{
    static const char stack[] = "heapprof stack\n", methods[] = "heapprof methods\n",
                      dead[] = "heapprof dead object\n", allocated[] = "heapprof allocated\n",
                      collected[] = "heapprof collected\n";

    if (reader->document == MEMCHECK_NO_DOCUMENT) return;
    if (strncmp(reader->text, stack, strlen(stack)) == 0)
        take_stack(reader, reader->text + strlen(stack));
    else if (strncmp(reader->text, methods, strlen(methods)) == 0)
        take_methods(reader, reader->text + strlen(methods));
    else if (strncmp(reader->text, dead, strlen(dead)) == 0)
        take_dead(reader, reader->text + strlen(dead));
    else if (strncmp(reader->text, allocated, strlen(allocated)) == 0)
        take_dead_stack(reader, reader->text + strlen(allocated), true);
    else if (strncmp(reader->text, collected, strlen(collected)) == 0)
        take_dead_stack(reader, reader->text + strlen(collected), false);
}

#endif
