/* blocks.c - asks MRI's allocator for memory as an extension does, and gives it back: by
 * address, with the bytes that the block has.
 *
 *     HeapProfBlocks.malloc(bytes)            -> address      also calloc
 *     HeapProfBlocks.realloc(address, bytes)  -> address
 *     HeapProfBlocks.free(address)                            also free_in_thread: without the GVL
 *     HeapProfBlocks.free_meanwhile(addresses) { ... }        by a thread without the GVL, while the block runs
 *     HeapProfBlocks.start_free(address)                      free_in_thread, but returns before it is done
 *     HeapProfBlocks.join                                     and now it is
 *     HeapProfBlocks.start_churn(bytes)       a thread without the GVL, that asks for blocks of
 *                                             that size
 *     HeapProfBlocks.churn(bytes)             and frees them, until it has had so many bytes more
 *     HeapProfBlocks.churned                  -> bytes that it has had; waits for those it was
 *                                             told to
 *     HeapProfBlocks.end_churn                -> the same, and the thread ends
 *     HeapProfBlocks.bytes(address)           -> malloc_usable_size
 *     HeapProfBlocks.of(object)               -> address of a String's or Array's own buffer, of a
 *                                                Hash's entries, of a data object's struct; 0: none
 *     HeapProfBlocks.bins(hash)               -> address of its bins, 0: none
 *     HeapProfBlocks.resize(string, bytes)       rb_str_resize, which gives memory back
 *     HeapProfBlocks::Holder.new(bytes)       an object whose struct has that size, freed with it
 *     HeapProfBlocks::Greedy.new(bytes)       the same, whose memsize, 4711, is found by
 *                                             allocating 50 strings of that size
 *     HeapProfBlocks.report(bytes)            memory that MRI is only told of; below 0: given back
 */
#include "ruby/ruby.h"
#include "ruby/st.h"
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static VALUE
address_of(void *block)
{
    return ULL2NUM((uintptr_t)block);
}

static void *
block_at(VALUE address)
{
    return (void *)(uintptr_t)NUM2ULL(address);
}

static VALUE
blocks_malloc(VALUE self, VALUE bytes)
{
    return address_of(ruby_xmalloc(NUM2SIZET(bytes)));
}

static VALUE
blocks_calloc(VALUE self, VALUE bytes)
{
    return address_of(ruby_xcalloc(1, NUM2SIZET(bytes)));
}

static VALUE
blocks_realloc(VALUE self, VALUE address, VALUE bytes)
{
    return address_of(ruby_xrealloc(block_at(address), NUM2SIZET(bytes)));
}

static VALUE
blocks_free(VALUE self, VALUE address)
{
    ruby_xfree(block_at(address));
    return Qnil;
}

static void *
free_it(void *block)
{
    ruby_xfree(block);
    return NULL;
}

static VALUE
blocks_free_in_thread(VALUE self, VALUE address)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, free_it, block_at(address)) != 0)
        rb_sys_fail("pthread_create");
    pthread_join(thread, NULL);
    return Qnil;
}

/* Blocks for a thread to free, a few at a time. */
struct doomed {
    size_t count;
    void **blocks;
};

static void *
free_all(void *doomed_pointer)
{
    struct doomed *doomed = doomed_pointer;

    for (size_t i = 0; i < doomed->count; i++) {
        ruby_xfree(doomed->blocks[i]);
        if (i % 10 == 0) usleep(100);
    }
    return NULL;
}

static VALUE
blocks_free_meanwhile(VALUE self, VALUE addresses)
{
    size_t count = RARRAY_LEN(addresses);
    struct doomed doomed = { count, malloc(count * sizeof(void *)) };
    pthread_t thread;

    if (!doomed.blocks) rb_memerror();
    for (size_t i = 0; i < count; i++) doomed.blocks[i] = block_at(RARRAY_AREF(addresses, i));
    if (pthread_create(&thread, NULL, free_all, &doomed) != 0) rb_sys_fail("pthread_create");
    int state;
    rb_protect(rb_yield, Qnil, &state);
    pthread_join(thread, NULL);
    free(doomed.blocks);
    if (state) rb_jump_tag(state);
    return Qnil;
}

/* At most one at a time, and of one Ractor. */
static pthread_t freeing;
static bool freeing_p;

static VALUE
blocks_join(VALUE self)
{
    if (freeing_p) pthread_join(freeing, NULL);
    freeing_p = false;
    return Qnil;
}

static VALUE
blocks_start_free(VALUE self, VALUE address)
{
    blocks_join(self);
    if (pthread_create(&freeing, NULL, free_it, block_at(address)) != 0)
        rb_sys_fail("pthread_create");
    freeing_p = true;
    return Qnil;
}

/* One at a time, too. */
static struct churn {
    pthread_t thread;
    size_t block_bytes;
    size_t wanted, had; /* bytes; atomic */
    bool end;           /* atomic */
} churn;

static void
churn_one(void)
{
    void *block = ruby_xmalloc(churn.block_bytes);
    size_t bytes = malloc_usable_size(block);

    ruby_xfree(block);
    __atomic_fetch_add(&churn.had, bytes, __ATOMIC_RELEASE);
}

static bool
churned_p(void)
{
    return __atomic_load_n(&churn.had, __ATOMIC_ACQUIRE) >=
           __atomic_load_n(&churn.wanted, __ATOMIC_ACQUIRE);
}

static void *
churn_on(void *unused)
{
    while (!__atomic_load_n(&churn.end, __ATOMIC_ACQUIRE)) {
        if (churned_p()) sched_yield();
        else churn_one();
    }
    return NULL;
}

