/* Containers in containers, of structs and of pointers. */
#include "pair.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

struct Item {
    VALUE value;
};

using Row = std::vector<VALUE>;

struct Group {
    Item first;
    Row  row;
};

struct all {
    std::vector<std::vector<VALUE>>              rows;
    std::vector<Row>                             named;
    std::map<std::string, Row>                   lists;
    std::map<int, Item>                          items;
    std::map<VALUE, int>                         counts;
    std::vector<Item *>                          plain;
    std::vector<std::unique_ptr<Item>>           owned;
    std::map<std::string, std::unique_ptr<Item>> by_name;
    std::unique_ptr<Item>                        one;
    std::map<int, VALUE>                         values;
    std::optional<Item>                          perhaps;
    std::vector<Group>                           groups;
};

void
all_mark(void *data)
{
    all *all = static_cast<struct all *>(data);

    for (auto &row : all->rows) for (VALUE each : row) rb_gc_mark(each);
    for (auto &row : all->named) for (VALUE each : row) rb_gc_mark(each);
    for (auto &pair : all->lists) for (VALUE each : pair.second) rb_gc_mark(each);
    for (auto &[number, item] : all->items) rb_gc_mark(item.value);
    for (auto &pair : all->counts) rb_gc_mark(pair.first);
    for (Item *each : all->plain) rb_gc_mark(each->value);
    for (auto &each : all->owned) rb_gc_mark(each->value);
    for (auto &pair : all->by_name) rb_gc_mark(pair.second->value);
    if (all->one) rb_gc_mark(all->one->value);
    for (auto &pair : all->values) rb_gc_mark(pair.second);
    if (all->perhaps) rb_gc_mark(all->perhaps->value);
    for (auto &group : all->groups) {
        rb_gc_mark(group.first.value);
        for (VALUE each : group.row) rb_gc_mark(each);
    }
}

const rb_data_type_t all_type = {
    "all", {all_mark, RUBY_DEFAULT_FREE, 0}, 0, 0, RUBY_TYPED_WB_PROTECTED
};

all *
get_all(VALUE self)
{
    return static_cast<all *>(rb_check_typeddata(self, &all_type));
}

/* ---- containers in containers ---- */

VALUE
rows(VALUE self, VALUE value)
{
    all *all = get_all(self);
    auto &row = all->rows[0];

    all->rows[1][0] = value; // error rows[][]
    all->rows[1].push_back(value); // error rows[][]
    all->rows.back().push_back(value); // error rows[][]
    all->rows.push_back({value}); // error rows[][]
    all->rows.push_back(Row{value}); // error rows[][]
    all->named[1].push_back(value); // error named[][]
    row.push_back(value); // error rows[][]
    for (auto &each : all->rows) each.push_back(value); // error rows[][]
    for (auto &each : all->rows) for (auto &slot : each) slot = value; // error rows[][]
    all->lists["x"].push_back(value); // error lists[][]
    all->lists["x"] = {value}; // error lists[][]
    all->lists.emplace("x", Row{value}); // error lists[][]
    all->lists.find("x")->second.push_back(value); // error lists[][]
    return self;
}

VALUE
rows_with_barriers(VALUE self, VALUE value)
{
    all *all = get_all(self);
    Row row{value};

    all->rows[1][0] = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->rows[1].push_back(value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->rows.push_back({value});
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->rows.push_back(std::move(row));
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->lists["x"].push_back(value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->lists["x"] = Row{value};
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->rows.emplace_back();
    all->rows.pop_back();
    all->lists["x"] = Row();
    all->lists.erase("x");
    all->lists.clear();
    return self;
}

/* ---- structs ---- */

VALUE
structs(VALUE self, VALUE value)
{
    all *all = get_all(self);
    auto added = all->values.emplace(1, Qnil);
    auto [iterator, fresh] = all->values.emplace(2, Qnil);

    all->items[3].value = value; // error items[].value
    all->items[3] = Item{value}; // error items[].value
    all->items.emplace(3, Item{value}); // error items[].value
    all->items.insert({3, Item{value}}); // error items[].value
    for (auto &pair : all->items) pair.second.value = value; // error items[].value
    for (auto &[number, item] : all->items) item.value = value; // error items[].value
    added.first->second = value; // error values[]
    iterator->second = value; // error values[]
    all->perhaps = Item{value}; // error perhaps[].value
    all->perhaps->value = value; // error perhaps[].value
    all->groups[0].row.push_back(value); // error groups[].row[]
    all->groups.push_back(Group{{value}, {}}); // error groups[].first.value
    all->groups.push_back({{Qnil}, {value}}); // error groups[].row[]
    all->counts[value] = 1; // error counts[]
    return self;
}

VALUE
structs_with_barriers(VALUE self, VALUE value)
{
    all *all = get_all(self);
    auto added = all->values.emplace(1, Qnil);

    all->items[3].value = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->items.emplace(3, Item{value});
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (!added.second) added.first->second = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->perhaps = Item{value};
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->groups.push_back(Group{{value}, {}});
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->groups.push_back({});
    all->counts[value] = 1;
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->counts.at(value) = 2;
    all->perhaps.reset();
    all->items.clear();
    return self;
}

/* ---- pointers ---- */

VALUE
pointers(VALUE self, VALUE value)
{
    all *all = get_all(self);
    auto moved = std::make_unique<Item>(), swapped = std::make_unique<Item>();

    all->plain.push_back(new Item{value}); // error value
    all->owned.push_back(std::unique_ptr<Item>(new Item{value})); // error value
    all->one = std::unique_ptr<Item>(new Item{value}); // error value
    moved->value = value; // error value
    all->one = std::move(moved);
    swapped->value = value; // error value
    all->one.swap(swapped);
    return self;
}

VALUE
behind_pointers(VALUE self, VALUE value)
{
    all *all = get_all(self);

    all->plain[0]->value = value; // warning plain[]->value
    all->owned[0]->value = value; // warning owned[]->value
    all->by_name["x"]->value = value; // warning by_name[]->value
    for (Item *each : all->plain) each->value = value; // warning plain[]->value
    for (auto &each : all->owned) each->value = value; // warning owned[]->value
    return self;
}

VALUE
pointers_with_barriers(VALUE self, VALUE value)
{
    all *all = get_all(self);
    std::unique_ptr<Item> moved(new Item{value});

    all->plain.push_back(new Item{value});
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->owned[0]->value = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->owned.push_back(std::move(moved));
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->one.reset(new Item{value});
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->one = nullptr;
    all->one.reset();
    all->owned.clear();
    std::swap(all->plain[0], all->plain[1]);
    return self;
}

VALUE
on_the_stack(VALUE self, VALUE value)
{
    std::vector<Row> rows{{value}};
    std::map<int, std::unique_ptr<Item>> items;

    rows[0].push_back(value);
    items[1] = std::make_unique<Item>(Item{value});
    items[1]->value = value;
    return rows[0][0];
}

}
