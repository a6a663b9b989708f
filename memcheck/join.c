/* join.c - joins the errors of Valgrind with the Ruby stacks of the process, by address.
 *
 *     error (a loss record) --number--> blocks --address--> Ruby stacks
 *
 * A loss record is all lost blocks with one C stack. It becomes one record for each Ruby stack
 * of its blocks. If some of its blocks are missing in the list, or nothing is known about them,
 * it becomes one record without a Ruby stack. Records that differ only behind the interpreter
 * are merged.
 *
 *     error about a block --Valgrind's words about the address--> the block
 *                         --address--> the Ruby stack that allocated it
 *
 * The last step is possible for blocks that exist at the end. By then another block may have
 * the address, so its size and its C function must be equal, too. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include "memcheck/join.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "memcheck/causes.h"
#include "memcheck/valgrind/error_block.h"

struct join {
    struct memcheck_process *process;
    const struct memcheck_valgrind *valgrind;
    const struct memcheck_block_list *list;
    struct memcheck_record *records;       /* the new records */
    size_t count, capacity;
    bool   room;
};

/* ---- records ---- */

static struct memcheck_record *
add(struct join *join, const struct memcheck_error *error)
{
    if (!HEAPPROF_ARRAY_GROW(join->records, join->capacity, join->count + 1)) {
        join->room = false;
        return NULL;
    }
    struct memcheck_record *record = &join->records[join->count++];
    *record = (struct memcheck_record){
        .kind = error->kind, .error = error, .times = error->times, .core = error->core,
        .what = memcheck_valgrind_string(join->valgrind, error->what),
        .first_caller = error->first_caller, .caller_count = error->caller_count
    };
    record->function = rb_heapprof_strings_get(&join->valgrind->strings, error->function,
                                               &record->function_length);
    if (record->function_length == 0) {
        record->function = "?";
        record->function_length = 1;
    }
    record->library =
        rb_heapprof_strings_get(&join->valgrind->strings, error->library, &record->library_length);
    return record;
}

/* A record with only what the error itself says. */
static void
add_whole(struct join *join, const struct memcheck_error *error)
{
    struct memcheck_record *record = add(join, error);

    if (!record) return;
    record->blocks = error->blocks;
    record->indirect_bytes = error->indirect_bytes;
    record->bytes = error->bytes > error->indirect_bytes ? error->bytes - error->indirect_bytes : 0;
}

/* An error that the process itself has found. */
static void
add_own(struct join *join, const struct memcheck_record *record)
{
    if (!memcheck_error_p(record->kind)) return;
    if (HEAPPROF_ARRAY_GROW(join->records, join->capacity, join->count + 1))
        join->records[join->count++] = *record;
    else join->room = false;
}

/* ---- the records of blocks ---- */

