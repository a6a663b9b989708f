/* list.c - a list of objects, also of those that Ruby code cannot see. It keeps them alive, and
 * where they are. */
#include "ruby/ruby.h"
#include "vm/memprof/list.h"
#include "base/array.h"

static void
list_mark(void *data)
{
    const struct heapprof_list *list = data;
    for (size_t i = 0; i < list->count; i++) rb_gc_mark(list->objects[i]);
}

static void
list_free(void *data)
{
    free(((struct heapprof_list *)data)->objects);
    free(data);
}

static size_t
list_memsize(const void *data)
{
    const struct heapprof_list *list = data;
    return sizeof(*list) + list->capacity * sizeof(VALUE);
}

static const rb_data_type_t list_type = {
    "heap_profile/list", { list_mark, list_free, list_memsize }, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};

VALUE
rb_heapprof_list_new(struct heapprof_list **list)
{
    *list = calloc(1, sizeof(**list));
    if (!*list) rb_memerror();
    return TypedData_Wrap_Struct(0, &list_type, *list);
}

void
rb_heapprof_list_push(struct heapprof_list *list, VALUE object)
{
    if (!HEAPPROF_ARRAY_GROW(list->objects, list->capacity, list->count + 1)) {
        list->refused = true;
        return;
    }
    list->objects[list->count++] = object;
}

void
rb_heapprof_list_check(const struct heapprof_list *list)
{
    if (list->refused) rb_memerror();
}
