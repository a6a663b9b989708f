/* record.c - adds up the time of stacks.
 *
 *     look 1          look 2     look 3
 *     |  <- gap 2 ->  |  <- 3 -> |     gap 2 goes to what look 2 sees, gap 3 to what look 3 sees
 *
 *     a thread that is new at look 3     its age, if that is less than the gap
 *     a thread that look 3 does not see  half of the gap, to its last stack: as a rule it ended in
 *                                        the middle; of a late look, half of a period
 *     a gap of more than GAP_MOST_NS     nobody knows what was done: "(not looked at)"
 *
 * Mode cpu takes times from the kernel. What a thread ran before it was seen waiting is counted
 * when it is seen running again. What was never seen running is the process's time minus all
 * that was counted (attach_record_model).
 *
 *   I1  In order: an entry lasts until the next one of its thread begins, or the thread ends. */
#include "attach/record.h"

#include <string.h>

#define BUDGET_BYTES ((size_t)2 << 30)
#define GAP_MOST_NS INT64_C(2000000000) /* or two periods */

const struct attach_record_wait attach_record_waits[ATTACH_RECORD_WAITS] = {
    [ATTACH_WAITS_SLEEP] = { "(sleeps)", "sleep" },
    [ATTACH_WAITS_LOCK] = { "(waits for a lock)", "lock" },
    [ATTACH_WAITS_GVL] = { "(waits for the GVL)", "GVL" },
    [ATTACH_WAITS_IO] = { "(waits for I/O)", "IO" },
    [ATTACH_RECORD_QUEUE] = { "(waits for a processor)", "run queue" },
};

/* ---- the tables ---- */

static uint64_t
hash_of(const struct attach_record_entry *entry)
{
    return rb_heapprof_index_hash((uint64_t)entry->stack << 32 | entry->who) ^
           rb_heapprof_index_hash(entry->labels);
}

static uint64_t
entry_hash(const void *owner, uint32_t number)
{
    return hash_of(&((const struct attach_record *)owner)->entries[number]);
}

void
attach_record_init(struct attach_record *record, const struct attach_record_options *options,
                   int64_t now_ns)
{
    bool apart = options->threads || options->thread_frames || options->in_order;

    *record = (struct attach_record){ .options = *options, .began_ns = now_ns,
                                      .looked_ns = now_ns };
    rb_heapprof_mem_init(&record->mem, BUDGET_BYTES);
    attach_names_init(&record->names, &record->mem);
    attach_roster_init(&record->roster, &record->names, &record->mem, apart);
    rb_heapprof_stacks_init(&record->stacks, &record->mem);
}

void
attach_record_free(struct attach_record *record)
{
    HEAPPROF_MEM_RELEASE(&record->mem, record->entries, record->entry_capacity);
    rb_heapprof_index_release(&record->index, &record->mem);
    rb_heapprof_stacks_free(&record->stacks);
    attach_roster_free(&record->roster);
    attach_names_free(&record->names);
}

enum attach_look_wanted
attach_record_wanted(const struct attach_record_options *options)
{
    switch (options->mode) {
      case ATTACH_RECORD_CPU: return ATTACH_LOOK_CPU;
      case ATTACH_RECORD_GVL: return ATTACH_LOOK_GVL;
      case ATTACH_RECORD_OFF: return ATTACH_LOOK_OFF;
      case ATTACH_RECORD_WALL: break;
    }
    return options->idle ? ATTACH_LOOK_ALL : ATTACH_LOOK_BUSY;
}

int64_t
attach_record_alarms_ns(const struct attach_record_options *options)
{
    return options->mode == ATTACH_RECORD_CPU && !options->in_order ? options->period_ns : 0;
}

/* ---- stacks ---- */

static uint32_t
push(struct attach_record *record, uint32_t parent, uint32_t function, uint32_t line)
{
    if (parent == HEAPPROF_NO_STACK || function == 0) return HEAPPROF_NO_STACK;
    return rb_heapprof_stacks_push(&record->stacks, parent, function,
                                   record->options.no_lines ? 0 : line);
}

uint32_t
attach_record_mark(struct attach_record *record, uint32_t parent, const char *name)
{
    return push(record, parent, attach_names_mark(&record->names, name), 0);
}

/* A thread that begins, or a Ruby that starts, has no frame yet. */
static uint32_t
stack_number(struct attach_record *record, const struct attach_looks *looks,
             const struct attach_look_stack *stack)
{
    uint32_t number = 0;

    for (size_t i = stack->count; i-- > 0; ) {
        const struct attach_look_frame *frame = &looks->frames[stack->first + i];
        number = push(record, number, frame->function, frame->line);
    }
    if (stack->count == 0) number = attach_record_mark(record, number, "(no Ruby method)");
    if (stack->collecting && record->options.collections && !stack->collection_shown)
        number = attach_record_mark(record, number, "(garbage collection)");
    return number;
}

