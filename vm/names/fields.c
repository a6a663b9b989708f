/* fields.c - what a reference is called at an offset of a structure of MRI's. */
#include "ruby/ruby.h"
#include "gc/interpreter.h"
#include "vm/names/fields.h"

#define LIST(file) rb_heapprof_fields_of_##file,

static const struct heapprof_field *const lists[] = {HEAPPROF_FIELDS_FILES(LIST)};

const char *
rb_heapprof_field_name(const rb_data_type_t *type, size_t offset)
{
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        for (const struct heapprof_field *field = lists[i]; field->type; field++) {
            if (field->type == type && field->offset == offset) return field->name;
        }
    }
    return NULL;
}

size_t
rb_heapprof_fields_bytes(const rb_data_type_t *type)
{
    size_t bytes = 0;

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        for (const struct heapprof_field *field = lists[i]; field->type; field++) {
            if (field->type == type && field->offset + sizeof(VALUE) > bytes)
                bytes = field->offset + sizeof(VALUE);
        }
    }
    return bytes;
}
