/* wbcheck_api.c - GC.wbcheck: the missed write barriers of a block, as an array. */
#include "ruby/ruby.h"
#include "vm/api/wbcheck_api.h"
#include "vm/wbcheck/wbcheck.h"
#include "internal/gc.h"
#include <string.h>

static VALUE
frames_of(const char *line)
{
    VALUE frames = rb_ary_new();
    const char *end;

    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        line += strspn(line, " ");
        rb_ary_push(frames, rb_utf8_str_new(line, end - line));
    }
    return frames;
}

static VALUE
place_hash(const struct heapprof_wbcheck_place *place)
{
    VALUE hash = rb_hash_new();

    rb_hash_aset(hash, ID2SYM(rb_intern("missed")), rb_utf8_str_new_cstr(place->what));
    rb_hash_aset(hash, ID2SYM(rb_intern("count")), ULL2NUM(place->count - place->before));
    rb_hash_aset(hash, ID2SYM(rb_intern("backtrace")), frames_of(place->stack));
    if (*place->parent)
        rb_hash_aset(hash, ID2SYM(rb_intern("parent_allocated")), frames_of(place->parent));
    if (*place->child)
        rb_hash_aset(hash, ID2SYM(rb_intern("child_allocated")), frames_of(place->child));
    return hash;
}

/* Under RUBY_WBCHECK a GC may find more places while this makes objects. */
static VALUE
places_of_block(void)
{
    VALUE places = rb_ary_new();
    struct heapprof_wbcheck_place place;

    for (size_t i = 0; rb_heapprof_wbcheck_copy_place(i, &place); i++) {
        if (place.count > place.before) rb_ary_push(places, place_hash(&place));
    }
    return places;
}

static VALUE
end_block(VALUE unused)
{
    rb_heapprof_wbcheck_end_block();
    return Qnil;
}

/*
 *  call-seq:
 *    GC.wbcheck { ... } -> array
 *
 *  Runs the block. Meanwhile it compares, again and again, the references of objects with those
 *  that write barriers have told the collector of. Returns an Array with a Hash for each place at
 *  which a barrier was missed:
 *
 *  [+missed+] the parent, where in it the reference is, the child and, if known, the C function
 *  [+count+] how often
 *  [+backtrace+] where it was first found
 *  [+parent_allocated+, +child_allocated+] the innermost frames of where these objects were
 *  allocated, if the heap profiler runs and has sampled them
 *
 *  A missed barrier lets the collector free an object that is in use. It is a fault of the C
 *  function that stores the reference. RB_OBJ_WRITE corrects it, or RB_OBJ_WRITTEN after the
 *  store.
 *
 *    GC.wbcheck { JSON::State.new.configure(indent: "  ") }.map { |place| place[:missed] }
 *
 *  What other Ractors store meanwhile is compared, too; the C function is not known then.
 *
 *  Raises RuntimeError for a block within a block, and on a machine that cannot do it. Under
 *  RUBY_WBCHECK the places are printed, too.
 */
static VALUE
gc_wbcheck(VALUE self)
{
    if (rb_heapprof_wbcheck_in_block_p())
        rb_raise(rb_eRuntimeError, "a block of GC.wbcheck is running already");
    rb_need_block();
    const char *refused = rb_heapprof_wbcheck_begin_block();
    if (refused) rb_raise(rb_eRuntimeError, "write barriers cannot be checked: %s", refused);
    rb_ensure(rb_yield, Qundef, end_block, Qnil);
    return places_of_block();
}

void
rb_heapprof_wbcheck_define(void)
{
    rb_define_singleton_method(rb_mGC, "wbcheck", gc_wbcheck, 0);
}
