/* errors.c - what Valgrind calls errors, one of each kind. Nothing of it harms: the allocator's
 * blocks are large enough.
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
 *     HeapProfMemcheck.use_undefined         decides by what nobody has written
 *     HeapProfMemcheck.fault                 reads address 8
 */
#include "ruby/ruby.h"
#include "memcheck.h"

#include <pthread.h>
#include <stdlib.h>

enum { BYTES = 21 };

static char *volatile block; /* or the compiler would see what is wrong */
static volatile char sink;

static char *
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
    rb_define_module_function(module, "use_undefined", memcheck_use_undefined, 0);
    rb_define_module_function(module, "fault", memcheck_fault, 0);
}
