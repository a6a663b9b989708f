/* names.c - the names of functions and classes, found without making an object.
 *
 * Names are those of MRI 3.4's backtraces (`Foo::Bar#baz`, `Foo.bar`, `block in Foo#bar`,
 * `<class:Foo>`). The rules are those of rb_gen_method_name and calculate_iseq_label in
 * vm_backtrace.c, which return Strings and so cannot be called here. Iseqs and classes have their
 * names as Strings already, which are read in place.
 *
 * A name is found when a function or class is first seen. It is kept as bytes, because the code
 * may be dead later. A name that contains a class without a permanent name is provisional. It is
 * asked again before each snapshot, as long as the class lives.
 *
 * Methods that MRI itself has in Ruby (`<internal:array>`) are shown as the C methods that they
 * replace, with path and line of their caller, because no tool can open `<internal:array>`.
 *
 * Runs under the VM lock, in an allocation or in a GC. No Ruby allocation, no raise, no GC.
 */
#include "ruby/ruby.h"
#include "vm/names/names.h"
#include "gc/book/mri.h"
#include "gc/book/state.h"
#include "internal/class.h"
#include "internal/symbol.h"
#include "internal/variable.h"
#include "internal/vm.h"
#include "iseq.h"
#include "method.h"

/* A name while it is put together. The part that does not fit is left out. */
struct name {
    size_t length;
    bool   provisional;
    char   bytes[HEAPPROF_NAME_BYTES];
};

/* ---- putting names together ---- */

static void
name_add(struct name *name, const char *bytes, size_t length)
{
    size_t room = sizeof(name->bytes) - name->length;
    if (length > room) length = room;
    memcpy(name->bytes + name->length, bytes, length);
    name->length += length;
}

static void
name_add_cstr(struct name *name, const char *text)
{
    name_add(name, text, strlen(text));
}

static void
name_add_str(struct name *name, VALUE string)
{
    name_add(name, RSTRING_PTR(string), RSTRING_LEN(string));
}

/* Adds "Foo#" or "Foo." if the owner has a permanent name. */
static void
name_add_owner(struct name *name, VALUE owner)
{
    const char *separator = "#";
    bool permanent = false;

    if (!owner) return;
    if (RB_TYPE_P(owner, T_CLASS) && RCLASS_SINGLETON_P(owner)) {
        owner = RCLASS_ATTACHED_OBJECT(owner);
        if (!RB_TYPE_P(owner, T_CLASS) && !RB_TYPE_P(owner, T_MODULE)) return;
        separator = ".";
    }
    VALUE path = rb_mod_name0(owner, &permanent);
    if (NIL_P(path) || !permanent) {
        name->provisional = true;
        return;
    }
    name_add_str(name, path);
    name_add_cstr(name, separator);
}

/* The iseq whose label names a block, rescue or eval iseq. Adds the prefix ("block in "). */
static const rb_iseq_t *
name_add_blocks(struct name *name, const rb_iseq_t *iseq)
{
    const rb_iseq_t *local = ISEQ_BODY(iseq)->local_iseq;
    int levels = 0;

    if (ISEQ_BODY(iseq)->parent_iseq) {
        for (; iseq != local; iseq = ISEQ_BODY(iseq)->parent_iseq) {
            if (ISEQ_BODY(iseq)->type == ISEQ_TYPE_BLOCK) levels++;
        }
    }
    if (levels <= 1) {
        name_add_cstr(name, "block in ");
    }
    else {
        char prefix[48];
        snprintf(prefix, sizeof(prefix), "block (%d levels) in ", levels);
        name_add_cstr(name, prefix);
    }
    return iseq;
}

static void
name_add_iseq(struct name *name, const rb_iseq_t *iseq, VALUE owner)
{
    for (const rb_iseq_t *next = iseq; next; ) {
        iseq = next;
        switch (ISEQ_BODY(iseq)->type) {
          case ISEQ_TYPE_METHOD:
            name_add_owner(name, owner);
            next = NULL;
            break;
          case ISEQ_TYPE_BLOCK:
          case ISEQ_TYPE_PLAIN:
            next = name_add_blocks(name, iseq);
            if (next == iseq) next = NULL;
            break;
          case ISEQ_TYPE_RESCUE:
          case ISEQ_TYPE_ENSURE:
          case ISEQ_TYPE_EVAL:
            next = ISEQ_BODY(iseq)->parent_iseq;
            break;
          default:
            next = NULL;
        }
    }
    name_add_str(name, ISEQ_BODY(iseq)->location.label);
}

static void
name_add_method(struct name *name, VALUE owner, ID id)
{
    VALUE string = rb_id2str(id);

    name_add_owner(name, owner);
    if (string) name_add_str(name, string);
}

