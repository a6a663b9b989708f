/* heapprof_gem.c - what Ruby cannot do for a live heap profile: the event, and the stacks.
 *
 * rb_gc_sample_allocations() calls sampled() in the middle of an allocation, where no object may be made. So an object waits in
 * `waiting` until a postponed job puts it into an ObjectSpace::WeakMap. The map is the table of live samples: its value is a
 * Fixnum of the stack and the size, and an entry goes away with its object.
 *
 *   nodes    a tree of frames; a stack is the node of its innermost frame. Node 0 is the root
 *   waiting  objects that are not in the map yet
 *
 * I1  What `nodes` and `waiting` refer to is marked, so that it neither dies nor moves.
 * I2  sampled() holds the VM lock, all other functions are the main Ractor's. `lock` is between these. Its holder makes no object
 *     and starts no GC.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "ruby/ractor.h"

enum {
    MOST_FRAMES = 512,     /* of a stack: the innermost ones */
    MOST_NODES = 1 << 20,
    MOST_WAITING = 1 << 14,
    SIZE_BITS = 16         /* of a value of the map; the node is above them, so a Fixnum has to have 63 bits */
};

struct node {
    VALUE frame;           /* of rb_profile_frames() */
    uint32_t parent;
    int line;
};

struct sample {
    VALUE object;
    uint32_t node;
    uint32_t size;
};

static struct {
    VALUE map;             /* the WeakMap; nil: stopped */
    struct node *nodes;
    size_t node_count, node_capacity;
    uint32_t *found;       /* hash table of nodes, of twice the capacity; 0: free */
    struct sample waiting[MOST_WAITING];
    size_t waiting_count;
    size_t samples, dropped, hidden; /* all, without room to wait, and those that Ruby may not see */
} profile;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rb_postponed_job_handle_t job;
static rb_ractor_local_key_t main_ractor; /* has a value in the main Ractor alone */

static size_t
node_place(const struct node *node)
{
    uint64_t hash = (node->frame ^ (uint64_t)node->parent << 32 ^ (uint64_t)node->line) * 0x9e3779b97f4a7c15;
    size_t mask = profile.node_capacity * 2 - 1, place = (hash ^ hash >> 32) & mask;

    while (profile.found[place]) {
        const struct node *there = &profile.nodes[profile.found[place]];
        if (there->frame == node->frame && there->parent == node->parent && there->line == node->line) break;
        place = (place + 1) & mask;
    }
    return place;
}

static bool
grow_nodes(void)
{
    size_t capacity = profile.node_capacity ? profile.node_capacity * 2 : 1024;
    uint32_t *found = capacity <= MOST_NODES ? calloc(capacity * 2, sizeof(*found)) : NULL;
    struct node *nodes = found ? realloc(profile.nodes, capacity * sizeof(*nodes)) : NULL;

    if (!nodes) {
        free(found);
        return false;
    }
    free(profile.found);
    profile.nodes = nodes;
    profile.found = found;
    profile.node_capacity = capacity;
    for (size_t i = 1; i < profile.node_count; i++) found[node_place(&nodes[i])] = (uint32_t)i;
    return true;
}

/* The node of a frame below another; the other if there is no room. */
static uint32_t
node_below(uint32_t parent, VALUE frame, int line)
{
    struct node node = { frame, parent, line };

    if (profile.node_count == profile.node_capacity && !grow_nodes()) return parent;
    size_t place = node_place(&node);
    if (!profile.found[place]) {
        profile.found[place] = (uint32_t)profile.node_count;
        profile.nodes[profile.node_count++] = node;
    }
    return profile.found[place];
}

/* In an allocation: no object, no exception, no method. */
static void
sampled(VALUE object, size_t size, void *data)
{
    VALUE frames[MOST_FRAMES];
    int lines[MOST_FRAMES];
    int depth = rb_profile_frames(0, MOST_FRAMES, frames, lines);
    uint32_t node = 0;

    pthread_mutex_lock(&lock);
    profile.samples++;
    if (profile.waiting_count < MOST_WAITING) {
        while (depth-- > 0) node = node_below(node, frames[depth], lines[depth]);
        profile.waiting[profile.waiting_count++] = (struct sample){ object, node, (uint32_t)size };
    }
    else {
        profile.dropped++;
    }
    pthread_mutex_unlock(&lock);
    rb_postponed_job_trigger(job);
}

static bool
take_waiting(struct sample *sample)
{
    pthread_mutex_lock(&lock);
    bool any = profile.waiting_count > 0;
    if (any) *sample = profile.waiting[--profile.waiting_count];
    pthread_mutex_unlock(&lock);
    return any;
}

