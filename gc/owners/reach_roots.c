/* reach_roots.c - where the search of reach.c begins: the structs of objects, and the data of
 * libraries. owners.c walks both. Compiled inside gc.c.
 */

HEAPPROF_COLD static bool
data_of_vm_p(VALUE object)
{
    uintptr_t type = RTYPEDDATA_P(object) ? (uintptr_t)RTYPEDDATA_TYPE(object) : 0;
    return reach.vm.begin <= type && type < reach.vm.end;
}

/* Follows the struct within the slot, or the pointer to it there. */
HEAPPROF_COLD static void
reach_data(VALUE object, size_t slot_bytes)
{
    bool embedded = RTYPEDDATA_P(object) && RTYPEDDATA_EMBEDDED_P(object);
    const uintptr_t *words = (const uintptr_t *)object;

    if (!embedded) {
        reach_word((uintptr_t)DATA_PTR(object), true);
        return;
    }
    for (size_t i = sizeof(struct RTypedData) / sizeof(*words); i < slot_bytes / sizeof(*words);
         i++) {
        reach_word(words[i], false);
    }
}

/* An object of an extension. */
HEAPPROF_COLD static void
reach_foreign_i(VALUE object, size_t slot_bytes, void *unused)
{
    if (!RB_TYPE_P(object, T_DATA) || data_of_vm_p(object)) return;
    reach.holder = object;
    reach_data(object, slot_bytes);
}

/* Most of its struct is a table that only some regexps fill. The rest have old words there. So
 * only its pointers are followed. */
HEAPPROF_COLD static void
reach_regexp(const struct re_pattern_buffer *regexp)
{
    if (!regexp) return;
    const void *const blocks[] = {
        regexp->p,
        regexp->exact,
        regexp->int_map,
        regexp->int_map_backward,
        regexp->repeat_range,
        regexp->chain,
    };
    for (size_t i = 0; i < numberof(blocks); i++) {
        if (rb_heapprof_maybe_block_p(blocks[i])) take_block((uintptr_t)blocks[i]);
    }
    reach_word((uintptr_t)regexp->name_table, true);
}

/* An object of the VM. */
HEAPPROF_COLD static void
reach_own_i(VALUE object, size_t slot_bytes, void *unused)
{
    reach.holder = object;
    switch (RB_BUILTIN_TYPE(object)) {
      case T_DATA: if (data_of_vm_p(object)) reach_data(object, slot_bytes); break;
      case T_FILE: reach_word((uintptr_t)RFILE(object)->fptr, true); break;
      case T_REGEXP: reach_regexp(RREGEXP_PTR(object)); break;
      default: break;
    }
}

/* The data of one library. */
struct library {
    size_t number; /* of the library that is wanted, in the loader's order */
    char   name[64];
    size_t segment_count;
    struct { uintptr_t begin; size_t bytes; } segments[4];
};

HEAPPROF_COLD static int
library_i(struct dl_phdr_info *info, size_t size, void *data)
{
    struct library *library = data;
    const char *slash = strrchr(info->dlpi_name, '/');

    if (library->number-- > 0) return 0;
    snprintf(library->name, sizeof(library->name), "[C] %s",
             !*info->dlpi_name ? "program" : slash ? slash + 1 : info->dlpi_name);
    for (int i = 0; i < info->dlpi_phnum && library->segment_count < numberof(library->segments);
         i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W)) continue;
        uintptr_t begin = (info->dlpi_addr + segment->p_vaddr) & ~(sizeof(uintptr_t) - 1);
        library->segments[library->segment_count].begin = begin;
        library->segments[library->segment_count++].bytes = segment->p_memsz;
    }
    return 1;
}

/* Reads one window of the data of a library. Returns false if it has fewer. */
HEAPPROF_COLD static bool
reach_library(size_t number, size_t part)
{
    struct library library = { .number = number };

    dl_iterate_phdr(library_i, &library);
    reach.holder = number == reach.vm_library ? VM_STATIC_DATA : key_of_library(library.name);
    for (size_t i = 0; i < library.segment_count; i++) {
        size_t bytes = library.segments[i].bytes, parts = (bytes + WINDOW_BYTES - 1) / WINDOW_BYTES;
        if (part < parts) {
            size_t offset = part * WINDOW_BYTES, left = bytes - offset;
            look(library.segments[i].begin + offset, left < WINDOW_BYTES ? left : WINDOW_BYTES);
            reach_words(library.segments[i].begin + offset, reach.window_bytes);
            return true;
        }
        part -= parts;
    }
    return false;
}
