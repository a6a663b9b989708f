/* label_api.c - ObjectSpace::HeapProfile.label and Label: they check arguments, and raise.
 *
 *     label(endpoint: "/cart") { }     a Hash becomes a set, a label at a time
 *     label(LABEL) { }                 a Label has its set; nothing is made
 */
#include "vm/api/label_api.h"

#include "encindex.h"
#include "internal.h"
#include "internal/hash.h"
#include "internal/string.h"
#include "ruby/encoding.h"
#include "vm/labels/labels.h"
#include "vm/labels/sets.h"
#include "profiler/label_sets.h"

static VALUE cLabel;

/* What label! returns is exact: it has the state, too, with the lease of a thread. */
struct label {
    rb_heapprof_label_state state;
    uint32_t set;
    bool exact;
};

static const rb_data_type_t label_type = {
    "heap_profile/label", { NULL, RUBY_DEFAULT_FREE }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE
};

static VALUE
new_label(VALUE klass, struct label value)
{
    struct label *label;
    VALUE object = TypedData_Make_Struct(klass, struct label, &label_type, label);

    *label = value;
    return rb_obj_freeze(object);
}

/* ---- a Hash ---- */

struct reading {
    uint32_t set;
    uint32_t unnamed;            /* the set of the label that is named late; 0: none is */
    bool     keep;
};

/* While all labels are known. */
struct known_labels {
    struct reading reading;
    bool known;
};

/* Keys as "endpoint"; names of our own labels, and of options, are refused. */
static struct heapprof_label
read_key(VALUE key)
{
    VALUE name = SYMBOL_P(key) ? rb_sym2str(key) : key;

    if (!RB_TYPE_P(name, T_STRING))
        rb_raise(rb_eArgError, "label: a key is a Symbol or a String, not %+"PRIsVALUE, key);
    struct heapprof_label label = { .key = RSTRING_PTR(name),
                                    .key_length = (size_t)RSTRING_LEN(name) };
    if (label.key_length == 0 || label.key_length >= HEAPPROF_LABEL_KEY_BYTES)
        rb_raise(rb_eArgError, "label: a key has 1 to %d bytes, not %"PRIuSIZE,
                 HEAPPROF_LABEL_KEY_BYTES - 1, label.key_length);
    int range = rb_enc_str_coderange(name);
    if (memchr(label.key, '\0', label.key_length) ||
        (range != ENC_CODERANGE_7BIT &&
         (range == ENC_CODERANGE_BROKEN || rb_enc_get_index(name) != rb_utf8_encindex())))
        rb_raise(rb_eArgError, "label: a key is text in UTF-8, not %+"PRIsVALUE, key);
    const char *text = StringValueCStr(name);
    if (rb_heapprof_label_reserved_p(text) || !strcmp(text, HEAPPROF_LABEL_THREAD))
        rb_raise(rb_eArgError, "label: the key %+"PRIsVALUE" is heapprof's own", key);
    return label;
}

/* The text of a value. */
static VALUE
value_text(VALUE key, VALUE value)
{
    switch (TYPE(value)) {
      case T_STRING: break;
      case T_SYMBOL: value = rb_sym2str(value); break;
      case T_TRUE: case T_FALSE: case T_FIXNUM: case T_BIGNUM: case T_FLOAT:
        value = rb_obj_as_string(value);
        break;
      default:
        rb_raise(rb_eArgError, "label: %+"PRIsVALUE" is text, a number, true, false or nil, "
                 "not of class %"PRIsVALUE, key, rb_obj_class(value));
    }
    int index = rb_enc_get_index(value);
    if (index == rb_utf8_encindex() || index == rb_usascii_encindex()) return value;
    return rb_str_conv_enc(value, rb_enc_from_index(index), rb_utf8_encoding());
}

