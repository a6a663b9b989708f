/* Algorithms of std: those that move what a container holds store nothing new. */
#include "pair.h"
#include <algorithm>
#include <iterator>
#include <list>
#include <numeric>
#include <vector>

namespace {

struct Item {
    VALUE value;
    int   number;
};

struct all {
    std::vector<Item>   items;
    std::vector<VALUE>  values;
    std::vector<Item *> pointers;
    std::list<Item>     list;
};

void
all_mark(void *data)
{
    all *all = static_cast<struct all *>(data);

    for (auto &each : all->items) rb_gc_mark(each.value);
    for (auto each : all->values) rb_gc_mark(each);
    for (auto each : all->pointers) rb_gc_mark(each->value);
    for (auto &each : all->list) rb_gc_mark(each.value);
}

const rb_data_type_t all_type = {
    "all", {all_mark, RUBY_DEFAULT_FREE, 0}, 0, 0, RUBY_TYPED_WB_PROTECTED
};

all *
get_all(VALUE self)
{
    return static_cast<all *>(rb_check_typeddata(self, &all_type));
}

bool
less(const Item &one, const Item &other)
{
    return one.number < other.number;
}

/* ---- nothing new ---- */

VALUE
moves(VALUE self, VALUE value)
{
    auto &items = get_all(self)->items;
    auto &values = get_all(self)->values;
    auto equals = [&](const Item &item) { return item.value == value; };

    std::sort(items.begin(), items.end(), less);
    std::sort(items.begin(), items.end(), [](const Item &a, const Item &b) { return less(a, b); });
    std::stable_sort(items.begin(), items.end(), less);
    std::reverse(items.begin(), items.end());
    std::rotate(items.begin(), items.begin() + 1, items.end());
    items.erase(std::remove_if(items.begin(), items.end(), equals), items.end());
    items.erase(items.begin());
    values.erase(std::remove(values.begin(), values.end(), value), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    std::partition(items.begin(), items.end(), equals);
    std::sort(get_all(self)->pointers.begin(), get_all(self)->pointers.end());
    get_all(self)->list.sort(less);
    get_all(self)->list.remove_if(equals);
    get_all(self)->list.reverse();
    return self;
}

VALUE
asks(VALUE self, VALUE value)
{
    auto &items = get_all(self)->items;
    auto &values = get_all(self)->values;
    long count = std::count(values.begin(), values.end(), value);

    count += std::accumulate(items.begin(), items.end(), 0L,
                             [](long sum, const Item &item) { return sum + item.number; });
    count += std::distance(items.begin(), std::find_if(items.begin(), items.end(),
                           [&](const Item &item) { return item.value == value; }));
    return LONG2NUM(count);
}

/* ---- something new: at the call ---- */

VALUE
copies(VALUE self, VALUE value)
{
    all *all = get_all(self);
    std::vector<Item> given{Item{value, 1}};

    std::copy(given.begin(), given.end(), std::back_inserter(all->items)); // error items[].value
    std::replace(all->values.begin(), all->values.end(), (VALUE)Qnil, value); // error values[]
    std::generate(all->values.begin(), all->values.end(), [&] { return value; }); // error values[]
    std::for_each(all->items.begin(), all->items.end(),
                  [&](Item &item) { item.value = value; }); // error items[].value
    return self;
}

VALUE
finds(VALUE self, VALUE value)
{
    auto &items = get_all(self)->items;
    auto found = std::find_if(items.begin(), items.end(),
                              [](const Item &item) { return item.number == 1; });

    if (found != items.end()) found->value = value; // error items[].value
    std::min_element(items.begin(), items.end(), less)->value = value; // error items[].value
    return self;
}

VALUE
finds_with_a_barrier(VALUE self, VALUE value)
{
    auto &items = get_all(self)->items;
    auto found = std::find_if(items.begin(), items.end(),
                              [](const Item &item) { return item.number == 1; });

    if (found != items.end()) found->value = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

}
