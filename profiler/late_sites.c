/* late_sites.c - gives sites that wait for a name the name.
 *
 *   I1  all sums stay what they are: what a site has counted goes with it.
 *
 * The caller serialises. Allocates a string (mem.c).
 */
#include "profiler/late_sites.h"

#include <string.h>

static bool
equal_p(const char *a, size_t a_length, const char *b, size_t b_length)
{
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

static size_t
append(char *text, size_t length, const char *bytes, size_t bytes_length)
{
    memcpy(text + length, bytes, bytes_length);
    text[length + bytes_length] = '\0';
    return length + bytes_length + 1;
}

/* The string of labels in which the one that waits has its value. */
static uint32_t
named(struct heapprof_tables *tables, uint32_t string, const struct heapprof_label *name)
{
    char text[HEAPPROF_LABEL_TEXT_BYTES];
    size_t length, made = 0;
    const char *at = rb_heapprof_strings_get(&tables->strings, string, &length), *end = at + length;
    struct heapprof_label label;

    while (rb_heapprof_label_next(&at, end, &label)) {
        bool waits = equal_p(label.key, label.key_length, name->key, name->key_length) &&
                     equal_p(label.value, label.value_length, HEAPPROF_LABEL_UNNAMED,
                             sizeof(HEAPPROF_LABEL_UNNAMED) - 1);
        const struct heapprof_label *value = waits ? name : &label;
        made = append(text, made, label.key, label.key_length);
        made = append(text, made, value->value, value->value_length);
    }
    uint32_t result = rb_heapprof_strings_intern(&tables->strings, text, made);
    return result < HEAPPROF_LABEL_STRINGS ? result : string;
}

void
rb_heapprof_late_sites_settle(struct heapprof_tables *tables, uint32_t late,
                              const struct heapprof_label *name, uint32_t next)
{
    bool merged = false;

    for (uint32_t number = 1; number < tables->sites.numbers.end; number++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, number);
        if (!site->used || site->late != late) continue;
        uint32_t label = name ? named(tables, site->label, name) : site->label;
        label |= HEAPPROF_LABEL_LATE(next);
        if (rb_heapprof_sites_relabel(&tables->sites, number, label)) merged = true;
    }
    if (!merged) return;
    rb_heapprof_tables_follow_sites(tables);
    rb_heapprof_sites_end_merging(&tables->sites);
}
