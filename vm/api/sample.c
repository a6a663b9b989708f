/* sample.c - the rows of a snapshot as Ruby objects: Sample and Frame.
 *
 * There is one String for each string of the snapshot, and one Frame for each node of its stacks,
 * however many rows use them:
 *
 *     row --> Sample --> frames of its stack --> Frame --> path, label
 *                        [node 9, node 4, ...]             frozen, shared
 *
 * They are made for the first row that needs them, and kept until the last row.
 */
#include "ruby/ruby.h"
#include "ruby/encoding.h"
#include "vm/api/label_api.h"
#include "vm/api/sample.h"
#include "internal.h"
#include "internal/vm.h"
#include <math.h>

static VALUE cSample, cFrame;

/* ---- methods ---- */

/* In C, because each method of Ruby code takes more slots when a process begins. */

/* As in a backtrace: "path:lineno:in 'label'". */
static VALUE
frame_to_s(VALUE self)
{
    return rb_sprintf("%"PRIsVALUE":%"PRIsVALUE":in '%"PRIsVALUE"'",
                      rb_funcall(self, rb_intern("path"), 0),
                      rb_funcall(self, rb_intern("lineno"), 0),
                      rb_funcall(self, rb_intern("label"), 0));
}

static VALUE
sum(VALUE sample, const char *one, const char *other)
{
    return rb_funcall(rb_funcall(sample, rb_intern(one), 0), '+', 1,
                      rb_funcall(sample, rb_intern(other), 0));
}

static VALUE
sample_inuse_space(VALUE self)
{
    return sum(self, "inuse_slot_space", "inuse_malloc_space");
}

static VALUE
sample_alloc_space(VALUE self)
{
    return sum(self, "alloc_slot_space", "alloc_malloc_space");
}

/* ---- the classes ---- */

void
rb_heapprof_sample_define(VALUE profile_class)
{
    cFrame = rb_data_define(0, "path", "lineno", "label", NULL);
    rb_define_method(cFrame, "to_s", frame_to_s, 0);
    rb_define_const(profile_class, "Frame", cFrame);
    rb_gc_register_address(&cFrame);

    cSample = rb_data_define(0, "class_name", "caller", "frames", "owner", "owner_frames",
                             "native_leak", "gc_age", "inuse_objects", "inuse_slot_space",
                             "inuse_malloc_space", "alloc_objects", "alloc_slot_space",
                             "alloc_malloc_space", "rss_space", "memsize", "kind", "labels",
                             "peak_objects", "peak_space", "temp_objects", "temp_space",
                             "death_age", NULL);
    rb_define_method(cSample, "inuse_space", sample_inuse_space, 0);
    rb_define_method(cSample, "alloc_space", sample_alloc_space, 0);
    rb_define_const(profile_class, "Sample", cSample);
    rb_gc_register_address(&cSample);
}

/* ---- rows ---- */

/* Strings and frames already made, by their numbers in the snapshot. */
struct sample_reading {
    const struct heapprof_snapshot *snapshot;
    VALUE strings;
    VALUE frames;
    VALUE labels; /* by the string that has their text */
};

static VALUE
make_string(const char *bytes, size_t length)
{
    VALUE string = rb_utf8_str_new(bytes, length);
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN) {
        rb_enc_associate(string, rb_ascii8bit_encoding());
    }
    return rb_str_freeze(string);
}

static VALUE
string_at(const struct sample_reading *reading, uint32_t number)
{
    VALUE string = rb_ary_entry(reading->strings, number);

    if (NIL_P(string)) {
        size_t length;
        const char *bytes = rb_heapprof_strings_get(&reading->snapshot->strings, number, &length);
        string = make_string(bytes, length);
        rb_ary_store(reading->strings, number, string);
    }
    return string;
}

static VALUE
frame_at(const struct sample_reading *reading, uint32_t node, const struct heapprof_frame *raw)
{
    VALUE frame = rb_ary_entry(reading->frames, node);

    if (NIL_P(frame)) {
        VALUE values[] = {
            string_at(reading, raw->path), UINT2NUM(raw->line), string_at(reading, raw->name)
        };
        frame = rb_funcallv(cFrame, rb_intern("new"), 3, values);
        rb_ary_store(reading->frames, node, frame);
    }
    return frame;
}

