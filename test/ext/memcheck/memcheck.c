/* memcheck.c - an extension that loses memory in each way there is, and keeps some. Each function
 * makes blocks of so many bytes.
 *
 *     HeapProfMemcheck.lose(bytes)           a block of malloc's
 *     HeapProfMemcheck.lose_of_ruby(bytes)   a block of ruby_xmalloc's
 *     HeapProfMemcheck.lose_table            a table that MRI makes for us (st.c): three blocks,
 *                                            two of which the first leads to
 *     HeapProfMemcheck.lose_list(count)      a list of count blocks
 *     HeapProfMemcheck.lose_ring(count)      the same, whose end leads to its beginning
 *     HeapProfMemcheck.lose_grown(bytes)     a block that realloc made longer
 *     HeapProfMemcheck.lose_freed            frees what leads to a block, not the block
 *     HeapProfMemcheck.lose_by_new(count)    a block of C++'s new, which leads to others
 *     HeapProfMemcheck.lose_by_vector(count) what a vector of C++ grew to, and the vector
 *     HeapProfMemcheck.lose_without_gvl(bytes)   as lose, without the GVL
 *     HeapProfMemcheck.lose_in_thread(bytes) as lose, in a thread that Ruby does not know
 *     HeapProfMemcheck.lose_after { }        as lose(100), when the block has returned
 *     HeapProfMemcheck.lose_through          calls HeapProfMemcheck.back, of Ruby, by rb_funcall
 *     HeapProfMemcheck.lose_unloaded(path, bytes)    loads the library, which loses so much, and
 *                                                    unloads it (../memcheck_plugin)
 *     HeapProfMemcheck.lose_by_nameless(path, bytes) has a function of that library lose so much
 *                                                    that has no name, and without the GVL
 *     HeapProfMemcheck.lose_by_mri(path, bytes)  has MRI call a function of that library, which
 *                                                loses so much: with the GVL, and without it
 *     HeapProfMemcheck.unfreed               an object whose struct nobody frees
 *     HeapProfMemcheck::Unfreed.new          the same of a class: its allocator ends with MRI's
 *         .fill(bytes) -> self               request, so with -O2 it is not on the stack then. The
 *                                            struct leads to that many bytes
 *     HeapProfMemcheck.make_unfreed          the same, made by a call of MRI from C
 *     HeapProfMemcheck.shallow               an object whose struct leads to a block, and is
 *                                            freed without it
 *     HeapProfMemcheck.unfreeable            an object that aborts when another process than that
 *                                            which made it frees it
 *     HeapProfMemcheck.keep_on_stack(bytes) { }  a C frame leads to it, as long as the block
 *                                                runs; then it is freed
 *     HeapProfMemcheck.grow_on_stack(bytes) { |grow| }  the same with a block that the Proc grow has made longer
 *     HeapProfMemcheck.keep(bytes)           a variable leads to it
 *     HeapProfMemcheck.keep_of_thread(bytes)     a variable of the thread does
 *     HeapProfMemcheck.keep_specific(bytes)      the thread's own value of a key
 *                                                (pthread_setspecific) does
 *     HeapProfMemcheck.keep_middle(bytes)    a variable leads to its middle
 *
 * errors.c has what is worse. Init loses 77 bytes where MEMCHECK_INIT is in the environment.
 */
#include "ruby/ruby.h"
#include "ruby/st.h"
#include "ruby/thread.h"
#include "memcheck.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct link {
    struct link *next;
    char bytes[100];
};

static void *volatile forgotten; /* or the compiler would leave it all out */
static void *volatile kept;
static char *volatile kept_middle;
static __thread void *volatile kept_of_thread;
static pthread_key_t key;

static void
forget(void *memory)
{
    forgotten = memory;
    forgotten = NULL;
}

static void *
make(size_t bytes)
{
    char *memory = malloc(bytes);
    if (!memory) rb_memerror();
    return memset(memory, 'x', bytes);
}

