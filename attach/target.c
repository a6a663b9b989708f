/* target.c - the common part of all kinds of targets: sorted lists, and reads in pieces.
 *
 *   I1  Mappings are in the order of their addresses, start < end, and no two overlap.
 *   I2  A range that is given to a kind does not wrap around.
 *   I3  One account with a budget holds all memory, however many mappings or threads a target
 *       claims. */
#include "attach/target.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_BYTES ((size_t)256 << 20)
#define PAGE_BYTES 4096 /* the smallest page there is: if one byte of it can be read, all can */
#define STRING_STEP 256

void
attach_target_say(const struct attach_target *target, char *error, const char *format, ...)
{
    va_list arguments;
    int bytes = snprintf(error, ATTACH_TARGET_ERROR_MAX, "%s: ", target->name);

    va_start(arguments, format);
    vsnprintf(error + bytes, ATTACH_TARGET_ERROR_MAX - (size_t)bytes, format, arguments);
    va_end(arguments);
}

/* ---- lists ---- */

static bool
read_by_kind(void *data, const struct attach_range *ranges, size_t count)
{
    struct attach_target *target = data;
    return target->kind->read(target, ranges, count);
}

struct attach_target *
attach_target_new(const struct attach_target_kind *kind, void *data)
{
    struct attach_target *target = calloc(1, sizeof(*target));

    if (!target) return NULL;
    target->kind = kind;
    target->data = data;
    target->end_fd = -1;
    rb_heapprof_mem_init(&target->mem, BUDGET_BYTES);
    attach_ahead_init(&target->ahead, read_by_kind, target, &target->mem);
    return target;
}

void
attach_target_close(struct attach_target *target)
{
    if (!target) return;
    target->kind->close(target);
    HEAPPROF_MEM_RELEASE(&target->mem, target->mappings, target->mapping_capacity);
    HEAPPROF_MEM_RELEASE(&target->mem, target->threads, target->thread_capacity);
    HEAPPROF_MEM_RELEASE(&target->mem, target->text, target->text_capacity);
    attach_ahead_free(&target->ahead);
    free(target);
}

void
attach_target_forget_mappings(struct attach_target *target)
{
    target->mapping_count = 0;
    target->text_bytes = 0;
}

/* Where the path is in text; 0 if it is empty, or without memory. Neighbours often share a path. */
static uint32_t
keep_path(struct attach_target *target, const char *path)
{
    size_t bytes = strlen(path) + 1;
    const struct attach_mapping *last =
        target->mapping_count ? &target->mappings[target->mapping_count - 1] : NULL;

    if (bytes == 1) return 0;
    if (last && last->path && strcmp(target->text + last->path, path) == 0) return last->path;
    if (target->text_bytes == 0) target->text_bytes = 1; /* "" */
    if (bytes > UINT32_MAX - target->text_bytes) return 0;
    if (!HEAPPROF_MEM_GROW(&target->mem, target->text, target->text_capacity,
                           target->text_bytes + bytes))
        return 0;
    memcpy(target->text + target->text_bytes, path, bytes);
    target->text_bytes += bytes;
    return (uint32_t)(target->text_bytes - bytes);
}

/* I1: a mapping that is not in order is left out. */
bool
attach_target_add_mapping(struct attach_target *target, struct attach_mapping mapping,
                          const char *path)
{
    size_t count = target->mapping_count;

    if (mapping.start >= mapping.end || (count && mapping.start < target->mappings[count - 1].end))
        return true;
    if (count >= ATTACH_TARGET_MAPPINGS_MOST) return false;
    if (!HEAPPROF_MEM_GROW(&target->mem, target->mappings, target->mapping_capacity, count + 1))
        return false;
    mapping.path = keep_path(target, path);
    target->mappings[count] = mapping;
    target->mapping_count = count + 1;
    return true;
}

bool
attach_target_add_thread(struct attach_target *target, struct attach_native_thread thread)
{
    size_t count = target->thread_count;

    if (count >= ATTACH_TARGET_THREADS_MOST) return false;
    if (!HEAPPROF_MEM_GROW(&target->mem, target->threads, target->thread_capacity, count + 1))
        return false;
    target->threads[count] = thread;
    target->thread_count = count + 1;
    return true;
}

bool
attach_target_refresh(struct attach_target *target, char error[ATTACH_TARGET_ERROR_MAX])
{
    attach_target_forget_mappings(target);
    return target->kind->refresh(target, error);
}

