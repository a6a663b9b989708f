/* c_objects.c - reads the ELF objects of a target: unwind tables, and names of functions.
 *
 *     address --> mapping --> object --> its unwind table     from memory; of a core also from the file
 *                                   \--> its functions        from its file, or the file of its symbols
 *
 *   I1  An object's file counts only if it is of the build that is in memory.
 *   I2  Each object has an account of its own, and all of them together use at most BUDGET_BYTES.
 *   I3  An address is remembered until the mappings have changed, or until there are PLACES_MOST. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* memfd_create */
#endif
#include "attach/c_objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/debug_file.h"
#include "attach/demangle.h"
#include "attach/elf.h"
#include "os/read_at.h"
#include "unwind/functions.h"

enum {
    OBJECTS_MOST = 4096,
    PLACES_MOST = 16384,
    TABLE_BYTES_MOST = 64 << 20,
    VDSO_BYTES_MOST = 1 << 20,
    REFRESH_APART_MOST = 1024 /* looks */
};

#define BUDGET_BYTES ((size_t)512 << 20)

struct c_object {
    struct c_object *next;
    struct heapprof_mem mem;
    uint64_t start, end, base;
    char     library[ATTACH_ELF_NAME_MAX];
    bool     ruby;                      /* it has the VM */
    struct unwind_table table;
    uint8_t *index, *records;           /* the table's */
    size_t   index_capacity, records_capacity;
    struct unwind_functions functions;
};

struct attach_c_objects {
    struct attach_vm *vm;
    struct attach_names *names;
    struct heapprof_mem mem;
    struct c_object *first;
    size_t   object_count;
    struct attach_c_place *places;      /* [0] unused */
    size_t   capacity;
    uint32_t count;
    struct heapprof_index index;        /* address -> place */
    bool     refreshed;                 /* in this look */
    uint32_t looks_apart, looks_left;   /* between refreshes that find nothing; until the next */
    bool     unnamed;                   /* Ruby's own functions have no names */
};

/* ---- its life ---- */

struct attach_c_objects *
attach_c_objects_new(struct attach_vm *vm, struct attach_names *names)
{
    struct attach_c_objects *objects = calloc(1, sizeof(*objects));

    if (!objects) return NULL;
    objects->vm = vm;
    objects->names = names;
    rb_heapprof_mem_init(&objects->mem, BUDGET_BYTES);
    return objects;
}

static void
free_object(struct c_object *object)
{
    HEAPPROF_MEM_RELEASE(&object->mem, object->index, object->index_capacity);
    HEAPPROF_MEM_RELEASE(&object->mem, object->records, object->records_capacity);
    unwind_functions_free(&object->functions);
    free(object);
}

static void
forget_all(struct attach_c_objects *objects)
{
    while (objects->first) {
        struct c_object *object = objects->first;
        objects->first = object->next;
        free_object(object);
    }
    objects->object_count = 0;
    objects->count = 0;
    rb_heapprof_index_clear(&objects->index, &objects->mem, 0);
}

void
attach_c_objects_free(struct attach_c_objects *objects)
{
    if (!objects) return;
    forget_all(objects);
    HEAPPROF_MEM_RELEASE(&objects->mem, objects->places, objects->capacity);
    rb_heapprof_index_release(&objects->index, &objects->mem);
    free(objects);
}

void
attach_c_objects_begin(struct attach_c_objects *objects)
{
    objects->refreshed = false;
    if (objects->looks_left) objects->looks_left--;
}

bool
attach_c_objects_named_p(const struct attach_c_objects *objects)
{
    return !objects->unnamed;
}

/* ---- an object's unwind table ---- */

/* Reads bytes of an object from memory, or else from its file, in which a core's may be. */
static bool
read_part(struct attach_c_objects *objects, const struct attach_elf *elf, int fd, uint64_t address,
          void *to, size_t bytes)
{
    if (attach_target_read(objects->vm->target, address, to, bytes)) return true;
    uint64_t place = address - elf->base;
    for (size_t i = 0; fd >= 0 && i < elf->part_count; i++) {
        const Elf64_Phdr *part = &elf->parts[i];
        if (part->p_type != PT_LOAD || place - part->p_vaddr >= part->p_filesz) continue;
        return part->p_filesz - (place - part->p_vaddr) >= bytes &&
               part->p_offset <= INT64_MAX - (place - part->p_vaddr) &&
               rb_heapprof_read_at(fd, part->p_offset + (place - part->p_vaddr), to, bytes);
    }
    return false;
}

