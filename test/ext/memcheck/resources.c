/* resources.c - an extension that keeps, or loses, other things than memory of malloc.
 *
 *     HeapProfMemcheck.register_address      registers a VALUE of a block that a list leads to; the
 *                                            block and its address stay
 *     HeapProfMemcheck.register_well         unregisters it, and frees the block
 *     HeapProfMemcheck.open(path)            a descriptor that nobody closes
 *     HeapProfMemcheck.open_well(path)       one that is closed
 *     HeapProfMemcheck.map(bytes)            a mapping that a list leads to
 *     HeapProfMemcheck.map_file(path)        the same of a file
 *     HeapProfMemcheck.map_again(bytes)      one that mremap made longer
 *     HeapProfMemcheck.lose_mapping(bytes)   one that nothing leads to
 *     HeapProfMemcheck.map_well(bytes)       mappings that are unmapped: one as a whole, one made
 *                                            longer, one in two parts; and one that stays, and is
 *                                            address space without memory
 */
#include "ruby/ruby.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct kept {
    struct kept *next;
    VALUE value;
    void *mapping;
};

static struct kept *kept; /* a list of all */

static struct kept *
keep(void *mapping)
{
    struct kept *one = calloc(1, sizeof(*one));

    if (!one) rb_memerror();
    *one = (struct kept){ kept, Qnil, mapping };
    return kept = one;
}

static VALUE
memcheck_register_address(VALUE self)
{
    rb_gc_register_address(&keep(NULL)->value);
    return Qnil;
}

static VALUE
memcheck_register_well(VALUE self)
{
    VALUE *value = malloc(sizeof(*value));

    if (!value) rb_memerror();
    *value = Qnil;
    rb_gc_register_address(value);
    rb_gc_unregister_address(value);
    free(value);
    return Qnil;
}

/* ---- descriptors ---- */

static int
open_file(VALUE path)
{
    int fd = open(StringValueCStr(path), O_RDONLY | O_CLOEXEC);
    if (fd < 0) rb_sys_fail_str(path);
    return fd;
}

static VALUE
memcheck_open(VALUE self, VALUE path)
{
    return INT2NUM(open_file(path));
}

static VALUE
memcheck_open_well(VALUE self, VALUE path)
{
    close(open_file(path));
    return Qnil;
}

/* ---- mappings ---- */

__attribute__((noinline)) static void *
map(size_t bytes, int flags, int fd)
{
    void *mapping = mmap(NULL, bytes, PROT_READ | (fd < 0 ? PROT_WRITE : 0), MAP_PRIVATE | flags,
                         fd, 0);
    if (mapping == MAP_FAILED) rb_sys_fail("mmap");
    return mapping;
}

static VALUE
memcheck_map(VALUE self, VALUE bytes)
{
    keep(map(NUM2SIZET(bytes), MAP_ANONYMOUS, -1));
    return Qnil;
}

static VALUE
memcheck_map_file(VALUE self, VALUE path)
{
    int fd = open_file(path);

    keep(map(1, 0, fd));
    close(fd);
    return Qnil;
}

static VALUE
memcheck_map_again(VALUE self, VALUE bytes)
{
    size_t size = NUM2SIZET(bytes);

    keep(mremap(map(size, MAP_ANONYMOUS, -1), size, 2 * size, MREMAP_MAYMOVE));
    return Qnil;
}

static VALUE
memcheck_lose_mapping(VALUE self, VALUE bytes)
{
    void *volatile mapping = map(NUM2SIZET(bytes), MAP_ANONYMOUS, -1);

    mapping = NULL;
    return mapping ? Qtrue : Qnil;
}

static VALUE
memcheck_map_well(VALUE self, VALUE bytes)
{
    size_t size = NUM2SIZET(bytes);

    munmap(map(size, MAP_ANONYMOUS, -1), size);
    munmap(mremap(map(size, MAP_ANONYMOUS, -1), size, 2 * size, MREMAP_MAYMOVE), 2 * size);
    char *parts = map(2 * size, MAP_ANONYMOUS, -1);
    munmap(parts + size, size);
    munmap(parts, size);
    map(size, MAP_ANONYMOUS | MAP_NORESERVE, -1);
    return Qnil;
}

void
memcheck_define_resources(VALUE module)
{
    rb_define_module_function(module, "register_address", memcheck_register_address, 0);
    rb_define_module_function(module, "register_well", memcheck_register_well, 0);
    rb_define_module_function(module, "open", memcheck_open, 1);
    rb_define_module_function(module, "open_well", memcheck_open_well, 1);
    rb_define_module_function(module, "map", memcheck_map, 1);
    rb_define_module_function(module, "map_file", memcheck_map_file, 1);
    rb_define_module_function(module, "map_again", memcheck_map_again, 1);
    rb_define_module_function(module, "lose_mapping", memcheck_lose_mapping, 1);
    rb_define_module_function(module, "map_well", memcheck_map_well, 1);
}