static int
compare_addresses(const void *left, const void *right)
{
    const struct memcheck_record *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static const struct memcheck_record *
known(const struct memcheck_process *process, uint64_t address)
{
    const struct memcheck_record key = {.address = address};

    if (process->record_count == 0) return NULL;
    return bsearch(&key, process->records, process->record_count, sizeof(key), compare_addresses);
}

/* ---- merging equal records ---- */

static int
compare_ruby(const struct memcheck_process *process, const struct memcheck_ruby_stack *a,
             const struct memcheck_ruby_stack *b)
{
    const uint32_t *all = process->locations;
    const struct memcheck_ruby_frame *told = process->valgrind->ruby_frames;

    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    if (a->count == 0) return 0;
    if (a->told) return memcmp(told + a->first, told + b->first, a->count * sizeof(*told));
    return memcmp(all + a->first, all + b->first, a->count * sizeof(*all));
}

/* How many frames the stack has before the interpreter. */
static uint32_t
frame_count(const struct memcheck_valgrind *valgrind, const struct memcheck_c_stack *stack)
{
    uint32_t count = 0;

    while (count < stack->frame_count &&
           valgrind->frames[stack->first_frame + count].role != MEMCHECK_INTERPRETER)
        count++;
    return count;
}

static int
compare_stack(const struct memcheck_valgrind *valgrind, const struct memcheck_c_stack *a,
              const struct memcheck_c_stack *b)
{
    const struct memcheck_c_frame *frames = valgrind->frames;
    uint32_t count = frame_count(valgrind, a), other_count = frame_count(valgrind, b);

    if (count != other_count) return count < other_count ? -1 : 1;
    return count ? memcmp(frames + a->first_frame, frames + b->first_frame,
                          count * sizeof(*frames)) : 0;
}

static int
compare_c(const struct memcheck_valgrind *valgrind, const struct memcheck_error *a,
          const struct memcheck_error *b)
{
    int order = 0;

    if (a->stack_count != b->stack_count) return a->stack_count < b->stack_count ? -1 : 1;
    for (uint32_t i = 0; i < a->stack_count && order == 0; i++) {
        order = compare_stack(valgrind, &valgrind->stacks[a->first_stack + i],
                              &valgrind->stacks[b->first_stack + i]);
    }
    return order;
}

/* A function that uses a dead object reads it at several places: that is one use. */
static int
compare_dead(const struct memcheck_process *process, const struct memcheck_record *a,
             const struct memcheck_record *b)
{
    int order = compare_ruby(process, &a->stack, &b->stack);

    if (order == 0) order = compare_ruby(process, &a->asked, &b->asked);
    if (order == 0) order = compare_ruby(process, &a->collected, &b->collected);
    if (order) return order;
    if (a->error->library != b->error->library)
        return a->error->library < b->error->library ? -1 : 1;
    if (a->error->function == b->error->function) return 0;
    return a->error->function < b->error->function ? -1 : 1;
}

/* Records are equal if kind, stacks and, for an error, Valgrind's words are equal. */
static int
compare_all(const void *left, const void *right, void *data)
{
    const struct memcheck_record *a = left, *b = right;
    const struct memcheck_process *process = data;

    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->kind == MEMCHECK_DEAD_OBJECT) return compare_dead(process, a, b);
    if (memcheck_error_p(a->kind) && a->error->what != b->error->what)
        return a->error->what < b->error->what ? -1 : 1;
    int ruby = compare_ruby(process, &a->stack, &b->stack),
        asked = compare_ruby(process, &a->asked, &b->asked);
    if (ruby) return ruby;
    return asked ? asked : compare_c(process->valgrind, a->error, b->error);
}

static void
add_amounts(struct memcheck_record *to, const struct memcheck_record *from)
{
    memcheck_record_add(to, from);
    if (to->kind != MEMCHECK_DEAD_OBJECT) to->times += from->times;
    else if (from->times > to->times) to->times = from->times;
    if (from->error > to->error) return;
    to->error = from->error; /* the earlier error */
    to->what = from->what;
}

static void
merge_equals(struct memcheck_process *process)
{
    struct memcheck_record *records = process->records;
    size_t kept = 0;

    if (process->record_count == 0) return;
    qsort_r(records, process->record_count, sizeof(*records), compare_all, process);
    for (size_t i = 1; i < process->record_count; i++) {
        if (compare_all(&records[kept], &records[i],
                        process) == 0) add_amounts(&records[kept], &records[i]);
        else records[++kept] = records[i];
    }
    process->record_count = kept + 1;
}

/* ---- a loss record ---- */

/* The caller knows that the list has all blocks of the loss record. */
static bool
listed_p(const struct memcheck_block_list *list, const struct memcheck_error *error)
{
    size_t count;

    memcheck_block_list_get(list, error->number, &count);
    return error->of == list->of && (int64_t)count == error->blocks;
}

void
memcheck_join_place(struct memcheck_valgrind *valgrind, const struct memcheck_block_list *lists)
{
    enum { STEPS_MOST = 64 };

    for (uint32_t i = 0; i < valgrind->error_count; i++) {
        struct memcheck_error *error = &valgrind->errors[i];
        if (memcheck_error_p(error->kind)) continue;
        uint32_t document = error->document;
        for (int steps = 0; document != MEMCHECK_NO_DOCUMENT && steps < STEPS_MOST; steps++) {
            if (listed_p(&lists[document], error)) {
                error->document = document;
                break;
            }
            document = valgrind->documents[document].parent;
        }
    }
}

/* ---- an error ---- */

static bool
same_text_p(const struct memcheck_valgrind *valgrind, uint32_t string, const char *text,
            size_t length)
{
    size_t own_length;
    const char *own = rb_heapprof_strings_get(&valgrind->strings, string, &own_length);

    return own_length == length && memcmp(own, text, length) == 0;
}

