/* census.c - holds the profile against the census of account.h, for test/ruby/test_accounting.rb: a
 * walk over the heap tells whether the census has all there is, and what the profiler says of each
 * single object; what both count by class and stack is for Ruby to compare (lib/accounting.rb).
 */
#include "account.h"
#include "text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exported by gc.c and imemo.c for the objspace extension. */
int rb_objspace_garbage_object_p(VALUE object);
void rb_objspace_each_objects(int (*callback)(void *, void *, size_t, void *), void *data);
size_t rb_gc_obj_slot_size(VALUE object);
const char *rb_imemo_name(int type);

#define MAX_DIFFERENCES 20

/* ---- the walk over the heap ---- */

struct walk {
    bool each;                /* ask the profiler about each object */
    size_t found;             /* objects of the census */
    size_t unknown;           /* older ones */
    size_t difference_count;
    struct difference {
        char what[32];
        VALUE object;
        unsigned int type;
    } differences[MAX_DIFFERENCES];
};

static void
differ(struct walk *walk, const char *what, VALUE object)
{
    if (walk->difference_count++ >= MAX_DIFFERENCES) return;
    struct difference *difference = &walk->differences[walk->difference_count - 1];
    snprintf(difference->what, sizeof(difference->what), "%s", what);
    difference->object = object;
    difference->type = RB_BUILTIN_TYPE(object);
}

/* 1: of that stack, 2: of another. */
static int
compare_stack_i(const struct rb_heapprof_row *row, void *expected)
{
    return strcmp(census_text_of_row(row), expected) == 0 ? 1 : 2;
}

static void
compare_object(struct walk *walk, VALUE object)
{
    struct census_citizen *citizen = census_find(object);
    bool born = citizen != NULL;

    born ? walk->found++ : walk->unknown++;
    if (!walk->each) return;

    const char *text = born ? census_sites.all[citizen->site].text : "";
    int sampled = rb_heapprof_allocation_stack(object, compare_stack_i, (void *)text);

    if (born && !sampled) differ(walk, "no sample", object);
    else if (!born && sampled) differ(walk, "a sample, but older", object);
    else if (sampled == 2) differ(walk, "another stack", object);
}

static int
walk_i(void *start, void *end, size_t stride, void *walk)
{
    for (VALUE object = (VALUE)start; object != (VALUE)end; object += stride) {
        if (!RBASIC(object)->flags) continue;
        switch (RB_BUILTIN_TYPE(object)) {
          case T_NONE: case T_MOVED: case T_ZOMBIE: continue;
          default: break;
        }
        if (!rb_objspace_garbage_object_p(object)) compare_object(walk, object);
    }
    return 0;
}

/* ---- for Ruby ---- */

/* What the living are counted by. The name as in the profile (gc/objects/label.c), written down
 * at once: a GC that is under way may yet free a class. */
struct group {
    size_t site;
    size_t slot;
    char name[64];            /* zero to its end, for memcmp */
    size_t count;
};

static const char *
type_name(unsigned int type)
{
    static const char *const names[] = {
        [T_OBJECT] = "T_OBJECT", [T_CLASS] = "T_CLASS", [T_MODULE] = "T_MODULE",
        [T_FLOAT] = "T_FLOAT", [T_STRING] = "T_STRING", [T_REGEXP] = "T_REGEXP",
        [T_ARRAY] = "T_ARRAY", [T_HASH] = "T_HASH", [T_STRUCT] = "T_STRUCT",
        [T_BIGNUM] = "T_BIGNUM", [T_FILE] = "T_FILE", [T_DATA] = "T_DATA",
        [T_MATCH] = "T_MATCH", [T_COMPLEX] = "T_COMPLEX", [T_RATIONAL] = "T_RATIONAL",
        [T_SYMBOL] = "T_SYMBOL", [T_NODE] = "T_NODE", [T_ICLASS] = "T_ICLASS",
    };
    return names[type];
}

