/* code.c - names and lines of code, each read once.
 *
 *  I1  known and methods hold for one generation of the target's code. The generation changes when
 *      the target frees or moves an iseq or a method entry: after that an address may belong to
 *      something else.
 */
#include "attach/code.h"

#include <stdio.h>
#include <string.h>

#include "attach/lines.h"
#include "attach/objects.h"

enum {
    NESTING_MAX = 1000, /* blocks in blocks; more is no Ruby */
    METHODS = 4096      /* a power of two */
};

/* ---- the tables ---- */

static uint64_t
hash_of(const struct attach_code_key *code)
{
    return rb_heapprof_index_hash(code->iseq + rb_heapprof_index_hash(code->method) +
                                  rb_heapprof_index_hash(code->pc + 1));
}

static uint64_t
known_hash(const void *owner, uint32_t number)
{
    const struct attach_codes *codes = owner;
    return hash_of(&codes->known[number].code);
}

void
attach_codes_init(struct attach_codes *codes, struct attach_vm *vm, struct attach_names *names,
                  struct heapprof_mem *mem)
{
    *codes = (struct attach_codes){.vm = vm, .names = names, .mem = mem};
}

void
attach_codes_free(struct attach_codes *codes)
{
    HEAPPROF_MEM_RELEASE(codes->mem, codes->known, codes->capacity);
    HEAPPROF_MEM_RELEASE(codes->mem, codes->methods, codes->method_capacity);
    rb_heapprof_index_release(&codes->index, codes->mem);
}

/* Reads the generation at present. Returns true if it is the one that all this is of. */
static bool
same_generation_p(struct attach_codes *codes, struct attach_vm_generation *now)
{
    *now = (struct attach_vm_generation){0};
    return attach_vm_generation(codes->vm, now) && now->freed == codes->generation.freed &&
           now->moved == codes->generation.moved;
}

bool
attach_codes_current_p(struct attach_codes *codes)
{
    struct attach_vm_generation now;
    return same_generation_p(codes, &now);
}

bool
attach_codes_moving_p(const struct attach_codes *codes)
{
    return codes->generation.moved & 1;
}

static void
begin_generation(struct attach_codes *codes, struct attach_vm_generation now)
{
    codes->generation = now;
    codes->count = 0;
    rb_heapprof_index_clear(&codes->index, codes->mem, 0);
    HEAPPROF_MEM_RELEASE(codes->mem, codes->methods, codes->method_capacity);
}

void
attach_codes_forget(struct attach_codes *codes)
{
    struct attach_vm_generation now;

    same_generation_p(codes, &now);
    begin_generation(codes, now);
}

bool
attach_codes_refresh(struct attach_codes *codes)
{
    struct attach_vm_generation now;

    if (same_generation_p(codes, &now)) return true;
    begin_generation(codes, now);
    return false;
}

/* ---- methods ---- */

/* A svar leads to a method entry or a cref. A cref has no method entry. */
static uint64_t
read_method(struct attach_vm *vm, uint64_t object)
{
    uint64_t flags;

    for (int i = 0; i < 2; i++) {
        if (!attach_object_flags(vm, &object, &flags)) return 0;
        if (attach_object_type(vm, flags) != vm->t_imemo) return 0;
        uint64_t kind = flags >> vm->imemo_shift & vm->imemo_mask;
        if (kind == vm->imemo_method) return object;
        if (kind != vm->imemo_svar || !attach_vm_get(vm, object, &vm->svar_method, &object))
            return 0;
    }
    return 0;
}

uint64_t
attach_code_method(struct attach_codes *codes, uint64_t object)
{
    if (!HEAPPROF_MEM_GROW(codes->mem, codes->methods, codes->method_capacity, METHODS)) {
        return read_method(codes->vm, object);
    }
    struct attach_code_method *known =
        &codes->methods[rb_heapprof_index_hash(object) & (METHODS - 1)];
    if (known->object != object)
        *known = (struct attach_code_method){ object, read_method(codes->vm, object) };
    return known->method;
}

/* ---- code ---- */

