/* errors.c - what Valgrind calls errors, one of each kind; and blocks given to the wrong allocator.
 * Nothing of it harms: the allocator's blocks are large enough.
 *
 *     HeapProfMemcheck.write_beyond          one byte behind a block's end
 *     HeapProfMemcheck.read_beyond           the same
 *     HeapProfMemcheck.use_after_free        reads a block that free has got
 *     HeapProfMemcheck.free_twice            of a block of its own; a glibc without Valgrind
 *                                            would abort
 *     HeapProfMemcheck.free_twice_and_raise  the same
 *     HeapProfMemcheck.write_beyond_in_thread    as write_beyond, in a thread that Ruby does not
 *                                                know
 *     HeapProfMemcheck.make_block            keeps a block, for
 *     HeapProfMemcheck.write_beyond_kept     one byte behind its end
 *     HeapProfMemcheck.free_middle           as free_twice, with an address in the middle of a
 *                                            block
 *     HeapProfMemcheck.free_new              free for a block of C++'s new
 *     HeapProfMemcheck.free_of_ruby          free for a block of ruby_xmalloc
 *     HeapProfMemcheck.xfree_of_libc         ruby_xfree for a block of malloc
 *     HeapProfMemcheck.free_of_mri           free for a block that MRI has asked xmalloc for
 *     HeapProfMemcheck.realloc_of_ruby       realloc for a block of ruby_xmalloc; then free
 *     HeapProfMemcheck.default_free_of_libc  an object whose struct is of malloc, and for which
 *                                            MRI calls ruby_xfree
 *     HeapProfMemcheck.dfree_of_ruby         an object whose struct is of ruby_xmalloc, and which
 *                                            its dfree gives to free
 *     HeapProfMemcheck.free_is_dfree         the same, and its dfree is free
 *     HeapProfMemcheck.dfree_of_made         an object whose struct TypedData_Make_Struct has made,
 *                                            and its dfree is a jump to free
 *     HeapProfMemcheck.zombie_of_made        the same, and it is freed later
 *     HeapProfMemcheck.untyped_of_made       an object of Data_Make_Struct; its dfree is free
 *     HeapProfMemcheck.free_well             each allocator gets its own, also by realloc, strdup,
 *                                            objects and temporary buffers; and MRI mixes its own
 *     HeapProfMemcheck.use_undefined         decides by what nobody has written
 *     HeapProfMemcheck.fault                 reads address 8
 */
#include "ruby/ruby.h"
#include "ruby/util.h"
#include "memcheck.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 21 };

static char *volatile block; /* or the compiler would see what is wrong */
static volatile char sink;

__attribute__((noinline)) static char *
make_block(void)
{
    block = malloc(BYTES);
    if (!block) rb_memerror();
    return block;
}

static VALUE
memcheck_write_beyond(VALUE self)
{
    make_block();
    block[BYTES] = 'x';
    free(block);
    return Qnil;
}

static VALUE
memcheck_make_block(VALUE self)
{
    make_block();
    return Qnil;
}

static VALUE
memcheck_write_beyond_kept(VALUE self)
{
    block[BYTES] = 'x';
    return Qnil;
}

static VALUE
memcheck_read_beyond(VALUE self)
{
    make_block();
    sink = block[BYTES];
    free(block);
    return Qnil;
}

static VALUE
memcheck_use_after_free(VALUE self)
{
    char *volatile freed = make_block();

    free(block);
    sink = freed[1];
    return Qnil;
}

static VALUE
memcheck_free_twice(VALUE self)
{
    char *volatile freed = make_block();

    free(block);
    free(freed);
    return Qnil;
}

static VALUE
memcheck_free_twice_and_raise(VALUE self)
{
    memcheck_free_twice(self);
    rb_raise(rb_eRuntimeError, "oops");
}

static void *
write_beyond_i(void *unused)
{
    block[BYTES] = 'x';
    return unused;
}

static VALUE
memcheck_write_beyond_in_thread(VALUE self)
{
    pthread_t thread;

    make_block();
    if (pthread_create(&thread, NULL, write_beyond_i, NULL) == 0) pthread_join(thread, NULL);
    free(block);
    return Qnil;
}

static VALUE
memcheck_free_middle(VALUE self)
{
    make_block();
    free(block + 8);
    free(block);
    return Qnil;
}

static VALUE
memcheck_free_new(VALUE self)
{
    free(memcheck_make_by_new());
    return Qnil;
}

/* ---- the wrong allocator ---- */

static VALUE
memcheck_free_of_ruby(VALUE self)
{
    block = ruby_xmalloc(BYTES);
    free(block);
    return Qnil;
}

static VALUE
memcheck_free_of_mri(VALUE self)
{
    block = ruby_getcwd();
    free(block);
    return Qnil;
}

static VALUE
memcheck_xfree_of_libc(VALUE self)
{
    make_block();
    ruby_xfree(block);
    return Qnil;
}

static VALUE
memcheck_realloc_of_ruby(VALUE self)
{
    block = ruby_xmalloc(BYTES);
    block = realloc(block, 100 * BYTES);
    free(block);
    return Qnil;
}

static const rb_data_type_t default_free_type = {
    "memcheck_default_free", { NULL, RUBY_DEFAULT_FREE, NULL }, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};

static VALUE
memcheck_default_free_of_libc(VALUE self)
{
    return TypedData_Wrap_Struct(rb_cObject, &default_free_type, make_block());
}

static void
dfree(void *data)
{
    block = data;
    free(block);
    block = NULL; /* so that free returns here */
}