static VALUE
memcheck_lose(VALUE self, VALUE bytes)
{
    forget(make(NUM2SIZET(bytes)));
    return Qnil;
}

static VALUE
memcheck_lose_of_ruby(VALUE self, VALUE bytes)
{
    forget(ruby_xmalloc(NUM2SIZET(bytes)));
    return Qnil;
}

static VALUE
memcheck_lose_table(VALUE self)
{
    st_table *table = st_init_numtable();

    for (st_data_t i = 0; i < 100; i++) st_insert(table, i, i);
    forget(table);
    return Qnil;
}

static struct link *
make_list(size_t count, struct link **last)
{
    struct link *first = NULL;

    for (size_t i = 0; i < count; i++) {
        struct link *link = make(sizeof(*link));
        if (i == 0) *last = link;
        link->next = first;
        first = link;
    }
    return first;
}

static VALUE
memcheck_lose_list(VALUE self, VALUE count)
{
    struct link *last = NULL;

    forget(make_list(NUM2SIZET(count), &last));
    return Qnil;
}

static VALUE
memcheck_lose_ring(VALUE self, VALUE count)
{
    struct link *last = NULL, *first = make_list(NUM2SIZET(count), &last);

    last->next = first;
    forget(first);
    return Qnil;
}

static VALUE
memcheck_lose_grown(VALUE self, VALUE bytes)
{
    forget(realloc(make(10), NUM2SIZET(bytes)));
    return Qnil;
}

static VALUE
memcheck_lose_freed(VALUE self)
{
    struct link *link = make(sizeof(*link));

    link->next = make(sizeof(*link));
    forget(link);
    free(link);
    return Qnil;
}

static VALUE
memcheck_lose_by_new_i(VALUE self, VALUE count)
{
    memcheck_lose_by_new(NUM2SIZET(count));
    return Qnil;
}

static VALUE
memcheck_lose_by_vector_i(VALUE self, VALUE count)
{
    memcheck_lose_by_vector(NUM2SIZET(count));
    return Qnil;
}

static void *
lose_i(void *bytes)
{
    forget(make(*(size_t *)bytes));
    return NULL;
}

static VALUE
memcheck_lose_without_gvl(VALUE self, VALUE bytes)
{
    size_t size = NUM2SIZET(bytes);

    rb_thread_call_without_gvl(lose_i, &size, RUBY_UBF_IO, NULL);
    return Qnil;
}

static VALUE
memcheck_lose_in_thread(VALUE self, VALUE bytes)
{
    size_t size = NUM2SIZET(bytes);
    pthread_t thread;

    if (pthread_create(&thread, NULL, lose_i, &size) == 0) pthread_join(thread, NULL);
    return Qnil;
}

static VALUE
memcheck_lose_after(VALUE self)
{
    rb_yield(Qnil);
    forget(make(100));
    return Qnil;
}

static VALUE
memcheck_lose_through(VALUE self)
{
    return rb_funcall(self, rb_intern("back"), 0);
}

static VALUE
memcheck_lose_unloaded(VALUE self, VALUE path, VALUE bytes)
{
    void *library = dlopen(StringValueCStr(path), RTLD_NOW | RTLD_LOCAL);
    void (*lose)(size_t) =
        library ? (void (*)(size_t))dlsym(library, "memcheck_plugin_lose") : NULL;

    if (!lose) rb_raise(rb_eLoadError, "%s", dlerror());
    lose(NUM2SIZET(bytes));
    dlclose(library);
    if (dlopen(StringValueCStr(path), RTLD_NOW | RTLD_NOLOAD))
        rb_raise(rb_eRuntimeError, "it is still there");
    return Qnil;
}

struct nameless {
    void (*lose)(size_t bytes);
    size_t bytes;
};

static void *
lose_by_nameless_i(void *data)
{
    struct nameless *nameless = data;

    nameless->lose(nameless->bytes);
    return NULL;
}

