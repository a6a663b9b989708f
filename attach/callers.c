/* callers.c - turns return addresses into C functions, as vm/names/symbols.c does inside.
 *
 *     address --mappings--> file, where it begins in memory --/proc/PID/root--> the file, if it is of the same build
 *                                                                                 \--> functions
 *
 * A file that was replaced, deleted or stripped names no function: then only the library is known.
 * Opening the file never waits, and os/elf_symbols.c has the bounds for reading any file.
 */
#include "attach/callers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/elf.h"

enum { NAME_MAX_BYTES = ATTACH_ELF_NAME_MAX };

/* A return address without a name, and what was found. */
struct callers_call {
    uint64_t address;    /* of the call: the instruction before */
    uint32_t identity;
    char     function[NAME_MAX_BYTES];
};

struct callers_naming {
    struct heapprof_tables *tables;
    struct attach_target *target;
    struct heapprof_mem *mem;
    struct callers_call *calls;  /* by address */
    size_t capacity, count;
};

/* ---- which ---- */

static int
compare_calls(const void *left, const void *right)
{
    const struct callers_call *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* Returns false without memory. */
static bool
collect(struct callers_naming *naming)
{
    const struct heapprof_identities *identities = &naming->tables->identities;
    const struct heapprof_address_table *table = &identities->addresses;

    for (uint32_t entry = 1; entry < table->numbers.end; entry++) {
        uintptr_t key = rb_heapprof_address_table_address(table, entry);
        uint32_t id = identities->ids[entry];
        if (!rb_heapprof_callers_key_p(key) || id == 0 || id >= identities->numbers.end) continue;
        if (!identities->all[id].used || identities->all[id].name != HEAPPROF_UNNAMED) continue;
        if (!HEAPPROF_MEM_GROW(naming->mem, naming->calls, naming->capacity, naming->count + 1))
            return false;
        naming->calls[naming->count++] =
            (struct callers_call){.address = rb_heapprof_callers_of_key(key) - 1, .identity = id};
    }
    if (naming->count) qsort(naming->calls, naming->count, sizeof(*naming->calls), compare_calls);
    return true;
}

/* ---- what its file says ---- */

/* The file's functions, for the calls from first to end. */
struct finding {
    struct heapprof_elf *elf;
    struct callers_call *first, *end;
    uint64_t base;
};

static bool
name_i(const struct heapprof_elf_function *function, void *data)
{
    struct finding *finding = data;
    uint64_t begin = finding->base + function->start;
    size_t low = 0, high = (size_t)(finding->end - finding->first);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (finding->first[middle].address < begin) low = middle + 1;
        else high = middle;
    }
    for (struct callers_call *call = finding->first + low;
         call < finding->end && call->address - begin < function->size_bytes; call++) {
        if (!call->function[0])
            rb_heapprof_elf_name(finding->elf, function->name, call->function,
                                 sizeof(call->function));
    }
    return true;
}

static void
read_file(struct callers_naming *naming, const struct attach_elf *object, const char *path,
          struct callers_call *first, struct callers_call *end)
{
    struct heapprof_elf elf;
    struct finding finding = {.elf = &elf, .first = first, .end = end, .base = object->base};
    int fd = attach_elf_open_file(naming->target, path);

    if (fd >= 0 && rb_heapprof_elf_open(&elf, naming->mem, fd)) {
        if (rb_heapprof_elf_same_p(&elf.identity, &object->identity))
            rb_heapprof_elf_each(&elf, name_i, &finding);
        rb_heapprof_elf_close(&elf);
    }
    if (fd >= 0) close(fd);
}

/* ---- names ---- */

static void
enter(struct callers_naming *naming, const struct callers_call *call, const char *library)
{
    struct heapprof_strings *strings = &naming->tables->strings;
    struct heapprof_identity *identity = &naming->tables->identities.all[call->identity];
    char text[2 * NAME_MAX_BYTES + 8];

    snprintf(text, sizeof(text), "%s (%s)", call->function[0] ? call->function : "?", library);
    uint32_t number = rb_heapprof_strings_intern(strings, library, strlen(library));
    uint32_t name = rb_heapprof_strings_intern(strings, text, strlen(text));
    if (number == UINT32_MAX || name == UINT32_MAX) return;
    identity->library = number;
    identity->name = name;
}

/* Names the calls in the object of the first one. Returns the index behind them. */
static struct callers_call *
name_object(struct callers_naming *naming, struct callers_call *first)
{
    struct callers_call *end = first, *last = naming->calls + naming->count;
    const struct attach_mapping *mapping = attach_target_mapping(naming->target, first->address);
    const char *path = mapping ? attach_target_path(naming->target, mapping) : "";
    char library[NAME_MAX_BYTES];
    struct attach_elf object;

    attach_elf_library(path, library, sizeof(library));
    do end++;
    while (mapping && end < last && end->address < mapping->end);
    if (path[0] == '/' && attach_elf_read(naming->target, mapping, &object)) {
        if (object.soname[0]) snprintf(library, sizeof(library), "%s", object.soname);
        read_file(naming, &object, path, first, end);
    }
    for (struct callers_call *call = first; call < end; call++) enter(naming, call, library);
    return end;
}

void
attach_callers_name_all(struct heapprof_tables *tables, struct attach_target *target,
                        struct heapprof_mem *mem)
{
    struct callers_naming naming = {.tables = tables, .target = target, .mem = mem};

    if (collect(&naming) && naming.count) {
        for (struct callers_call *call = naming.calls; call < naming.calls + naming.count; )
            call = name_object(&naming, call);
    }
    HEAPPROF_MEM_RELEASE(mem, naming.calls, naming.capacity);
}
