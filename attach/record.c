/* record.c - counts stacks, and makes a profile of the counts. */
#include "attach/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_BYTES ((size_t)2 << 30)

/* ---- the tables ---- */

static uint64_t
entry_hash(const void *owner, uint32_t number)
{
    const struct attach_record_entry *entry =
        &((const struct attach_record *)owner)->entries[number];
    return rb_heapprof_index_hash((uint64_t)entry->stack << 32 | entry->thread);
}

static uint64_t
thread_hash(const void *owner, uint32_t number)
{
    const struct attach_record_thread *thread =
        &((const struct attach_record *)owner)->threads[number];
    return rb_heapprof_index_hash(thread->address ^ (uint64_t)thread->pid << 48);
}

void
attach_record_init(struct attach_record *record, const struct attach_record_options *options)
{
    *record = (struct attach_record){.options = *options};
    rb_heapprof_mem_init(&record->mem, BUDGET_BYTES);
    attach_names_init(&record->names, &record->mem);
    rb_heapprof_stacks_init(&record->stacks, &record->mem);
}

void
attach_record_free(struct attach_record *record)
{
    HEAPPROF_MEM_RELEASE(&record->mem, record->entries, record->entry_capacity);
    HEAPPROF_MEM_RELEASE(&record->mem, record->threads, record->thread_capacity);
    rb_heapprof_index_release(&record->index, &record->mem);
    rb_heapprof_index_release(&record->thread_index, &record->mem);
    rb_heapprof_stacks_free(&record->stacks);
    attach_names_free(&record->names);
}

/* ---- adding ---- */

static uint32_t
label_of(struct attach_record *record, struct attach_looks *looks,
         const struct attach_thread *thread)
{
    struct attach_text text;
    char number[64];

    attach_look_name(looks, thread->name, &text);
    snprintf(number, sizeof(number), text.length ? " [%d]" : "thread [%d]", thread->tid);
    attach_text_add_cstr(&text, number);
    return rb_heapprof_strings_intern(&record->names.strings, text.bytes, text.length);
}

/* The thread's number; 0 without memory. */
static uint32_t
thread_number(struct attach_record *record, struct attach_looks *looks,
              const struct attach_thread *thread)
{
    struct attach_record_thread key = {.address = thread->address, .pid = looks->target->pid};
    uint64_t hash = rb_heapprof_index_hash(key.address ^ (uint64_t)key.pid << 48);
    uint32_t number;

    for (uint64_t probe = hash; (number = rb_heapprof_index_at(&record->thread_index, probe)) != 0;
         probe++) {
        const struct attach_record_thread *other = &record->threads[number];
        if (other->address == key.address && other->pid == key.pid) return number;
    }
    number = record->thread_count + 1;
    if (!HEAPPROF_MEM_GROW(&record->mem, record->threads, record->thread_capacity, number + 1) ||
        !rb_heapprof_index_reserve(&record->thread_index, &record->mem, record->thread_count,
                                   thread_hash, record) ||
        (key.label = label_of(record, looks, thread)) == UINT32_MAX)
        return 0;
    record->threads[number] = key;
    record->thread_count = number;
    rb_heapprof_index_insert(&record->thread_index, hash, number);
    return number;
}

static bool
counts_p(const struct attach_record_options *options, const struct attach_look_stack *stack)
{
    enum attach_thread_state state = stack->thread.state;

    if (stack->failed || state == ATTACH_THREAD_ENDED) return false;
    if (options->mode == ATTACH_RECORD_GVL) return state == ATTACH_THREAD_RUNNING;
    if (options->mode == ATTACH_RECORD_CPU) return stack->on_cpu;
    return options->idle || !stack->idle;
}

static uint32_t
push(struct attach_record *record, uint32_t parent, uint32_t function, uint32_t line)
{
    if (parent == HEAPPROF_NO_STACK || function == 0) return HEAPPROF_NO_STACK;
    return rb_heapprof_stacks_push(&record->stacks, parent, function,
                                   record->options.no_lines ? 0 : line);
}

static uint32_t
mark(struct attach_record *record, uint32_t parent, const char *name)
{
    return push(record, parent, attach_names_mark(&record->names, name), 0);
}

/* A frame that says which thread it is. */
static uint32_t
thread_frame(struct attach_record *record, uint32_t thread)
{
    size_t length;
    struct attach_text text = {0}, none = {0};
    const char *label = attach_names_text(&record->names, record->threads[thread].label, &length);

    attach_text_add(&text, label, length);
    return push(record, 0, attach_names_function(&record->names, &text, &none, 0, true), 0);
}

static uint32_t
stack_number(struct attach_record *record, const struct attach_looks *looks,
             const struct attach_look_stack *stack, uint32_t thread)
{
    uint32_t number = record->options.thread_frames ? thread_frame(record, thread) : 0;

    for (size_t i = stack->count; i-- > 0; ) {
        const struct attach_look_frame *frame = &looks->frames[stack->first + i];
        number = push(record, number, frame->function, frame->line);
    }
    if (stack->collecting && record->options.collections)
        number = mark(record, number, "(garbage collection)");
    return number;
}

