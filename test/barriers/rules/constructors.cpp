/* Constructors: of locals, of objects without a name, of members and bases, and in new memory. */
#include "pair.h"
#include <memory>
#include <vector>

namespace {

struct Item {
    VALUE value;
    int   number;

    Item() : value(Qnil), number(0) {}
    Item(VALUE given, int n) : value(given), number(n) {} // error one.value made[].value value
};

struct Named {
    VALUE name;

    explicit Named(VALUE given = Qnil) : name(given) {} // error derived.name
};

struct Derived : Named {
    Item item;

    Derived() {}
    Derived(VALUE name, VALUE value) : Named(name), item(value, 1) {}
};

/* It is copied by code of its own. */
struct Counted {
    VALUE value;
    int   copies;

    explicit Counted(VALUE given) : value(given), copies(0) {}
    Counted(const Counted &other) : value(other.value), copies(other.copies + 1) {} // note value
};

struct all {
    std::vector<Item>     items, made;
    std::unique_ptr<Item> owned, kept;
    Item                  one, another;
    Derived               derived, second;
    Counted               counted;
};

void
all_mark(void *data)
{
    all *all = static_cast<struct all *>(data);

    for (auto &each : all->items) rb_gc_mark(each.value);
    for (auto &each : all->made) rb_gc_mark(each.value);
    if (all->owned) rb_gc_mark(all->owned->value);
    if (all->kept) rb_gc_mark(all->kept->value);
    rb_gc_mark(all->one.value);
    rb_gc_mark(all->another.value);
    rb_gc_mark(all->derived.name);
    rb_gc_mark(all->derived.item.value);
    rb_gc_mark(all->second.name);
    rb_gc_mark(all->second.item.value);
    rb_gc_mark(all->counted.value);
}

const rb_data_type_t all_type = {
    "all", {all_mark, RUBY_DEFAULT_FREE, 0}, 0, 0, RUBY_TYPED_WB_PROTECTED
};

all *
get_all(VALUE self)
{
    return static_cast<all *>(rb_check_typeddata(self, &all_type));
}

/* ---- on the stack ---- */

VALUE
locals(VALUE self, VALUE value)
{
    Item item(value, 1), braces{value, 2}, copy = get_all(self)->one, list[] = {Item(value, 1)};
    Derived derived(value, value);
    Counted counted(value), again(counted), third(get_all(self)->counted);
    auto owned = std::make_unique<Item>(value, 1);

    return rb_ary_new_from_args(5, item.value, braces.value, copy.value, derived.item.value,
                                third.value);
}

VALUE
passed(VALUE self, VALUE value)
{
    return rb_ary_new_from_args(2, Item(value, 1).value, Counted(value).value);
}

/* ---- in new objects ---- */

void
counted_mark(void *data)
{
    rb_gc_mark(static_cast<Counted *>(data)->value);
}

const rb_data_type_t counted_type = {
    "counted", {counted_mark, RUBY_DEFAULT_FREE}, 0, 0, RUBY_TYPED_WB_PROTECTED
};

VALUE
copy(VALUE self)
{
    auto *other = static_cast<Counted *>(rb_check_typeddata(self, &counted_type));

    return TypedData_Wrap_Struct(CLASS_OF(self), &counted_type, new Counted(*other));
}

VALUE
move(VALUE self)
{
    auto *other = static_cast<Counted *>(rb_check_typeddata(self, &counted_type));

    return TypedData_Wrap_Struct(CLASS_OF(self), &counted_type, new Counted(std::move(*other)));
}

/* ---- an object without a name is stored ---- */

VALUE
stored(VALUE self, VALUE value)
{
    all *all = get_all(self);

    all->one = Item(value, 1); // error one.value
    all->derived = Derived(value, Qnil); // error derived.name
    all->derived = Derived(Qnil, value); // error derived.item.value
    all->items.push_back(Item(value, 1)); // error items[].value
    return self;
}

VALUE
stored_with_barriers(VALUE self, VALUE value)
{
    all *all = get_all(self);

    all->another = Item(value, 1);
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->second = Derived(value, value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->items.push_back(Item(value, 1));
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->items.emplace_back(value, 1);
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->kept = std::make_unique<Item>(value, 1);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
nothing_stored(VALUE self)
{
    all *all = get_all(self);

    all->another = Item();
    all->another = Item(Qnil, 1);
    all->second = Derived();
    all->items.push_back(Item());
    all->items.emplace_back();
    return self;
}

/* ---- structs that are returned, or passed by value ---- */

Item
make_item(VALUE value)
{
    return Item(value, 1);
}

void
keep_item(all *all, Item item)
{
    all->another = item;
}

VALUE
returned(VALUE self, VALUE value)
{
    get_all(self)->one = make_item(value); // error one.value
    return self;
}

VALUE
returned_with_barriers(VALUE self, VALUE value)
{
    all *all = get_all(self);

    all->another = make_item(value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->items.push_back(make_item(value));
    RB_OBJ_WRITTEN(self, Qundef, value);
    keep_item(all, Item(value, 1));
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* ---- made in place: the store stands in the constructor ---- */

VALUE
made(VALUE self, VALUE value)
{
    all *all = get_all(self);

    all->made.emplace_back(value, 1);
    all->owned = std::make_unique<Item>(value, 1);
    new (&all->one) Item(value, 1);
    new (&all->derived) Derived(value, Qnil);
    return self;
}

/* ---- a defaulted assignment stands where it is called ---- */

VALUE
assigned(VALUE self, VALUE other)
{
    get_all(self)->derived = get_all(other)->derived; // error derived.name derived.item.value
    return self;
}

}
