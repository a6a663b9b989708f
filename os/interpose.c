/* interpose.c - makes every caller of a function of the C library call ours, without LD_PRELOAD.
 * malloc=all needs it for malloc, and counting calls (calls.c) for read, write and their like.
 *
 * ruby defines no function called malloc. So while this is off, nothing is different, and the
 * process keeps the malloc that it has: libc's, or jemalloc's or tcmalloc's, preloaded or linked.
 * But a loaded ELF object calls functions of other objects through slots. The dynamic linker fills
 * the slots by the object's relocations. The slots can be filled again:
 *
 *     call *slot ---> malloc of libc         DT_JMPREL   calls by the PLT; may still be unbound
 *                                            DT_RELA     GLOB_DAT: calls and addresses by the GOT
 *     call *slot ---> all_malloc ---> ...                64: a variable initialised to malloc
 *
 * heaptrack attaches to a running process by the same technique (M. Wolff, 2014). loaded.c reads
 * the relocations of one object and fills its slots.
 *
 *   I1  A slot is changed only if it holds the address of the process-wide function, or is unbound
 *       and will be bound to that function. An object with a malloc of its own keeps it.
 *   I2  A slot is put back only if it still holds ours. So nothing is remembered about any object,
 *       and an object that is unloaded takes its slots along.
 *   I3  Only callbacks of dl_iterate_phdr touch `seen` and write slots: glibc runs one at a time,
 *       and unloads nothing meanwhile.
 *   I4  An object is looked at after its own relocations are done (see look).
 *
 * Three objects stay as they are:
 *
 *     the object that defines malloc   except libc, whose own strdup and the like call by slots
 *     the unwinder                     it allocates with a lock held that a backtrace wants
 *     the dynamic linker               it calls by pointers of its own
 *
 * A program can use an object that is loaded later only after it has asked for an address in it.
 * So dlsym is replaced as well, by a few instructions that look for new objects and then jump to
 * the real dlsym. They jump and do not call, because RTLD_NEXT and RTLD_DEFAULT depend on the
 * caller. dlopen depends on its caller, too, and is not touched.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* dl_iterate_phdr, dladdr, RTLD_DEFAULT */
#endif
#include "os/interpose.h"
#include "os/loaded.h"

#if !HEAPPROF_CAN_INTERPOSE

const char *
rb_heapprof_interpose_refusal(struct heapprof_interposed *table)
{
    (void)table;
    return "needs Linux with glibc on x86-64 or AArch64";
}

bool
rb_heapprof_interpose_library(size_t number, uintptr_t *start, size_t *size)
{
    (void)number, (void)start, (void)size;
    return false;
}

bool
rb_heapprof_interpose_on_p(const struct heapprof_interposed *table)
{
    (void)table;
    return false;
}
void rb_heapprof_interpose_start(struct heapprof_interposed *table) { (void)table; }
void rb_heapprof_interpose_stop(void) {}

#else

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static struct heapprof_interposed *interposed; /* the functions that are replaced while this is
                                                  on; changes only while it is off */

/* ---- dlsym ---- */

typedef void *dlsym_function(void *handle, const char *name);

static dlsym_function *real_dlsym;

/* Looks for new objects, then does what dlsym does. It leaves no frame behind. */
__attribute__((visibility("hidden"))) void *
rb_heapprof_interpose_dlsym(void *handle, const char *name);

/* The replacement of dlsym calls this function. Returns where to jump. */
__attribute__((visibility("hidden"), used)) dlsym_function *rb_heapprof_interpose_look(void);

