/* json.c - Ruby values as something that JSON can hold: a String of valid UTF-8, a number, an
 * address. */
#include "ruby/ruby.h"
#include "vm/memprof/json.h"
#include "internal.h"
#include "internal/string.h"
#include "internal/symbol.h"
#include "ruby/encoding.h"

void
rb_heapprof_reflection_set(VALUE hash, const char *key, VALUE value)
{
    rb_hash_aset(hash, rb_interned_str_cstr(key), value);
}

VALUE
rb_heapprof_reflection_text(VALUE string)
{
    rb_encoding *encoding = rb_enc_get(string);
    /* C code may go on writing to the buffer of the string; what is found of a copy stays true. */
    VALUE copy = rb_enc_str_new(RSTRING_PTR(string), RSTRING_LEN(string), encoding);
    RB_GC_GUARD(string);

    switch (rb_enc_str_coderange(copy)) {
      case ENC_CODERANGE_7BIT: return rb_enc_associate(copy, rb_utf8_encoding());
      case ENC_CODERANGE_VALID: return encoding == rb_utf8_encoding() ? copy : rb_str_dump(copy);
      default: return rb_str_dump(copy);
    }
}

void
rb_heapprof_reflection_set_text(VALUE hash, const char *key, VALUE string)
{
    if (!NIL_P(string)) rb_heapprof_reflection_set(hash, key, rb_heapprof_reflection_text(string));
}

VALUE
rb_heapprof_reflection_name(ID id)
{
    VALUE name = id ? rb_id2str(id) : 0;
    return name ? rb_heapprof_reflection_text(name) : Qnil;
}

/* A name may contain any byte; rb_sprintf does not take that. */
static VALUE
symbol_reference(VALUE symbol)
{
    return rb_str_append(rb_utf8_str_new_cstr(":"),
                         rb_heapprof_reflection_text(rb_sym2str(symbol)));
}

VALUE
rb_heapprof_reflection_reference(VALUE value)
{
    if (UNDEF_P(value)) return Qnil;
    if (RB_SYMBOL_P(value)) return symbol_reference(value);
    return SPECIAL_CONST_P(value) ? value : rb_sprintf("0x%"PRIxVALUE, value);
}
