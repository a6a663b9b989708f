/* label_sets.c - from the words of a fiber to the text of its labels.
 *
 *   I1  Reading ends: a lease leads on at most LEASE_STEPS times, a block at most LATE_STEPS times.
 *   I2  A set of ours has the keys and values that sets may have (profiler/label_sets.h), whatever
 *       the target has written. So their number and memory are bounded.
 *   I3  What cannot be read is not kept, and is read again. */
#include "attach/label_sets.h"

#include <time.h>

enum {
    TRIES = 3,          /* the tables may move while they are read */
    PAUSES_MOST = 100,  /* of a millisecond each, of all reading */
    LEASE_STEPS = 64,   /* of blocks inside of each other */
    LATE_STEPS = 255
};

static const struct attach_want wants[] = {
#define WANT(kind, member, name) ATTACH_WANT_##kind(struct attach_label_places, member, name),
#define WANT_SOME(kind, member, name, least) \
    ATTACH_WANT_##kind(struct attach_label_places, member, name, least),
    WANT_SOME(CONTRACT, contract, "label-sets", 1)
    WANT_SOME(GLOBAL, sets, "rb_heapprof_label_sets", 1)
    WANT_SOME(GLOBAL, leases, "rb_heapprof_leases", 1)
    WANT_SOME(GLOBAL, lates, "rb_heapprof_lates", 1)
    WANT(CONSTANT, leases_most, "HEAPPROF_LEASES")
    WANT(CONSTANT, lates_most, "HEAPPROF_LATES")
    WANT(TYPE, sets_bytes, "heapprof_label_sets")
    WANT(TYPE, string_bytes, "heapprof_string")
    WANT(TYPE, lease_bytes, "heapprof_lease")
    WANT(TYPE, late_bytes, "heapprof_late")
    WANT(NUMBER, texts, "heapprof_label_sets.texts.bytes")
    WANT(NUMBER, text_bytes, "heapprof_label_sets.texts.bytes_used")
    WANT(NUMBER, strings, "heapprof_label_sets.texts.all")
    WANT(NUMBER, strings_end, "heapprof_label_sets.texts.numbers.end")
    WANT(NUMBER, text_offset, "heapprof_string.offset")
    WANT(NUMBER, text_length, "heapprof_string.length")
    WANT(NUMBER, leases_all, "heapprof_leases.all")
    WANT(NUMBER, lease_number, "heapprof_lease.number")
    WANT(NUMBER, lease_label, "heapprof_lease.label")
    WANT_SOME(BYTES, lates_all, "heapprof_lates.all", 1)
    WANT(NUMBER, late_token, "heapprof_late.token")
    WANT(NUMBER, late_outer, "heapprof_late.outer")
    WANT(NUMBER, late_named, "heapprof_late.named")
#undef WANT
#undef WANT_SOME
};

void
attach_label_sets_init(struct attach_label_sets *sets, struct attach_vm *vm,
                       struct heapprof_mem *mem)
{
    char error[ATTACH_TARGET_ERROR_MAX];

    *sets = (struct attach_label_sets){ .vm = vm };
    rb_heapprof_label_sets_init(&sets->ours, mem);
    sets->ours.values_most = HEAPPROF_LABEL_SETS; /* the target has its own limit */
    sets->there = attach_layout_fill(vm->layout, wants, sizeof(wants) / sizeof(*wants),
                                     &sets->places, error) &&
                  sets->places.leases_most > 0 && sets->places.lates_most > 0;
}

void
attach_label_sets_free(struct attach_label_sets *sets, struct heapprof_mem *mem)
{
    rb_heapprof_label_sets_free(&sets->ours);
    HEAPPROF_MEM_RELEASE(mem, sets->known, sets->known_capacity);
}

bool
attach_label_sets_begun(struct attach_vm *vm, uint64_t *count)
{
    struct attach_global labelled;

    return attach_layout_global(vm->layout, "rb_heapprof_labelled", &labelled) &&
           attach_global_read(vm->target, &labelled, count);
}

/* ---- texts ---- */

/* Where the texts of sets are at this moment. */
struct label_texts {
    uint64_t bytes, used, strings, end;
};

static bool
find_texts(const struct attach_label_sets *sets, struct label_texts *texts)
{
    const struct attach_label_places *places = &sets->places;
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];

    if (!attach_target_read(sets->vm->target, places->sets.address, copy, places->sets_bytes))
        return false;
    *texts = (struct label_texts){
        .bytes = attach_field_get(&places->texts, copy),
        .used = attach_field_get(&places->text_bytes, copy),
        .strings = attach_field_get(&places->strings, copy),
        .end = attach_field_get(&places->strings_end, copy),
    };
    return true;
}

/* Reads the text of a set of the target. Returns false if it is not there. */
static bool
read_text(const struct attach_label_sets *sets, const struct label_texts *texts, uint32_t number,
          char *text, size_t *length)
{
    const struct attach_label_places *places = &sets->places;
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];
    uint64_t string = texts->strings + (uint64_t)number * places->string_bytes;

    if (!attach_target_read(sets->vm->target, string, copy, places->string_bytes)) return false;
    uint64_t offset = attach_field_get(&places->text_offset, copy);
    *length = attach_field_get(&places->text_length, copy);
    return *length <= HEAPPROF_LABEL_TEXT_BYTES && *length <= texts->used &&
           offset <= texts->used - *length &&
           attach_target_read(sets->vm->target, texts->bytes + offset, text, *length);
}

/* I2 */
static bool
labels_p(const char *text, size_t length)
{
    const char *at = text, *end = text + length;
    struct heapprof_label label;

    for (int i = 0; i < HEAPPROF_LABEL_KEYS && rb_heapprof_label_next(&at, end, &label); i++) {
        if (label.key_length == 0 || label.key_length >= HEAPPROF_LABEL_KEY_BYTES ||
            label.value_length > HEAPPROF_LABEL_VALUE_BYTES)
            return false;
    }
    return at == end;
}

