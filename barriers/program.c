/* program.c - a table from names and keys to the things they stand for. */
#include "barriers/program.h"

#include <string.h>

struct wb_entry {
    const char         *text;
    struct wb_function *function;
    struct wb_record   *record;
    struct wb_variable *global;
};

void
wb_program_init(struct wb_program *program)
{
    memset(program, 0, sizeof(*program));
    rb_heapprof_mem_init(&program->mem, SIZE_MAX);
    rb_heapprof_strings_init(&program->strings, &program->mem);
    program->functions_end = &program->functions;
    program->data_types_end = &program->data_types;
    program->globals_end = &program->globals;
    program->records_end = &program->records;
}

static struct wb_entry *
entry_of(struct wb_program *program, const char *text)
{
    size_t length = strlen(text);
    uint32_t number = rb_heapprof_strings_intern(&program->strings, text, length);

    if (number == UINT32_MAX ||
        !HEAPPROF_MEM_GROW(&program->mem, program->entries, program->entry_capacity,
                           (size_t)number + 1)) {
        wb_out_of_memory();
    }
    struct wb_entry *entry = &program->entries[number];
    if (!entry->text) entry->text = wb_arena_text(&program->arena, text, length);
    return entry;
}

const char *
wb_name(struct wb_program *program, const char *text)
{
    return entry_of(program, text)->text;
}

struct wb_function *
wb_function_of(struct wb_program *program, const char *key, const char *name)
{
    struct wb_entry *entry = entry_of(program, key);

    if (!entry->function) {
        struct wb_function *function = WB_NEW(&program->arena, struct wb_function);
        entry->function = function;
        function->key = entry->text;
        function->name = wb_name(program, name);
        *program->functions_end = function;
        program->functions_end = &function->next;
        return function;
    }
    return entry->function;
}

struct wb_record *
wb_record_of(struct wb_program *program, const char *key, const char *name)
{
    struct wb_entry *entry = entry_of(program, key);

    if (!entry->record) {
        struct wb_record *record = WB_NEW(&program->arena, struct wb_record);
        entry->record = record;
        record->name = wb_name(program, name);
        *program->records_end = record;
        program->records_end = &record->next;
        return record;
    }
    return entry->record;
}

struct wb_variable *
wb_global_of(struct wb_program *program, const char *key, const char *name)
{
    struct wb_entry *entry = entry_of(program, key);

    if (!entry->global) {
        struct wb_variable *variable = WB_NEW(&program->arena, struct wb_variable);
        entry->global = variable;
        variable->global = true;
        variable->name = wb_name(program, name);
        *program->globals_end = variable;
        program->globals_end = &variable->next;
        return variable;
    }
    return entry->global;
}

struct wb_data_type *
wb_data_type_of(struct wb_program *program, struct wb_variable *variable)
{
    if (!variable->data_type) {
        struct wb_data_type *data_type = WB_NEW(&program->arena, struct wb_data_type);
        variable->data_type = data_type;
        data_type->name = variable->name;
        *program->data_types_end = data_type;
        program->data_types_end = &data_type->next;
    }
    return variable->data_type;
}

struct wb_record *
wb_pointed(const struct wb_type *type)
{
    if (!type || type->kind != WB_POINTER) return NULL;
    return type->to && type->to->kind == WB_RECORD ? type->to->record : NULL;
}

static struct wb_owner *
owner_of(const struct wb_record *record, const struct wb_data_type *data_type)
{
    struct wb_owner *owner = record->owners;

    while (owner && owner->data_type != data_type) owner = owner->next;
    return owner;
}

void
wb_add_owner(struct wb_program *program, struct wb_record *record, struct wb_data_type *data_type,
             bool whole)
{
    struct wb_owner *owner = owner_of(record, data_type);

    if (!owner) {
        owner = WB_NEW(&program->arena, struct wb_owner);
        owner->data_type = data_type;
        owner->record = record;
        owner->next_record = data_type->owned;
        data_type->owned = owner;
        owner->next = record->owners;
        record->owners = owner;
        program->owner_count++;
    }
    owner->whole |= whole;
    if (whole && record->size > data_type->extent) data_type->extent = record->size;
}

bool
wb_owned_p(const struct wb_record *record, const struct wb_data_type *data_type)
{
    return owner_of(record, data_type) != NULL;
}

bool
wb_whole_p(const struct wb_record *record, const struct wb_data_type *data_type)
{
    const struct wb_owner *owner = owner_of(record, data_type);

    return owner && owner->whole;
}

const struct wb_node *
wb_without_casts(const struct wb_node *node)
{
    while ((node->kind == WB_CAST || node->kind == WB_ANY) && node->child && !node->child->next) {
        node = node->child;
    }
    return node;
}
