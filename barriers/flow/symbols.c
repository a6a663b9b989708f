/* symbols.c - a hash table in which each symbol exists once. */
#include "barriers/flow/symbols.h"

#include <stdio.h>
#include <string.h>

/* Of nested symbols. A loop over a list makes deeper ones, which become unknown. */
#define DEPTH_MOST 40

/* Of a value. With more it becomes unknown: each store is followed once for each. */
#define ORIGINS_MOST 4

static uint64_t
hash_of(enum wb_symbol_kind kind, const void *what, const struct wb_symbol *of, int64_t number)
{
    uint64_t hash = rb_heapprof_index_hash((uintptr_t)what + (uint64_t)kind);

    hash = rb_heapprof_index_hash(hash + (uintptr_t)of);
    return rb_heapprof_index_hash(hash + (uint64_t)number);
}

static void
grow(struct wb_symbols *symbols)
{
    struct wb_symbols old = *symbols;

    symbols->capacity = old.capacity ? old.capacity * 2 : 4096;
    symbols->buckets = wb_arena_take(symbols->arena, symbols->capacity * sizeof(*symbols->buckets));
    for (size_t i = 0; i < old.capacity; i++) {
        struct wb_symbol *symbol = old.buckets[i], *next;
        for (; symbol; symbol = next) {
            size_t at = hash_of(symbol->kind, symbol->what, symbol->of,
                                symbol->number) & (symbols->capacity - 1);
            next = symbol->chain;
            symbol->chain = symbols->buckets[at];
            symbols->buckets[at] = symbol;
        }
    }
}

struct wb_symbol *
wb_symbol(struct wb_symbols *symbols, enum wb_symbol_kind kind, const void *what,
          struct wb_symbol *of, int64_t number)
{
    struct wb_symbol *symbol;

    if (of && of->depth >= DEPTH_MOST) {
        kind = WB_S_UNKNOWN;
        of = NULL;
    }
    if (symbols->count >= symbols->capacity) grow(symbols);
    size_t at = hash_of(kind, what, of, number) & (symbols->capacity - 1);
    struct wb_symbol **place = &symbols->buckets[at];
    for (symbol = *place; symbol; symbol = symbol->chain) {
        if (symbol->kind == kind && symbol->what == what && symbol->of == of &&
            symbol->number == number) {
            return symbol;
        }
    }
    symbol = WB_NEW(symbols->arena, struct wb_symbol);
    *symbol = (struct wb_symbol){
        .kind = kind, .depth = of ? of->depth + 1 : 0, .what = what, .of = of, .number = number,
            .chain = *place,
    };
    symbols->count++;
    return *place = symbol;
}

struct wb_symbol *
wb_element_at(struct wb_symbols *symbols, struct wb_symbol *array, const struct wb_node *index)
{
    if (index->kind == WB_NUMBER) return wb_symbol(symbols, WB_S_INDEX, NULL, array, index->number);
    return wb_symbol(symbols, WB_S_INDEX,
                     index->kind == WB_VARIABLE ? index->variable : (const void *)index, array, -1);
}

struct wb_symbol *
wb_element_of(struct wb_symbols *symbols, struct wb_symbol *array)
{
    return wb_symbol(symbols, WB_S_INDEX, NULL, array, -1);
}

static const char contents[] = "contents";

struct wb_symbol *
wb_contents(struct wb_symbols *symbols, struct wb_symbol *place)
{
    return wb_symbol(symbols, WB_S_UNKNOWN, contents, place, 0);
}

bool
wb_contents_p(const struct wb_symbol *value)
{
    return value->kind == WB_S_UNKNOWN && value->what == contents && value->of;
}