static VALUE
memcheck_lose_by_nameless(VALUE self, VALUE path, VALUE bytes)
{
    void *library = dlopen(StringValueCStr(path), RTLD_NOW | RTLD_LOCAL);
    struct nameless nameless = { .bytes = NUM2SIZET(bytes) };

    if (library)
        nameless.lose = (void (*)(size_t))dlsym(library, "memcheck_plugin_lose_inside");
    if (!nameless.lose) rb_raise(rb_eLoadError, "%s", dlerror());
    lose_by_nameless_i(&nameless);
    rb_thread_call_without_gvl(lose_by_nameless_i, &nameless, RUBY_UBF_IO, NULL);
    return Qnil;
}

static VALUE
memcheck_lose_by_mri(VALUE self, VALUE path, VALUE bytes)
{
    void *library = dlopen(StringValueCStr(path), RTLD_NOW | RTLD_LOCAL);
    void *lose = library ? dlsym(library, "memcheck_plugin_lose_for_mri") : NULL;
    int state;

    if (!lose) rb_raise(rb_eLoadError, "%s", dlerror());
    rb_protect((VALUE (*)(VALUE))lose, NUM2SIZET(bytes), &state);
    rb_thread_call_without_gvl((void *(*)(void *))lose, (void *)NUM2SIZET(bytes), RUBY_UBF_IO,
                               NULL);
    return Qnil;
}

static const rb_data_type_t unfreed_type = { "memcheck_unfreed", { NULL, NULL, NULL }, 0, 0, 0 };

static VALUE
memcheck_unfreed(VALUE self)
{
    return TypedData_Wrap_Struct(rb_cObject, &unfreed_type, ruby_xcalloc(1, 300));
}

static VALUE
unfreed_alloc(VALUE class)
{
    struct link *link;

    return TypedData_Make_Struct(class, struct link, &unfreed_type, link);
}

static VALUE
memcheck_make_unfreed(VALUE self)
{
    return rb_obj_alloc(rb_const_get(self, rb_intern("Unfreed")));
}

static VALUE
memcheck_fill(VALUE self, VALUE bytes)
{
    struct link *link = rb_check_typeddata(self, &unfreed_type);

    link->next = make(NUM2SIZET(bytes));
    return self;
}

static const rb_data_type_t shallow_type = {
    "memcheck_shallow", { NULL, RUBY_DEFAULT_FREE, NULL }, 0, 0, 0
};

static VALUE
memcheck_shallow(VALUE self)
{
    struct link *link = ruby_xcalloc(1, sizeof(*link));

    link->next = make(sizeof(*link));
    return TypedData_Wrap_Struct(rb_cObject, &shallow_type, link);
}

static void
unfreeable_free(void *data)
{
    if (*(pid_t *)data != getpid()) abort();
    ruby_xfree(data);
}

static const rb_data_type_t unfreeable_type = {
    "memcheck_unfreeable", { NULL, unfreeable_free, NULL }, 0, 0, 0
};

static VALUE
memcheck_unfreeable(VALUE self)
{
    pid_t *pid;
    VALUE object = TypedData_Make_Struct(rb_cObject, pid_t, &unfreeable_type, pid);

    *pid = getpid();
    return object;
}

static VALUE
free_i(VALUE memory)
{
    free(*(void *volatile *)memory);
    return Qnil;
}

static VALUE
memcheck_keep_on_stack(VALUE self, VALUE bytes)
{
    void *volatile memory = make(NUM2SIZET(bytes));
    return rb_ensure(rb_yield, Qnil, free_i, (VALUE)&memory);
}

static VALUE
grow_i(RB_BLOCK_CALL_FUNC_ARGLIST(unused, memory))
{
    *(void *volatile *)memory = realloc(*(void *volatile *)memory, 100000);
    return Qnil;
}