/* The same set of ours; 0 if the text is not one of labels, or without memory. */
static uint32_t
add_text(struct attach_label_sets *sets, const char *text, size_t length)
{
    struct heapprof_label label;
    uint32_t set = 0;

    if (!labels_p(text, length)) return 0;
    for (const char *at = text; rb_heapprof_label_next(&at, text + length, &label); )
        set = rb_heapprof_label_sets_with(&sets->ours, set, &label);
    return set;
}

/* A table that has moved, and that the target does not say yet where: the kernel may run others
 * between the two. Returns false if that was waited for often enough. */
static bool
pause_p(struct attach_label_sets *sets)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};

    if (sets->pauses == PAUSES_MOST) return false;
    sets->pauses++;
    nanosleep(&millisecond, NULL);
    return true;
}

/* The set of ours that is the same as this one of the target; 0 if it cannot be read (I3). */
static uint32_t
find_set(struct attach_label_sets *sets, uint32_t number)
{
    char text[HEAPPROF_LABEL_TEXT_BYTES];
    struct label_texts before, after;
    size_t length;

    if (number == 0 || number > HEAPPROF_LABEL_SETS) return 0;
    if (number < sets->known_capacity && sets->known[number]) return sets->known[number];
    for (int moves = 0; moves < TRIES;) {
        if (!find_texts(sets, &before) || number >= before.end) return 0;
        bool read = read_text(sets, &before, number, text, &length);
        if (!find_texts(sets, &after)) return 0;
        bool moved = before.bytes != after.bytes || before.strings != after.strings;
        moves += moved;
        if (!moved && !read && !pause_p(sets)) return 0;
        if (moved || !read) continue;
        uint32_t set = add_text(sets, text, length);
        if (set && HEAPPROF_MEM_GROW(sets->ours.texts.mem, sets->known, sets->known_capacity,
                                     (size_t)number + 1))
            sets->known[number] = set;
        return set;
    }
    return 0;
}

/* ---- leases ---- */

static bool
read_lease(const struct attach_label_sets *sets, uint32_t number, uint32_t *label)
{
    const struct attach_label_places *places = &sets->places;
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];
    uint64_t all;

    if (!attach_vm_get(sets->vm, places->leases.address, &places->leases_all, &all) || !all)
        return false;
    uint64_t at = all + number % (uint64_t)places->leases_most * places->lease_bytes;
    if (!attach_target_read(sets->vm->target, at, copy, places->lease_bytes) ||
        attach_field_get(&places->lease_number, copy) != number)
        return false;
    *label = (uint32_t)attach_field_get(&places->lease_label, copy);
    return true;
}

/* The set that a label of a fiber leads to; 0 if it leads to none. */
static uint32_t
follow_leases(const struct attach_label_sets *sets, uint32_t label)
{
    for (int i = 0; label & HEAPPROF_LABEL_LEASED; i++) {
        if (i == LEASE_STEPS || !read_lease(sets, label & ~HEAPPROF_LABEL_LEASED, &label)) return 0;
    }
    return label;
}

/* ---- names that came late ---- */

/* Whether a set of ours waits for the name of that key; of any key, if key is NULL. */
static bool
unnamed_p(const struct attach_label_sets *sets, uint32_t set, const struct heapprof_label *key)
{
    size_t length;
    const char *at = attach_label_sets_text(sets, set, &length), *end = at + length;
    struct heapprof_label label;

    while (rb_heapprof_label_next(&at, end, &label)) {
        if (key && (key->key_length != label.key_length ||
                    memcmp(key->key, label.key, label.key_length) != 0))
            continue;
        if (label.value_length == sizeof(HEAPPROF_LABEL_UNNAMED) - 1 &&
            memcmp(label.value, HEAPPROF_LABEL_UNNAMED, label.value_length) == 0) return true;
    }
    return false;
}

/* Gives a set of ours the name that a block has, if the set waits for that. */
static uint32_t
add_name(struct attach_label_sets *sets, uint32_t set, uint32_t name)
{
    size_t length;
    const char *at = attach_label_sets_text(sets, name, &length);
    struct heapprof_label label;

    if (!name || !rb_heapprof_label_next(&at, at + length, &label) ||
        !unnamed_p(sets, set, &label)) return set;
    return rb_heapprof_label_sets_both(&sets->ours, set, name);
}

/* The same with the names that the block of a token has, and those around it. */
static uint32_t
add_names(struct attach_label_sets *sets, uint32_t set, uint32_t token)
{
    const struct attach_label_places *places = &sets->places;
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];

    for (int i = 0; i < LATE_STEPS && token && unnamed_p(sets, set, NULL); i++) {
        uint64_t number = token & (uint64_t)places->lates_most;
        uint64_t offset = places->lates_all.offset + number * places->late_bytes;
        if (offset + places->late_bytes > places->lates.size ||
            !attach_target_read(sets->vm->target, places->lates.address + offset, copy,
                                places->late_bytes) ||
            attach_field_get(&places->late_token, copy) != token)
            break;
        set = add_name(sets, set,
                       find_set(sets, (uint32_t)attach_field_get(&places->late_named, copy)));
        token = (uint32_t)attach_field_get(&places->late_outer, copy);
    }
    return set;
}

uint32_t
attach_label_sets_of(struct attach_label_sets *sets, uint32_t label, uint32_t late)
{
    if (!label || !sets->there) return 0;
    uint32_t set = find_set(sets, follow_leases(sets, label));
    return set ? add_names(sets, set, late) : 0;
}
