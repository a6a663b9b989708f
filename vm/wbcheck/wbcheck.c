/* wbcheck.c - RUBY_WBCHECK and GC.wbcheck: when write barriers are checked, and what is said of a
 * missed one.
 *
 *     RUBY_WBCHECK=1        from start to end; prints each place once, when it is found, and at
 *                           the end a sum if there was one
 *     RUBY_WBCHECK=abort    and aborts at the first place
 *     RUBY_WBCHECK=sites    and prints at the end where in C barriers came before their store, or
 *                           were of no use
 *     RUBY_WBCHECK=told     and prints at the end which references barriers have told in time,
 *                           for heapprof barriers --confirm
 *     RUBY_WBCHECK=stress   and finds each barrier that comes before its store, if MRI may collect
 *                           between the two
 *     RUBY_WBCHECK=out=FILE the same as 1, appended to a file, for a command of many processes
 *     GC.wbcheck { ... }    of a block, as an array (vm/api/wbcheck_api.c)
 *
 * All objects are compared as each GC begins, and at calls of C functions, as often as a quarter
 * of the time allows. The receiver of a call is compared each time the call returns: then the
 * name of the function is known. Calls are seen in the ractor that has begun to check; the stores
 * of other ractors are found when all objects are compared.
 *
 * The text (text.c) is printed where the place is found, which may be inside a GC. So nothing
 * here makes a Ruby object.
 */
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "ruby/ractor.h"
#include "vm/wbcheck/wbcheck.h"
#include "vm/wbcheck/sites.h"
#include "vm/wbcheck/text.h"
#include "base/mem.h"
#include "base/settings.h"
#include "base/utf8.h"
#include "vm/thread/say.h"
#include "vm/run/environment.h"
#include "gc/wbcheck/wbcheck.h"
#include "internal/gc.h"
#include "os/clock.h"
#include "os/file.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECKS_SHARE 4    /* checks between GCs take at most one part in 4 of the time */

STATIC_ASSERT(place_is_no_wider_than_a_page,
              sizeof(struct heapprof_wbcheck_place) <= 4096); /* base/mem.h */

static struct {
    bool on, aborts, prints;
    bool sites, told;              /* are printed at the end */
    bool stress;                   /* barriers before their store are found in each run */
    bool in_block;                 /* GC.wbcheck runs one */
    ID   caller_locations;         /* a method's name */
    char out[PATH_MAX];            /* "": stderr */
    struct heapprof_mem mem;
    struct heapprof_wbcheck_place *places;
    size_t   capacity, count;
    uint64_t missed;               /* at all places */
    const rb_trace_arg_t
        *call;       /* the C function that has just returned; NULL: all objects are compared */
    int64_t next_ns; /* when all objects are compared again, unless a GC comes first */
} check;

/* ---- places ---- */

static struct heapprof_wbcheck_place *
place_of(const char *what, const struct heapprof_missed *missed)
{
    for (size_t i = 0; i < check.count; i++) {
        if (strcmp(check.places[i].what, what) == 0) return &check.places[i];
    }
    if (!HEAPPROF_MEM_GROW(&check.mem, check.places, check.capacity, check.count + 1)) return NULL;
    struct heapprof_wbcheck_place *place = &check.places[check.count++];

    snprintf(place->what, sizeof(place->what), "%s", what);
    if (missed->stack) snprintf(place->stack, sizeof(place->stack), "%s", missed->stack);
    else rb_heapprof_wbcheck_stack(place->stack, sizeof(place->stack));
    rb_heapprof_wbcheck_allocated(missed->parent, place->parent, sizeof(place->parent));
    rb_heapprof_wbcheck_allocated(missed->child, place->child, sizeof(place->child));
    return place;
}

