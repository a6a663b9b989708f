/* image.c - finds a symbol as the dynamic linker does, but in another process's memory.
 *
 *     mapping that begins with an ELF header
 *        --> program headers --> PT_DYNAMIC --> DT_GNU_HASH or DT_HASH --> DT_SYMTAB, DT_STRTAB --> symbol
 *
 * An executable that is linked statically has no such table, and a core file has only its first
 * page. If this search finds nothing, the writable data of the ELF objects is searched for the
 * magic. If that finds nothing either, the writable mappings of files are searched; of a core, all
 * mappings. A part (layout.h) has the same magic. But a descriptor names its parts, and so the two
 * are told apart.
 *
 *   I1  A number of the target is bounded before it is used as a count. An address may be anything,
 *       even a sum that has wrapped around: reading there does no harm.
 *   I2  All work is bounded: mappings, program headers, entries of PT_DYNAMIC, symbols of a chain,
 *       bytes searched. */
#include "attach/image.h"
#include "base/descriptor.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#define SYMBOL "ruby_vm_descriptor"
#define SEGMENTS_MOST 64            /* 13 are usual */
#define DYNAMIC_MOST 256            /* 30 are usual */
#define CHAIN_MOST 4096             /* symbols of one bucket */
#define STEPS_MOST 65536            /* of all chains together */
#define OBJECTS_MOST 8192           /* each is looked at twice at most */
#define SEARCHED_MOST (UINT64_C(256) << 20)
#define CHUNK 65536
#define PAGE 4096
#define ENTRIES_MOST 4096

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
# define NATIVE_ORDER ELFDATA2LSB
#else
# define NATIVE_ORDER ELFDATA2MSB
#endif

/* An ELF object in the target's memory. */
struct image_object {
    uint64_t   start;               /* where its header is */
    uint64_t   bias;                /* an address is what the file says, and this */
    uint64_t   low, high;           /* addresses that it has, as its program headers say */
    uint64_t   dynamic, dynamic_bytes;
    Elf64_Phdr segments[SEGMENTS_MOST];
    size_t     segment_count;
};

/* What PT_DYNAMIC says; 0 if it says nothing. */
struct tables {
    uint64_t gnu_hash, hash, symbols, names, names_bytes;
};

struct image_search {
    struct attach_target *target;
    struct attach_image  *images;
    size_t   count;
    uint64_t bytes_left;            /* that may be searched still */
    uint32_t steps_left;            /* along chains */
};

/* ---- an object's headers ---- */

static bool
native_p(const Elf64_Ehdr *header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == NATIVE_ORDER &&
           (header->e_type == ET_EXEC || header->e_type == ET_DYN) &&
           header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum > 0 &&
           header->e_phnum <= SEGMENTS_MOST;
}

/* The segment that begins the file is where the header is. So the addresses of the rest are
 * known. */
static bool
set_bias(struct image_object *object)
{
    for (size_t i = 0; i < object->segment_count; i++) {
        const Elf64_Phdr *segment = &object->segments[i];
        if (segment->p_type != PT_LOAD || segment->p_offset != 0) continue;
        object->bias = object->start - segment->p_vaddr;
        return true;
    }
    return false;
}

static void
set_range(struct image_object *object)
{
    object->low = UINT64_MAX;
    object->high = 0;
    for (size_t i = 0; i < object->segment_count; i++) {
        const Elf64_Phdr *segment = &object->segments[i];
        uint64_t from = object->bias + segment->p_vaddr, to = from + segment->p_memsz;
        if (segment->p_type == PT_DYNAMIC) {
            object->dynamic = from;
            object->dynamic_bytes = segment->p_memsz;
        }
        if (segment->p_type != PT_LOAD || to < from) continue;
        if (from < object->low) object->low = from;
        if (to > object->high) object->high = to;
    }
}