static uint32_t
search(const struct attach_codes *codes, const struct attach_code_key *code)
{
    uint32_t number;

    for (uint64_t probe = hash_of(code); (number = rb_heapprof_index_at(&codes->index, probe)) != 0;
         probe++) {
        const struct attach_code_key *other = &codes->known[number].code;
        if (other->iseq == code->iseq && other->method == code->method && other->pc == code->pc)
            break;
    }
    return number;
}

/* ---- reading it ---- */

/* A copy of an iseq's body. */
struct body {
    uint64_t at;
    unsigned char bytes[ATTACH_LAYOUT_TYPE_MOST];
};

/* Sets *iseq to the present address, if the object has moved. */
static bool
read_body(struct attach_vm *vm, uint64_t *iseq, struct body *body)
{
    uint64_t flags;

    return attach_object_flags(vm, iseq, &flags) &&
           attach_vm_get(vm, *iseq, &vm->iseq_body, &body->at) && body->at &&
           attach_target_read(vm->target, body->at, body->bytes, vm->body_bytes);
}

static uint64_t
kind_of(const struct attach_vm *vm, const struct body *body)
{
    return attach_field_get(&vm->body_kind, body->bytes);
}

/* Appends "block (2 levels) in ", and goes on to the iseq whose label names the block. */
static bool
add_blocks(struct attach_vm *vm, uint64_t *iseq, struct body *body, struct attach_text *name)
{
    uint64_t local = attach_field_get(&vm->body_local, body->bytes), flags;
    bool nested = attach_field_get(&vm->body_parent, body->bytes) != 0;
    int levels = 0;

    if (!attach_object_flags(vm, &local, &flags)) return false;
    for (int i = 0; nested && *iseq != local; i++) {
        if (i == NESTING_MAX) return false;
        if (kind_of(vm, body) == vm->iseq_block) levels++;
        *iseq = attach_field_get(&vm->body_parent, body->bytes);
        if (!read_body(vm, iseq, body)) return false;
    }
    char prefix[48] = "block in ";
    if (levels > 1) snprintf(prefix, sizeof(prefix), "block (%d levels) in ", levels);
    attach_text_add_cstr(name, prefix);
    return true;
}

/* Labels that are the same in every program are literals of C. Core files have no read-only data,
 * so these labels are made here. */
static bool
add_own_label(struct attach_vm *vm, const struct body *body, uint64_t kind,
              struct attach_text *name)
{
    if (attach_object_add_string(vm, attach_field_get(&vm->body_label, body->bytes), name))
        return true;
    if (kind != vm->iseq_main && kind != vm->iseq_top) return false;
    attach_text_add_cstr(name, kind == vm->iseq_main ? "<main>" : "<top (required)>");
    return true;
}

/* As calculate_iseq_label in vm_backtrace.c. */
static bool
add_label(struct attach_vm *vm, uint64_t iseq, uint64_t owner, struct attach_text *name)
{
    struct body body;
    uint64_t kind;

    if (!read_body(vm, &iseq, &body)) return false;
    for (int i = 0; i < NESTING_MAX; i++) {
        kind = kind_of(vm, &body);
        if (kind == vm->iseq_block || kind == vm->iseq_plain) {
            uint64_t from = iseq;
            if (!add_blocks(vm, &iseq, &body, name)) return false;
            if (iseq == from) break;
        }
        else if (kind == vm->iseq_rescue || kind == vm->iseq_ensure || kind == vm->iseq_eval) {
            iseq = attach_field_get(&vm->body_parent, body.bytes);
            if (!read_body(vm, &iseq, &body)) return false;
        }
        else {
            if (kind == vm->iseq_method && owner && !attach_object_add_owner(vm, owner, name))
                return false;
            break;
        }
    }
    return add_own_label(vm, &body, kind, name);
}

bool
attach_code_name(struct attach_vm *vm, uint64_t iseq, uint64_t owner, uint64_t id,
                 struct attach_text *name)
{
    if (iseq) return add_label(vm, iseq, owner, name);
    return (!owner || attach_object_add_owner(vm, owner, name)) &&
           attach_object_add_symbol(vm, id, name);
}