static const rb_data_type_t dfree_type = {
    "memcheck_dfree", { NULL, dfree, NULL }, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};

static VALUE
memcheck_dfree_of_ruby(VALUE self)
{
    return TypedData_Wrap_Struct(rb_cObject, &dfree_type, ruby_xcalloc(1, BYTES));
}

static const rb_data_type_t free_type = {
    "memcheck_free", { NULL, free, NULL }, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};

static VALUE
memcheck_free_is_dfree(VALUE self)
{
    return TypedData_Wrap_Struct(rb_cObject, &free_type, ruby_xmalloc(BYTES));
}

struct made {
    char bytes[BYTES];
};

static void
jump_to_free(void *data)
{
    free(data);
}

static const rb_data_type_t made_type = {
    "memcheck_made", { NULL, jump_to_free, NULL }, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};
static const rb_data_type_t zombie_type = { "memcheck_zombie", { NULL, jump_to_free, NULL } };

/* The compiler makes jumps of these calls, too. */
static VALUE
memcheck_dfree_of_made(VALUE self)
{
    struct made *made;

    return TypedData_Make_Struct(rb_cObject, struct made, &made_type, made);
}

static VALUE
memcheck_zombie_of_made(VALUE self)
{
    struct made *made;

    return TypedData_Make_Struct(rb_cObject, struct made, &zombie_type, made);
}

static VALUE
memcheck_untyped_of_made(VALUE self)
{
    struct made *made;
    VALUE object = Data_Make_Struct(rb_cObject, struct made, NULL, free, made);

    made->bytes[0] = 1; /* so that no jump is made */
    return object;
}

/* MRI exports it, as objspace.so needs it. No header has it. */
void rb_objspace_each_objects(int (*function)(void *, void *, size_t, void *), void *data);

static int
see_slots_i(void *start, void *end, size_t stride, void *unused)
{
    return 0;
}

static VALUE
memcheck_free_well(VALUE self)
{
    VALUE buffer;

    rb_objspace_each_objects(see_slots_i, NULL); /* frees its list of pages with free */
    block = ruby_getcwd();
    ruby_xfree(block);
    block = realloc(make_block(), 100 * BYTES);
    free(block);
    block = ruby_xrealloc(ruby_xmalloc(BYTES), 100 * BYTES);
    ruby_xfree(block);
    block = ruby_xrealloc(NULL, BYTES);
    ruby_xfree(block);
    block = strdup("text"); /* ruby/util.h makes it ruby_strdup */
    ruby_xfree(block);
    block = (strdup)("text");
    free(block);
    block = calloc(2, BYTES);
    free(block);
    block = ruby_xmalloc2(2, BYTES);
    ruby_xfree(block);
    block = rb_alloc_tmp_buffer(&buffer, 10000);
    rb_free_tmp_buffer(&buffer);
    TypedData_Wrap_Struct(rb_cObject, &default_free_type, ruby_xmalloc(BYTES));
    return TypedData_Wrap_Struct(rb_cObject, &dfree_type, make_block());
}

static VALUE
memcheck_use_undefined(VALUE self)
{
    make_block();
    if (block[3] == 'x') sink = 'x';
    free(block);
    return Qnil;
}

static VALUE
memcheck_fault(VALUE self)
{
    block = (char *)8;
    sink = *block;
    return Qnil;
}

void
memcheck_define_errors(VALUE module)
{
    rb_define_module_function(module, "write_beyond", memcheck_write_beyond, 0);
    rb_define_module_function(module, "make_block", memcheck_make_block, 0);
    rb_define_module_function(module, "write_beyond_kept", memcheck_write_beyond_kept, 0);
    rb_define_module_function(module, "read_beyond", memcheck_read_beyond, 0);
    rb_define_module_function(module, "use_after_free", memcheck_use_after_free, 0);
    rb_define_module_function(module, "free_twice", memcheck_free_twice, 0);
    rb_define_module_function(module, "free_twice_and_raise", memcheck_free_twice_and_raise, 0);
    rb_define_module_function(module, "write_beyond_in_thread", memcheck_write_beyond_in_thread, 0);
    rb_define_module_function(module, "free_middle", memcheck_free_middle, 0);
    rb_define_module_function(module, "free_new", memcheck_free_new, 0);
    rb_define_module_function(module, "free_of_ruby", memcheck_free_of_ruby, 0);
    rb_define_module_function(module, "free_of_mri", memcheck_free_of_mri, 0);
    rb_define_module_function(module, "xfree_of_libc", memcheck_xfree_of_libc, 0);
    rb_define_module_function(module, "realloc_of_ruby", memcheck_realloc_of_ruby, 0);
    rb_define_module_function(module, "default_free_of_libc", memcheck_default_free_of_libc, 0);
    rb_define_module_function(module, "dfree_of_ruby", memcheck_dfree_of_ruby, 0);
    rb_define_module_function(module, "free_is_dfree", memcheck_free_is_dfree, 0);
    rb_define_module_function(module, "dfree_of_made", memcheck_dfree_of_made, 0);
    rb_define_module_function(module, "zombie_of_made", memcheck_zombie_of_made, 0);
    rb_define_module_function(module, "untyped_of_made", memcheck_untyped_of_made, 0);
    rb_define_module_function(module, "free_well", memcheck_free_well, 0);
    rb_define_module_function(module, "use_undefined", memcheck_use_undefined, 0);
    rb_define_module_function(module, "fault", memcheck_fault, 0);
}