static VALUE
memcheck_grow_on_stack(VALUE self, VALUE bytes)
{
    void *volatile memory = make(NUM2SIZET(bytes));
    return rb_ensure(rb_yield, rb_proc_new(grow_i, (VALUE)&memory), free_i, (VALUE)&memory);
}

static VALUE
memcheck_keep(VALUE self, VALUE bytes)
{
    kept = make(NUM2SIZET(bytes));
    return Qnil;
}

static VALUE
memcheck_keep_of_thread(VALUE self, VALUE bytes)
{
    kept_of_thread = make(NUM2SIZET(bytes));
    return Qnil;
}

static VALUE
memcheck_keep_specific(VALUE self, VALUE bytes)
{
    pthread_setspecific(key, make(NUM2SIZET(bytes)));
    return Qnil;
}

static VALUE
memcheck_keep_middle(VALUE self, VALUE bytes)
{
    kept_middle = (char *)make(NUM2SIZET(bytes)) + NUM2SIZET(bytes) / 2;
    return Qnil;
}

void memcheck_define_errors(VALUE module);
void memcheck_define_resources(VALUE module);
void memcheck_define_sizes(void);

void
Init_heapprof_memcheck(void)
{
    VALUE module = rb_define_module("HeapProfMemcheck");

    pthread_key_create(&key, NULL);
    if (getenv("MEMCHECK_INIT")) forget(make(77));
    rb_define_module_function(module, "lose", memcheck_lose, 1);
    rb_define_module_function(module, "lose_of_ruby", memcheck_lose_of_ruby, 1);
    rb_define_module_function(module, "lose_table", memcheck_lose_table, 0);
    rb_define_module_function(module, "lose_list", memcheck_lose_list, 1);
    rb_define_module_function(module, "lose_ring", memcheck_lose_ring, 1);
    rb_define_module_function(module, "lose_grown", memcheck_lose_grown, 1);
    rb_define_module_function(module, "lose_freed", memcheck_lose_freed, 0);
    rb_define_module_function(module, "lose_by_new", memcheck_lose_by_new_i, 1);
    rb_define_module_function(module, "lose_by_vector", memcheck_lose_by_vector_i, 1);
    rb_define_module_function(module, "lose_by_nameless", memcheck_lose_by_nameless, 2);
    rb_define_module_function(module, "lose_by_mri", memcheck_lose_by_mri, 2);
    rb_define_module_function(module, "lose_without_gvl", memcheck_lose_without_gvl, 1);
    rb_define_module_function(module, "lose_in_thread", memcheck_lose_in_thread, 1);
    rb_define_module_function(module, "lose_after", memcheck_lose_after, 0);
    rb_define_module_function(module, "lose_through", memcheck_lose_through, 0);
    memcheck_define_errors(module);
    memcheck_define_resources(module);
    memcheck_define_sizes();
    rb_define_module_function(module, "lose_unloaded", memcheck_lose_unloaded, 2);
    rb_define_module_function(module, "unfreed", memcheck_unfreed, 0);
    VALUE unfreed = rb_define_class_under(module, "Unfreed", rb_cObject);
    rb_define_alloc_func(unfreed, unfreed_alloc);
    rb_define_method(unfreed, "fill", memcheck_fill, 1);
    rb_define_module_function(module, "make_unfreed", memcheck_make_unfreed, 0);
    rb_define_module_function(module, "shallow", memcheck_shallow, 0);
    rb_define_module_function(module, "unfreeable", memcheck_unfreeable, 0);
    rb_define_module_function(module, "keep_on_stack", memcheck_keep_on_stack, 1);
    rb_define_module_function(module, "grow_on_stack", memcheck_grow_on_stack, 1);
    rb_define_module_function(module, "keep", memcheck_keep, 1);
    rb_define_module_function(module, "keep_of_thread", memcheck_keep_of_thread, 1);
    rb_define_module_function(module, "keep_specific", memcheck_keep_specific, 1);
    rb_define_module_function(module, "keep_middle", memcheck_keep_middle, 1);
}