static uint32_t
add(uint32_t set, struct heapprof_label *label, VALUE text)
{
    char value[HEAPPROF_LABEL_VALUE_ROOM];

    label->value = value;
    label->value_length =
        rb_heapprof_label_value(value, RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
    RB_GC_GUARD(text);
    return rb_heapprof_label_add(set, label);
}

static void
read_late(VALUE key, struct reading *reading)
{
    struct heapprof_label label = read_key(key);

    if (reading->unnamed)
        rb_raise(rb_eArgError, "label: late: is one key, not %+"PRIsVALUE, key);
    label.value = HEAPPROF_LABEL_UNNAMED;
    label.value_length = sizeof(HEAPPROF_LABEL_UNNAMED) - 1;
    reading->set = rb_heapprof_label_add(reading->set, &label);
    reading->unnamed = rb_heapprof_label_add(0, &label);
}

static bool
option_p(VALUE key, VALUE value, struct reading *reading)
{
    static ID inherit, keep, late;

    if (!inherit) {
        inherit = rb_intern("inherit");
        keep = rb_intern("keep");
        late = rb_intern("late");
    }
    if (key == ID2SYM(late)) {
        read_late(value, reading);
        return true;
    }
    if (key != ID2SYM(inherit)) return false;
    if (value != ID2SYM(keep))
        rb_raise(rb_eArgError, "label: inherit: is :keep, not %+"PRIsVALUE, value);
    return reading->keep = true;
}

/* A label whose key is a Symbol that is never freed, and whose value is text, may be known: then it
 * is neither checked again nor looked up. */
static bool
known_p(VALUE key, VALUE value, struct reading *reading)
{
    if (!STATIC_SYM_P(key) || !RB_TYPE_P(value, T_STRING)) return false;
    int index = RB_ENCODING_GET_INLINED(value);
    return (index == RUBY_ENCINDEX_UTF_8 || index == RUBY_ENCINDEX_US_ASCII) &&
           rb_heapprof_label_known(reading->set, key, RSTRING_PTR(value),
                                   (size_t)RSTRING_LEN(value), &reading->set);
}

static void
read_label(VALUE key, VALUE value, struct reading *reading)
{
    if (known_p(key, value, reading) || option_p(key, value, reading)) return;
    struct heapprof_label label = read_key(key);
    if (NIL_P(value))
        reading->set = rb_heapprof_label_remove(reading->set, label.key, label.key_length);
    else {
        uint32_t base = reading->set;
        VALUE text = value_text(key, value);
        reading->set = add(base, &label, text);
        if (STATIC_SYM_P(key) && text == value) {
            label.value = RSTRING_PTR(text);
            label.value_length = (size_t)RSTRING_LEN(text);
            rb_heapprof_label_note(base, key, &label, reading->set);
            RB_GC_GUARD(text);
        }
    }
}

static int
read_i(VALUE key, VALUE value, VALUE data)
{
    read_label(key, value, (struct reading *)data);
    return ST_CONTINUE;
}

/* A Hash of labels that are all known is read without more ado. */
static int
read_known_i(st_data_t key, st_data_t value, st_data_t data)
{
    struct known_labels *all = (struct known_labels *)data;

    all->known = known_p(key, value, &all->reading);
    return all->known ? ST_CONTINUE : ST_STOP;
}

static struct reading
read_labels(uint32_t base, VALUE labels)
{
    struct known_labels all = { .reading = { .set = base }, .known = true };
    struct reading reading = { .set = base };

    if (!RB_TYPE_P(labels, T_HASH))
        rb_raise(rb_eArgError, "label: give labels, as endpoint: \"/cart\", or a Label, not "
                 "something of class %"PRIsVALUE, rb_obj_class(labels));
    rb_hash_stlike_foreach(labels, read_known_i, (st_data_t)&all);
    if (all.known) return all.reading;
    rb_hash_foreach(labels, read_i, (VALUE)&reading);
    return reading;
}

/* The same where there is no block: a name could come in it, and threads could be made in it. */
static struct reading
read_known(uint32_t base, VALUE labels)
{
    struct reading reading = read_labels(base, labels);

    if (reading.unnamed) rb_raise(rb_eArgError, "label: late: wants a block of label");
    if (reading.keep) rb_raise(rb_eArgError, "label: inherit: wants a block of label");
    return reading;
}

/* ---- the primitives ---- */

static const struct label *
label_of(VALUE object)
{
    return RB_TYPE_P(object, T_DATA) && RTYPEDDATA_P(object) &&
                   RTYPEDDATA_TYPE(object) == &label_type
               ? RTYPEDDATA_GET_DATA(object) : NULL;
}

/* A state has no more bits than a Fixnum (vm/labels/labels.c). */
static inline VALUE
fixnum_of(rb_heapprof_label_state state)
{
    return LONG2FIX((long)state);
}

NOINLINE(static VALUE begin(rb_execution_context_t *ec, VALUE labels));

static VALUE
begin(rb_execution_context_t *ec, VALUE labels)
{
    uint32_t base = rb_heapprof_label_set_of(ec);
    const struct label *label = label_of(labels);

    if (label) {
        uint32_t set = rb_heapprof_label_both(base, label->set);
        return fixnum_of(rb_heapprof_label_begin(ec, set, false));
    }
    struct reading reading = read_labels(base, labels);
    return fixnum_of(reading.unnamed
                         ? rb_heapprof_label_begin_late(ec, reading.set, reading.keep,
                                                        reading.unnamed)
                         : rb_heapprof_label_begin(ec, reading.set, reading.keep));
}

/* The usual case is not left to begin: a Label, in a fiber that has no labels. */
VALUE
rb_heapprof_label_api_begin(rb_execution_context_t *ec, VALUE labels)
{
    if (SPECIAL_CONST_P(labels) || RBASIC_CLASS(labels) != cLabel || !rb_heapprof_label_none_p(ec))
        return begin(ec, labels);
    const struct label *label = RTYPEDDATA_DATA(labels);
    return fixnum_of(rb_heapprof_label_begin_first(ec, label->set));
}

VALUE
rb_heapprof_label_api_end(rb_execution_context_t *ec, VALUE before)
{
    rb_heapprof_label_end(ec, (rb_heapprof_label_state)FIX2LONG(before));
    return Qnil;
}

/* Threads that were made before keep what they have. */
VALUE
rb_heapprof_label_api_change(rb_execution_context_t *ec, VALUE labels)
{
    const struct label *label = label_of(labels);
    struct label before = { rb_heapprof_label_state_of(ec), rb_heapprof_label_set_of(ec), true };

    if (label && label->exact) ec->heapprof_label = rb_heapprof_label_state_label(label->state);
    else {
        rb_heapprof_label_change(ec, label ? rb_heapprof_label_both(before.set, label->set)
                                           : read_known(before.set, labels).set);
    }
    return new_label(cLabel, before);
}

/* The text of a file may be anything. */
static VALUE
text_of(const char *bytes, size_t length)
{
    VALUE text = rb_utf8_str_new(bytes, (long)length);

    if (rb_enc_str_coderange(text) == ENC_CODERANGE_BROKEN)
        rb_enc_associate(text, rb_ascii8bit_encoding());
    return rb_str_freeze(text);
}

VALUE
rb_heapprof_label_hash(const char *text, size_t length)
{
    const char *at = text, *end = text + length;
    VALUE hash = rb_hash_new();
    struct heapprof_label label;

    while (rb_heapprof_label_next(&at, end, &label)) {
        VALUE key = rb_to_symbol(text_of(label.key, label.key_length));
        rb_hash_aset(hash, key, text_of(label.value, label.value_length));
    }
    return hash;
}

static VALUE
hash_of(uint32_t set)
{
    char text[HEAPPROF_LABEL_TEXT_BYTES];

    return rb_heapprof_label_hash(text, rb_heapprof_label_copy(set, text));
}

VALUE
rb_heapprof_label_api_all(rb_execution_context_t *ec)
{
    return hash_of(rb_heapprof_label_set_of(ec));
}

/* ---- Label ---- */

static VALUE
label_s_new(int argc, VALUE *argv, VALUE klass)
{
    rb_check_arity(argc, 1, 1);
    return new_label(klass, (struct label){ .set = read_known(0, argv[0]).set });
}

static VALUE
label_to_h(VALUE self)
{
    const struct label *label = rb_check_typeddata(self, &label_type);

    return hash_of(label->set);
}

static VALUE
label_inspect(VALUE self)
{
    return rb_sprintf("#<%"PRIsVALUE" %+"PRIsVALUE">", rb_obj_class(self), label_to_h(self));
}

void
rb_heapprof_label_define(VALUE heap_profile)
{
    cLabel = rb_define_class_under(heap_profile, "Label", rb_cObject);
    rb_gc_register_address(&cLabel);
    rb_undef_alloc_func(cLabel);
    rb_define_singleton_method(cLabel, "new", label_s_new, -1);
    rb_define_method(cLabel, "to_h", label_to_h, 0);
    rb_define_method(cLabel, "inspect", label_inspect, 0);
}
