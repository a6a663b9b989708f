/* account.c - who was born where, and who of them is alive; see account.h. */
#include "account.h"
#include "text.h"
#include "ruby/debug.h"
#include "ruby/st.h"
#include <stdlib.h>
#include <string.h>

size_t rb_gc_obj_slot_size(VALUE object);

/* As the profiler has it: with the word that a debug build adds to each slot. */
static size_t
census_slot(VALUE object)
{
    static VALUE overhead = Qnil;

    if (NIL_P(overhead)) {
        VALUE constants = rb_const_get(rb_mGC, rb_intern("INTERNAL_CONSTANTS"));
        overhead = rb_hash_lookup2(constants, ID2SYM(rb_intern("RVALUE_OVERHEAD")), INT2FIX(0));
    }
    return rb_gc_obj_slot_size(object) + FIX2ULONG(overhead);
}

/* ---- sites ---- */

static uint32_t sites_capacity;
static uint32_t *site_index;  /* by the text's hash; number + 1, 0: empty; twice the capacity */

struct census_sites census_sites;

static uint32_t *
site_slot(const char *of)
{
    size_t mask = 2 * sites_capacity - 1;
    size_t i = st_hash(of, strlen(of), 0) & mask;

    while (site_index[i] && strcmp(census_sites.all[site_index[i] - 1].text, of) != 0) {
        i = (i + 1) & mask;
    }
    return &site_index[i];
}

static void
sites_grow(void)
{
    sites_capacity = sites_capacity ? 2 * sites_capacity : 1024;
    census_sites.all = realloc(census_sites.all, sites_capacity * sizeof(*census_sites.all));
    free(site_index);
    site_index = calloc(2 * sites_capacity, sizeof(*site_index));
    if (!census_sites.all || !site_index) rb_bug("census: out of memory");
    for (uint32_t i = 0; i < census_sites.count; i++) *site_slot(census_sites.all[i].text) = i + 1;
}

static uint32_t
site_of(const char *of)
{
    if (census_sites.count == sites_capacity) sites_grow();
    uint32_t *slot = site_slot(of);
    if (!*slot) {
        census_sites.all[census_sites.count] = (struct census_site){ .text = strdup(of) };
        *slot = ++census_sites.count;
    }
    return *slot - 1;
}

static void
sites_free(void)
{
    for (uint32_t i = 0; i < census_sites.count; i++) free(census_sites.all[i].text);
    free(census_sites.all);
    free(site_index);
    site_index = NULL;
    sites_capacity = 0;
    memset(&census_sites, 0, sizeof(census_sites));
}

/* ---- the living ---- */

/* Linear probing, at most half full. */
struct census_living census_living;

static size_t
home(VALUE object)
{
    return (object >> 3) * (size_t)0x9e3779b97f4a7c15 >> 20 & (census_living.capacity - 1);
}

/* Where it is, or where it would be. */
static struct census_citizen *
place_of(VALUE object)
{
    size_t i = home(object), mask = census_living.capacity - 1;

    while (census_living.all[i].object && census_living.all[i].object != object) i = (i + 1) & mask;
    return &census_living.all[i];
}

struct census_citizen *
census_find(VALUE object)
{
    struct census_citizen *citizen = census_living.capacity ? place_of(object) : NULL;

    return citizen && citizen->object ? citizen : NULL;
}

/* Enters all that are in `from` into an empty table. */
static void
settle(const struct census_citizen *from, size_t capacity)
{
    for (size_t i = 0; i < capacity; i++) {
        if (from[i].object) *place_of(from[i].object) = from[i];
    }
}

static void
living_resize(size_t capacity)
{
    struct census_citizen *before = census_living.all;
    size_t capacity_before = census_living.capacity;

    census_living.all = calloc(capacity, sizeof(*census_living.all));
    if (!census_living.all) rb_bug("census: out of memory");
    census_living.capacity = capacity;
    settle(before, capacity_before);
    free(before);
}

/* Looked at when its allocator has set it up. An object may be hidden, or shown, later on. */
static VALUE newborn;

void
census_baptize(void)
{
    struct census_citizen *citizen = newborn ? census_find(newborn) : NULL;

    newborn = 0;
    if (!citizen) return;
    switch (RB_BUILTIN_TYPE(citizen->object)) {
      case T_IMEMO: case T_ICLASS: case T_NODE: return; /* what is there is no class */
      default: break;
    }
    VALUE klass = RBASIC_CLASS(citizen->object);
    if (klass) citizen->klass = rb_class_real(klass);
}

static void
enter(VALUE object, uint32_t site)
{
    size_t capacity = census_living.capacity;

    if (2 * census_living.count >= capacity) living_resize(capacity ? 2 * capacity : 1 << 14);
    struct census_citizen *citizen = place_of(object);
    if (citizen->object) rb_bug("census: %p is born twice", (void *)object);
    *citizen = (struct census_citizen){ object, 0, site, rb_gc_count() };
    census_living.count++;
    newborn = object;
}