static uint32_t
name_intern(const struct name *name)
{
    rb_heapprof.work.stack_used |= HEAPPROF_STACK_NAMED;
    return rb_heapprof_strings_intern(&rb_heapprof.tables.strings, name->bytes, name->length);
}

/* ---- classes ---- */

/* Returns 0 if there is no such class, or if a class on the way is so new that it has no
 * superclass yet (rb_class_boot sets Qundef first). */
static VALUE
real_class(VALUE klass)
{
    while (!SPECIAL_CONST_P(klass) && (RCLASS_SINGLETON_P(klass) || RB_TYPE_P(klass, T_ICLASS))) {
        klass = RCLASS_SUPER(klass);
    }
    return SPECIAL_CONST_P(klass) ? 0 : klass;
}

/* Adds the name of the class. An anonymous class has the name of its first named ancestor. */
static void
name_add_class(struct name *name, VALUE klass)
{
    bool permanent = false;
    VALUE path = rb_mod_name0(klass, &permanent);

    name->provisional = !permanent;
    if (!NIL_P(path)) {
        name_add_str(name, path);
        return;
    }
    for (VALUE super = klass; NIL_P(path) && (super = real_class(RCLASS_SUPER(super))) != 0; ) {
        path = rb_mod_name0(super, &permanent);
    }
    name_add_cstr(name, "#<Class");
    if (!NIL_P(path)) {
        name_add_cstr(name, " < ");
        name_add_str(name, path);
    }
    name_add_cstr(name, ">");
}

static void
identity_name(uint32_t id, VALUE klass)
{
    struct name name = {0};

    name_add_class(&name, klass);
    uint32_t number = name_intern(&name);
    struct heapprof_identity *identity =
        rb_heapprof_identities_change(&rb_heapprof.tables.identities, id);

    identity->name = number;
    identity->provisional = name.provisional;
    if (name.provisional) rb_heapprof.work.provisional_names = true;
}

VALUE
rb_heapprof_real_class(VALUE object)
{
    /* A class may not have been given its metaclass yet. */
    return RB_TYPE_P(object, T_CLASS) ? rb_cClass : real_class(RBASIC_CLASS(object));
}

static bool
unnamed_p(uint32_t id)
{
    return rb_heapprof.tables.identities.all[id].name == HEAPPROF_UNNAMED;
}

/* An identity has no name only where no room for it can be had. Making room may take the
 * identity, too. */
bool
rb_heapprof_class_label(VALUE object, uint32_t *id)
{
    VALUE klass = rb_heapprof_real_class(object);
    if (!klass) return false;

    do {
        *id = rb_heapprof_gc_identify(klass);
        if (*id && unnamed_p(*id)) identity_name(*id, klass);
    } while (*id && unnamed_p(*id) && rb_heapprof_gc_make_room());
    return true;
}

/* ---- functions ---- */

static bool
internal_path_p(VALUE path)
{
    static const char prefix[] = "<internal:";
    return RSTRING_LEN(path) >= (long)sizeof(prefix) - 1 &&
           memcmp(RSTRING_PTR(path), prefix, sizeof(prefix) - 1) == 0;
}

static uint32_t
iseq_path(const rb_iseq_t *iseq)
{
    VALUE path = rb_iseq_realpath(iseq);
    if (NIL_P(path)) path = rb_iseq_path(iseq);
    return rb_heapprof_strings_intern(&rb_heapprof.tables.strings,
                                      RSTRING_PTR(path), RSTRING_LEN(path));
}

/* The present name of a function. *provisional: a class in it has no name yet. */
static uint32_t
function_name(const rb_iseq_t *iseq, VALUE owner, ID id, bool *provisional)
{
    struct name name = {0};

    if (iseq) name_add_iseq(&name, iseq, owner);
    else name_add_method(&name, owner, id);
    *provisional = name.provisional;
    return name_intern(&name);
}

static uint32_t
function_add(struct heapprof_function *function, const rb_iseq_t *iseq, VALUE owner, ID id)
{
    function->name = function_name(iseq, owner, id, &function->provisional);
    function->cfunc = !iseq || internal_path_p(rb_iseq_path(iseq));
    if (!function->cfunc) {
        function->path = iseq_path(iseq);
        int line = ISEQ_BODY(iseq)->location.first_lineno;
        function->first_line = line < 0 ? 0 : (uint32_t)line; /* eval may begin below 0 */
    }
    if (function->name == UINT32_MAX || function->path == UINT32_MAX) return 0;
    if (function->provisional) rb_heapprof.work.provisional_names = true;
    return rb_heapprof_functions_add(&rb_heapprof.tables.functions, function);
}

