/* message.c - writes what the reader of Valgrind's XML is told (message.h). Has no state. */
#include "ruby/ruby.h"
#include "vm/memcheck/message.h"

#ifdef HAVE_VALGRIND_MEMCHECK_H
# include "gc/book/state.h"
# include <valgrind/memcheck.h>

void
rb_heapprof_message_begin(struct heapprof_message *message, const char *what)
{
    message->length = (size_t)snprintf(message->text, sizeof(message->text), "heapprof %s\n", what);
}

/* Replaces characters that would end a field. */
static void
clean(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ') *text = '?';
    }
}

bool
rb_heapprof_message_add(struct heapprof_message *message, const char *first, const char *second,
                        const char *third)
{
    size_t room = sizeof(message->text) - message->length, begin = message->length;
    const char *fields[] = {first, second, third};

    if (strlen(first) + strlen(second) + strlen(third) + 4 > room) return false;
    for (int i = 0; i < 3; i++) {
        char *field = message->text + message->length;
        message->length += (size_t)sprintf(field, "%s", fields[i]);
        clean(field);
        message->text[message->length++] = i < 2 ? '\t' : '\n';
    }
    message->text[message->length] = '\0';
    return message->length > begin;
}

void
rb_heapprof_message_send(const struct heapprof_message *message)
{
    VALGRIND_PRINTF("%s", message->text);
}

/* ---- frames ---- */

static const char *
string_of(uint32_t string)
{
    return string ? rb_heapprof_strings_get(&rb_heapprof.tables.strings, string, NULL) : "";
}

/* A C method has the line of its caller. */
static const struct heapprof_stack_node *
place_of(uint32_t node)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;

    for (; node; node = rb_heapprof_stacks_node(&tables->stacks, node)->parent) {
        const struct heapprof_stack_node *one = rb_heapprof_stacks_node(&tables->stacks, node);
        if (!rb_heapprof_functions_get(&tables->functions, one->function)->cfunc) return one;
    }
    return NULL;
}

bool
rb_heapprof_message_add_frame(struct heapprof_message *message, const char *name, uint32_t node)
{
    const struct heapprof_functions *functions = &rb_heapprof.tables.functions;
    const struct heapprof_stack_node *place = place_of(node);
    char line[24];

    snprintf(line, sizeof(line), "%u", place ? place->line : 0);
    return rb_heapprof_message_add(
        message, name, line,
        place ? string_of(rb_heapprof_functions_get(functions, place->function)->path) : "");
}

void
rb_heapprof_message_add_stack(struct heapprof_message *message, uint32_t node)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;

    while (node) {
        const struct heapprof_stack_node *one = rb_heapprof_stacks_node(&tables->stacks, node);
        const char *name =
            string_of(rb_heapprof_functions_get(&tables->functions, one->function)->name);
        if (!rb_heapprof_message_add_frame(message, name, node)) return;
        node = one->parent;
    }
}

#endif