/* How many origins the value may have. Returns 0 if one is not known. */
static unsigned
count_origins(const struct wb_symbol *symbol)
{
    if (symbol->kind == WB_S_EITHER) {
        unsigned one = count_origins(symbol->of), other = count_origins(symbol->other);
        return one && other ? one + other : 0;
    }
    if (symbol->kind == WB_S_UNKNOWN || symbol->kind == WB_S_CONSTANT) return 0;
    while (symbol && symbol->kind != WB_S_EITHER) symbol = symbol->of;
    return symbol ? count_origins(symbol) : 1;
}

struct wb_symbol *
wb_either(struct wb_symbols *symbols, const void *place, struct wb_symbol *one,
          struct wb_symbol *other)
{
    const unsigned first = count_origins(one), second = count_origins(other);

    if (!first || !second || first + second > ORIGINS_MOST) return NULL;
    struct wb_symbol *either = wb_symbol(symbols, WB_S_EITHER, place, one,
                                         (int64_t)(uintptr_t)other);
    either->other = other;
    either->string = one->string && other->string;
    either->immortal = one->immortal && other->immortal;
    return either;
}

static bool
inside_p(const struct wb_symbol *address)
{
    return address->kind == WB_S_FIELD || address->kind == WB_S_INDEX;
}

struct wb_symbol *
wb_base_of(struct wb_symbol *address)
{
    while (inside_p(address)) address = address->of;
    return address;
}

bool
wb_on_stack_p(const struct wb_symbol *base)
{
    return base->kind == WB_S_LOCAL || base->kind == WB_S_GLOBAL || base->kind == WB_S_CONSTANT;
}

const struct wb_field *
wb_field_of(const struct wb_symbol *address)
{
    while (address->kind == WB_S_INDEX) address = address->of;
    return address->kind == WB_S_FIELD ? address->what : NULL;
}

const struct wb_field *
wb_holder_of(struct wb_symbol *address)
{
    const struct wb_field *field = NULL;

    for (address = wb_base_of(address); !field && address->kind == WB_S_LOAD;
         address = wb_base_of(address->of)) {
        field = wb_field_of(address->of);
    }
    return field;
}

bool
wb_of_values_p(const struct wb_type *type)
{
    while (type->kind == WB_ARRAY) type = type->to;
    return type->kind == WB_VALUE;
}

const struct wb_field *
wb_first_field(const struct wb_symbol *address)
{
    const struct wb_field *first = NULL;

    for (; inside_p(address); address = address->of) {
        if (address->kind == WB_S_FIELD) first = address->what;
    }
    return first;
}

bool
wb_byte_range(const struct wb_symbol *address, int64_t *offset, int64_t *size)
{
    bool anywhere = address->kind != WB_S_FIELD; /* in the next field outwards */

    *offset = 0;
    *size = address->kind == WB_S_FIELD ? ((const struct wb_field *)address->what)->size : -1;
    for (; inside_p(address); address = address->of) {
        const struct wb_field *field = address->what;
        if (address->kind == WB_S_INDEX) {
            anywhere = true;
            continue;
        }
        if (anywhere) *offset = 0, *size = field->size;
        anywhere = false;
        if (field->offset < 0) return false;
        *offset += field->offset;
    }
    return !anywhere && *size > 0;
}

bool
wb_of_parameter_p(const struct wb_symbol *symbol, const struct wb_function *function)
{
    while (symbol->of) symbol = symbol->of;
    return symbol->kind == WB_S_PARAMETER && symbol->what == function;
}

void
wb_path_text(const struct wb_symbol *address, char *text, size_t size)
{
    const char *between = "", *name = "[]";

    if (!inside_p(address) && address->kind != WB_S_LOAD) {
        text[0] = '\0';
        return;
    }
    wb_path_text(address->of, text, size);
    size_t length = strlen(text);
    if (address->kind == WB_S_LOAD) return;
    if (address->kind == WB_S_FIELD) {
        name = ((const struct wb_field *)address->what)->name;
        if (length && *name) between = address->of->kind == WB_S_LOAD ? "->" : ".";
    }
    snprintf(text + length, size - length, "%s%s", between, name);
}