__asm__(
    ".pushsection .text\n"
    ".globl rb_heapprof_interpose_dlsym\n"
    ".hidden rb_heapprof_interpose_dlsym\n"
    ".type rb_heapprof_interpose_dlsym, %function\n"
    ".balign 16\n"
    "rb_heapprof_interpose_dlsym:\n"
    ".cfi_startproc\n"
#ifdef __x86_64__
    "   endbr64\n"
    "   pushq %rdi\n"
    "   pushq %rsi\n"
    "   subq $8, %rsp\n"
    ".cfi_adjust_cfa_offset 24\n"
    "   call rb_heapprof_interpose_look\n"
    "   addq $8, %rsp\n"
    "   popq %rsi\n"
    "   popq %rdi\n"
    ".cfi_adjust_cfa_offset -24\n"
    "   jmp *%rax\n"
#else
    "   hint #34\n" /* bti c */
    "   stp x0, x1, [sp, #-32]!\n"
    "   str x30, [sp, #16]\n"
    ".cfi_adjust_cfa_offset 32\n"
    ".cfi_offset x30, -16\n"
    "   bl rb_heapprof_interpose_look\n"
    "   mov x16, x0\n"
    "   ldr x30, [sp, #16]\n"
    "   ldp x0, x1, [sp], #32\n"
    ".cfi_adjust_cfa_offset -32\n"
    ".cfi_restore x30\n"
    "   br x16\n"
#endif
    ".cfi_endproc\n"
    ".size rb_heapprof_interpose_dlsym, .-rb_heapprof_interpose_dlsym\n"
    ".popsection\n"
);

/* ---- all objects ---- */

static bool
replaced_name_p(const char *name, uintptr_t *real, uintptr_t *ours)
{
    const struct heapprof_interposed *function = interposed;

    for (; function->name; function++) {
        if (!function->ours || !function->real || strcmp(function->name, name) != 0) continue;
        *real = (uintptr_t)function->real;
        *ours = (uintptr_t)function->ours;
        return true;
    }
    *real = (uintptr_t)real_dlsym;
    *ours = (uintptr_t)rb_heapprof_interpose_dlsym;
    return strcmp("dlsym", name) == 0;
}

/* Addresses that tell objects apart. */
static uintptr_t in_malloc, in_libc, in_unwinder;

static bool
left_alone_p(const struct heapprof_loaded *object)
{
    return (!object->libc && rb_heapprof_loaded_holds_p(object->info, in_malloc, PF_X)) ||
           rb_heapprof_loaded_holds_p(object->info, in_unwinder, PF_X);
}

#define LIBRARIES 4

/* The code of libc and of C++'s library. */
static struct {
    uintptr_t start;
    size_t size;
} libraries[LIBRARIES];
static size_t library_count;

static bool
cxx_p(const char *path)
{
    return strstr(path, "/libstdc++.so") || strstr(path, "/libc++.so");
}

static void
note_library(const struct heapprof_loaded *object)
{
    const struct dl_phdr_info *info = object->info;

    for (size_t i = 0; i < library_count; i++) {
        if (rb_heapprof_loaded_holds_p(info, libraries[i].start, PF_X)) return;
    }
    for (int i = 0; i < info->dlpi_phnum && library_count < LIBRARIES; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
        libraries[library_count].start = info->dlpi_addr + segment->p_vaddr;
        libraries[library_count].size = segment->p_memsz;
        __atomic_store_n(&library_count, library_count + 1, __ATOMIC_RELEASE);
    }
}

bool
rb_heapprof_interpose_library(size_t number, uintptr_t *start, size_t *size)
{
    if (number >= __atomic_load_n(&library_count, __ATOMIC_ACQUIRE)) return false;
    *start = libraries[number].start;
    *size = libraries[number].size;
    return true;
}

static void
visit(const struct dl_phdr_info *info, bool ours_wanted)
{
    struct heapprof_loaded object;

    if (!rb_heapprof_loaded_read(&object, info)) return;
    object.libc = rb_heapprof_loaded_holds_p(info, in_libc, PF_X);
    if (ours_wanted && (object.libc || cxx_p(info->dlpi_name))) note_library(&object);
    if (!left_alone_p(&object)) rb_heapprof_loaded_fill(&object, ours_wanted, replaced_name_p);
}

/* glibc's counts of the objects loaded and unloaded so far. New objects come last. */
struct loads {
    unsigned long long adds, subs;
    size_t count;
};

static struct loads seen; /* these have been looked at */
static bool on;

static int
count_i(struct dl_phdr_info *info, size_t size, void *data)
{
    struct loads *loads = data;

    (void)size;
    loads->adds = info->dlpi_adds;
    loads->subs = info->dlpi_subs;
    loads->count++;
    return seen.adds == loads->adds; /* no object is new */
}

struct interpose_looking {
    struct loads loads;
    size_t index;
};