/* The entry to count in; 0 without memory. */
static uint32_t
entry_number(struct attach_record *record, uint32_t stack, uint32_t thread)
{
    struct attach_record_entry key = {stack, thread, 0};
    uint64_t hash = rb_heapprof_index_hash((uint64_t)stack << 32 | thread);
    uint32_t number = record->options.in_order ? record->threads[thread].last : 0;

    if (number && record->entries[number].stack == stack) return number;
    if (!record->options.in_order) {
        for (uint64_t probe = hash; (number = rb_heapprof_index_at(&record->index, probe)) != 0;
             probe++) {
            const struct attach_record_entry *other = &record->entries[number];
            if (other->stack == stack && other->thread == thread) return number;
        }
    }
    number = record->entry_count + 1;
    if (!HEAPPROF_MEM_GROW(&record->mem, record->entries, record->entry_capacity, number + 1))
        return 0;
    if (!record->options.in_order) {
        if (!rb_heapprof_index_reserve(&record->index, &record->mem, record->entry_count,
                                       entry_hash, record))
            return 0;
        record->entries[number] = key;
        rb_heapprof_index_insert(&record->index, hash, number);
    }
    else {
        record->entries[number] = key;
        record->threads[thread].last = number;
    }
    record->entry_count = number;
    return number;
}

static bool
add_stack(struct attach_record *record, struct attach_looks *looks,
          const struct attach_look_stack *stack, uint64_t periods)
{
    bool counts = counts_p(&record->options, stack);
    bool apart =
        record->options.threads || record->options.thread_frames || record->options.in_order;
    uint32_t thread = 0, number;

    if (!counts && !record->options.in_order) return true;
    if (apart && (thread = thread_number(record, looks, &stack->thread)) == 0) return false;
    number = counts ? stack_number(record, looks, stack, thread) : mark(record, 0, "(idle)");
    if (number == HEAPPROF_NO_STACK || (number = entry_number(record, number, thread)) == 0)
        return false;
    record->entries[number].count += periods;
    record->added += counts;
    return true;
}

bool
attach_record_add(struct attach_record *record, struct attach_looks *looks, uint64_t periods)
{
    for (size_t i = 0; i < looks->stack_count; i++) {
        if (!add_stack(record, looks, &looks->stacks[i], periods)) return false;
    }
    return true;
}

/* ---- as a profile ---- */

/* A profile that is being made. A function or stack with a number has been added already. */
struct record_making {
    struct attach_record *record;
    struct heapprof_model *model;
    uint32_t *strings, *functions,
        *locations; /* by string of names + 1, by function, by node of stacks; 0: not yet */
};

static bool
begin(struct record_making *making, struct attach_record *record)
{
    *making = (struct record_making){
        .record = record, .model = rb_heapprof_model_new(),
        .strings = calloc((size_t)record->names.strings.numbers.end + 1, sizeof(uint32_t)),
        .functions = calloc((size_t)record->names.functions.numbers.end + 1, sizeof(uint32_t)),
        .locations = calloc((size_t)record->stacks.numbers.end + 1, sizeof(uint32_t)),
    };
    return making->model && making->strings && making->functions && making->locations &&
           rb_heapprof_model_add_string(making->model, "", 0) == 0;
}

static void
end(struct record_making *making)
{
    free(making->strings);
    free(making->functions);
    free(making->locations);
}

static uint32_t
text(struct record_making *making, const char *bytes)
{
    return rb_heapprof_model_add_string(making->model, bytes, strlen(bytes));
}

static uint32_t
string(struct record_making *making, uint32_t interned)
{
    size_t length;
    const char *bytes = attach_names_text(&making->record->names, interned, &length);

    if (interned == 0) return 0;
    if (!making->strings[interned])
        making->strings[interned] = rb_heapprof_model_add_string(making->model, bytes, length);
    return making->strings[interned];
}

/* Its id; 0 without memory. */
static uint32_t
function_id(struct record_making *making, uint32_t number)
{
    if (making->functions[number]) return making->functions[number];

    const struct heapprof_function *from = attach_names_get(&making->record->names, number);
    uint32_t id = rb_heapprof_model_functions(making->model) + 1;
    uint32_t name = string(making, from->name), path = string(making, from->path);
    if (name == HEAPPROF_NO_STRING || path == HEAPPROF_NO_STRING ||
        rb_heapprof_ids_add(&making->model->function_ids, &making->model->mem, id) !=
            HEAPPROF_IDS_ADDED)
        return 0;
    struct heapprof_model_function *function = rb_heapprof_model_add_function(making->model);
    if (!function) return 0;
    *function = (struct heapprof_model_function){
        .name = name, .system_name = name, .filename = path, .start_line = from->first_line
    };
    return making->functions[number] = id;
}