static VALUE
frames_of(const struct sample_reading *reading, uint32_t stack)
{
    size_t count = rb_heapprof_snapshot_frames(reading->snapshot, stack, NULL, 0);
    VALUE holder, frames = rb_ary_new_capa((long)count);
    struct heapprof_frame *raw = ALLOCV_N(struct heapprof_frame, holder, count);

    rb_heapprof_snapshot_frames(reading->snapshot, stack, raw, count);
    for (size_t i = 0; i < count; i++) {
        rb_ary_push(frames, frame_at(reading, stack, &raw[i]));
        stack = rb_heapprof_stacks_node(&reading->snapshot->stacks, stack)->parent;
    }
    ALLOCV_END(holder);
    return rb_ary_freeze(frames);
}

static VALUE
labels_of(const struct sample_reading *reading, uint32_t set)
{
    VALUE labels = rb_ary_entry(reading->labels, set);

    if (!NIL_P(labels)) return labels;
    size_t length;
    const char *text = rb_heapprof_strings_get(&reading->snapshot->strings, set, &length);
    labels = rb_obj_freeze(rb_heapprof_label_hash(text, length));
    rb_ary_store(reading->labels, set, labels);
    return labels;
}

/* Values of a loaded file may add up to more than a machine word holds. */
static VALUE
rounded(double value)
{
    return fabs(value) < 0x1p62 ? LL2NUM(llround(value)) : rb_dbl2big(round(value));
}

static VALUE
kind_of(const struct heapprof_row *row)
{
    switch (row->kind) {
      case HEAPPROF_ROW_OBJECTS: return ID2SYM(rb_intern("objects"));
      case HEAPPROF_ROW_BLOCKS:  return ID2SYM(rb_intern("malloc"));
      case HEAPPROF_ROW_RUNG:    return ID2SYM(rb_intern("rss"));
    }
    return Qnil;
}

static VALUE
sample_of(const struct sample_reading *reading, const struct heapprof_row *row)
{
    VALUE values[] = {
        string_at(reading, rb_heapprof_row_class(row)),
        row->kind == HEAPPROF_ROW_BLOCKS ? string_at(reading, row->subject) : Qnil,
        frames_of(reading, row->stack),
        row->owner ? string_at(reading, row->owner) : Qnil,
        row->owner_stack ? frames_of(reading, row->owner_stack) : Qnil,
        RBOOL(row->native_leak),
        row->gc_age == HEAPPROF_AGE_DEAD ? Qnil : UINT2NUM(row->gc_age),
        rounded(row->inuse_objects),
        rounded(row->inuse_slot_bytes), rounded(row->inuse_malloc_bytes),
        rounded(row->alloc_objects),
        rounded(row->alloc_slot_bytes), rounded(row->alloc_malloc_bytes),
        rounded(row->resident_bytes),
        rounded(row->memsize_bytes),
        kind_of(row),
        labels_of(reading, row->label),
        rounded(row->peak_objects), rounded(row->peak_bytes),
        rounded(row->temp_objects), rounded(row->temp_bytes),
        row->death_age ? UINT2NUM(row->death_age - 1) : Qnil,
    };
    return rb_funcallv(cSample, rb_intern("new"), numberof(values), values);
}

void
rb_heapprof_sample_each(const struct heapprof_snapshot *snapshot)
{
    struct sample_reading reading = { snapshot, rb_ary_new(), rb_ary_new(), rb_ary_new() };

    for (size_t i = 0; i < snapshot->row_count; i++) {
        rb_yield(sample_of(&reading, &snapshot->rows[i]));
    }
    RB_GC_GUARD(reading.strings);
    RB_GC_GUARD(reading.frames);
    RB_GC_GUARD(reading.labels);
}

VALUE
rb_heapprof_sample_frames(const struct heapprof_snapshot *snapshot, uint32_t stack)
{
    struct sample_reading reading = { snapshot, rb_ary_new(), rb_ary_new(), rb_ary_new() };
    VALUE frames = frames_of(&reading, stack);

    RB_GC_GUARD(reading.strings);
    RB_GC_GUARD(reading.frames);
    RB_GC_GUARD(reading.labels);
    return frames;
}
