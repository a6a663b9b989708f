/* rename.c - finds the names that classes and methods have got since they were seen, by the rules
 * of vm/names/names.c. */
#include "attach/rename.h"

#include <string.h>

#include "attach/code.h"
#include "attach/objects.h"

enum { TRIES_MAX = 65536 }; /* what comes after these keeps its name */

/* A class, or a function. */
struct attach_renamed {
    bool     function;
    uint32_t number;
    struct attach_text name;
};

struct rename_looking {
    struct attach_renames *renames;
    struct attach_vm *vm;
    struct heapprof_mem *mem;
    const struct heapprof_tables *tables;
    uint32_t tries;
};

/* Reads a bool in a copy that has not been checked. */
static bool
set_p(const bool *value)
{
    unsigned char byte;

    memcpy(&byte, value, sizeof(byte));
    return byte != 0;
}

static bool
any_provisional_p(const struct heapprof_tables *tables)
{
    for (uint32_t id = 1; id < tables->identities.numbers.end; id++) {
        if (set_p(&tables->identities.all[id].provisional)) return true;
    }
    for (uint32_t number = 1; number < tables->functions.numbers.end; number++) {
        if (set_p(&tables->functions.all[number].provisional)) return true;
    }
    return false;
}

/* As objects_by_identity in vm/names/names.c. A dead object is left out: what it refers to may have
 * been swept and used again. */
static void
find_objects(struct rename_looking *looking, attach_gone_i *gone_i, void *data)
{
    const struct heapprof_identities *identities = &looking->tables->identities;
    const struct heapprof_address_table *addresses = &identities->addresses;
    uint64_t *objects = looking->renames->objects;

    memset(objects, 0, identities->numbers.end * sizeof(*objects));
    for (uint32_t entry = 1; entry < addresses->numbers.end; entry++) {
        uint64_t key = rb_heapprof_address_table_address(addresses, entry);
        uint32_t id = identities->ids[entry];
        if (key < 65536 || rb_heapprof_callers_key_p(key) || id >= identities->numbers.end)
            continue;
        if (!gone_i(data, key)) objects[id] = key;
    }
}

static uint64_t
object_of(const struct rename_looking *looking, uint64_t id)
{
    return id < looking->tables->identities.numbers.end ? looking->renames->objects[id] : 0;
}

/* The next entry, which is counted when its name has been read. NULL without memory. */
static struct attach_renamed *
next_renamed(struct rename_looking *looking, bool function, uint32_t number)
{
    struct attach_renames *renames = looking->renames;

    if (!HEAPPROF_MEM_GROW(looking->mem, renames->all, renames->capacity, renames->count + 1))
        return NULL;
    struct attach_renamed *renamed = &renames->all[renames->count];
    looking->tries++;
    renamed->function = function;
    renamed->number = number;
    renamed->name.length = 0;
    return renamed;
}

static bool
look_at_class(struct rename_looking *looking, uint32_t id)
{
    uint64_t klass = object_of(looking, id);

    if (!klass || !set_p(&looking->tables->identities.all[id].provisional)) return true;
    struct attach_renamed *renamed = next_renamed(looking, false, id);
    if (!renamed) return false;
    looking->renames->count += attach_object_add_class(looking->vm, klass, &renamed->name);
    return true;
}

/* As refresh_function in vm/names/names.c. */
static bool
look_at_function(struct rename_looking *looking, uint32_t number)
{
    const struct heapprof_function *function = &looking->tables->functions.all[number];
    bool c_method = function->origin & HEAPPROF_ORIGIN_C;
    uint64_t owner = object_of(looking, function->owner);
    uint64_t iseq = c_method ? 0 : object_of(looking, function->origin);

    if (!set_p(&function->provisional) || !owner || !(iseq || c_method)) return true;
    struct attach_renamed *renamed = next_renamed(looking, true, number);
    if (!renamed) return false;
    looking->renames->count += attach_code_name(
        looking->vm, iseq, owner, function->origin & ~HEAPPROF_ORIGIN_C, &renamed->name);
    return true;
}

static bool
look_at_all(struct rename_looking *looking)
{
    const struct heapprof_tables *tables = looking->tables;

    for (uint32_t id = 1; id < tables->identities.numbers.end && looking->tries < TRIES_MAX; id++) {
        if (!look_at_class(looking, id)) return false;
    }
    for (uint32_t number = 1; number < tables->functions.numbers.end && looking->tries < TRIES_MAX;
         number++) {
        if (!look_at_function(looking, number)) return false;
    }
    return true;
}

bool
attach_renames_look(struct attach_renames *renames, struct attach_vm *vm, struct heapprof_mem *mem,
                    const struct heapprof_tables *tables, attach_gone_i *gone_i, void *data)
{
    struct rename_looking looking = {renames, vm, mem, tables, 0};

    renames->count = 0;
    if (!any_provisional_p(tables)) return true;
    if (!HEAPPROF_MEM_GROW(mem, renames->objects, renames->objects_capacity,
                           tables->identities.numbers.end))
        return false;
    find_objects(&looking, gone_i, data);

    struct attach_target *target = vm->target;
    attach_pages_begin(&renames->pages, target);
    vm->target = &renames->pages.target;
    bool looked = look_at_all(&looking);
    vm->target = target;
    return looked;
}

bool
attach_renames_enter(const struct attach_renames *renames, struct heapprof_tables *tables)
{
    for (size_t i = 0; i < renames->count; i++) {
        const struct attach_renamed *renamed = &renames->all[i];
        uint32_t name =
            rb_heapprof_strings_intern(&tables->strings, renamed->name.bytes, renamed->name.length);
        if (name == UINT32_MAX) return false;
        if (renamed->function) tables->functions.all[renamed->number].name = name;
        else tables->identities.all[renamed->number].name = name;
    }
    return true;
}

void
attach_renames_free(struct attach_renames *renames, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, renames->objects, renames->objects_capacity);
    HEAPPROF_MEM_RELEASE(mem, renames->all, renames->capacity);
}