static int
look_i(struct dl_phdr_info *info, size_t size, void *data)
{
    struct interpose_looking *looking = data;
    const struct loads *loads = &looking->loads;

    (void)size;
    if (info->dlpi_adds != loads->adds || info->dlpi_subs != loads->subs ||
        !__atomic_load_n(&on, __ATOMIC_ACQUIRE)) return 1;
    if (looking->index == 0) {
        if (seen.subs != loads->subs) seen.count = 0; /* look at all objects once more */
        seen.adds = loads->adds;
        seen.subs = loads->subs;
    }
    if (looking->index++ == seen.count) {
        visit(info, true);
        seen.count++;
    }
    return 0;
}

/* Replaces functions in new objects. dlsym waits for a load in progress. So when it returns,
 * the objects that were counted before it have had their relocations done. If more objects came
 * meanwhile, this function looks once again. A thread that goes on loading will ask for an
 * address later. */
static void
look(void)
{
    for (int attempt = 0; attempt < 3; attempt++) {
        struct interpose_looking looking = {.index = 0};

        if (dl_iterate_phdr(count_i, &looking.loads)) return;
        real_dlsym(RTLD_DEFAULT, "malloc");
        dl_iterate_phdr(look_i, &looking);
    }
}

dlsym_function *
rb_heapprof_interpose_look(void)
{
    if (__atomic_load_n(&on, __ATOMIC_ACQUIRE)) look();
    return real_dlsym;
}

static int
restore_i(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    visit(info, false);
    seen = (struct loads){0};
    return 0;
}

/* ---- start and stop ---- */

/* Finds whether ruby's own slots may be written: a system may forbid it. */
static int
writable_i(struct dl_phdr_info *info, size_t size, void *writable)
{
    struct heapprof_loaded object;

    (void)size;
    if (!rb_heapprof_loaded_holds_p(info, (uintptr_t)writable_i, PF_X)) return 0;
    if (!rb_heapprof_loaded_read(&object, info)) return 0;
    *(bool *)writable = object.relro_begin == object.relro_end || rb_heapprof_loaded_open(&object);
    rb_heapprof_loaded_close(&object);
    return 1;
}

static bool
same_object_p(const void *a, const void *b)
{
    Dl_info of_a, of_b;
    return dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

/* None of these addresses change from then on. */
static void
resolve(struct heapprof_interposed *function)
{
    for (; function->name; function++) {
        function->real = (heapprof_function *)dlsym(RTLD_DEFAULT, function->name);
    }
    if (real_dlsym) return;
    in_malloc = (uintptr_t)dlsym(RTLD_DEFAULT, "malloc");
    in_libc = (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    in_unwinder = (uintptr_t)dlsym(RTLD_DEFAULT, "_Unwind_Backtrace");
    real_dlsym = (dlsym_function *)dlsym(RTLD_DEFAULT, "dlsym");
}

static bool
resolved_p(const struct heapprof_interposed *function)
{
    for (; function->name; function++) {
        if (!function->real) return false;
    }
    return real_dlsym && in_libc;
}

const char *
rb_heapprof_interpose_refusal(struct heapprof_interposed *table)
{
    if (!table->real) resolve(table);
    if (!resolved_p(table))
        return "needs malloc, its like and malloc_usable_size from shared libraries";
    if (same_object_p((void *)in_malloc, table)) {
        return "needs an allocator in a shared library, not one linked into ruby";
    }
    bool writable = false;
    dl_iterate_phdr(writable_i, &writable);
    if (!writable)
        return "needs the dynamic linker's tables to be writable, which this system forbids";
    return NULL;
}

void
rb_heapprof_interpose_stop(void)
{
    if (!on) return;
    __atomic_store_n(&on, false, __ATOMIC_RELEASE);
    dl_iterate_phdr(restore_i, NULL);
}

bool
rb_heapprof_interpose_on_p(const struct heapprof_interposed *table)
{
    return on && interposed == table;
}

void
rb_heapprof_interpose_start(struct heapprof_interposed *table)
{
    rb_heapprof_interpose_stop();
    interposed = table;
    __atomic_store_n(&on, true, __ATOMIC_RELEASE);
    look();
}

#endif