bool
attach_target_remap(struct attach_target *target)
{
    return target->kind->remap && target->kind->remap(target);
}

bool
attach_target_threads(struct attach_target *target)
{
    target->thread_count = 0;
    return target->kind->list_threads(target);
}

pid_t
attach_target_tid(const struct attach_target *target, pid_t inner_tid)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        if (target->threads[i].inner_tid == inner_tid) return target->threads[i].tid;
    }
    return 0;
}

enum attach_target_state
attach_target_state(struct attach_target *target)
{
    return target->kind->state(target);
}

void
attach_target_blame(struct attach_target *target, char error[ATTACH_TARGET_ERROR_MAX])
{
    enum attach_target_state state = attach_target_state(target);

    if (state == ATTACH_TARGET_ENDED) attach_target_say(target, error, "it has ended");
    if (state == ATTACH_TARGET_REPLACED)
        attach_target_say(target, error, "it executes another program meanwhile");
}

/* The index of the first mapping that ends behind the address; mapping_count if there is none. */
static size_t
find_mapping(const struct attach_target *target, uint64_t address)
{
    size_t low = 0, high = target->mapping_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (target->mappings[middle].end > address) high = middle;
        else low = middle + 1;
    }
    return low;
}

const struct attach_mapping *
attach_target_mapping(const struct attach_target *target, uint64_t address)
{
    size_t found = find_mapping(target, address);

    if (found == target->mapping_count || target->mappings[found].start > address) return NULL;
    return &target->mappings[found];
}

bool
attach_target_mapped_p(const struct attach_target *target, uint64_t address, uint64_t bytes)
{
    if (bytes == 0 || bytes > UINT64_MAX - address) return false;
    for (size_t i = find_mapping(target, address); i < target->mapping_count; i++) {
        const struct attach_mapping *mapping = &target->mappings[i];
        if (mapping->start > address || !mapping->readable) return false;
        if (address + bytes <= mapping->end) return true;
        bytes -= mapping->end - address;
        address = mapping->end;
    }
    return false;
}

const char *
attach_target_path(const struct attach_target *target, const struct attach_mapping *mapping)
{
    return mapping->path ? target->text + mapping->path : "";
}

/* ---- reading ---- */

bool
attach_target_read_all(struct attach_target *target, const struct attach_range *ranges,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].bytes > UINT64_MAX - ranges[i].address) return false; /* I2 */
    }
    if (!attach_ahead_take(&target->ahead, ranges, count) &&
        !target->kind->read(target, ranges, count))
        return false;
    attach_ahead_note(&target->ahead, ranges, count);
    return true;
}

void
attach_target_ahead_begin(struct attach_target *target, enum attach_ahead_kind kind)
{
    if (target->runs) attach_ahead_begin(&target->ahead, kind);
}

void
attach_target_ahead_pause(struct attach_target *target)
{
    attach_ahead_pause(&target->ahead);
}

void
attach_target_ahead_resume(struct attach_target *target)
{
    if (target->runs) attach_ahead_resume(&target->ahead);
}

bool
attach_target_read(struct attach_target *target, uint64_t address, void *to, size_t bytes)
{
    struct attach_range range = { address, to, bytes };
    return attach_target_read_all(target, &range, 1);
}

bool
attach_target_write(struct attach_target *target, uint64_t address, const void *bytes,
                    size_t count)
{
    if (target->kind->write) return target->kind->write(target, address, bytes, count);
    errno = EINVAL;
    return false;
}

size_t
attach_target_read_some(struct attach_target *target, uint64_t address, void *to, size_t bytes)
{
    size_t done = 0;

    if (attach_target_read(target, address, to, bytes)) return bytes;
    while (done < bytes) {
        uint64_t here = PAGE_BYTES - (address + done) % PAGE_BYTES;
        if (here > bytes - done) here = bytes - done;
        if (!attach_target_read(target, address + done, (char *)to + done, (size_t)here)) break;
        done += (size_t)here;
    }
    return done;
}

bool
attach_target_read_string(struct attach_target *target, uint64_t address, char *text, size_t size)
{
    size_t done = 0;

    while (done < size - 1) {
        size_t wanted = size - 1 - done < STRING_STEP ? size - 1 - done : STRING_STEP;
        size_t got = attach_target_read_some(target, address + done, text + done, wanted);
        if (memchr(text + done, '\0', got)) return true;
        done += got;
        if (got < wanted) break;
    }
    text[done] = '\0';
    return done == size - 1;
}
