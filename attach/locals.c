/* locals.c - reads local variables out of environments.
 *
 *     ep - size - 2 ...                        ep
 *     | variable 0 | ... | variable size - 1 | method | previous | flags |
 *
 * The names are IDs, in a table of the code. The environment is on the VM's stack or, once a block
 * has captured it, in the heap: the frame's ep says where. Everything is hostile: a table has at
 * most LOCALS_MOST variables, and a look at most ALL_MOST. */
#include "attach/locals.h"

#include <string.h>

#include "attach/objects.h"
#include "base/utf8.h"

enum {
    LOCALS_MOST = 1000,
    ALL_MOST = 1000000
};

void
attach_locals_init(struct attach_locals *locals, struct attach_vm *vm, struct attach_names *names,
                   struct heapprof_mem *mem)
{
    *locals = (struct attach_locals){.vm = vm, .names = names, .mem = mem};
}

void
attach_locals_free(struct attach_locals *locals)
{
    HEAPPROF_MEM_RELEASE(locals->mem, locals->frames, locals->frame_capacity);
    HEAPPROF_MEM_RELEASE(locals->mem, locals->all, locals->capacity);
}

void
attach_locals_clear(struct attach_locals *locals)
{
    locals->frame_count = locals->count = 0;
}

struct attach_locals_frame
attach_locals_of(const struct attach_locals *locals, size_t number)
{
    return number > 0 ? locals->frames[number - 1]
                      : (struct attach_locals_frame){.state = ATTACH_LOCALS_NONE};
}

const char *
attach_locals_why(enum attach_locals_state state)
{
    switch (state) {
      case ATTACH_LOCALS_NONE: case ATTACH_LOCALS_KNOWN: break;
      case ATTACH_LOCALS_MOVING: return "the thread could not be stopped";
      case ATTACH_LOCALS_COMPILED: return "YJIT may have them in registers";
      case ATTACH_LOCALS_UNREADABLE: return "they cannot be read";
    }
    return NULL;
}

/* ---- values ---- */

static bool
intern(struct attach_locals *locals, const struct attach_text *text, uint32_t *string)
{
    *string = rb_heapprof_strings_intern(&locals->names->strings, text->bytes, text->length);
    return *string != UINT32_MAX;
}

/* numeric.c keeps most Floats in the VALUE itself: the exponent's upper bits are left out, and the
 * rest is rotated. */
static double
flonum(uint64_t value)
{
    const uint64_t zero = UINT64_C(0x8000000000000002);
    double real;

    if (value == zero) return 0;
    uint64_t bits = (2 - (value >> 63)) | (value & ~UINT64_C(3));
    bits = bits >> 3 | bits << 61;
    memcpy(&real, &bits, sizeof(real));
    return real;
}

/* Reads an immediate value: its class, and the value itself. Returns false for an object, and if
 * the name of a Symbol cannot be read. */
static bool
read_immediate(struct attach_vm *vm, uint64_t value, struct attach_local *local,
               struct attach_text *class_name, struct attach_text *text)
{
    uint64_t special_mask = (UINT64_C(1) << vm->special_shift) - 1;
    const char *name;

    if (value & vm->fixnum_flag) {
        name = "Integer";
        local->kind = ATTACH_VALUE_INTEGER;
        local->integer = (int64_t)value >> 1;
    }
    else if ((value & vm->flonum_mask) == vm->flonum_flag) {
        name = "Float";
        local->kind = ATTACH_VALUE_FLOAT;
        local->real = flonum(value);
    }
    else if ((value & special_mask) == vm->symbol_flag) {
        name = "Symbol";
        local->kind = ATTACH_VALUE_SYMBOL;
        if (!attach_object_add_symbol(vm, value >> vm->special_shift, text)) return false;
    }
    else if (value == vm->q_nil) {
        name = "NilClass";
        local->kind = ATTACH_VALUE_NIL;
    }
    else if (value == vm->q_true || value == vm->q_false) {
        name = value == vm->q_true ? "TrueClass" : "FalseClass";
        local->kind = value == vm->q_true ? ATTACH_VALUE_TRUE : ATTACH_VALUE_FALSE;
    }
    else if (value == vm->q_undef) name = "(not set)";
    else return false;
    attach_text_add_cstr(class_name, name);
    return true;
}

static bool
add_class_of(struct attach_vm *vm, uint64_t object, uint64_t type, struct attach_text *class_name)
{
    uint64_t klass;

    if (!attach_vm_get(vm, object, &vm->basic_class, &klass)) return false;
    if (type == vm->t_imemo || type == vm->t_iclass || klass == 0) {
        attach_text_add_cstr(class_name, "(internal)");
        return true;
    }
    return attach_object_real_class(vm, klass, &klass) && klass &&
           attach_object_add_class(vm, klass, class_name);
}

/* Sets the value of an object that is short. */
static void
read_value(struct attach_vm *vm, uint64_t object, uint64_t type, struct attach_local *local,
           struct attach_text *text)
{
    uint64_t string = object;

