/* roster.c - knows threads again from one look to the next.
 *
 *   I1  A thread is in the index, and in the list of its program, or it is free.
 *   I2  There are at most ATTACH_ROSTER_WHOS_MOST rows of labels, and one more for each program.
 *       So memory is bounded by the threads that live at one time, however many come and go. */
#include "attach/roster.h"

#include <stdio.h>
#include <string.h>

void
attach_roster_init(struct attach_roster *roster, struct attach_names *names,
                   struct heapprof_mem *mem, bool apart)
{
    *roster = (struct attach_roster){ .mem = mem, .names = names, .apart = apart };
}

void
attach_roster_free(struct attach_roster *roster)
{
    HEAPPROF_MEM_RELEASE(roster->mem, roster->whos, roster->who_capacity);
    HEAPPROF_MEM_RELEASE(roster->mem, roster->programs, roster->program_capacity);
    HEAPPROF_MEM_RELEASE(roster->mem, roster->threads, roster->thread_capacity);
    rb_heapprof_index_release(&roster->index, roster->mem);
    rb_heapprof_index_release(&roster->by_pid, roster->mem);
}

/* ---- labels ---- */

/* A new row with the labels of another. Returns 0 without memory. */
static uint32_t
add_who(struct attach_roster *roster, uint32_t like)
{
    uint32_t number = roster->who_count + 1;

    if (!HEAPPROF_MEM_GROW(roster->mem, roster->whos, roster->who_capacity, (size_t)number + 1))
        return 0;
    roster->whos[number] = roster->whos[like];
    return roster->who_count = number;
}

static uint32_t
intern(struct attach_roster *roster, const char *text, size_t length)
{
    return rb_heapprof_strings_intern(&roster->names->strings, text, length);
}

bool
attach_roster_label(struct attach_roster *roster, uint32_t number, enum attach_roster_label label,
                    const char *text)
{
    struct attach_roster_program *program = &roster->programs[number];
    uint32_t string = intern(roster, text, strlen(text));

    if (!program->who && roster->who_count >= ATTACH_ROSTER_WHOS_MOST) return true;
    if (string == UINT32_MAX || (!program->who && !(program->who = add_who(roster, 0))))
        return false;
    roster->whos[program->who].program = number;
    for (uint32_t i = program->who; i <= roster->who_count; i++) {
        if (roster->whos[i].program == number) roster->whos[i].labels[label] = string;
    }
    return true;
}

/* The native thread's id; if several threads share native threads, the serial. A thread that begins
 * may have no native thread yet. */
static void
add_number(struct attach_looks *looks, const struct attach_thread *thread,
           struct attach_text *text)
{
    uint64_t dedicated;
    char number[40];
    bool shares = thread->native &&
                  attach_vm_get(looks->vm, thread->native, &looks->vm->native_dedicated,
                                &dedicated) &&
                  (int64_t)dedicated <= 0;

    if (thread->tid && !shares) snprintf(number, sizeof(number), " [%d]", thread->tid);
    else snprintf(number, sizeof(number), " [#%llu]", (unsigned long long)thread->serial);
    attach_text_add_cstr(text, number);
}

uint32_t
attach_roster_others(struct attach_roster *roster, struct attach_roster_program *program)
{
    static const char name[] = "(other threads)";

    if (!roster->apart) return program->who;
    if (program->others) return program->others;
    uint32_t string = intern(roster, name, sizeof(name) - 1);
    if (string == UINT32_MAX || !(program->others = add_who(roster, program->who)))
        return UINT32_MAX;
    roster->whos[program->others].labels[ATTACH_ROSTER_THREAD] = string;
    return program->others;
}

/* Gives a thread a row of labels. Returns false without memory. */
static bool
give_who(struct attach_roster *roster, struct attach_roster_thread *row, uint32_t string)
{
    struct attach_roster_program *program = &roster->programs[row->program];

    row->folded = !roster->apart || roster->who_count >= ATTACH_ROSTER_WHOS_MOST;
    if (row->folded) {
        roster->folded += roster->apart;
        return (row->who = attach_roster_others(roster, program)) != UINT32_MAX;
    }
    if (!(row->who = add_who(roster, program->who))) return false;
    roster->whos[row->who].labels[ATTACH_ROSTER_THREAD] = string;
    return true;
}

/* What a thread is called that has no name: as its Ractor, if that has one. */
static void
add_kind(struct attach_looks *looks, const struct attach_thread *thread, struct attach_text *text)
{
    if (!thread->main) attach_look_name(looks, thread->ractor_name, text);
    if (!text->length) attach_text_add_cstr(text, thread->main ? "main" : "thread");
}

/* Labels a thread, or labels it anew. A name that comes when the thread has run for a while is the
 * name of all its time until then. One that takes the place of another begins a row of its own. */
static bool
label_thread(struct attach_roster *roster, struct attach_looks *looks,
             const struct attach_thread *thread, struct attach_roster_thread *row)
{
    struct attach_text text;

    attach_look_name(looks, thread->name, &text);
    if (row->own && !text.length) return true; /* the String is moving, say */
    uint32_t own = text.length ? intern(roster, text.bytes, text.length) : 0;
    if (!own) add_kind(looks, thread, &text);
    add_number(looks, thread, &text);
    uint32_t string = intern(roster, text.bytes, text.length);
    if (own == UINT32_MAX || string == UINT32_MAX) return false;
    bool renamed = row->own && row->own != own;
    row->name = thread->name;
    row->own = own;
    row->numbered = thread->tid != 0;
    if (renamed) return give_who(roster, row, string);
    roster->whos[row->who].labels[ATTACH_ROSTER_THREAD] = string;
    return true;
}