static void
write_class_name(char *to, size_t size, VALUE klass)
{
    VALUE path = rb_class_path_cached(klass);
    char super[48];

    if (!NIL_P(path)) {
        snprintf(to, size, "%s", RSTRING_PTR(path));
        return;
    }
    write_class_name(super, sizeof(super), rb_class_superclass(klass));
    snprintf(to, size, "#<Class < %s>", super);
}

static void
write_name(char *to, size_t size, const struct census_citizen *citizen)
{
    unsigned int type = RB_BUILTIN_TYPE(citizen->object);

    if (type == T_IMEMO) {
        int imemo = RBASIC(citizen->object)->flags >> FL_USHIFT & 15;
        snprintf(to, size, "T_IMEMO(%s)", rb_imemo_name(imemo));
    }
    else if (type == T_ICLASS || type == T_NODE) snprintf(to, size, "%s", type_name(type));
    else if (!citizen->klass) snprintf(to, size, "%s(hidden)", type_name(type));
    else write_class_name(to, size, citizen->klass);
}

static int
compare_groups(const void *left, const void *right)
{
    return memcmp(left, right, offsetof(struct group, count));
}

/* Sorts, and adds up those that are alike. Returns how many are left. */
static size_t
merge(struct group *groups, size_t count)
{
    size_t merged = 0;

    qsort(groups, count, sizeof(*groups), compare_groups);
    for (size_t i = 0; i < count; i++) {
        if (merged && compare_groups(&groups[merged - 1], &groups[i]) == 0)
            groups[merged - 1].count++;
        else groups[merged++] = groups[i];
    }
    return merged;
}

/* All that live now, in memory that is not Ruby's. */
static struct group *
groups_now(size_t *count)
{
    struct group *groups = calloc(census_living.count + 1, sizeof(*groups));
    size_t alive = 0;

    census_baptize();
    for (size_t i = 0; i < census_living.capacity; i++) {
        struct census_citizen *citizen = &census_living.all[i];
        if (!citizen->object || rb_objspace_garbage_object_p(citizen->object)) continue;
        struct group *group = &groups[alive++];
        group->site = citizen->site;
        group->slot = rb_gc_obj_slot_size(citizen->object);
        write_name(group->name, sizeof(group->name), citizen);
        group->count = 1;
    }
    *count = merge(groups, alive);
    return groups;
}

static VALUE
group_array(const struct group *group)
{
    return rb_ary_new_from_args(4, SIZET2NUM(group->site), rb_str_new_cstr(group->name),
                                SIZET2NUM(group->slot), SIZET2NUM(group->count));
}

static VALUE
groups_array(const struct group *groups, size_t count)
{
    VALUE array = rb_ary_new();

    for (size_t i = 0; i < count; i++) rb_ary_push(array, group_array(&groups[i]));
    return array;
}

static VALUE
sites_array(const struct census_site *of, uint32_t count)
{
    VALUE array = rb_ary_new();

    for (uint32_t i = 0; i < count; i++) {
        VALUE ages = rb_ary_new();
        for (int age = 0; age < CENSUS_AGES; age++)
            rb_ary_push(ages, SIZET2NUM(of[i].died_at[age]));
        rb_ary_push(array, rb_ary_new_from_args(6, rb_str_new_cstr(of[i].text),
                                                SIZET2NUM(of[i].born), SIZET2NUM(of[i].died), ages,
                                                SIZET2NUM(of[i].peak_objects),
                                                SIZET2NUM(of[i].peak_bytes)));
    }
    return array;
}

/* The census is of objects. */
static int
row_i(const struct rb_heapprof_row *row, void *array)
{
    if (row->caller) return 0;
    VALUE values[] = {
        rb_str_new_cstr(row->class_name), rb_str_new_cstr(census_text_of_row(row)),
        ULL2NUM(row->inuse_objects), ULL2NUM(row->inuse_space), ULL2NUM(row->alloc_objects),
        LL2NUM(row->death_age), ULL2NUM(row->temp_objects),
        ULL2NUM(row->peak_objects), ULL2NUM(row->peak_space),
    };

    rb_ary_push((VALUE)array, rb_ary_new_from_values(sizeof(values) / sizeof(values[0]), values));
    return 0;
}

