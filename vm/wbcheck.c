/* wbcheck.c - RUBY_WBCHECK and GC.wbcheck: when barriers are checked, and what is said of one that was missed.
 *
 *     RUBY_WBCHECK=1        from start to end; each place once, when it is found, and if there was one a sum at the end
 *     RUBY_WBCHECK=abort    and aborts at the first one
 *     RUBY_WBCHECK=sites    and at the end says where in C barriers came before their store, or were for nothing
 *     RUBY_WBCHECK=out=FILE the same as 1, behind what is in a file already, for a command of many processes
 *     GC.wbcheck { ... }    of a block, as an array
 *
 * All objects are compared as each GC begins, and at calls of C functions, as often as a quarter of the time allows. A
 * call's receiver is compared each time the call returns: then the function's own name is known.
 *
 * What is said is written where it is found, inside a GC perhaps: nothing here makes a Ruby object until GC.wbcheck
 * returns. */
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "wbcheck.h"
#include "base/mem.h"
#include "base/settings.h"
#include "boot.h"
#include "gc/wbcheck.h"
#include "internal/class.h"
#include "internal/error.h"
#include "internal/gc.h"
#include "internal/imemo.h"
#include "iseq.h"
#include "names.h"
#include "symbols.h"
#include "os/clock.h"
#include "os/file.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME_BYTES 256
#define STACK_BYTES 2048 /* its innermost lines */
#define CHECKS_SHARE 4    /* one part of so many of the time goes into checks between GCs */

/* A place where barriers are missed. */
struct place {
    char     what[3 * NAME_BYTES]; /* JSON::State+0x10 -> String, in JSON::State#configure */
    char     stack[STACK_BYTES];   /* lines, where it was first found */
    uint64_t count;
    uint64_t before;               /* what count was as GC.wbcheck began */
};

static struct {
    bool on, aborts, prints;
    bool sites;                    /* are told at the end */
    bool said_ractors;
    bool in_block;                 /* of GC.wbcheck */
    char out[PATH_MAX];            /* "": stderr */
    struct heapprof_mem mem;
    struct place *places;
    size_t   capacity, count;
    uint64_t missed;               /* at all of them */
    const rb_trace_arg_t *call;    /* a C function that has returned, NULL: everything is compared */
    int64_t next_ns;               /* when everything is compared again, if there is no GC before */
} check;

/* ---- what is said ---- */

static void
class_text(VALUE klass, char *text, size_t size)
{
    char name[HEAPPROF_NAME_BYTES];

    snprintf(text, size, "%.*s", (int)rb_heapprof_class_text(klass, name), name);
}

static void
called_text(VALUE owner, ID id, char *text, size_t size)
{
    char name[HEAPPROF_NAME_BYTES];

    snprintf(text, size, "%.*s", (int)rb_heapprof_called_text(owner, id, name), name);
}

/* The class, or of what is hidden from Ruby the kind of object; of a class its own name, too. */
static void
object_text(VALUE object, char *text, size_t size)
{
    VALUE klass = rb_heapprof_real_class(object);
    int type = RB_BUILTIN_TYPE(object);
    char name[NAME_BYTES] = "";

    if (type == T_CLASS || type == T_MODULE) class_text(object, name, sizeof(name));
    if (klass) class_text(klass, text, size);
    if (type == T_IMEMO) snprintf(text, size, "T_IMEMO(%s)", rb_imemo_name(imemo_type(object)));
    else if (type == T_ICLASS || !klass) snprintf(text, size, "%s", rb_builtin_type_name(type));
    else if (*name) snprintf(text + strlen(text), size - strlen(text), " %s", name);
}

static void
parent_text(VALUE parent, VALUE child, char *text, size_t size)
{
    object_text(parent, text, size);
    if (RB_BUILTIN_TYPE(parent) != T_DATA || !RTYPEDDATA_P(parent)) return;
    long offset = rb_heapprof_gc_wbcheck_offset(parent, child);
    size_t length = strlen(text);

    snprintf(text + length, size - length, offset < 0 ? " (%s)" : " (%s+0x%lx)", RTYPEDDATA_TYPE(parent)->wrap_struct_name,
             offset);
}