/* The bytes from an address on that come from the file; 0 if it has none. */
static size_t
rest_of_part(const struct attach_elf *elf, uint64_t address)
{
    uint64_t place = address - elf->base;

    for (size_t i = 0; i < elf->part_count; i++) {
        const Elf64_Phdr *part = &elf->parts[i];
        if (part->p_type != PT_LOAD || place - part->p_vaddr >= part->p_filesz) continue;
        uint64_t rest = part->p_filesz - (place - part->p_vaddr);
        return rest < TABLE_BYTES_MOST ? (size_t)rest : TABLE_BYTES_MOST;
    }
    return 0;
}

static bool
read_index(struct attach_c_objects *objects, struct c_object *object, const struct attach_elf *elf,
           int fd)
{
    for (size_t i = 0; i < elf->part_count; i++) {
        const Elf64_Phdr *part = &elf->parts[i];
        if (part->p_type != PT_GNU_EH_FRAME || part->p_filesz > TABLE_BYTES_MOST) continue;
        if (!HEAPPROF_MEM_GROW(&object->mem, object->index, object->index_capacity,
                               part->p_filesz) ||
            !read_part(objects, elf, fd, elf->base + part->p_vaddr, object->index, part->p_filesz))
            return false;
        object->table.index = object->index;
        object->table.index_bytes = part->p_filesz;
        object->table.index_address = elf->base + part->p_vaddr;
        return true;
    }
    return false;
}

/* Without a table, the object's functions are stepped out of by the frame pointer. */
static void
read_table(struct attach_c_objects *objects, struct c_object *object, const struct attach_elf *elf,
           int fd)
{
    struct unwind_table *table = &object->table;
    uint64_t address;

    if (!read_index(objects, object, elf, fd) || !unwind_table_records(table, &address)) return;
    size_t bytes = rest_of_part(elf, address);
    if (!HEAPPROF_MEM_GROW(&object->mem, object->records, object->records_capacity, bytes) ||
        !read_part(objects, elf, fd, address, object->records, bytes))
        return;
    table->records = object->records;
    table->records_bytes = bytes;
    table->records_address = address;
}

/* ---- an object's file ---- */

/* The kernel's own object has no file: its memory is one. */
static int
copy_vdso(struct attach_target *target, const struct attach_mapping *mapping)
{
    size_t bytes = (size_t)(mapping->end - mapping->start);
    char *copy = bytes <= VDSO_BYTES_MOST ? malloc(bytes) : NULL;
    int fd = copy && attach_target_read(target, mapping->start, copy, bytes)
                 ? memfd_create("vdso", MFD_CLOEXEC)
                 : -1;

    if (fd >= 0 && write(fd, copy, bytes) != (ssize_t)bytes) {
        close(fd);
        fd = -1;
    }
    free(copy);
    return fd;
}

/* Opens the object's file (I1). Returns -1 if it is not there. */
static int
open_file(struct attach_target *target, const struct attach_mapping *mapping, const char *path,
          const struct attach_elf *object, struct heapprof_elf *elf, struct heapprof_mem *mem)
{
    int fd = *path == '/' ? attach_elf_open_file(target, path) : copy_vdso(target, mapping);

    if (fd >= 0 && rb_heapprof_elf_open(elf, mem, fd)) {
        if (rb_heapprof_elf_same_p(&elf->identity, &object->identity)) return fd;
        rb_heapprof_elf_close(elf);
    }
    if (fd >= 0) close(fd);
    return -1;
}

/* Reads what the file has of the object: its functions, those of its debug file if it is stripped,
 * and of a core the unwind table. */