static VALUE
rows_array(rb_heapprof_snapshot_t *snapshot)
{
    VALUE rows = rb_ary_new();

    rb_heapprof_snapshot_each(snapshot, row_i, (void *)rows);
    return rows;
}

static VALUE
differences_array(const struct walk *walk)
{
    VALUE array = rb_ary_new();

    for (size_t i = 0; i < walk->difference_count && i < MAX_DIFFERENCES; i++) {
        const struct difference *difference = &walk->differences[i];
        struct census_citizen *citizen = census_find(difference->object);
        rb_ary_push(array, rb_sprintf("%s: type %u, born at %s", difference->what, difference->type,
                                      citizen ? census_sites.all[citizen->site].text : "?"));
    }
    return array;
}

/* Starts the census and the profiler with no object between them, at interval 1. past: the profiler
 * keeps the peak and lifetimes, too, and takes no samples of blocks: the census knows of none. */
static VALUE
start(int argc, VALUE *argv, VALUE self)
{
    struct rb_heapprof_config config;
    bool past = argc > 0 && RTEST(argv[0]);

    rb_heapprof_config_init(&config);
    config.interval_bytes = 1;
    config.depth = 65535;
    config.memory_bytes = (size_t)1 << 30;
    config.peak = config.lifetimes = past;
    if (past) config.malloc_interval_bytes = 0;
    census_start();
    if (rb_heapprof_start(&config) != RB_HEAPPROF_STARTED) {
        census_stop();
        rb_raise(rb_eRuntimeError, "runs already");
    }
    return Qnil;
}

static VALUE
stop(VALUE self)
{
    rb_heapprof_stop();
    census_stop();
    return Qnil;
}

/* What is dead and not swept dies in the GC of now. */
static void
count_garbage(struct census_site *sites)
{
    for (size_t i = 0; i < census_living.capacity; i++) {
        const struct census_citizen *citizen = &census_living.all[i];
        if (!citizen->object || !rb_objspace_garbage_object_p(citizen->object)) continue;
        sites[citizen->site].died_at[census_age(citizen)]++;
    }
}

/* One moment, seen by both: {rows:, groups:, sites:, found:, unknown:, differences:}. No object is
 * made, and none dies, before all has been copied and compared. each: asks the profiler about each
 * object, too. */
static VALUE
take(VALUE self, VALUE gc, VALUE each)
{
    struct walk walk = { .each = RTEST(each) };
    size_t group_count;
    rb_heapprof_snapshot_t *snapshot = rb_heapprof_snapshot(RTEST(gc));
    struct group *groups = groups_now(&group_count);
    uint32_t site_count = census_sites.count;
    struct census_site *sites = calloc(site_count + 1, sizeof(*sites));

    memcpy(sites, census_sites.all, site_count * sizeof(*sites));
    count_garbage(sites);
    if (!snapshot) rb_raise(rb_eRuntimeError, "nothing runs");
    VALUE disabled = rb_gc_disable();

    rb_objspace_each_objects(walk_i, &walk);

    VALUE seen = rb_hash_new();
#define SET(name, value) rb_hash_aset(seen, ID2SYM(rb_intern(name)), value)
    SET("differences", differences_array(&walk));
    SET("found", SIZET2NUM(walk.found));
    SET("unknown", SIZET2NUM(walk.unknown));
    SET("groups", groups_array(groups, group_count));
    SET("sites", sites_array(sites, site_count));
    SET("rows", rows_array(snapshot));
#undef SET
    if (disabled == Qfalse) rb_gc_enable();
    free(groups);
    free(sites);
    rb_heapprof_snapshot_free(snapshot);
    return seen;
}

void
Init_heapprof_census(void)
{
    VALUE census = rb_define_module("HeapProfCensus");

    census_init();
    rb_define_singleton_method(census, "start", start, -1);
    rb_define_singleton_method(census, "stop", stop, 0);
    rb_define_singleton_method(census, "take", take, 2);
}