static bool
read_object(struct attach_target *target, uint64_t start, struct image_object *object)
{
    Elf64_Ehdr header;

    if (!attach_target_read(target, start, &header, sizeof(header)) || !native_p(&header))
        return false;
    if (header.e_phoff > UINT32_MAX || start > UINT64_MAX - header.e_phoff) return false;
    *object = (struct image_object){ .start = start, .segment_count = header.e_phnum };
    if (!attach_target_read(target, start + header.e_phoff, object->segments,
                            object->segment_count * sizeof(*object->segments))) return false;
    if (!set_bias(object)) return false;
    set_range(object);
    return true;
}

/* ---- its tables ---- */

/* When glibc loads an object, it adds the bias to these addresses; musl does not. If the object is
 * not at its own addresses, the two cases cannot be confused: addresses in a file begin near 0. */
static uint64_t
address_of(const struct image_object *object, uint64_t value)
{
    return value >= object->low && value < object->high ? value : value + object->bias;
}

static bool
read_tables(struct attach_target *target, const struct image_object *object, struct tables *tables)
{
    Elf64_Dyn entries[DYNAMIC_MOST];
    uint64_t bytes =
        object->dynamic_bytes < sizeof(entries) ? object->dynamic_bytes : sizeof(entries);
    size_t count = (size_t)bytes / sizeof(*entries);

    *tables = (struct tables){0};
    if (count == 0) return false;
    if (!attach_target_read(target, object->dynamic, entries, count * sizeof(*entries)))
        return false;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        uint64_t value = entries[i].d_un.d_val;
        switch (entries[i].d_tag) {
          case DT_GNU_HASH: tables->gnu_hash = address_of(object, value); break;
          case DT_HASH: tables->hash = address_of(object, value); break;
          case DT_SYMTAB: tables->symbols = address_of(object, value); break;
          case DT_STRTAB: tables->names = address_of(object, value); break;
          case DT_STRSZ: tables->names_bytes = value; break;
        }
    }
    return tables->symbols && tables->names;
}

/* The address of the symbol with that number, if it is the descriptor. */
static bool
symbol_p(struct attach_target *target, const struct image_object *object,
         const struct tables *tables, uint32_t number, uint64_t *address)
{
    Elf64_Sym symbol;
    char name[sizeof(SYMBOL)];
    uint64_t at = tables->symbols + (uint64_t)number * sizeof(symbol);

    if (!attach_target_read(target, at, &symbol, sizeof(symbol))) return false;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) return false;
    if (symbol.st_name >= tables->names_bytes) return false;
    if (!attach_target_read(target, tables->names + symbol.st_name, name, sizeof(name)))
        return false;
    if (memcmp(name, SYMBOL, sizeof(name)) != 0) return false;
    *address = object->bias + symbol.st_value;
    return true;
}

static uint32_t
gnu_hash(const char *name)
{
    uint32_t hash = 5381;

    while (*name) hash = hash * 33 + (unsigned char)*name++;
    return hash;
}

static uint32_t
sysv_hash(const char *name)
{
    uint32_t hash = 0;

    while (*name) {
        hash = (hash << 4) + (unsigned char)*name++;
        uint32_t high = hash & 0xf0000000;
        hash = (hash ^ high >> 24) & ~high;
    }
    return hash;
}

/* number of buckets | first symbol | words of the filter | its shift || filter || buckets ||
 * chains. The hash that ends a chain is odd. */
