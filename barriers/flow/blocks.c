/* blocks.c - VALUEs in memory of malloc that is not the data of an object.
 *
 *     struct node *node = malloc(sizeof(*node));
 *     node->value = object;        field->outside: here
 *     list = node;                 record->keeper: global variable 'list'
 *     rb_gc_mark(node->value);     field->held
 *
 * A field is reported if a VALUE is stored there, something keeps the memory beyond the function
 * that made it, and nothing marks or registers the field in any struct of its type. What is
 * learnt of pointers is learnt of their types: any pointer to a struct node may be that one. Memory
 * of VALUEs without a struct has the name of the field that leads to it.
 *
 * A receiver that is stored in memory of its own is no fault: `context->self = self`. Nor is a
 * value that was loaded from another place: that place is judged by itself.
 */
#include "barriers/flow/blocks.h"

#include <stdio.h>
#include <string.h>

#include "barriers/flow/globals.h"

/* Structs that lead to one another, until one is kept. */
#define STEPS_MOST 20

static struct wb_block *
block_of(struct wb_program *program, struct wb_symbol *memory)
{
    if (!memory->block) {
        memory->block = WB_NEW(&program->arena, struct wb_block);
        memory->block->next = program->blocks;
        program->blocks = memory->block;
    }
    return memory->block;
}

/* ---- stores ---- */

static bool
receiver_p(const struct wb_frame *frame, const struct wb_symbol *value)
{
    const struct wb_function *function = value->what;
    const struct wb_method *method = frame->flow->program->methods;

    if (value->kind != WB_S_PARAMETER || value->number != 0) return false;
    while (method && method->function != function) method = method->next;
    return method || !strcmp(function->parameters[0]->name, "self");
}

static void
note_field(struct wb_field *field, struct wb_record *outer, const struct wb_place *place)
{
    if (field->outside.file) return;
    field->outside = *place;
    field->outer = outer;
}

/* Memory of VALUEs has the name of what leads to it. */
static void
note_block(const struct wb_block *block)
{
    if (!block->stored.file || block->held) return;
    if (block->field) note_field(block->field, block->outer, &block->stored);
    else if (block->variable && !block->variable->stored.file) {
        block->variable->stored = block->stored;
    }
}

/* Notes a VALUE behind a pointer that is read from memory. */
static void
note_behind(struct wb_symbol *pointer, const struct wb_place *place)
{
    struct wb_field *holder = (struct wb_field *)wb_field_of(pointer->of);

    if (!holder || !holder->allocated || holder->type->to->kind != WB_VALUE) return;
    note_field(holder, wb_first_field(pointer->of)->record, place);
}

/* True if the memory is not the data of an object with a data type, as far as it is known. */
static bool
outside_p(const struct wb_symbol *base, const struct wb_field *first)
{
    if (base->kind == WB_S_MEMORY) return !base->data_type;
    if (base->kind == WB_S_LOAD) return !wb_global_at(base);
    return base->kind == WB_S_DATA && first && !first->record->owners;
}

void
wb_note_outside(struct wb_frame *frame, struct wb_symbol *address, const struct wb_symbol *value,
                const struct wb_place *place)
{
    struct wb_field *field = (struct wb_field *)wb_field_of(address);
    const struct wb_field *first = wb_first_field(address);
    struct wb_symbol *base = wb_base_of(address);
    struct wb_block *block = NULL;

    if (base->kind == WB_S_MEMORY) block = block_of(frame->flow->program, base);
    if (block && first) block->record = first->record;
    if (value->kind == WB_S_LOAD || wb_known_to_gc_p(value)) return;
    if (!frame->flow->reporting || !outside_p(base, first) || receiver_p(frame, value)) return;
    if (field) note_field(field, first->record, place);
    else if (block) {
        if (!block->stored.file) block->stored = *place;
        note_block(block);
    }
    else if (base->kind == WB_S_LOAD) note_behind(base, place);
}

/* ---- what keeps memory ---- */

static const char *
format_keeper(struct wb_program *program, const char *format, const char *name)
{
    char text[300];

    snprintf(text, sizeof(text), format, name);
    return wb_name(program, text);
}

/* The struct behind a pointer: as the pointer says, or as the memory was used. */
static struct wb_record *
pointed(const struct wb_symbol *value, const struct wb_type *type)
{
    struct wb_record *record = wb_pointed(type);

    return !record && value->block ? value->block->record : record;
}