/* True if the function that allocated the block is in that stack. */
static bool
asked_there_p(const struct memcheck_valgrind *valgrind, const struct memcheck_c_stack *stack,
              const struct memcheck_record *its)
{
    for (uint32_t i = 0; i < stack->frame_count; i++) {
        const struct memcheck_c_frame *frame = &valgrind->frames[stack->first_frame + i];
        if (same_text_p(valgrind, frame->function, its->function, its->function_length) &&
            same_text_p(valgrind, frame->library, its->library, its->library_length)) return true;
    }
    return false;
}

static void
find_asked(const struct join *join, struct memcheck_record *record)
{
    for (uint32_t i = 0; i < record->error->stack_count && record->asked.count == 0; i++) {
        const struct memcheck_c_stack *stack =
            &join->valgrind->stacks[record->error->first_stack + i];
        struct memcheck_error_block block;
        if (!memcheck_error_block_read(memcheck_valgrind_string(join->valgrind, stack->title),
                                       &block)) continue;
        const struct memcheck_record *its = known(join->process, block.address);
        if (!its || its->bytes != block.bytes || !asked_there_p(join->valgrind, stack, its))
            continue;
        record->asked = its->stack;
    }
}

static struct memcheck_ruby_stack
told(const struct memcheck_told_stack *stack)
{
    return (struct memcheck_ruby_stack){ stack->first, stack->count, true };
}

/* For an error, Valgrind's messages give the Ruby stack. */
static void
add_error(struct join *join, const struct memcheck_error *error)
{
    struct memcheck_record *record = add(join, error);

    if (!record) return;
    record->stack =
        (struct memcheck_ruby_stack){ error->first_ruby_frame, error->ruby_frame_count, true };
    if (error->kind == MEMCHECK_DEAD_OBJECT) {
        record->asked = told(&error->allocated);
        record->collected = told(&error->collected);
        return;
    }
    find_asked(join, record);
}

static void
add_block(struct join *join, const struct memcheck_error *error, const struct memcheck_block *block)
{
    const struct memcheck_record *its = known(join->process, block->address);
    struct memcheck_record *record = add(join, error);

    if (!record) return;
    record->blocks = 1;
    record->bytes = block->bytes;
    record->indirect_blocks = block->indirect_blocks;
    record->indirect_bytes = block->indirect_bytes;
    if (its) record->stack = its->stack;
}

static void
add_loss(struct join *join, const struct memcheck_error *error)
{
    size_t count = 0;
    const struct memcheck_block *blocks =
        memcheck_block_list_get(join->list, error->number, &count);

    size_t most = join->list->count + join->valgrind->error_count; /* a forged file may name one
                                                                      block many times */
    if (!listed_p(join->list, error) || join->count > most) {
        add_whole(join, error);
        return;
    }
    for (size_t i = 0; i < count; i++) add_block(join, error, &blocks[i]);
}

bool
memcheck_join(struct memcheck_process *process, const struct memcheck_valgrind *valgrind,
              uint32_t document,
              const struct memcheck_block_list *list)
{
    struct join join = {.process = process, .valgrind = valgrind, .list = list, .room = true};

    if (process->record_count > 0) {
        qsort(process->records, process->record_count, sizeof(*process->records),
              compare_addresses);
    }
    for (uint32_t i = 0; i < valgrind->error_count && join.room; i++) {
        const struct memcheck_error *error = &valgrind->errors[i];
        if (error->document != document) continue;
        if (memcheck_error_p(error->kind)) add_error(&join, error);
        else add_loss(&join, error);
    }
    size_t joined = join.count;
    for (size_t i = 0; i < process->record_count && join.room; i++)
        add_own(&join, &process->records[i]);
    free(process->records);
    process->records = join.records;
    process->record_count = joined;
    process->valgrind = valgrind;
    process->decided = list->of > 0;
    process->dropped = 0;
    merge_equals(process);
    if (join.count > joined) {
        memmove(process->records + process->record_count, process->records + joined,
                (join.count - joined) * sizeof(*process->records));
    }
    process->record_count += join.count - joined;
    memcheck_causes_find(process);
    return join.room;
}