static uint32_t
location_id(struct record_making *making, uint32_t node_number)
{
    if (making->locations[node_number]) return making->locations[node_number];

    const struct heapprof_stack_node *node =
        rb_heapprof_stacks_node(&making->record->stacks, node_number);
    uint32_t function = function_id(making, node->function);
    uint32_t id = rb_heapprof_model_locations(making->model) + 1;
    if (!function || rb_heapprof_ids_add(&making->model->location_ids, &making->model->mem, id) !=
                         HEAPPROF_IDS_ADDED)
        return 0;
    struct heapprof_model_location *location = rb_heapprof_model_add_location(making->model);
    struct heapprof_model_line *line = location ? rb_heapprof_model_add_line(making->model) : NULL;
    if (!line) return 0;
    line->function = function;
    line->line = node->line;
    return making->locations[node_number] = id;
}

static bool
add_type(struct record_making *making, uint32_t name, const char *unit)
{
    uint32_t unit_string = text(making, unit);
    struct heapprof_model_type *type = rb_heapprof_model_add_type(making->model);

    if (!type || name == HEAPPROF_NO_STRING || unit_string == HEAPPROF_NO_STRING) return false;
    type->type = name;
    type->unit = unit_string;
    return true;
}

static bool
add_types(struct record_making *making)
{
    static const char *const modes[] = {"wall", "cpu", "gvl"};
    struct attach_record *record = making->record;

    if (!record->options.in_order) {
        return add_type(making, text(making, "samples"), "count") &&
               add_type(making, text(making, modes[record->options.mode]), "nanoseconds");
    }
    for (uint32_t i = 1; i <= record->thread_count; i++) {
        if (!add_type(making, string(making, record->threads[i].label), "nanoseconds"))
            return false;
    }
    return true;
}

static bool
add_values(struct record_making *making, const struct attach_record_entry *entry)
{
    struct attach_record *record = making->record;
    uint64_t time = entry->count * record->options.period_ns;

    if (!record->options.in_order) {
        return rb_heapprof_model_add_number(making->model, entry->count) &&
               rb_heapprof_model_add_number(making->model, time);
    }
    for (uint32_t i = 1; i <= record->thread_count; i++) {
        if (!rb_heapprof_model_add_number(making->model, i == entry->thread ? time : 0))
            return false;
    }
    return true;
}

static bool
add_label(struct record_making *making, uint32_t key, uint32_t thread)
{
    const uint32_t numbers[] = {key, string(making, making->record->threads[thread].label), 0, 0};

    for (size_t i = 0; i < 4; i++) {
        if (numbers[i] == HEAPPROF_NO_STRING ||
            !rb_heapprof_model_add_number(making->model, numbers[i]))
            return false;
    }
    return true;
}

static bool
add_sample(struct record_making *making, const struct attach_record_entry *entry, uint32_t label)
{
    const struct heapprof_stacks *stacks = &making->record->stacks;
    bool labelled = entry->thread && making->record->options.threads;
    uint32_t depth = entry->stack ? rb_heapprof_stacks_node(stacks, entry->stack)->depth : 0;

    if (!rb_heapprof_model_begin_sample(making->model, depth, labelled)) return false;
    for (uint32_t node = entry->stack; node; node = rb_heapprof_stacks_node(stacks, node)->parent) {
        uint32_t id = location_id(making, node);
        if (!id || !rb_heapprof_model_add_number(making->model, id)) return false;
    }
    return add_values(making, entry) && (!labelled || add_label(making, label, entry->thread));
}

static bool
add_comments(struct record_making *making, const char *const *comments)
{
    for (; *comments; comments++) {
        uint32_t comment = text(making, *comments);
        if (comment == HEAPPROF_NO_STRING || !rb_heapprof_model_add_comment(making->model, comment))
            return false;
    }
    return true;
}

static bool
make(struct record_making *making, const char *const *comments)
{
    struct heapprof_model *model = making->model;
    uint32_t label = text(making, "thread");

    if (label == HEAPPROF_NO_STRING || !add_types(making) || !add_comments(making, comments))
        return false;
    for (uint32_t i = 1; i <= making->record->entry_count; i++) {
        if (!add_sample(making, &making->record->entries[i], label)) return false;
    }
    model->period = (int64_t)making->record->options.period_ns;
    if (model->type_count) model->period_type = model->types[model->type_count - 1];
    return true;
}

struct heapprof_model *
attach_record_model(struct attach_record *record, const char *const *comments, int64_t time_ns,
                    int64_t duration_ns)
{
    struct record_making making;
    char message[256];
    bool made = begin(&making, record) && make(&making, comments) &&
                rb_heapprof_model_finish(making.model, message, sizeof(message));

    end(&making);
    if (!made) {
        rb_heapprof_model_free(making.model);
        return NULL;
    }
    making.model->time_ns = time_ns;
    making.model->duration_ns = duration_ns;
    return making.model;
}
