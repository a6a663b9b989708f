/* plain.c - asks the C library for memory, not MRI, in each way there is; for test_interpose.rb.
 *
 *     HeapProfPlain.malloc(bytes)            -> address     also calloc, posix_memalign,
 *                                                           aligned_alloc, memalign, strdup
 *     HeapProfPlain.realloc(address, bytes)  -> address; nil for NULL
 *     HeapProfPlain.free(address)                           also free_in_thread
 *     HeapProfPlain.bytes(address)           -> malloc_usable_size
 *     HeapProfPlain.threads(count, times)    native threads that allocate and free, without the GVL
 *     HeapProfPlain.malloc_in_thread(bytes)  -> address     a native thread's
 *     HeapProfPlain.load(path)               -> handle      dlopen, as a library loads a plugin
 *     HeapProfPlain.unload(handle)
 *     HeapProfPlain.call(handle, name, times)               what is in it, by dlsym
 *     HeapProfPlain.finds_itself_p           dlsym(RTLD_DEFAULT) searches this library, too
 *     HeapProfPlain.real_malloc_p            malloc is here what it is in the process
 *     HeapProfPlain.own_malloc(own)          own: it is one of this library's; else malloc
 *     HeapProfPlain.copy_malloc              -> the address that is malloc here
 *     HeapProfPlain.malloc_by(address, bytes)
 */
#include "ruby/ruby.h"
#include "ruby/thread.h"
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>

static VALUE
address_of(void *block)
{
    return block ? ULL2NUM((uintptr_t)block) : Qnil;
}

static void *
block_at(VALUE address)
{
    return NIL_P(address) ? NULL : (void *)(uintptr_t)NUM2ULL(address);
}

/* ---- blocks ---- */

static VALUE
plain_malloc(VALUE self, VALUE bytes)
{
    return address_of(malloc(NUM2SIZET(bytes)));
}

static VALUE
plain_calloc(VALUE self, VALUE bytes)
{
    return address_of(calloc(1, NUM2SIZET(bytes)));
}

static VALUE
plain_posix_memalign(VALUE self, VALUE bytes)
{
    void *block;
    return posix_memalign(&block, 64, NUM2SIZET(bytes)) == 0 ? address_of(block) : Qnil;
}

static VALUE
plain_aligned_alloc(VALUE self, VALUE bytes)
{
    return address_of(aligned_alloc(64, NUM2SIZET(bytes)));
}

static VALUE
plain_memalign(VALUE self, VALUE bytes)
{
    return address_of(memalign(64, NUM2SIZET(bytes)));
}

static VALUE
plain_strdup(VALUE self, VALUE text)
{
    return address_of(strdup(StringValueCStr(text)));
}

static VALUE
plain_realloc(VALUE self, VALUE address, VALUE bytes)
{
    return address_of(realloc(block_at(address), NUM2SIZET(bytes)));
}

static VALUE
plain_free(VALUE self, VALUE address)
{
    free(block_at(address));
    return Qnil;
}

static VALUE
plain_bytes(VALUE self, VALUE address)
{
    return SIZET2NUM(malloc_usable_size(block_at(address)));
}

/* ---- threads ---- */

static void *
free_it(void *block)
{
    free(block);
    return NULL;
}

static VALUE
plain_free_in_thread(VALUE self, VALUE address)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, free_it, block_at(address)) != 0)
        rb_sys_fail("pthread_create");
    pthread_join(thread, NULL);
    return Qnil;
}

static void *
ask_in_thread(void *bytes)
{
    char *block = malloc((size_t)bytes);
    if (block) *block = 1; /* or the call would be a jump, and leave nobody to name */
    return block;
}

static VALUE
plain_malloc_in_thread(VALUE self, VALUE bytes)
{
    pthread_t thread;
    void *block;

    if (pthread_create(&thread, NULL, ask_in_thread, (void *)NUM2SIZET(bytes)) != 0)
        rb_sys_fail("pthread_create");
    pthread_join(thread, &block);
    return address_of(block);
}

static pthread_key_t last;

/* Threads allocate while they end, too. */
static void
at_thread_end(void *block)
{
    free(block);
    free(malloc(100000));
}

static void *
work(void *times)
{
    pthread_setspecific(last, malloc(1000));
    for (long i = 0; i < (long)times; i++) {
        char *block = malloc((size_t)(i * 37 % 5000) + 1);
        block = realloc(block, (size_t)(i * 101 % 20000) + 1);
        free(block);
    }
    return NULL;
}

