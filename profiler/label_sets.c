/* label_sets.c - sets of labels, each made once.
 *
 * A set is known by its text, so two sets with the same labels are one. The text of a new set is
 * written on the stack, from that of another one:
 *
 *     endpoint\0POST /cart\0 | tenant\0b2b\0        + job = Mailer
 *     endpoint\0POST /cart\0 | job\0Mailer\0 | tenant\0b2b\0
 *
 *   I1  The keys of a text are in order, each once.
 *   I2  Each value of a set is in values, or is "(other)". A key has at most values_most of them.
 */
#include "profiler/label_sets.h"

#include <string.h>

/* Room for sets that have "(other)", when there is none for new values. */
#define SETS_OF_OTHERS 64

/* A text that is being written. */
struct label_text {
    char   bytes[HEAPPROF_LABEL_TEXT_BYTES];
    size_t length;
};

void
rb_heapprof_label_sets_init(struct heapprof_label_sets *sets, struct heapprof_mem *mem)
{
    *sets = (struct heapprof_label_sets){ .values_most = HEAPPROF_LABEL_VALUES };
    rb_heapprof_strings_init(&sets->texts, mem);
    rb_heapprof_strings_init(&sets->values, mem);
}

void
rb_heapprof_label_sets_free(struct heapprof_label_sets *sets)
{
    rb_heapprof_strings_free(&sets->texts);
    rb_heapprof_strings_free(&sets->values);
}

/* ---- texts ---- */

/* Returns false if the bytes have no NUL. */
static bool
next_text(const char **at, const char *end, const char **text, size_t *length)
{
    const char *nul = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;

    if (!nul) return false;
    *text = *at;
    *length = (size_t)(nul - *at);
    *at = nul + 1;
    return true;
}

bool
rb_heapprof_label_next(const char **at, const char *end, struct heapprof_label *label)
{
    return next_text(at, end, &label->key, &label->key_length) &&
           next_text(at, end, &label->value, &label->value_length);
}

static int
compare(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);

    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static void
append(struct label_text *text, const char *bytes, size_t length)
{
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length++] = '\0';
}

static void
append_label(struct label_text *text, const struct heapprof_label *label)
{
    append(text, label->key, label->key_length);
    append(text, label->value, label->value_length);
}

/* The labels of a set, with one in its place, or without its key if it has no value. */
static void
write_text(const struct heapprof_label_sets *sets, uint32_t base,
           const struct heapprof_label *label, struct label_text *text)
{
    size_t length;
    const char *at = rb_heapprof_label_sets_text(sets, base, &length), *end = at + length;
    struct heapprof_label other;
    bool done = !label->value;

    text->length = 0;
    while (rb_heapprof_label_next(&at, end, &other)) {
        int order = compare(other.key, other.key_length, label->key, label->key_length);
        if (order >= 0 && !done) {
            append_label(text, label);
            done = true;
        }
        if (order != 0) append_label(text, &other);
    }
    if (!done) append_label(text, label);
}

/* ---- limits ---- */

bool
rb_heapprof_label_reserved_p(const char *key)
{
    static const char *const keys[] = HEAPPROF_LABEL_RESERVED;

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        if (!strcmp(key, keys[i])) return true;
    }
    return false;
}

size_t
rb_heapprof_label_value(char out[HEAPPROF_LABEL_VALUE_ROOM], const char *value, size_t length)
{
    if (length == 0) {
        value = HEAPPROF_LABEL_EMPTY;
        length = sizeof(HEAPPROF_LABEL_EMPTY) - 1;
    }
    length = rb_heapprof_utf8_piece(value, length, HEAPPROF_LABEL_VALUE_BYTES);
    length = rb_heapprof_utf8_copy(out, value, length);
    for (size_t i = 0; i < length; i++) {
        if (out[i] == '\0') out[i] = ' ';
    }
    return rb_heapprof_utf8_piece(out, length, HEAPPROF_LABEL_VALUE_BYTES);
}