/* ---- counting ---- */

/* A new entry; 0 without memory. */
static uint32_t
add_entry(struct attach_record *record, const struct attach_record_entry *entry)
{
    uint32_t number = record->entry_count + 1;

    if (!HEAPPROF_MEM_GROW(&record->mem, record->entries, record->entry_capacity,
                           (size_t)number + 1))
        return 0;
    record->entries[number] = *entry;
    return record->entry_count = number;
}

void
attach_record_extend(struct attach_record *record, uint32_t number, int64_t end_ns)
{
    struct attach_record_entry *entry = &record->entries[number];

    if (end_ns > entry->began_ns) entry->ns = (uint64_t)(end_ns - entry->began_ns);
}

uint32_t
attach_record_count(struct attach_record *record, const struct attach_record_entry *key)
{
    uint64_t hash = hash_of(key);
    uint32_t number;

    if (key->stack == HEAPPROF_NO_STACK) return 0;
    for (uint64_t probe = hash; (number = rb_heapprof_index_at(&record->index, probe)) != 0;
         probe++) {
        const struct attach_record_entry *other = &record->entries[number];
        if (other->stack == key->stack && other->who == key->who && other->labels == key->labels)
            break;
    }
    if (!number) {
        if (!rb_heapprof_index_reserve(&record->index, &record->mem, record->entry_count,
                                       entry_hash, record) ||
            (number = add_entry(record, key)) == 0)
            return 0;
        rb_heapprof_index_insert(&record->index, hash, number);
        return number;
    }
    record->entries[number].count += key->count;
    record->entries[number].ns += key->ns;
    return number;
}

/* The same in order (I1). */
static uint32_t
count_in_order(struct attach_record *record, uint32_t stack,
               const struct attach_roster_thread *thread, int64_t now_ns, int64_t ns)
{
    struct attach_record_entry next = { .stack = stack, .who = thread->who,
                                        .began_ns = now_ns - ns - record->began_ns };
    uint32_t number = thread->entry;

    if (stack == HEAPPROF_NO_STACK) return 0;
    if (number &&
        (record->entries[number].stack != stack || record->entries[number].who != thread->who)) {
        attach_record_extend(record, number, next.began_ns);
        number = 0;
    }
    if (!number && !(number = add_entry(record, &next))) return 0;
    record->entries[number].count++;
    attach_record_extend(record, number, now_ns - record->began_ns);
    return number;
}

/* A look at a program, while it is added. */
struct record_adding {
    struct attach_record *record;
    struct attach_looks *looks;
    int64_t  now_ns, gap_ns;
    uint64_t looks_begun;        /* of the program, this one included */
    bool     blind;              /* the gap is too long to say what was done in it */
    uint64_t counted_ns;         /* mode cpu: by the accounts of threads */
    uint64_t unknown_ns;         /* mode cpu: what threads have run that ended in the gap */
};

/* For how long the look stands for this thread. A thread that shares its native thread with others
 * is younger than that: half of the gap is as likely as any part. */
static int64_t
span_of(const struct record_adding *adding, const struct attach_roster_thread *thread,
        const struct attach_look_stack *stack)
{
    if (thread->look || adding->record->roster.programs[thread->program].looks == 0)
        return adding->gap_ns;
    int64_t age = attach_look_age_ns(adding->looks, &stack->thread);
    if (age < 0 || age > adding->gap_ns + adding->record->options.period_ns)
        return adding->gap_ns / 2;
    return age < adding->gap_ns ? age : adding->gap_ns;
}

/* The labels of a stack as a string of names. Returns UINT32_MAX without memory. */
static uint32_t
labels_of(const struct record_adding *adding, const struct attach_look_stack *stack)
{
    size_t length;

    if (!stack->label_set) return 0;
    const char *text =
        attach_label_sets_text(&adding->looks->label_sets, stack->label_set, &length);
    return rb_heapprof_strings_intern(&adding->record->names.strings, text, length);
}