struct crew {
    long count, times;
};

static void *
work_together(void *data)
{
    const struct crew *crew = data;
    pthread_t threads[64];
    long started = 0;

    while (started < crew->count && started < 64 &&
           pthread_create(&threads[started], NULL, work, (void *)crew->times) == 0) started++;
    for (long i = 0; i < started; i++) pthread_join(threads[i], NULL);
    return NULL;
}

static VALUE
plain_threads(VALUE self, VALUE count, VALUE times)
{
    struct crew crew = { NUM2LONG(count), NUM2LONG(times) };

    rb_thread_call_without_gvl(work_together, &crew, NULL, NULL);
    return Qnil;
}

/* ---- libraries ---- */

static VALUE
plain_load(VALUE self, VALUE path)
{
    void *handle = dlopen(StringValueCStr(path), RTLD_LAZY | RTLD_LOCAL);

    if (!handle) rb_raise(rb_eLoadError, "%s", dlerror());
    return address_of(handle);
}

static VALUE
plain_unload(VALUE self, VALUE handle)
{
    return INT2NUM(dlclose(block_at(handle)));
}

static VALUE
plain_call(VALUE self, VALUE handle, VALUE name, VALUE times)
{
    void *(*function)(long) = (void *(*)(long))dlsym(block_at(handle), StringValueCStr(name));

    if (!function) rb_raise(rb_eLoadError, "%s", dlerror());
    function(NUM2LONG(times));
    return Qnil;
}

/* Which it does for a call from this library only: nobody else has loaded it globally. */
static VALUE
plain_finds_itself_p(VALUE self)
{
    return dlsym(RTLD_DEFAULT, "Init_heapprof_plain") ? Qtrue : Qfalse;
}

/* ---- malloc's address ---- */

static void *(*volatile here)(size_t) = malloc;

static VALUE
plain_real_malloc_p(VALUE self)
{
    return (void *)here == dlsym(RTLD_DEFAULT, "malloc") ? Qtrue : Qfalse;
}

static void *
own_malloc(size_t bytes)
{
    (void)bytes;
    return NULL;
}

static VALUE
plain_own_malloc(VALUE self, VALUE own)
{
    here = RTEST(own) ? own_malloc : malloc;
    return Qnil;
}

static VALUE
plain_copy_malloc(VALUE self)
{
    return address_of((void *)here);
}

static VALUE
plain_malloc_by(VALUE self, VALUE address, VALUE bytes)
{
    return address_of(((void *(*)(size_t))block_at(address))(NUM2SIZET(bytes)));
}

void
Init_heapprof_plain(void)
{
    VALUE plain = rb_define_module("HeapProfPlain");

    pthread_key_create(&last, at_thread_end);
    rb_ext_ractor_safe(true);
    rb_define_module_function(plain, "malloc", plain_malloc, 1);
    rb_define_module_function(plain, "calloc", plain_calloc, 1);
    rb_define_module_function(plain, "posix_memalign", plain_posix_memalign, 1);
    rb_define_module_function(plain, "aligned_alloc", plain_aligned_alloc, 1);
    rb_define_module_function(plain, "memalign", plain_memalign, 1);
    rb_define_module_function(plain, "strdup", plain_strdup, 1);
    rb_define_module_function(plain, "realloc", plain_realloc, 2);
    rb_define_module_function(plain, "free", plain_free, 1);
    rb_define_module_function(plain, "bytes", plain_bytes, 1);
    rb_define_module_function(plain, "malloc_in_thread", plain_malloc_in_thread, 1);
    rb_define_module_function(plain, "free_in_thread", plain_free_in_thread, 1);
    rb_define_module_function(plain, "threads", plain_threads, 2);
    rb_define_module_function(plain, "load", plain_load, 1);
    rb_define_module_function(plain, "unload", plain_unload, 1);
    rb_define_module_function(plain, "call", plain_call, 3);
    rb_define_module_function(plain, "finds_itself_p", plain_finds_itself_p, 0);
    rb_define_module_function(plain, "real_malloc_p", plain_real_malloc_p, 0);
    rb_define_module_function(plain, "own_malloc", plain_own_malloc, 1);
    rb_define_module_function(plain, "copy_malloc", plain_copy_malloc, 0);
    rb_define_module_function(plain, "malloc_by", plain_malloc_by, 2);
}