static void
read_file(struct attach_c_objects *objects, struct c_object *object,
          const struct attach_mapping *mapping, const struct attach_elf *loaded)
{
    struct attach_target *target = objects->vm->target;
    const char *path = attach_target_path(target, mapping);
    struct heapprof_elf elf, debug;
    int fd = open_file(target, mapping, path, loaded, &elf, &object->mem);
    bool whole = fd >= 0 && elf.symbol_count && !elf.dynamic;
    int debug_fd = whole || *path != '/' ? -1
                   : attach_debug_file_open(target, loaded, path, fd, &debug, &object->mem);

    read_table(objects, object, loaded, fd);
    if (debug_fd >= 0) {
        unwind_functions_read(&object->functions, &debug);
        rb_heapprof_elf_close(&debug);
        close(debug_fd);
    }
    else if (fd >= 0) unwind_functions_read(&object->functions, &elf);
    if (fd < 0) return;
    rb_heapprof_elf_close(&elf);
    close(fd);
}

/* ---- roles ---- */

static bool
begins_p(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* By the names that MRI 3.4 gives these functions. vm_call0_body calls methods of all kinds. */
static enum attach_c_role
role_of(const char *name)
{
    static const char *const collects[] = { "gc_start", "gc_rest", "gc_continue", "gc_marks",
                                             "gc_sweep", "garbage_collect" };

    if (!strcmp(name, "_start")) return ATTACH_C_OTHER; /* linked into each program */
    if (begins_p(name, "rb_vm_exec") || !strcmp(name, "vm_exec")) return ATTACH_C_ENTRY;
    if (begins_p(name, "vm_exec_core")) return ATTACH_C_LOOP;
    if (begins_p(name, "vm_call_cfunc") || begins_p(name, "vm_yield_with_cfunc") ||
        begins_p(name, "rb_vm_yield_with_cfunc"))
        return ATTACH_C_CALL;
    if (begins_p(name, "vm_call0_body") || begins_p(name, "vm_call0_cfunc"))
        return ATTACH_C_MAY_CALL;
    for (size_t i = 0; i < sizeof(collects) / sizeof(*collects); i++) {
        if (begins_p(name, collects[i])) return ATTACH_C_COLLECT;
    }
    return ATTACH_C_RUBY;
}

static bool
named_p(const struct unwind_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        const char *name = unwind_functions_name(functions, functions->all[i].start);
        if (name && role_of(name) == ATTACH_C_ENTRY) return true;
    }
    return false;
}

/* ---- objects ---- */

static size_t
budget_left(const struct attach_c_objects *objects)
{
    size_t used = 0;

    for (const struct c_object *each = objects->first; each; each = each->next)
        used += each->mem.used_bytes;
    return used < BUDGET_BYTES ? BUDGET_BYTES - used : 0;
}

static void
name_library(const struct attach_target *target, const struct attach_mapping *mapping,
             const struct attach_elf *loaded, struct c_object *object)
{
    const char *path = attach_target_path(target, mapping);

    if (loaded->soname[0])
        snprintf(object->library, sizeof(object->library), "%s", loaded->soname);
    else if (*path == '/') attach_elf_library(path, object->library, sizeof(object->library));
    else snprintf(object->library, sizeof(object->library), "%s", path);
}

/* Reads the object of a mapping. Returns NULL if it is not one, or without memory. */
static struct c_object *
read_object(struct attach_c_objects *objects, const struct attach_mapping *mapping)
{
    struct attach_target *target = objects->vm->target;
    struct attach_elf loaded;

    if (objects->object_count == OBJECTS_MOST || !attach_elf_read(target, mapping, &loaded))
        return NULL;
    struct c_object *object = calloc(1, sizeof(*object));
    if (!object) return NULL;
    rb_heapprof_mem_init(&object->mem, budget_left(objects));
    object->start = loaded.start;
    object->end = loaded.end;
    object->base = loaded.base;
    uint64_t vm = objects->vm->current_vm.address;
    object->ruby = vm >= object->start && vm < object->end;
    name_library(target, mapping, &loaded, object);
    read_file(objects, object, mapping, &loaded);
    if (object->ruby) objects->unnamed = !named_p(&object->functions);
    object->next = objects->first;
    objects->first = object;
    objects->object_count++;
    return object;
}

static struct c_object *
find_object(struct attach_c_objects *objects, const struct attach_mapping *mapping,
            uint64_t address)
{
    const char *path = attach_target_path(objects->vm->target, mapping);

    for (struct c_object *each = objects->first; each; each = each->next) {
        if (address >= each->start && address < each->end) return each;
    }
    return *path == '/' || !strcmp(path, "[vdso]") ? read_object(objects, mapping) : NULL;
}