/* Returns the key's place in keys, or HEAPPROF_LABEL_KEYS if there is no room for it. */
static uint32_t
key_number(struct heapprof_label_sets *sets, const char *key, size_t length)
{
    uint32_t i;

    for (i = 0; i < sets->key_count; i++) {
        const struct heapprof_label_key *known = &sets->keys[i];
        if (known->length == length && memcmp(known->name, key, length) == 0) return i;
    }
    if (length == 0 || length >= HEAPPROF_LABEL_KEY_BYTES || i == HEAPPROF_LABEL_KEYS)
        return HEAPPROF_LABEL_KEYS;
    memcpy(sets->keys[i].name, key, length);
    sets->keys[i].length = (uint32_t)length;
    sets->key_count++;
    return i;
}

/* Returns false if the key has as many values as it may have, or without memory. */
static bool
value_known_p(struct heapprof_label_sets *sets, uint32_t key, const struct heapprof_label *label)
{
    char text[1 + HEAPPROF_LABEL_VALUE_BYTES];
    uint32_t number;

    text[0] = (char)(key + 1);
    memcpy(text + 1, label->value, label->value_length);
    number = rb_heapprof_strings_find(&sets->values, text, 1 + label->value_length);
    if (number) return true;
    if (sets->keys[key].values >= sets->values_most) return false;
    number = rb_heapprof_strings_intern(&sets->values, text, 1 + label->value_length);
    if (number == UINT32_MAX) return false;
    sets->keys[key].values++;
    return true;
}

/* Returns UINT32_MAX if there are too many sets, or without memory. */
static uint32_t
intern(struct heapprof_label_sets *sets, const struct label_text *text, uint32_t most)
{
    uint32_t number = rb_heapprof_strings_find(&sets->texts, text->bytes, text->length);

    if (number || text->length == 0) return number;
    if (sets->texts.numbers.count >= most) return UINT32_MAX;
    return rb_heapprof_strings_intern(&sets->texts, text->bytes, text->length);
}

/* ---- sets ---- */

bool
rb_heapprof_label_sets_known_p(const struct heapprof_label_sets *sets, uint32_t set)
{
    return set == 0 || (set < sets->texts.numbers.end && sets->texts.all[set].length > 0);
}

static void
make_other(struct heapprof_label_sets *sets, struct heapprof_label *label)
{
    label->value = HEAPPROF_LABEL_OTHER;
    label->value_length = sizeof(HEAPPROF_LABEL_OTHER) - 1;
    sets->others++;
}

uint32_t
rb_heapprof_label_sets_with(struct heapprof_label_sets *sets, uint32_t base,
                            const struct heapprof_label *label)
{
    uint32_t key = key_number(sets, label->key, label->key_length), number = UINT32_MAX;
    struct heapprof_label kept = *label;
    struct label_text text;

    kept.value_length =
        rb_heapprof_utf8_piece(kept.value, kept.value_length, HEAPPROF_LABEL_VALUE_BYTES);
    if (key < HEAPPROF_LABEL_KEYS) {
        if (!value_known_p(sets, key, &kept)) make_other(sets, &kept);
        write_text(sets, base, &kept, &text);
        number = intern(sets, &text, HEAPPROF_LABEL_SETS - SETS_OF_OTHERS);
    }
    if (number == UINT32_MAX && key < HEAPPROF_LABEL_KEYS) {
        make_other(sets, &kept);
        write_text(sets, base, &kept, &text);
        number = intern(sets, &text, HEAPPROF_LABEL_SETS);
    }
    if (number != UINT32_MAX) return number;
    sets->refused++;
    return base;
}

uint32_t
rb_heapprof_label_sets_without(struct heapprof_label_sets *sets, uint32_t base, const char *key,
                               size_t key_length)
{
    const struct heapprof_label label = { .key = key, .key_length = key_length };
    struct label_text text;

    write_text(sets, base, &label, &text);
    uint32_t number = intern(sets, &text, HEAPPROF_LABEL_SETS);
    return number == UINT32_MAX ? base : number;
}

/* The text of more may move while sets are made, so it is read from a copy. */
uint32_t
rb_heapprof_label_sets_both(struct heapprof_label_sets *sets, uint32_t base, uint32_t more)
{
    char copy[HEAPPROF_LABEL_TEXT_BYTES];
    size_t length;
    const char *text = rb_heapprof_label_sets_text(sets, more, &length), *at = copy;
    struct heapprof_label label;

    if (base == 0 || more == 0 || base == more) return more ? more : base;
    memcpy(copy, text, length);
    while (rb_heapprof_label_next(&at, copy + length, &label))
        base = rb_heapprof_label_sets_with(sets, base, &label);
    return base;
}