static VALUE
blocks_start_churn(VALUE self, VALUE bytes)
{
    churn = (struct churn){ .block_bytes = NUM2SIZET(bytes) };
    if (pthread_create(&churn.thread, NULL, churn_on, NULL) != 0) rb_sys_fail("pthread_create");
    return Qnil;
}

static VALUE
blocks_churn(VALUE self, VALUE bytes)
{
    __atomic_fetch_add(&churn.wanted, NUM2SIZET(bytes), __ATOMIC_RELEASE);
    return Qnil;
}

static VALUE
blocks_churned(VALUE self)
{
    while (!churned_p()) sched_yield();
    return SIZET2NUM(churn.had);
}

static VALUE
blocks_end_churn(VALUE self)
{
    VALUE had = blocks_churned(self);

    __atomic_store_n(&churn.end, true, __ATOMIC_RELEASE);
    pthread_join(churn.thread, NULL);
    return had;
}

/* ---- what objects hold ---- */

/* A Hash begins without a table, and rb_hash_tbl would make one. It keeps the table when it gets
 * smaller, which cannot be seen from here. */
static const st_table *
table_of(VALUE hash)
{
    enum { without = 8 };
    return RHASH_SIZE(hash) > without ? rb_hash_tbl(hash, __FILE__, __LINE__) : NULL;
}

static void *
block_of(VALUE object)
{
    const st_table *table;

    switch (RB_BUILTIN_TYPE(object)) {
      case T_STRING:
        return RB_FL_TEST(object, RSTRING_NOEMBED) ? RSTRING_PTR(object) : NULL;
      case T_ARRAY:
        return RB_FL_TEST(object, RARRAY_EMBED_FLAG) ? NULL : (void *)RARRAY_CONST_PTR(object);
      case T_HASH:
        table = table_of(object);
        return table ? table->entries : NULL;
      case T_DATA:
        return RTYPEDDATA_GET_DATA(object);
      default:
        return NULL;
    }
}

static VALUE
blocks_of(VALUE self, VALUE object)
{
    return address_of(block_of(object));
}

static VALUE
blocks_bins(VALUE self, VALUE hash)
{
    const st_table *table = table_of(hash);
    return address_of(table ? table->bins : NULL);
}

static VALUE
blocks_resize(VALUE self, VALUE string, VALUE bytes)
{
    return rb_str_resize(string, NUM2LONG(bytes));
}

static VALUE
blocks_bytes(VALUE self, VALUE address)
{
    return SIZET2NUM(malloc_usable_size(block_at(address)));
}

static VALUE
blocks_report(VALUE self, VALUE bytes)
{
    rb_gc_adjust_memory_usage(NUM2SSIZET(bytes));
    return Qnil;
}

static const rb_data_type_t holder_type = {
    "heapprof_holder", { NULL, RUBY_DEFAULT_FREE, NULL }, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};

static VALUE
holder_new(VALUE class, VALUE bytes)
{
    return TypedData_Wrap_Struct(class, &holder_type, ruby_xmalloc(NUM2SIZET(bytes)));
}

static size_t
greedy_memsize(const void *bytes)
{
    for (int i = 0; i < 50; i++) rb_str_buf_new(*(const long *)bytes);
    ruby_xfree(ruby_xmalloc(100000));
    return 4711;
}

static const rb_data_type_t greedy_type = {
    "heapprof_greedy", { NULL, RUBY_DEFAULT_FREE, greedy_memsize }, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY
};

static VALUE
greedy_new(VALUE class, VALUE bytes)
{
    long *own = ruby_xmalloc(sizeof(*own));
    *own = NUM2LONG(bytes);
    return TypedData_Wrap_Struct(class, &greedy_type, own);
}

void
Init_heapprof_blocks(void)
{
    VALUE blocks = rb_define_module("HeapProfBlocks");
    VALUE holder = rb_define_class_under(blocks, "Holder", rb_cObject);
    VALUE greedy = rb_define_class_under(blocks, "Greedy", rb_cObject);

    rb_ext_ractor_safe(true);
    rb_undef_alloc_func(holder);
    rb_define_singleton_method(holder, "new", holder_new, 1);
    rb_undef_alloc_func(greedy);
    rb_define_singleton_method(greedy, "new", greedy_new, 1);
    rb_define_module_function(blocks, "malloc", blocks_malloc, 1);
    rb_define_module_function(blocks, "calloc", blocks_calloc, 1);
    rb_define_module_function(blocks, "realloc", blocks_realloc, 2);
    rb_define_module_function(blocks, "free", blocks_free, 1);
    rb_define_module_function(blocks, "free_in_thread", blocks_free_in_thread, 1);
    rb_define_module_function(blocks, "free_meanwhile", blocks_free_meanwhile, 1);
    rb_define_module_function(blocks, "start_free", blocks_start_free, 1);
    rb_define_module_function(blocks, "join", blocks_join, 0);
    rb_define_module_function(blocks, "start_churn", blocks_start_churn, 1);
    rb_define_module_function(blocks, "churn", blocks_churn, 1);
    rb_define_module_function(blocks, "churned", blocks_churned, 0);
    rb_define_module_function(blocks, "end_churn", blocks_end_churn, 0);
    rb_define_module_function(blocks, "bytes", blocks_bytes, 1);
    rb_define_module_function(blocks, "of", blocks_of, 1);
    rb_define_module_function(blocks, "bins", blocks_bins, 1);
    rb_define_module_function(blocks, "resize", blocks_resize, 2);
    rb_define_module_function(blocks, "report", blocks_report, 1);
}