static void
what_text(const struct heapprof_missed *missed, char *text, size_t size)
{
    char parent[NAME_BYTES], child[NAME_BYTES], function[NAME_BYTES];

    parent_text(missed->parent, missed->child, parent, sizeof(parent));
    object_text(missed->child, child, sizeof(child));
    int length = snprintf(text, size, "%s -> %s", parent, child);
    if (check.call && (size_t)length < size) {
        called_text(check.call->klass, check.call->id, function, sizeof(function));
        length += snprintf(text + length, size - (size_t)length, ", in %s", function);
    }
    if (missed->early && (size_t)length < size) {
        snprintf(text + length, size - (size_t)length, "; a barrier came before the store, and a GC may come between");
    }
}

/* A line of a backtrace; 0: the frame is none of a method's. */
static int
frame_text(const rb_control_frame_t *cfp, char *text, size_t size)
{
    const rb_callable_method_entry_t *method = rb_vm_frame_method_entry(cfp);
    char name[HEAPPROF_NAME_BYTES], function[NAME_BYTES];

    if (VM_FRAME_RUBYFRAME_P(cfp) && cfp->pc) {
        int length = (int)rb_heapprof_code_text(cfp->iseq, method ? method->owner : 0, name);
        snprintf(function, sizeof(function), "%.*s", length, name);
        return snprintf(text, size, "    %s:%d:in '%s'\n", RSTRING_PTR(rb_iseq_path(cfp->iseq)), rb_vm_get_sourceline(cfp),
                        function);
    }
    if (!method || method->def->type != VM_METHOD_TYPE_CFUNC) return 0;
    called_text(method->owner, method->def->original_id, function, sizeof(function));
    return snprintf(text, size, "    in '%s'\n", function);
}

static void
stack_text(char *text, size_t size)
{
    const rb_execution_context_t *ec = GET_EC();
    const rb_control_frame_t *end = RUBY_VM_NEXT_CONTROL_FRAME(RUBY_VM_END_CONTROL_FRAME(ec));
    size_t length = 0;

    text[0] = '\0';
    for (const rb_control_frame_t *cfp = ec->cfp; cfp && cfp < end; cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp)) {
        size_t added = (size_t)frame_text(cfp, text + length, size - length);
        if (added >= size - length) break;
        length += added;
    }
    text[length] = '\0';
}

static struct place *
place_of(const char *what)
{
    for (size_t i = 0; i < check.count; i++) {
        if (strcmp(check.places[i].what, what) == 0) return &check.places[i];
    }
    if (!HEAPPROF_MEM_GROW(&check.mem, check.places, check.capacity, check.count + 1)) return NULL;
    struct place *place = &check.places[check.count++];

    snprintf(place->what, sizeof(place->what), "%s", what);
    stack_text(place->stack, sizeof(place->stack));
    return place;
}