static bool
find_by_gnu_hash(struct image_search *search, const struct image_object *object,
                 const struct tables *tables, uint64_t *address)
{
    struct attach_target *target = search->target;
    uint32_t header[4], number, hash = gnu_hash(SYMBOL), found;

    if (!tables->gnu_hash || !attach_target_read(target, tables->gnu_hash, header, sizeof(header)))
        return false;
    if (header[0] == 0) return false;
    uint64_t buckets = tables->gnu_hash + sizeof(header) + (uint64_t)header[2] * sizeof(uint64_t);
    uint64_t chains = buckets + (uint64_t)header[0] * sizeof(uint32_t);
    uint64_t bucket = buckets + (uint64_t)(hash % header[0]) * sizeof(uint32_t);
    if (!attach_target_read(target, bucket, &number, sizeof(number)) || number < header[1])
        return false;
    for (uint32_t steps = 0; steps < CHAIN_MOST && search->steps_left > 0; steps++, number++) {
        search->steps_left--;
        uint64_t chain = chains + (uint64_t)(number - header[1]) * sizeof(uint32_t);
        if (!attach_target_read(target, chain, &found, sizeof(found))) return false;
        if ((found | 1) == (hash | 1) && symbol_p(target, object, tables, number, address))
            return true;
        if ((found & 1) || number == UINT32_MAX) return false;
    }
    return false;
}

/* number of buckets | number of symbols || buckets || chains. 0 ends a chain. */
static bool
find_by_hash(struct image_search *search, const struct image_object *object,
             const struct tables *tables, uint64_t *address)
{
    struct attach_target *target = search->target;
    uint32_t header[2], number;

    if (!tables->hash || !attach_target_read(target, tables->hash, header, sizeof(header)))
        return false;
    if (header[0] == 0) return false;
    uint64_t next = tables->hash + sizeof(header) +
                    (uint64_t)(sysv_hash(SYMBOL) % header[0]) * sizeof(uint32_t);
    uint64_t chains = tables->hash + sizeof(header) + (uint64_t)header[0] * sizeof(uint32_t);
    for (uint32_t steps = 0; steps < CHAIN_MOST && search->steps_left > 0; steps++) {
        search->steps_left--;
        if (!attach_target_read(target, next, &number, sizeof(number))) return false;
        if (number == 0 || number >= header[1]) return false;
        if (symbol_p(target, object, tables, number, address)) return true;
        next = chains + (uint64_t)number * sizeof(uint32_t);
    }
    return false;
}

/* ---- what was found ---- */

static bool
descriptor_p(struct attach_target *target, uint64_t address, struct heapprof_descriptor *descriptor)
{
    return attach_target_read(target, address, descriptor, sizeof(*descriptor)) &&
           memcmp(descriptor->magic, HEAPPROF_DESCRIPTOR_MAGIC, sizeof(descriptor->magic)) == 0;
}

static void
add_image(struct image_search *search, uint64_t descriptor, uint64_t start)
{
    if (search->count == ATTACH_IMAGES_MOST) return;
    for (size_t i = 0; i < search->count; i++) {
        if (search->images[i].descriptor == descriptor) return;
    }
    search->images[search->count++] = (struct attach_image){ descriptor, start };
}

static void
look_up(struct image_search *search, const struct image_object *object)
{
    struct tables tables;
    struct heapprof_descriptor descriptor;
    uint64_t address;

    if (!read_tables(search->target, object, &tables)) return;
    if (!find_by_gnu_hash(search, object, &tables, &address) &&
        !find_by_hash(search, object, &tables, &address)) return;
    if (descriptor_p(search->target, address, &descriptor))
        add_image(search, address, object->start);
}

/* ---- the search for the magic ---- */

/* The descriptor is aligned at least as its numbers are. */
static void
search_chunk(struct image_search *search, uint64_t address, const char *bytes, size_t count,
             uint64_t start)
{
    static const char magic[16] = HEAPPROF_DESCRIPTOR_MAGIC;
    struct heapprof_descriptor descriptor;

    for (size_t at = (size_t)(-address % 8); at + sizeof(magic) <= count; at += 8) {
        if (memcmp(bytes + at, magic, sizeof(magic)) != 0) continue;
        if (descriptor_p(search->target, address + at, &descriptor))
            add_image(search, address + at, start);
    }
}

/* Chunks overlap by the length of the magic. A chunk that cannot be read is skipped. A small chunk
 * counts as a page (I2). */