/* Whether the label may have to be another. */
static bool
label_later_p(const struct attach_roster_thread *row, const struct attach_thread *thread)
{
    return !row->folded && (row->name != thread->name || (!row->numbered && thread->tid));
}

/* ---- programs ---- */

static uint64_t
pid_hash_i(const void *owner, uint32_t number)
{
    const struct attach_roster *roster = owner;
    return rb_heapprof_index_hash((uint64_t)roster->programs[number].pid);
}

/* The last program of that process; 0 if there is none. */
static uint32_t
find_pid(const struct attach_roster *roster, int pid)
{
    uint32_t number;

    for (uint64_t probe = rb_heapprof_index_hash((uint64_t)pid);
         (number = rb_heapprof_index_at(&roster->by_pid, probe)) != 0; probe++) {
        if (roster->programs[number].pid == pid) return number;
    }
    return 0;
}

struct attach_roster_program *
attach_roster_program(struct attach_roster *roster, const struct attach_looks *looks)
{
    uint32_t number = looks->number;
    int pid = looks->target->pid;

    if (!HEAPPROF_MEM_GROW(roster->mem, roster->programs, roster->program_capacity,
                           (size_t)number + 1) ||
        !HEAPPROF_MEM_GROW(roster->mem, roster->whos, roster->who_capacity, 1) ||
        !rb_heapprof_index_reserve(&roster->by_pid, roster->mem, roster->pids, pid_hash_i, roster))
        return NULL;
    struct attach_roster_program *program = &roster->programs[number];
    if (program->known) return program;
    uint32_t before = find_pid(roster, pid);
    if (before) rb_heapprof_index_erase(&roster->by_pid, before, pid_hash_i, roster);
    else roster->pids++;
    *program = (struct attach_roster_program){ .known = true, .pid = pid, .before = before };
    rb_heapprof_index_insert(&roster->by_pid, pid_hash_i(roster, number), number);
    if (number > roster->program_count) roster->program_count = number;
    return program;
}

/* ---- threads ---- */

static uint64_t
hash_of(uint32_t program, uint64_t serial, uint64_t address)
{
    return rb_heapprof_index_hash((uint64_t)program << 40 ^ serial << 48 ^ serial ^ address);
}

static uint64_t
hash_i(const void *owner, uint32_t number)
{
    const struct attach_roster_thread *thread =
        &((const struct attach_roster *)owner)->threads[number];
    return hash_of(thread->program, thread->serial, thread->address);
}

static uint32_t
find(const struct attach_roster *roster, uint32_t program, const struct attach_thread *thread)
{
    uint64_t hash = hash_of(program, thread->serial, thread->address);
    uint32_t number;

    for (uint64_t probe = hash; (number = rb_heapprof_index_at(&roster->index, probe)) != 0;
         probe++) {
        const struct attach_roster_thread *row = &roster->threads[number];
        if (row->program == program && row->serial == thread->serial &&
            row->address == thread->address)
            return number;
    }
    return 0;
}

/* Returns 0 without memory. */
static uint32_t
add(struct attach_roster *roster, struct attach_looks *looks, const struct attach_thread *thread)
{
    uint32_t number = roster->free ? roster->free : roster->thread_count + 1;
    struct attach_roster_thread row = { .address = thread->address, .serial = thread->serial,
                                        .program = looks->number,
                                        .next = roster->programs[looks->number].first };

    if (!HEAPPROF_MEM_GROW(roster->mem, roster->threads, roster->thread_capacity,
                           (size_t)number + 1) ||
        !rb_heapprof_index_reserve(&roster->index, roster->mem, roster->live, hash_i, roster) ||
        !give_who(roster, &row, 0) || (!row.folded && !label_thread(roster, looks, thread, &row)))
        return 0;
    if (roster->free) roster->free = roster->threads[number].next;
    else roster->thread_count = number;
    roster->threads[number] = row;
    roster->programs[looks->number].first = number;
    roster->live++;
    rb_heapprof_index_insert(&roster->index, hash_i(roster, number), number);
    return number;
}

struct attach_roster_thread *
attach_roster_thread(struct attach_roster *roster, struct attach_looks *looks,
                     const struct attach_thread *thread)
{
    uint32_t number = find(roster, looks->number, thread);

    if (!number && !(number = add(roster, looks, thread))) return NULL;
    struct attach_roster_thread *row = &roster->threads[number];
    if (label_later_p(row, thread) && !label_thread(roster, looks, thread, row)) return NULL;
    return row;
}

void
attach_roster_sweep(struct attach_roster *roster, uint32_t number, bool all,
                    void (*ended_i)(const struct attach_roster_thread *thread, void *data),
                    void *data)
{
    struct attach_roster_program *program = &roster->programs[number];

    for (uint32_t *link = &program->first; *link;) {
        uint32_t here = *link;
        struct attach_roster_thread *thread = &roster->threads[here];
        if (!all && thread->look == program->looks) {
            link = &thread->next;
            continue;
        }
        ended_i(thread, data);
        rb_heapprof_index_erase(&roster->index, here, hash_i, roster);
        *link = thread->next;
        thread->next = roster->free;
        roster->free = here;
        roster->live--;
    }
}