/* Who the file belongs to reads it; a link may lead anywhere. */
static int
open_out(void)
{
    return open(check.out, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* At once, so that no other process writes between its lines. */
static void
print(const char *text)
{
    int fd = *check.out ? open_out() : -1;

    rb_heapprof_file_write(fd < 0 ? STDERR_FILENO : fd, text, strlen(text));
    if (fd >= 0) close(fd);
}

static void
missed_i(const struct heapprof_missed *missed)
{
    char what[3 * NAME_BYTES], text[sizeof(what) + STACK_BYTES + 64];

    what_text(missed, what, sizeof(what));
    check.missed++;
    struct place *place = place_of(what);
    if (!place || place->count++ > 0 || !check.prints) return;
    snprintf(text, sizeof(text), "ruby: write barrier missed: %s\n%s", what, place->stack);
    print(text);
    if (check.aborts) abort();
}

/* ---- when ---- */

/* Other ractors would go on meanwhile, and of their GCs we are not told. MRI does not go back to one. */
static void
say_ractors(void)
{
    if (check.said_ractors || !check.prints) return;
    check.said_ractors = true;
    print("ruby: RUBY_WBCHECK: a second Ractor has begun: most of what is stored from here on is not checked\n");
}

static void
check_all(void)
{
    if (rb_multi_ractor_p()) say_ractors();
    else rb_heapprof_gc_wbcheck_all();
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
gc_i(VALUE unused, const rb_trace_arg_t *arg)
{
    if (arg->event == RUBY_INTERNAL_EVENT_GC_START) rb_heapprof_gc_wbcheck_begun();
    else rb_heapprof_gc_wbcheck_marked();
}

static void
call_i(VALUE unused, const rb_trace_arg_t *arg)
{
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

/* Ours is the second form of the two that rb_add_event_hook2 takes. */
static void
add_hook(void (*hook_i)(VALUE, const rb_trace_arg_t *), rb_event_flag_t events)
{
    rb_add_event_hook2((rb_event_hook_func_t)hook_i, events, Qnil, RUBY_EVENT_HOOK_FLAG_SAFE | RUBY_EVENT_HOOK_FLAG_RAW_ARG);
}

static const char *
start(void)
{
    const char *refused = rb_heapprof_gc_wbcheck_start(missed_i);

    if (refused) return refused;
    if (!check.mem.budget_bytes) rb_heapprof_mem_init(&check.mem, SIZE_MAX);
    add_hook(gc_i, RUBY_INTERNAL_EVENT_GC_START | RUBY_INTERNAL_EVENT_GC_END_MARK);
    add_hook(call_i, RUBY_EVENT_C_CALL | RUBY_EVENT_C_RETURN);
    check.on = true;
    return NULL;
}

static void
stop(void)
{
    rb_remove_event_hook((rb_event_hook_func_t)gc_i);
    rb_remove_event_hook((rb_event_hook_func_t)call_i);
    rb_heapprof_gc_wbcheck_stop();
    check.on = false;
}

/* ---- GC.wbcheck ---- */

static VALUE
frames_of(const struct place *place)
{
    VALUE frames = rb_ary_new();
    const char *end;

    for (const char *line = place->stack; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        line += strspn(line, " ");
        rb_ary_push(frames, rb_utf8_str_new(line, end - line));
    }
    return frames;
}

static VALUE
place_hash(const struct place *place)
{
    VALUE hash = rb_hash_new();

    rb_hash_aset(hash, ID2SYM(rb_intern("missed")), rb_utf8_str_new_cstr(place->what));
    rb_hash_aset(hash, ID2SYM(rb_intern("count")), ULL2NUM(place->count - place->before));
    rb_hash_aset(hash, ID2SYM(rb_intern("backtrace")), frames_of(place));
    return hash;
}

/* Others may be found meanwhile, when RUBY_WBCHECK is set. */
static VALUE
places_of_block(void)
{
    VALUE places = rb_ary_new();

    for (size_t i = 0; i < check.count; i++) {
        if (check.places[i].count > check.places[i].before) rb_ary_push(places, place_hash(&check.places[i]));
    }
    return places;
}

static VALUE
end_block(VALUE unused)
{
    check_all();
    if (!check.prints) stop();
    check.in_block = false;
    if (rb_multi_ractor_p()) rb_warn("GC.wbcheck: a second Ractor has begun: most of what was stored since is not checked");
    return Qnil;
}

/*
 *  call-seq:
 *    GC.wbcheck { ... } -> array
 *
 *  Runs the block and compares meanwhile, again and again, what objects refer to with what write barriers have told the
 *  collector. Returns a Hash for each place at which a barrier was missed: +missed+, which says the parent, where in it the
 *  reference stands, the child and, if it is known, the C function; +count+; and +backtrace+, of where it was first found.
 *
 *  A missed barrier lets the collector free an object that is in use. It is a fault of the C function that stores the
 *  reference: RB_OBJ_WRITE, or RB_OBJ_WRITTEN behind the store, mends it.
 *
 *    GC.wbcheck { JSON::State.new.configure(indent: "  ") }.map { |place| place[:missed] }
 *
 *  A block within a block is a RuntimeError, as is a machine that cannot do it, and a process that has had a second Ractor. When
 *  one begins in the block, a warning says that most of what is stored from then on is not checked. Under RUBY_WBCHECK the
 *  places are printed, too.
 */
static VALUE
gc_wbcheck(VALUE self)
{
    if (check.in_block) rb_raise(rb_eRuntimeError, "a block of GC.wbcheck is running already");
    rb_need_block();
    const char *refused = NULL;
    if (rb_multi_ractor_p()) refused = "a second Ractor has begun";
    else if (!check.on) refused = start();
    if (refused) rb_raise(rb_eRuntimeError, "write barriers cannot be checked: %s", refused);
    check_all();
    for (size_t i = 0; i < check.count; i++) check.places[i].before = check.places[i].count;
    check.in_block = true;
    rb_ensure(rb_yield, Qundef, end_block, Qnil);
    return places_of_block();
}

/* ---- RUBY_WBCHECK ---- */

/* NULL, or what is wrong with it. */
static const char *
read_setting(const struct heapprof_setting *setting)
{
    struct heapprof_span value = setting->value;

    if (rb_heapprof_span_is_p(setting->all, "1")) return NULL;
    if (rb_heapprof_span_is_p(setting->all, "abort")) {
        check.aborts = true;
        return NULL;
    }
    if (rb_heapprof_span_is_p(setting->all, "sites")) {
        check.sites = true;
        return NULL;
    }
    if (value.length == 0 || !rb_heapprof_span_is_p(setting->key, "out")) return "expected 1, abort, sites or out=FILE";
    if (value.length >= sizeof(check.out)) return "the name of the file is too long";
    memcpy(check.out, value.start, value.length);
    int fd = open_out();
    if (fd < 0) return "the file cannot be written to";
    close(fd);
    return NULL;
}

/* False: it was complained of. */
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
        rb_heapprof_boot_complain("RUBY_WBCHECK", line);
        return false;
    }
    return true;
}

void
rb_heapprof_wbcheck_boot(void)
{
    const char *value = rb_heapprof_boot_setting("RUBY_WBCHECK");

    rb_define_singleton_method(rb_mGC, "wbcheck", gc_wbcheck, 0);
    if (!value || !*value || strcmp(value, "0") == 0) return;
    if (!read_settings(value)) return;
    if (check.sites) rb_heapprof_gc_wbcheck_keep_sites();
    const char *refused = start();
    check.prints = !refused;
    if (refused) rb_heapprof_boot_complain("RUBY_WBCHECK", refused);
}

/* ---- sites ---- */

static void
print_site(const char *what, const struct heapprof_symbol_name *name, uint64_t count, uint64_t of, const char *why)
{
    char line[512];

    snprintf(line, sizeof(line), "ruby: write barrier %s: in %s() of %s: %"PRIu64" of %"PRIu64", %s\n", what,
             *name->function ? name->function : "?", name->library, count, of, why);
    print(line);
}

/* Of a place where none is known to have been right: one reference may be overwritten before the object is looked at, and one
 * be too far in its struct to be found. */
static void
say_site(const struct heapprof_barrier_site *site, const struct heapprof_symbol_name *name)
{
    if (site->present > site->early) return;
    if (site->early) {
        print_site("too early", name, site->early, site->calls, "the store comes after it");
        return;
    }
    if (site->unprotected) {
        print_site("useless", name, site->unprotected, site->calls, "the object is not WB-protected");
    }
    if (site->absent) print_site("useless", name, site->absent, site->calls, "the object did not refer to that afterwards");
}

static void
say_sites(void)
{
    struct heapprof_symbols symbols;
    struct heapprof_symbol_name name;
    size_t count;
    const struct heapprof_barrier_site *sites = rb_heapprof_gc_wbcheck_sites(&count);

    rb_heapprof_symbols_start();
    rb_heapprof_symbols_init(&symbols);
    for (size_t i = 0; i < count; i++) rb_heapprof_symbols_add(&symbols, sites[i].address);
    rb_heapprof_symbols_locate(&symbols);
    rb_heapprof_symbols_read_files(&symbols);
    rb_heapprof_symbols_ask_exports(&symbols);
    for (size_t i = 0; i < symbols.count; i++) {
        uintptr_t address = rb_heapprof_symbols_address(&symbols, i);
        rb_heapprof_symbols_name(&symbols, i, &name);
        for (size_t j = 0; j < count; j++) {
            if (sites[j].address == address) say_site(&sites[j], &name);
        }
    }
    rb_heapprof_symbols_free(&symbols);
}

void
rb_heapprof_wbcheck_at_exit(void)
{
    char line[256];

    if (!check.on || !check.prints) return;
    check_all();
    if (check.sites) say_sites();
    if (check.missed == 0) return;
    struct heapprof_wbcheck_stat stat = rb_heapprof_gc_wbcheck_stat();

    snprintf(line, sizeof(line), "ruby: write barriers: %"PRIu64" missed at %zu places; %"PRIu64" noted, %"PRIu64" checks of %"
             PRIu64" objects, %.1f s\n", check.missed, check.count, stat.barriers, stat.checks, stat.objects,
             (double)stat.check_ns / 1e9);
    print(line);
}