static void
keep(struct wb_frame *frame, struct wb_record *record, struct wb_symbol *address,
     const struct wb_data_type *owner)
{
    struct wb_program *program = frame->flow->program;
    const struct wb_variable *variable = wb_global_at(address);
    const struct wb_field *first = wb_first_field(address);
    const struct wb_symbol *base = wb_base_of(address);

    if (base->kind == WB_S_LOAD) first = wb_holder_of(address);
    if (variable) {
        record->keeper = format_keeper(program, "global variable '%s'", variable->name);
        record->global = true;
    }
    else if (record->keeper) return;
    else if (owner) {
        record->keeper = format_keeper(program, "an object ('%s')", owner->name);
    }
    else if (first && first->record != record && base->kind != WB_S_LOCAL) {
        record->kept_in = first->record;
    }
}

void
wb_note_pointer(struct wb_frame *frame, struct wb_symbol *address, struct wb_symbol *value,
                const struct wb_type *type, const struct wb_data_type *owner)
{
    struct wb_record *record = pointed(value, type);
    struct wb_field *field = (struct wb_field *)wb_field_of(address);
    struct wb_variable *variable = wb_global_at(address);

    if (value->kind != WB_S_MEMORY && value->kind != WB_S_LOAD && value->kind != WB_S_UNKNOWN &&
        value->kind != WB_S_PARAMETER) return;
    if (field && value->kind == WB_S_MEMORY) field->allocated = field->type->kind == WB_POINTER;
    if (record) keep(frame, record, address, owner);
    if (!value->block) return;
    if (field) value->block->field = field, value->block->outer = wb_first_field(address)->record;
    if (variable) value->block->variable = variable;
    if (frame->flow->reporting) note_block(value->block);
}

void
wb_note_untyped(struct wb_symbol *data, const struct wb_node *node,
                const struct wb_node *mark)
{
    struct wb_record *record = pointed(data, node ? node->type : NULL);

    if (!record) return;
    if (!record->keeper) record->keeper = "an object";
    if (mark && mark->kind == WB_FUNCTION) record->given |= !mark->function->body;
}

/* True if that function of a library may keep an address that it is given. */
static bool
may_keep_p(struct wb_function *function, unsigned number)
{
    static const char *const keep_nothing[] = {
        "explicit_bzero", "fread", "read", "recv", "snprintf",
    };

    if (function->body || function->of_ruby || !function->foreign) return false;
    if (wb_known_p(function) || WB_ONE_OF_P(function, keep_nothing)) return false;
    return number >= 64 || !(function->only_read >> number & 1);
}

/* What holds the place of a value, or an address that was registered. */
static void
hold(struct wb_program *program, struct wb_symbol *address)
{
    struct wb_field *field = (struct wb_field *)wb_field_of(address);
    struct wb_field *holder = (struct wb_field *)wb_holder_of(address);
    struct wb_symbol *base = wb_base_of(address);

    if (field) field->held = true;
    else if (holder) holder->held = true;
    else if (base->kind == WB_S_MEMORY) block_of(program, base)->held = true;
    else program->marks_unknown |= base->kind == WB_S_UNKNOWN || base->kind == WB_S_EITHER;
}

void
wb_note_marked(struct wb_program *program, struct wb_symbol *value)
{
    if (value->kind == WB_S_LOAD) hold(program, value->of);
    else program->marks_unknown |= value->kind == WB_S_UNKNOWN || value->kind == WB_S_EITHER;
}

void
wb_note_freed(struct wb_frame *frame, struct wb_symbol *value)
{
    if (value->kind == WB_S_MEMORY) block_of(frame->flow->program, value)->freed = true;
    if (value->kind == WB_S_PARAMETER && value->what == frame->function && value->number < 64) {
        frame->summary->frees |= UINT64_C(1) << value->number;
    }
}

void
wb_note_passed(struct wb_frame *frame, struct wb_function *function, unsigned number,
               struct wb_symbol *value, const struct wb_node *node)
{
    static const char *const freeing[] = {"free", "rb_ensure", "realloc", "ruby_xfree"};
    struct wb_program *program = frame->flow->program;
    struct wb_record *record = node->type ? wb_pointed(node->type) : NULL;

    if (wb_registers_p(function)) hold(program, value);
    if (value->kind == WB_S_LOAD && wb_holds_p(function, number)) hold(program, value->of);
    if (record && !function->body && !function->foreign) record->given = true;
    if (WB_ONE_OF_P(function, freeing)) wb_note_freed(frame, value);
    if (value->kind != WB_S_MEMORY) return;
    struct wb_block *block = block_of(program, value);
    if (!block->record) block->record = record;
    if (!block->library && may_keep_p(function, number)) block->library = function->name;
}

const struct wb_record *
wb_kept_record(const struct wb_record *record)
{
    for (unsigned steps = 0; record && steps < STEPS_MOST; steps++, record = record->kept_in) {
        if (record->keeper) return record;
    }
    return NULL;
}