/* ---- places ---- */

static uint64_t
place_hash(const void *owner, uint32_t number)
{
    return rb_heapprof_index_hash(((const struct attach_c_objects *)owner)->places[number].address);
}

/* Writes the function's name without the version that a library gives it, cut off if it is too
 * long, and its library. */
static void
put_name(const struct c_object *object, const char *name, char text[ATTACH_TEXT_MAX])
{
    char mangled[ATTACH_TEXT_MAX], plain[ATTACH_TEXT_MAX - ATTACH_ELF_NAME_MAX - 8];

    snprintf(mangled, sizeof(mangled), "%.*s", (int)strcspn(name, "@"), name);
    name = attach_demangle(mangled, plain, sizeof(plain));
    int most = name == plain ? (int)sizeof(plain) : ATTACH_ELF_NAME_MAX;
    snprintf(text, ATTACH_TEXT_MAX, "%.*s (%s)", most, name, object->library);
}

static void
describe(struct attach_c_objects *objects, struct c_object *object, struct attach_c_place *place)
{
    char text[ATTACH_TEXT_MAX];
    const char *name = unwind_functions_name(&object->functions, place->address - object->base);

    place->has_row = unwind_table_find(&object->table, place->address, &place->row);
    if (object->ruby) place->role = name ? role_of(name) : ATTACH_C_RUBY;
    if (place->has_row && place->row.signal_frame) place->role = ATTACH_C_SIGNAL;
    if (place->role == ATTACH_C_SIGNAL) snprintf(text, sizeof(text), "(signal handler)");
    else put_name(object, name ? name : "?", text);
    place->function = attach_names_mark(objects->names, text);
}

/* Lists the mappings anew. If that finds nothing, the next time comes later and later: code that no
 * mapping has would have them listed in each look. */
static const struct attach_mapping *
refresh(struct attach_c_objects *objects, uint64_t address)
{
    struct attach_target *target = objects->vm->target;

    if (objects->refreshed || objects->looks_left) return NULL;
    objects->refreshed = true;
    forget_all(objects);
    if (!attach_target_remap(target)) return NULL;
    const struct attach_mapping *mapping = attach_target_mapping(target, address);
    if (mapping) objects->looks_apart = 0;
    else if (objects->looks_apart < REFRESH_APART_MOST)
        objects->looks_apart = 2 * objects->looks_apart + 1;
    objects->looks_left = objects->looks_apart;
    return mapping;
}

static bool
look_up(struct attach_c_objects *objects, uint64_t address, struct attach_c_place *place)
{
    const struct attach_mapping *mapping = attach_target_mapping(objects->vm->target, address);

    if (!mapping) mapping = refresh(objects, address);
    if (!mapping || !mapping->executable) return false;
    struct c_object *object = find_object(objects, mapping, address);
    *place = (struct attach_c_place){ .address = address };
    if (object) describe(objects, object, place);
    else {
        place->role = ATTACH_C_MACHINE;
        place->function = attach_names_mark(objects->names, "(machine code)");
    }
    return place->function != 0;
}

static const struct attach_c_place *
add_place(struct attach_c_objects *objects, const struct attach_c_place *place)
{
    if (objects->count == PLACES_MOST) {
        objects->count = 0;
        rb_heapprof_index_clear(&objects->index, &objects->mem, 0);
    }
    uint32_t number = objects->count + 1;
    if (!HEAPPROF_MEM_GROW(&objects->mem, objects->places, objects->capacity, number + 1) ||
        !rb_heapprof_index_reserve(&objects->index, &objects->mem, objects->count, place_hash,
                                   objects))
        return NULL;
    objects->places[number] = *place;
    objects->count = number;
    rb_heapprof_index_insert(&objects->index, rb_heapprof_index_hash(place->address), number);
    return &objects->places[number];
}

const struct attach_c_place *
attach_c_objects_find(struct attach_c_objects *objects, uint64_t address)
{
    struct attach_c_place place;
    uint32_t number;

    for (uint64_t probe = rb_heapprof_index_hash(address);
         (number = rb_heapprof_index_at(&objects->index, probe)) != 0; probe++) {
        if (objects->places[number].address == address) return &objects->places[number];
    }
    return look_up(objects, address, &place) ? add_place(objects, &place) : NULL;
}