/* The absolute path of the file. Code without a file has a name of its own, such as "(eval)". */
static bool
add_path(struct attach_vm *vm, const struct body *body, bool real, struct attach_text *path)
{
    uint64_t object = attach_field_get(&vm->body_path, body->bytes), element, flags;

    if (attach_object_element(vm, object, real ? vm->real_path_index : vm->path_index, &element) &&
        attach_object_flags(vm, &element, &flags)) object = element;
    else if (attach_object_element(vm, object, vm->path_index, &element)) object = element;
    return attach_object_add_string(vm, object, path);
}

static bool
internal_p(struct attach_vm *vm, const struct body *body)
{
    static const char prefix[] = "<internal:";
    struct attach_text path = {0};

    return add_path(vm, body, false, &path) && path.length >= sizeof(prefix) - 1 &&
           !memcmp(path.bytes, prefix, sizeof(prefix) - 1);
}

static bool
read_iseq(struct attach_codes *codes, struct attach_code_known *known, uint64_t owner,
          struct attach_text *name)
{
    struct attach_vm *vm = codes->vm;
    struct attach_text path = {0};
    uint64_t iseq = known->code.iseq;
    struct body body;

    if (!read_body(vm, &iseq, &body)) return false;
    known->runs = true;
    known->stands_for_outer =
        kind_of(vm, &body) == vm->iseq_rescue || kind_of(vm, &body) == vm->iseq_ensure;
    if (!add_label(vm, iseq, owner, name)) return false;

    bool internal = internal_p(vm, &body);
    int64_t first = (int64_t)attach_field_get(&vm->body_first_line, body.bytes);
    if (!internal && !add_path(vm, &body, true, &path)) return false;
    if (!internal) known->line = attach_line_of(vm, body.bytes, known->code.pc);
    if (internal || first < 0) first = 0;
    known->function = attach_names_function(codes->names, name, &path, (uint32_t)first, internal);
    return true;
}

static bool
read_c_method(struct attach_codes *codes, struct attach_code_known *known, uint64_t method,
              uint64_t owner, struct attach_text *name)
{
    struct attach_vm *vm = codes->vm;
    struct attach_text none = {0};
    uint64_t definition, id;

    known->runs = true;
    if (!owner || !attach_vm_get(vm, method, &vm->method_definition, &definition) ||
        !attach_vm_get(vm, definition, &vm->definition_id, &id) ||
        !attach_object_add_owner(vm, owner, name) ||
        !attach_object_add_symbol(vm, id, name)) return false;
    known->function = attach_names_function(codes->names, name, &none, 0, true);
    return true;
}

static void
read_code(struct attach_codes *codes, struct attach_code_known *known)
{
    struct attach_vm *vm = codes->vm;
    struct attach_text name = {0};
    uint64_t owner = 0, method = known->code.method, flags;

    if (method && (!attach_object_flags(vm, &method, &flags) ||
                   !attach_vm_get(vm, method, &vm->method_owner, &owner)))
        owner = 0;
    bool read = known->code.iseq ? read_iseq(codes, known, owner, &name) :
                                    read_c_method(codes, known, method, owner, &name);
    if (read) return;
    codes->unreadable++;
    known->function = attach_names_mark(codes->names, "(unreadable)");
}

const struct attach_code_known *
attach_code_find(struct attach_codes *codes, const struct attach_code_key *code)
{
    uint32_t number = search(codes, code);
    if (number) return &codes->known[number];

    if (!HEAPPROF_MEM_GROW(codes->mem, codes->known, codes->capacity, codes->count + 2) ||
        !rb_heapprof_index_reserve(&codes->index, codes->mem, codes->count, known_hash, codes))
        return NULL;
    struct attach_code_known known = {.code = *code};
    read_code(codes, &known);
    if (!known.function) return NULL;
    number = ++codes->count;
    codes->known[number] = known;
    rb_heapprof_index_insert(&codes->index, hash_of(code), number);
    return &codes->known[number];
}
