/* Lists that take the elements of other lists, and leave them none. */
#include <ruby.h>
#include <list>
#include <map>

namespace {

struct lists {
    std::list<VALUE>     list;
    std::map<int, VALUE> map;
};

void
lists_mark(void *data)
{
    lists *all = static_cast<lists *>(data);

    for (VALUE each : all->list) rb_gc_mark(each);
    for (auto &pair : all->map) rb_gc_mark(pair.second);
}

const rb_data_type_t lists_type = {
    "lists", {lists_mark, RUBY_DEFAULT_FREE, 0}, 0, 0, RUBY_TYPED_WB_PROTECTED
};

lists &
get(VALUE self)
{
    return *static_cast<lists *>(rb_check_typeddata(self, &lists_type));
}

} // namespace

extern "C" VALUE
spliced(VALUE self, VALUE other)
{
    lists &to = get(self), &from = get(other);

    to.list.splice(to.list.end(), from.list); // error list[]
    return self;
}

extern "C" VALUE
spliced_in_part(VALUE self, VALUE other)
{
    lists &to = get(self), &from = get(other);

    to.list.splice(to.list.begin(), from.list, from.list.begin()); // error list[]
    return self;
}

extern "C" VALUE
merged(VALUE self, VALUE other)
{
    lists &to = get(self), &from = get(other);

    to.list.merge(from.list); // error list[]
    to.map.merge(from.map); // error map[]
    return self;
}

extern "C" VALUE
with_barriers(VALUE self, VALUE other)
{
    lists &to = get(self), &from = get(other);

    to.list.splice(to.list.end(), from.list);
    to.list.merge(from.list);
    for (VALUE each : to.list) RB_OBJ_WRITTEN(self, Qundef, each);
    return self;
}

extern "C" VALUE
within_one(VALUE self)
{
    lists &to = get(self);

    to.list.splice(to.list.begin(), to.list, std::prev(to.list.end())); // note list[]
    return self;
}