/* Only its owner may read the file. A link is refused, because it may lead anywhere. */
static int
open_out(void)
{
    return open(check.out, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Writes all lines at once, so that no other process writes in between. */
static void
print(const char *text)
{
    int fd = *check.out ? open_out() : -1;

    rb_heapprof_file_write(fd < 0 ? STDERR_FILENO : fd, text, strlen(text));
    if (fd >= 0) close(fd);
}

static void
print_place(const struct heapprof_wbcheck_place *place)
{
    static char plain[HEAPPROF_UTF8_MAX(sizeof(*place) + 128) + 1]; /* under the VM's lock */
    char text[sizeof(*place) + 128];

    snprintf(text, sizeof(text), "ruby: write barrier missed: %s\n%s%s%s%s%s", place->what,
             place->stack, *place->parent ? "  parent allocated:\n" : "", place->parent,
             *place->child ? "  child allocated:\n" : "", place->child);
    plain[rb_heapprof_utf8_plain(plain, text, strlen(text), true)] = '\0';
    print(plain);
}

static void
missed_i(const struct heapprof_missed *missed)
{
    char what[sizeof(check.places->what)];

    rb_heapprof_wbcheck_what(missed, check.call, what, sizeof(what));
    check.missed++;
    struct heapprof_wbcheck_place *place = place_of(what, missed);
    if (!place || place->count++ > 0 || !check.prints) return;
    print_place(place);
    if (check.aborts) abort();
}

/* ---- when ---- */

static void
check_all(void)
{
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    rb_heapprof_gc_wbcheck_all();
    RB_VM_LOCK_LEAVE();
}

static void
check_now_and_then(void)
{
    int64_t begin_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);

    if (begin_ns < check.next_ns) return;
    check_all();
    int64_t end_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    check.next_ns = end_ns + (end_ns - begin_ns) * (CHECKS_SHARE - 1);
}

static void
newobj_i(VALUE unused, const rb_trace_arg_t *arg)
{
    RB_VM_LOCK_ENTER();
    rb_heapprof_gc_wbcheck_newobj();
    RB_VM_LOCK_LEAVE();
}

/* With a hook for new objects, MRI lets another ractor collect while a new object is not written
 * yet (doc/upstream-bugs/trace-allocations-in-ractors.rb). So the hook goes before there is a
 * second ractor: Ractor.new calls caller_locations. */
static void
end_newobj_before_ractors(const rb_trace_arg_t *arg)
{
    if (arg->id != check.caller_locations || !RB_TYPE_P(arg->self, T_CLASS)) return;
    if (RTEST(rb_class_inherited_p(arg->self, rb_cRactor)))
        rb_remove_event_hook((rb_event_hook_func_t)newobj_i);
}

static void
call_i(VALUE unused, const rb_trace_arg_t *arg)
{
    if (check.stress) end_newobj_before_ractors(arg);
    RB_VM_LOCK_ENTER();
    if (arg->event == RUBY_EVENT_C_CALL) {
        rb_heapprof_gc_wbcheck_call(arg->self);
    }
    else {
        check.call = arg;
        rb_heapprof_gc_wbcheck_return(arg->self);
        check.call = NULL;
        check_now_and_then();
    }
    RB_VM_LOCK_LEAVE();
}

/* Our hooks have the second of the two forms that rb_add_event_hook2 takes. */
static void
add_hook(void (*hook_i)(VALUE, const rb_trace_arg_t *), rb_event_flag_t events)
{
    rb_add_event_hook2((rb_event_hook_func_t)hook_i, events, Qnil,
                       RUBY_EVENT_HOOK_FLAG_SAFE | RUBY_EVENT_HOOK_FLAG_RAW_ARG);
}

static const char *
start(void)
{
    const char *refused;

    if (!check.mem.budget_bytes) rb_heapprof_mem_init(&check.mem, SIZE_MAX);
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    refused = rb_heapprof_gc_wbcheck_start(missed_i);
    RB_VM_LOCK_LEAVE();
    if (refused) return refused;
    add_hook(call_i, RUBY_EVENT_C_CALL | RUBY_EVENT_C_RETURN);
    check.caller_locations = rb_intern("caller_locations");
    if (check.stress) add_hook(newobj_i, RUBY_INTERNAL_EVENT_NEWOBJ);
    check.on = true;
    return NULL;
}

static void
stop(void)
{
    rb_remove_event_hook((rb_event_hook_func_t)call_i);
    rb_remove_event_hook((rb_event_hook_func_t)newobj_i);
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    rb_heapprof_gc_wbcheck_stop();
    RB_VM_LOCK_LEAVE();
    check.on = false;
}

/* ---- a block of GC.wbcheck ---- */

const char *
rb_heapprof_wbcheck_begin_block(void)
{
    const char *refused = check.on ? NULL : start();

    if (refused) return refused;
    check_all();
    for (size_t i = 0; i < check.count; i++) check.places[i].before = check.places[i].count;
    check.in_block = true;
    return NULL;
}

bool
rb_heapprof_wbcheck_in_block_p(void)
{
    return check.in_block;
}

void
rb_heapprof_wbcheck_end_block(void)
{
    check_all();
    if (!check.prints) stop();
    check.in_block = false;
}

bool
rb_heapprof_wbcheck_copy_place(size_t number, struct heapprof_wbcheck_place *place)
{
    if (number >= check.count) return false;
    *place = check.places[number];
    return true;
}

/* ---- RUBY_WBCHECK ---- */

/* Reads a word without a value. Returns false if it is not one. */
static bool
read_word(struct heapprof_span word)
{
    static const struct {
        const char *text;
        bool *asked;
    } words[] = { { "abort", &check.aborts }, { "sites", &check.sites }, { "told", &check.told },
                  { "stress", &check.stress } };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (!rb_heapprof_span_is_p(word, words[i].text)) continue;
        *words[i].asked = true;
        return true;
    }
    return rb_heapprof_span_is_p(word, "1");
}

