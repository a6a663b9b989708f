/* Templates of one's own for VALUE, and the same templates for numbers. */
#include "pair.h"
#include <array>
#include <cstddef>

namespace {

template <class T> struct Box {
    T item;

    void put(const T &value) {item = value;} // error plain.item
    void set(T value) {item = value;}
    void forward(T value) {this->set(value);}
    T &slot() {return item;}
};

template <class T> struct Slot {
    T item;

    Slot &operator=(const T &value) {item = value; return *this;}
    operator T() const {return item;}
};

template <class T> struct OtherSlot {
    T item;

    OtherSlot &operator=(const T &value) {item = value; return *this;} // error other.item
};

template <class T, size_t N> class Ring {
    T      items[N];
    size_t at = 0;

  public:
    void push(const T &value);
    T &operator[](size_t i) {return items[i];}
    T *begin() {return items;}
};

template <class T, size_t N> void
Ring<T, N>::push(const T &value)
{
    items[at++ % N] = value; // error ring.items[]
}

/* A template in a template. */
template <class T> class Stack {
    struct Node {
        T     value;
        Node *next;
    };
    Node *top = nullptr;

  public:
    void push(T value) {top = new Node{value, top};}
    void push_without(T value) {top = new Node{value, top};} // error value
    void mark() const {for (Node *node = top; node; node = node->next) rb_gc_mark(node->value);}
};

template <class T> struct Both {
    T       first;
    Slot<T> inner;
    size_t  count;
};

using Alias = Slot<VALUE>;

struct all {
    Box<VALUE>           plain, boxed;
    Box<size_t>          number;
    Alias                slot;
    OtherSlot<VALUE>     other;
    Ring<VALUE, 4>       ring;
    Stack<VALUE>         stack;
    Both<VALUE>          both;
    std::array<VALUE, 4> list;
    VALUE                value;
};

void
all_mark(void *data)
{
    struct all *all = static_cast<struct all *>(data);

    rb_gc_mark(all->plain.item);
    rb_gc_mark(all->boxed.item);
    rb_gc_mark(all->slot);
    rb_gc_mark(all->other.item);
    for (int i = 0; i < 4; i++) rb_gc_mark(all->ring[i]);
    all->stack.mark();
    rb_gc_mark(all->both.first);
    rb_gc_mark(all->both.inner);
    for (VALUE each : all->list) rb_gc_mark(each);
    rb_gc_mark(all->value);
}

const rb_data_type_t all_type = {
    "all", {all_mark, RUBY_DEFAULT_FREE, 0}, 0, 0, RUBY_TYPED_WB_PROTECTED
};

struct all *
get_all(VALUE self)
{
    return static_cast<struct all *>(rb_check_typeddata(self, &all_type));
}

/* ---- methods ---- */

VALUE
by_methods(VALUE self, VALUE value)
{
    struct all *all = get_all(self);

    all->plain.put(value);
    all->ring.push(value);
    all->stack.push_without(value);
    all->other = value;
    return self;
}

VALUE
by_methods_with_barriers(VALUE self, VALUE value)
{
    struct all *all = get_all(self);

    all->boxed.set(value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->boxed.forward(value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->stack.push(value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->slot = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    all->both.inner = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

VALUE
of_numbers(VALUE self, VALUE value)
{
    struct all *all = get_all(self);

    all->number.put(NUM2ULONG(value));
    all->number.set(RSTRING_LEN(value));
    all->number.slot() = NUM2ULONG(value);
    all->number.item = NUM2ULONG(value);
    all->both.count = NUM2ULONG(value);
    return self;
}

/* ---- references that they return, and fields ---- */

VALUE
by_references(VALUE self, VALUE value)
{
    struct all *all = get_all(self);
    auto &ring = all->ring;
    auto &both = all->both;

    all->boxed.slot() = value; // error boxed.item
    all->boxed.item = value; // error boxed.item
    all->ring[2] = value; // error ring.items[]
    *all->ring.begin() = value; // error ring.items
    ring[1] = value; // error ring.items[]
    both.first = value; // error both.first
    all->both.inner.item = value; // error both.inner.item
    all->list[2] = value; // error list[]
    return self;
}

VALUE
by_references_with_barriers(VALUE self, VALUE value)
{
    struct all *all = get_all(self);
    VALUE &item = all->boxed.slot();

    RB_OBJ_WRITE(self, &all->ring[2], value);
    item = value;
    RB_OBJ_WRITTEN(self, Qundef, item);
    RB_OBJ_WRITE(self, &all->both.first, value);
    all->list[2] = value;
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

/* ---- functions ---- */

template <class T> void
assign(T &to, const T &value)
{
    to = value; // error value
}

template <class T> void
assign_behind(T *to, T value)
{
    *to = value;
}

VALUE
by_functions(VALUE self, VALUE value)
{
    assign(get_all(self)->value, value);
    return self;
}

VALUE
by_functions_with_a_barrier(VALUE self, VALUE value)
{
    assign_behind(&get_all(self)->value, value);
    RB_OBJ_WRITTEN(self, Qundef, value);
    return self;
}

} // namespace