/* Closes the gap: who was put further on for want of the place moves up. */
static void
leave(struct census_citizen *gap)
{
    size_t mask = census_living.capacity - 1, hole = gap - census_living.all;

    for (size_t i = (hole + 1) & mask; census_living.all[i].object; i = (i + 1) & mask) {
        if (((i - home(census_living.all[i].object)) & mask) < ((i - hole) & mask)) continue;
        census_living.all[hole] = census_living.all[i];
        hole = i;
    }
    census_living.all[hole].object = 0;
    census_living.count--;
}

static void
living_free(void)
{
    free(census_living.all);
    memset(&census_living, 0, sizeof(census_living));
}

/* ---- events ---- */

static void
born(VALUE object)
{
    uint32_t site = site_of(census_text_of_this_place());

    census_sites.all[site].born++;
    enter(object, site);
}

static void
died(VALUE object)
{
    struct census_citizen *citizen = census_find(object);

    if (!citizen) return; /* older than the census */
    census_sites.all[citizen->site].died++;
    census_sites.all[citizen->site].died_at[census_age(citizen)]++;
    leave(citizen);
}

/* ---- the past ---- */

unsigned int
census_age(const struct census_citizen *citizen)
{
    size_t gcs = rb_gc_count() - citizen->birth_gc; /* 0: born while this GC marked */
    size_t survived = gcs ? gcs - 1 : 0;

    return survived < 2 ? (unsigned int)survived : survived < 4 ? 2 : 3;
}

static size_t peak_bytes;

static size_t
bytes_alive(void)
{
    size_t bytes = 0;

    for (size_t i = 0; i < census_living.capacity; i++) {
        if (census_living.all[i].object) bytes += census_slot(census_living.all[i].object);
    }
    return bytes;
}

static void
look_for_peak(void)
{
    size_t bytes = bytes_alive();

    if ((double)bytes <= (double)peak_bytes * 1.05) return;
    peak_bytes = bytes;
    for (uint32_t i = 0; i < census_sites.count; i++)
        census_sites.all[i].peak_objects = census_sites.all[i].peak_bytes = 0;
    for (size_t i = 0; i < census_living.capacity; i++) {
        const struct census_citizen *citizen = &census_living.all[i];
        if (!citizen->object) continue;
        census_sites.all[citizen->site].peak_objects++;
        census_sites.all[citizen->site].peak_bytes += census_slot(citizen->object);
    }
}

static void
event_i(VALUE tracepoint_value, void *unused)
{
    rb_trace_arg_t *event = rb_tracearg_from_tracepoint(tracepoint_value);

    switch (rb_tracearg_event_flag(event)) {
      case RUBY_INTERNAL_EVENT_NEWOBJ:
        census_baptize();
        born(rb_tracearg_object(event));
        break;
      case RUBY_INTERNAL_EVENT_GC_START:
        census_baptize();
        break;
      case RUBY_INTERNAL_EVENT_GC_END_SWEEP:
        look_for_peak();
        break;
      case RUBY_INTERNAL_EVENT_FREEOBJ:
        died(rb_tracearg_object(event));
        break;
    }
}

static void
moved(void *unused)
{
    for (size_t i = 0; i < census_living.capacity; i++) {
        struct census_citizen *citizen = &census_living.all[i];
        if (!citizen->object) continue;
        citizen->object = rb_gc_location(citizen->object);
        if (citizen->klass) citizen->klass = rb_gc_location(citizen->klass);
    }
    if (census_living.capacity) living_resize(census_living.capacity);
    /* Its class is not asked for yet: a GC that began before its birth may end by moving it. */
    if (newborn) newborn = rb_gc_location(newborn);
}

/* An object for the collector to ask, when it has moved others. */
static const rb_data_type_t witness_type = {
    "heapprof_census", { .dcompact = moved }, NULL, NULL, 0
};

static VALUE tracepoint;

void
census_init(void)
{
    rb_gc_register_mark_object(TypedData_Wrap_Struct(rb_cObject, &witness_type, &census_living));
    tracepoint = rb_tracepoint_new(0, RUBY_INTERNAL_EVENT_NEWOBJ | RUBY_INTERNAL_EVENT_FREEOBJ |
                                   RUBY_INTERNAL_EVENT_GC_START |
                                   RUBY_INTERNAL_EVENT_GC_END_SWEEP, event_i, NULL);
    rb_gc_register_mark_object(tracepoint);
    census_slot(tracepoint); /* which may ask Ruby only this time */
}

void
census_start(void)
{
    rb_tracepoint_enable(tracepoint);
}

void
census_stop(void)
{
    rb_tracepoint_disable(tracepoint);
    newborn = 0;
    peak_bytes = 0;
    living_free();
    sites_free();
}