/* Returns NULL, or what is wrong with the setting. */
static const char *
read_setting(const struct heapprof_setting *setting)
{
    struct heapprof_span value = setting->value;

    if (read_word(setting->all)) return NULL;
    if (value.length == 0 || !rb_heapprof_span_is_p(setting->key, "out"))
        return "expected 1, abort, stress, sites, told or out=FILE";
    if (value.length >= sizeof(check.out)) return "the name of the file is too long";
    memcpy(check.out, value.start, value.length);
    int fd = open_out();
    if (fd < 0) return "the file cannot be written to";
    close(fd);
    return NULL;
}

/* Returns false if a setting is wrong, and says so. */
static bool
read_settings(const char *text)
{
    char line[256];

    while (text) {
        struct heapprof_setting setting;
        text = rb_heapprof_setting_read(text, &setting);
        const char *wrong = read_setting(&setting);
        if (!wrong) continue;
        rb_heapprof_setting_complain(line, sizeof(line), &setting, wrong, " (running unchecked)");
        rb_heapprof_say("RUBY_WBCHECK", line);
        return false;
    }
    return true;
}

void
rb_heapprof_wbcheck_boot(void)
{
    const char *value = rb_heapprof_environment_setting("RUBY_WBCHECK");

    if (!value || !*value || strcmp(value, "0") == 0) return;
    if (!read_settings(value)) return;
    if (check.sites) rb_heapprof_gc_wbcheck_keep_sites(true);
    if (check.told) rb_heapprof_gc_wbcheck_keep_told();
    if (check.stress) rb_heapprof_gc_wbcheck_look_between(rb_heapprof_wbcheck_stack);
    const char *refused = start();
    check.prints = !refused;
    if (refused) rb_heapprof_say("RUBY_WBCHECK", refused);
}

void
rb_heapprof_wbcheck_at_exit(void)
{
    char line[256];

    if (!check.on || !check.prints) return;
    check_all();
    if (check.sites || check.told) rb_heapprof_wbcheck_say_sites(print, check.sites);
    if (check.missed == 0) return;
    struct heapprof_wbcheck_stat stat = rb_heapprof_gc_wbcheck_stat();

    snprintf(line, sizeof(line),
             "ruby: write barriers: %" PRIu64 " missed at %zu places; %" PRIu64 " noted, %" PRIu64
             " checks of %" PRIu64 " objects, %.1f s\n",
             check.missed, check.count, stat.barriers, stat.checks, stat.objects,
             (double)stat.check_ns / 1e9);
    print(line);
}