/* Whether Ruby may have it: what the VM makes for itself has no class, or a type of its own. */
static bool
visible_p(VALUE object)
{
    switch (rb_type(object)) {
      case T_NONE: case T_IMEMO: case T_NODE: case T_ICLASS: case T_ZOMBIE: case T_MOVED:
        return false;
      default:
        return RBASIC_CLASS(object) != 0;
    }
}

/* The postponed job. It runs in the Ractor that has allocated, but the map is the main Ractor's: what others have made waits until
 * that has a sample, too, or asks. */
static void
enter_waiting(void *data)
{
    struct sample sample;

    while (rb_ractor_local_storage_ptr(main_ractor) && take_waiting(&sample)) {
        if (NIL_P(profile.map)) continue;
        if (visible_p(sample.object)) {
            VALUE value = LONG2FIX((long)sample.node << SIZE_BITS | (long)sample.size);
            rb_funcall(profile.map, rb_intern("[]="), 2, sample.object, value);
        }
        else {
            profile.hidden++;
        }
        RB_GC_GUARD(sample.object);
    }
}

static void
mark(void *data)
{
    rb_gc_mark(profile.map);
    for (size_t i = 1; i < profile.node_count; i++) rb_gc_mark(profile.nodes[i].frame);
    for (size_t i = 0; i < profile.waiting_count; i++) rb_gc_mark(profile.waiting[i].object);
}

static const struct rb_ractor_local_storage_type not_freed = { NULL, NULL };
static const rb_data_type_t holder_type = { .wrap_struct_name = "heapprof_gem", .function = { .dmark = mark } };

/* ---- for lib/heapprof_gem.rb ---- */

/* sample(mean_bytes, map): the map takes what is sampled from now on. */
static VALUE
gem_sample(VALUE mod, VALUE mean_bytes, VALUE map)
{
    size_t mean = NUM2SIZET(mean_bytes);

    profile.map = map;
    profile.waiting_count = profile.samples = profile.dropped = profile.hidden = 0;
    profile.node_count = 1;
    if (profile.found) memset(profile.found, 0, profile.node_capacity * 2 * sizeof(*profile.found));
    if ((!profile.found && !grow_nodes()) || !rb_gc_sample_allocations(mean, sampled, NULL)) {
        profile.map = Qnil;
        rb_raise(rb_eRuntimeError, "allocations cannot be sampled: another profiler does, or this GC cannot");
    }
    return Qnil;
}

/* stop: what is in the map stays there. */
static VALUE
gem_stop(VALUE mod)
{
    rb_gc_sample_allocations(0, sampled, NULL);
    enter_waiting(NULL);
    profile.map = Qnil;
    return Qnil;
}

static VALUE
gem_enter_waiting(VALUE mod)
{
    enter_waiting(NULL);
    return Qnil;
}

/* frame(node) -> [node of the caller, name, path, line]; nil above the outermost */
static VALUE
gem_frame(VALUE mod, VALUE number)
{
    size_t i = NUM2SIZET(number);
    struct node node = { 0 };

    pthread_mutex_lock(&lock);
    if (i < profile.node_count) node = profile.nodes[i];
    pthread_mutex_unlock(&lock);
    if (i == 0 || node.frame == 0) return Qnil;
    return rb_ary_new_from_args(4, UINT2NUM(node.parent), rb_profile_frame_full_label(node.frame),
                                rb_profile_frame_path(node.frame), INT2NUM(node.line));
}

/* numbers -> [samples, dropped, hidden] */
static VALUE
gem_numbers(VALUE mod)
{
    return rb_ary_new_from_args(3, SIZET2NUM(profile.samples), SIZET2NUM(profile.dropped), SIZET2NUM(profile.hidden));
}

static void
before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void
after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

void
Init_heapprof_gem(void)
{
    VALUE mod = rb_define_module("HeapprofGem"), functions = rb_singleton_class(mod);

    profile.map = Qnil;
    rb_gc_register_mark_object(TypedData_Wrap_Struct(rb_cObject, &holder_type, &profile));
    job = rb_postponed_job_preregister(0, enter_waiting, NULL);
    if (job == POSTPONED_JOB_HANDLE_INVALID) rb_raise(rb_eRuntimeError, "no postponed job is free");
    main_ractor = rb_ractor_local_storage_ptr_newkey(&not_freed);
    rb_ractor_local_storage_ptr_set(main_ractor, &profile);
    pthread_atfork(before_fork, after_fork, after_fork);
    rb_define_private_method(functions, "sample", gem_sample, 2);
    rb_define_private_method(functions, "stop_sampling", gem_stop, 0);
    rb_define_private_method(functions, "enter_waiting", gem_enter_waiting, 0);
    rb_define_private_method(functions, "frame", gem_frame, 1);
    rb_define_private_method(functions, "numbers", gem_numbers, 0);
}