/* Counts that number for that time, with the labels of the stack. Returns false without memory. */
static bool
count_stack(struct record_adding *adding, struct attach_roster_thread *thread,
            const struct attach_look_stack *stack, uint32_t number, uint64_t ns)
{
    struct attach_record *record = adding->record;
    struct attach_record_entry key = { .stack = number, .who = thread->who, .count = 1, .ns = ns };

    if (adding->blind) key.stack = attach_record_mark(record, 0, "(not looked at)");
    else key.labels = labels_of(adding, stack);
    if (key.labels == UINT32_MAX) return false;
    thread->entry = attach_record_count(record, &key);
    record->added++;
    return thread->entry != 0;
}

/* A stack whose innermost frame says what the thread waits for. */
static uint32_t
waits_number(struct attach_record *record, uint32_t number, unsigned waits)
{
    return attach_record_mark(record, number, attach_record_waits[waits].frame);
}

/* What the thread waits for, and how long it waited for a processor. */
static bool
count_waits(struct record_adding *adding, struct attach_roster_thread *thread,
            const struct attach_look_stack *stack, uint32_t number, uint64_t ns)
{
    struct attach_record *record = adding->record;
    uint64_t queued = stack->queued_ns;

    if (queued) {
        uint32_t queue = waits_number(record, number, ATTACH_RECORD_QUEUE);
        if (!count_stack(adding, thread, stack, queue, queued)) return false;
        thread->entry = 0;
    }
    if (stack->waits == ATTACH_WAITS_NOT) return true;
    number = waits_number(record, number, stack->waits);
    return count_stack(adding, thread, stack, number, ns > queued ? ns - queued : 0);
}

/* What a thread does, in order, when the mode does not count it. */
static uint32_t
left_out(struct attach_record *record)
{
    static const char *const frames[] = {
        [ATTACH_RECORD_WALL] = "(idle)",
        [ATTACH_RECORD_CPU] = "(does not run)",
        [ATTACH_RECORD_GVL] = "(has not the GVL)",
        [ATTACH_RECORD_OFF] = "(does not wait)",
    };
    return attach_record_mark(record, 0, frames[record->options.mode]);
}

/* The stack's wait for a processor (queued_ns) ends at the look. Before it stands what the thread
 * waits for. */
static bool
waits_in_order(struct record_adding *adding, struct attach_roster_thread *thread,
               const struct attach_look_stack *stack, int64_t ns)
{
    struct attach_record *record = adding->record;
    int64_t queued = (int64_t)stack->queued_ns < ns ? (int64_t)stack->queued_ns : ns;
    uint32_t number = stack_number(record, adding->looks, stack);

    if (queued < ns) {
        uint32_t waits = stack->waits == ATTACH_WAITS_NOT
                             ? left_out(record)
                             : waits_number(record, number, stack->waits);
        thread->entry = count_in_order(record, waits, thread, adding->now_ns - queued,
                                       ns - queued);
        if (!thread->entry) return false;
    }
    if (queued == 0) return true;
    number = waits_number(record, number, ATTACH_RECORD_QUEUE);
    thread->entry = count_in_order(record, number, thread, adding->now_ns, queued);
    return thread->entry != 0;
}

/* In order, a thread always does something, if only that it is idle. */
static bool
add_in_order(struct record_adding *adding, struct attach_roster_thread *thread,
             const struct attach_look_stack *stack, int64_t ns)
{
    struct attach_record *record = adding->record;
    uint32_t number;

    record->added += stack->wanted && !stack->failed;
    if (adding->blind) number = attach_record_mark(record, 0, "(not looked at)");
    else if (!stack->wanted) number = left_out(record);
    else if (stack->failed) number = attach_record_mark(record, 0, "(not read)");
    else if (record->options.mode == ATTACH_RECORD_OFF)
        return waits_in_order(adding, thread, stack, ns);
    else number = stack_number(record, adding->looks, stack);
    thread->entry = count_in_order(record, number, thread, adding->now_ns, ns);
    return thread->entry != 0;
}

static bool
add_stack(struct record_adding *adding, const struct attach_look_stack *stack)
{
    struct attach_record *record = adding->record;
    bool counts = stack->wanted && !stack->failed;

    if (stack->thread.state == ATTACH_THREAD_ENDED || stack->thread.state == ATTACH_THREAD_FIBER)
        return true;
    struct attach_roster_thread *thread =
        attach_roster_thread(&record->roster, adding->looks, &stack->thread);
    if (!thread) return false;
    int64_t span = span_of(adding, thread, stack);
    thread->look = adding->looks_begun;
    if (record->options.in_order) return add_in_order(adding, thread, stack, span);
    thread->entry = 0;
    if (!counts) return true;
    if (record->options.mode == ATTACH_RECORD_CPU) {
        if (adding->blind) return true;
        adding->counted_ns += stack->ran_ns;
        span = (int64_t)stack->ran_ns;
    }
    uint32_t number = stack_number(record, adding->looks, stack);
    if (number == HEAPPROF_NO_STACK) return false;
    return record->options.mode == ATTACH_RECORD_OFF
               ? count_waits(adding, thread, stack, number, (uint64_t)span)
               : count_stack(adding, thread, stack, number, (uint64_t)span);
}