static void
search_range(struct image_search *search, uint64_t from, uint64_t to, uint64_t start)
{
    char chunk[CHUNK];
    const uint64_t overlap = sizeof(((struct heapprof_descriptor *)0)->magic);

    while (from < to && search->bytes_left > 0) {
        uint64_t here = to - from < sizeof(chunk) ? to - from : sizeof(chunk);
        size_t got = attach_target_read_some(search->target, from, chunk, (size_t)here);
        search_chunk(search, from, chunk, got, start);
        uint64_t counts = here < PAGE ? PAGE : here;
        search->bytes_left -= search->bytes_left < counts ? search->bytes_left : counts;
        if (here <= overlap || here == to - from) return;
        from += here - overlap;
    }
}

static void
search_object(struct image_search *search, const struct image_object *object)
{
    for (size_t i = 0; i < object->segment_count; i++) {
        const Elf64_Phdr *segment = &object->segments[i];
        uint64_t from = object->bias + segment->p_vaddr, to = from + segment->p_filesz;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W) || to < from) continue;
        search_range(search, from, to, object->start);
    }
}

/* In a process only mappings of files are searched: reading the rest would make the kernel create
 * pages. */
static void
search_mappings(struct image_search *search)
{
    const struct attach_target *target = search->target;

    for (size_t i = 0; i < target->mapping_count && search->bytes_left > 0; i++) {
        const struct attach_mapping *mapping = &target->mappings[i];
        if (!mapping->readable || !mapping->writable) continue;
        if (target->runs && attach_target_path(target, mapping)[0] != '/') continue;
        search_range(search, mapping->start, mapping->end, 0);
    }
}

/* Removes the descriptors that this one names as its parts. */
static void
drop_parts(struct image_search *search, uint64_t address)
{
    struct heapprof_descriptor descriptor;
    struct heapprof_descriptor_entry entry;

    if (!descriptor_p(search->target, address, &descriptor) ||
        descriptor.entry_count > ENTRIES_MOST)
        return;
    for (uint64_t i = 0; i < descriptor.entry_count; i++) {
        uint64_t at = address + descriptor.header_size + i * descriptor.entry_size;
        if (!attach_target_read(search->target, at, &entry, sizeof(entry))) return;
        if (entry.kind != HEAPPROF_DESCRIPTOR_PART) continue;
        for (size_t j = 0; j < search->count; j++) {
            uint64_t part = (uint64_t)entry.as.number;
            if (search->images[j].descriptor != part || part == address) continue;
            search->images[j] = search->images[--search->count];
            break;
        }
    }
}

static void
drop_all_parts(struct image_search *search)
{
    uint64_t found[ATTACH_IMAGES_MOST];
    size_t count = search->count;

    for (size_t i = 0; i < count; i++) found[i] = search->images[i].descriptor;
    for (size_t i = 0; i < count; i++) drop_parts(search, found[i]);
}

/* ---- all of it ---- */

static void
each_object(struct image_search *search,
            void (*function)(struct image_search *, const struct image_object *))
{
    const struct attach_target *target = search->target;
    struct image_object object;

    for (size_t i = 0, objects = 0; i < target->mapping_count && objects < OBJECTS_MOST; i++) {
        if (!target->mappings[i].readable) continue;
        if (!read_object(search->target, target->mappings[i].start, &object)) continue;
        function(search, &object);
        objects++;
    }
}

size_t
attach_image_find(struct attach_target *target, struct attach_image images[ATTACH_IMAGES_MOST],
                  char error[ATTACH_TARGET_ERROR_MAX])
{
    struct image_search search = {
        .target = target, .images = images, .bytes_left = SEARCHED_MOST, .steps_left = STEPS_MOST
    };

    each_object(&search, look_up);
    if (search.count == 0) each_object(&search, search_object);
    if (search.count == 0) search_mappings(&search);
    drop_all_parts(&search);
    if (search.count == 0) {
        attach_target_say(target, error,
                          "it is not a ruby with the heap profiler, which alone heapprof can read");
    }
    return search.count;
}