uint32_t
rb_heapprof_function_of(const rb_iseq_t *iseq, const rb_callable_method_entry_t *method)
{
    VALUE owner = method ? method->owner : 0;
    ID id = method ? method->def->original_id : 0;
    struct heapprof_function function = {0};

    if (owner && (function.owner = rb_heapprof_gc_identify(owner)) == 0) return 0;
    function.origin = iseq ? rb_heapprof_gc_identify((VALUE)iseq) : HEAPPROF_ORIGIN_C | id;
    if (function.origin == 0) return 0;

    uint32_t number = rb_heapprof_functions_find(&rb_heapprof.tables.functions,
                                                 function.origin, function.owner);
    return number ? number : function_add(&function, iseq, owner, id);
}

uint32_t
rb_heapprof_function_truncated(void)
{
    struct heapprof_function function = { .origin = UINT64_MAX, .cfunc = true };
    uint32_t number = rb_heapprof_functions_find(&rb_heapprof.tables.functions, function.origin, 0);
    if (number) return number;

    static const char name[] = "[truncated]";
    function.name = rb_heapprof_strings_intern(&rb_heapprof.tables.strings, name, sizeof(name) - 1);
    if (function.name == UINT32_MAX) return 0;
    return rb_heapprof_functions_add(&rb_heapprof.tables.functions, &function);
}

/* ---- provisional names ---- */

/* The live object of each identity, or 0 if it is dead. */
static VALUE *
objects_by_identity(struct heapprof_mem *mem, size_t *capacity)
{
    const struct heapprof_identities *identities = &rb_heapprof.tables.identities;
    const struct heapprof_address_table *table = &identities->addresses;
    VALUE *objects = NULL;

    if (!HEAPPROF_MEM_GROW(mem, objects, *capacity, identities->numbers.end)) return NULL;
    for (uint32_t entry = 1; entry < table->numbers.end; entry++) {
        uintptr_t address = rb_heapprof_address_table_address(table, entry);
        if (!rb_heapprof_object_key_p(address)) continue;
        /* Dead, but not swept: the objects that it refers to may be swept, and their slots in use
         * again. */
        if (rb_heapprof_gc_gone_p(address, NULL)) continue;
        objects[identities->ids[entry]] = address;
    }
    return objects;
}

static void
refresh_class(uint32_t id, VALUE object)
{
    if (object && rb_heapprof.tables.identities.all[id].provisional) identity_name(id, object);
}

static void
refresh_function(struct heapprof_function *function, const VALUE *objects)
{
    bool c_method = function->origin & HEAPPROF_ORIGIN_C;
    const rb_iseq_t *iseq = c_method ? NULL : (const rb_iseq_t *)objects[function->origin];
    VALUE owner = objects[function->owner];

    if (!owner || !(iseq || c_method)) return;
    ID id = (ID)(function->origin & ~HEAPPROF_ORIGIN_C);
    uint32_t name = function_name(iseq, owner, id, &function->provisional);
    if (name != UINT32_MAX) function->name = name;
    if (function->provisional) rb_heapprof.work.provisional_names = true;
}

static void
refresh_provisional_names(void)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    struct heapprof_mem mem;
    size_t capacity = 0;

    rb_heapprof_mem_init(&mem, SIZE_MAX);
    VALUE *objects = objects_by_identity(&mem, &capacity);
    if (!objects) return;

    rb_heapprof.work.provisional_names = false;
    for (uint32_t id = 1; id < tables->identities.numbers.end; id++) refresh_class(id, objects[id]);
    for (uint32_t number = 1; number < tables->functions.numbers.end; number++) {
        struct heapprof_function *function = rb_heapprof_functions_get(&tables->functions, number);
        if (function->provisional) refresh_function(function, objects);
    }
    HEAPPROF_MEM_RELEASE(&mem, objects, capacity);
}

void
rb_heapprof_names_refresh(void)
{
    if (!rb_heapprof.work.provisional_names) return;
    rb_heapprof_gc_begin_change();
    refresh_provisional_names();
    rb_heapprof_gc_end_change();
}

/* ---- as texts ---- */

static size_t
name_copy(const struct name *name, char *text)
{
    memcpy(text, name->bytes, name->length);
    return name->length;
}

size_t
rb_heapprof_class_text(VALUE klass, char text[HEAPPROF_NAME_BYTES])
{
    struct name name = { .length = 0 };

    name_add_class(&name, klass);
    return name_copy(&name, text);
}

size_t
rb_heapprof_called_text(VALUE owner, ID id, char text[HEAPPROF_NAME_BYTES])
{
    struct name name = { .length = 0 };

    name_add_method(&name, owner, id);
    return name_copy(&name, text);
}

size_t
rb_heapprof_method_text(const rb_method_entry_t *method, char text[HEAPPROF_NAME_BYTES])
{
    return rb_heapprof_called_text(method->owner, method->called_id, text);
}

size_t
rb_heapprof_code_text(const rb_iseq_t *iseq, VALUE owner, char text[HEAPPROF_NAME_BYTES])
{
    struct name name = { .length = 0 };

    name_add_iseq(&name, iseq, owner);
    return name_copy(&name, text);
}