    if (type == vm->t_string && attach_object_string_size(vm, object, &local->size) &&
        attach_object_add_string(vm, object, text)) {
        if (text->length > ATTACH_LOCALS_TEXT_MOST)
            text->length = rb_heapprof_utf8_piece(text->bytes, text->length,
                                                  ATTACH_LOCALS_TEXT_MOST);
        local->kind = ATTACH_VALUE_STRING;
    }
    else if (type == vm->t_symbol && attach_vm_get(vm, object, &vm->symbol_string, &string) &&
             attach_object_add_string(vm, string, text)) local->kind = ATTACH_VALUE_SYMBOL;
    else if (type == vm->t_float && attach_target_read(vm->target, object + vm->float_value.offset,
                                                       &local->real, sizeof(local->real)))
        local->kind = ATTACH_VALUE_FLOAT;
    else if ((type == vm->t_array && attach_object_array_size(vm, object, &local->size)) ||
             (type == vm->t_hash && attach_object_hash_size(vm, object, &local->size)))
        local->kind = ATTACH_VALUE_SIZE;
}

/* Returns false without memory. */
static bool
read_local(struct attach_locals *locals, uint64_t value, struct attach_local *local)
{
    struct attach_vm *vm = locals->vm;
    struct attach_text class_name = {0}, text = {0};
    uint64_t flags;

    if (!read_immediate(vm, value, local, &class_name, &text)) {
        bool object = attach_object_flags(vm, &value, &flags);
        uint64_t type = object ? attach_object_type(vm, flags) : 0;
        class_name.length = text.length = 0;
        local->kind = ATTACH_VALUE_UNSAID;
        if (!object || !add_class_of(vm, value, type, &class_name)) {
            class_name.length = 0;
            attach_text_add_cstr(&class_name, "(unreadable)");
        }
        else if (locals->with_values) read_value(vm, value, type, local, &text);
    }
    if (!locals->with_values) {
        local->kind = ATTACH_VALUE_UNSAID;
        text.length = 0;
    }
    return intern(locals, &class_name, &local->class_name) && intern(locals, &text, &local->text);
}

/* ---- frames ---- */

/* Operators and what Ruby uses itself are no names of variables. */
static bool
name_p(const struct attach_vm *vm, uint64_t id)
{
    return id > vm->symbol_last_operator && (id & vm->symbol_scope_mask) == vm->symbol_local;
}

/* Returns false without memory. */
static bool
add_local(struct attach_locals *locals, uint64_t id, uint64_t value)
{
    struct attach_local local = {.kind = ATTACH_VALUE_UNSAID};
    struct attach_text name = {0};

    if (!name_p(locals->vm, id) || locals->count == ALL_MOST ||
        !attach_object_add_symbol(locals->vm, id, &name))
        return true;
    if (!HEAPPROF_MEM_GROW(locals->mem, locals->all, locals->capacity, locals->count + 1) ||
        !intern(locals, &name, &local.name) || !read_local(locals, value, &local))
        return false;
    locals->all[locals->count++] = local;
    return true;
}

/* Finds the IDs of a frame's variables, and how many there are. */
static bool
read_table(struct attach_vm *vm, const struct attach_walk *walk, size_t frame,
           uint64_t ids[LOCALS_MOST], uint64_t *size)
{
    uint64_t iseq = attach_walk_iseq(walk, frame), flags, body, table;

    if (!attach_object_flags(vm, &iseq, &flags) ||
        !attach_vm_get(vm, iseq, &vm->iseq_body, &body) ||
        !attach_vm_get(vm, body, &vm->body_local_count, size) ||
        !attach_vm_get(vm, body, &vm->body_local_names, &table) || *size > LOCALS_MOST)
        return false;
    return *size == 0 || attach_target_read(vm->target, table, ids, *size * ATTACH_WORD);
}

bool
attach_locals_read(struct attach_locals *locals, const struct attach_walk *walk, size_t frame,
                   enum attach_locals_state state, size_t *number)
{
    struct attach_locals_frame found = {.state = state, .first = locals->count};
    uint64_t ids[LOCALS_MOST], values[LOCALS_MOST], size = 0;

    if (state == ATTACH_LOCALS_NONE) return true;
    if (!HEAPPROF_MEM_GROW(locals->mem, locals->frames, locals->frame_capacity,
                           locals->frame_count + 1))
        return false;
    if (state == ATTACH_LOCALS_KNOWN && (!read_table(locals->vm, walk, frame, ids, &size) ||
                                         !attach_walk_locals(walk, frame, values, size))) {
        found.state = ATTACH_LOCALS_UNREADABLE;
        size = 0;
    }
    for (uint64_t i = 0; i < size; i++) {
        if (!add_local(locals, ids[i], values[i])) return false;
    }
    found.count = locals->count - found.first;
    locals->frames[locals->frame_count++] = found;
    *number = locals->frame_count;
    return true;
}