/* What threads ran that have ended is known only as a sum. As a rule it is one thread. */
static void
ended_i(const struct attach_roster_thread *thread, void *data)
{
    struct record_adding *adding = data;
    const struct attach_record_options *options = &adding->record->options;
    int64_t most = options->period_ns;
    uint64_t ns = (uint64_t)(adding->gap_ns < most ? adding->gap_ns : most) / 2;

    if (!thread->entry) return;
    if (options->in_order) {
        const struct attach_roster_program *program =
            &adding->record->roster.programs[thread->program];
        attach_record_extend(adding->record, thread->entry,
                             program->looked_ns - adding->record->began_ns);
    }
    else if (thread->look + 1 != adding->looks_begun) return;
    if (options->mode == ATTACH_RECORD_CPU && !options->in_order) {
        ns = adding->unknown_ns;
        adding->counted_ns += ns;
        adding->unknown_ns = 0;
    }
    adding->record->entries[thread->entry].ns += ns;
}

static struct record_adding
begin(struct attach_record *record, struct attach_looks *looks,
      const struct attach_roster_program *program, int64_t now_ns)
{
    int64_t gap = now_ns > program->looked_ns ? now_ns - program->looked_ns : 0;
    int64_t most = 2 * record->options.period_ns;

    if (gap > record->longest_ns) record->longest_ns = gap;
    return (struct record_adding){ .record = record, .looks = looks, .now_ns = now_ns,
                                   .gap_ns = gap, .looks_begun = program->looks + 1,
                                   .blind = gap > (most > GAP_MOST_NS ? most : GAP_MOST_NS) };
}

/* ---- programs ---- */

/* A new program is seen from the beginning of the record, or of its process, or from the last look
 * at the program that its process ran before. What its process ran until then does not count. */
static void
begin_program(const struct attach_record *record, struct attach_roster_program *program,
              const struct attach_looks *looks, int64_t now_ns)
{
    const struct attach_roster_program *old = &record->roster.programs[program->before];
    int64_t age = attach_cpu_age_ns(looks->target, looks->target->pid);
    int64_t began_ns = age < 0 ? INT64_MIN : now_ns - age;

    if (program->before && began_ns <= old->looked_ns) {
        program->looked_ns = old->looked_ns;
        program->counted_ns = old->ran_ns;
    }
    else if (began_ns > record->began_ns) program->looked_ns = began_ns;
    else {
        program->looked_ns = record->began_ns;
        program->counted_ns = looks->cpus.process_ns;
    }
}

bool
attach_record_label(struct attach_record *record, const struct attach_looks *looks,
                    enum attach_roster_label label, const char *text)
{
    return attach_roster_program(&record->roster, looks) &&
           attach_roster_label(&record->roster, looks->number, label, text);
}

bool
attach_record_add(struct attach_record *record, struct attach_looks *looks, int64_t now_ns)
{
    struct attach_roster_program *program = attach_roster_program(&record->roster, looks);

    if (!program) return false;
    if (!program->looks) begin_program(record, program, looks, now_ns);
    if (!record->origin[0]) attach_origin_text(looks->target, record->origin);
    struct record_adding adding = begin(record, looks, program, now_ns);
    for (size_t i = 0; i < looks->stack_count; i++) {
        if (!add_stack(&adding, &looks->stacks[i])) return false;
    }
    uint64_t unknown_ns = attach_cpus_unknown_ns(&looks->cpus);
    if (program->looks && !adding.blind && unknown_ns > program->unknown_ns)
        adding.unknown_ns = unknown_ns - program->unknown_ns;
    program->looks++;
    if (!looks->quiet)
        attach_roster_sweep(&record->roster, looks->number, false, ended_i, &adding);
    program->looked_ns = record->looked_ns = now_ns;
    program->ran_ns = looks->cpus.process_ns;
    program->counted_ns += adding.counted_ns;
    program->unknown_ns = unknown_ns;
    return true;
}

void
attach_record_end(struct attach_record *record, uint32_t number, int64_t now_ns)
{
    if (number > record->roster.program_count) return;
    struct record_adding adding =
        begin(record, NULL, &record->roster.programs[number], now_ns);
    attach_roster_sweep(&record->roster, number, true, ended_i, &adding);
}
